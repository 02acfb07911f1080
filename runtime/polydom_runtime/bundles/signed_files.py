"""The files of a bundle whose signature is checked before anything else is done with them."""

from collections.abc import Callable

from polydom_runtime.codec.marks import bad
from polydom_runtime.exceptions import SignatureError
from polydom_runtime.trust import SIGNATURE_FILE
from polydom_runtime.trust.envelope import MAX_SIGNATURE_BYTES
from polydom_runtime.trust.statement import FileDigest
from polydom_runtime.trust.trust import Signed, Trust, check_file, check_file_names

from .opened_folder import COPY_AGAIN, OpenedFolder


def unsigned(bundle: object) -> SignatureError:
    """Return the error for a bundle without a signature where one is demanded."""
    return SignatureError(
        f"{bundle} must be signed, since a trusted key is demanded. There is no {SIGNATURE_FILE}. "
        "Sign it with `polydom sign`."
    )


def signed_files(folder: OpenedFolder, trust: Trust) -> tuple[Signed, Callable[[str, int], bytes]]:
    """Read all files of a folder, and return who signed them and what reads one, as `OpenedFolder.read` does.

    Raises `SignatureError` if there is no signature, or as for `Trust.verify`. Raises `BundleFormatError` if a file is
    a link, larger than the signed one, or cannot be read.
    """
    if SIGNATURE_FILE not in folder.names():
        raise unsigned(folder.path)
    signed, stated = trust.opened(folder.read(SIGNATURE_FILE, MAX_SIGNATURE_BYTES))
    check_file_names(stated, folder.files())
    contents = {}
    for name, digest in stated.files.items():
        contents[name] = folder.read(name, digest.size)
        check_file(stated, name, FileDigest.of(contents[name]))

    def read(name: str, limit: int) -> bytes:
        if name not in contents or len(contents[name]) > limit:
            raise bad(f"{folder.path}/{name} must be a file of at most {limit} bytes", "none", COPY_AGAIN)
        return contents[name]

    return signed, read
