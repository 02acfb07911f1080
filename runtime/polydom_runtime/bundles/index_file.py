"""The files of a bundle: ``index.msgpack``, its SHA-256, and the models, whose SHA-256 stand in the index."""

import hashlib
import os
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import msgpack

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.checks import check_index, check_limits, check_memory, check_parts, check_scores
from polydom_runtime.bundles.model_entry import MODEL_FOLDER, model_file
from polydom_runtime.bundles.opened_folder import OpenedFolder, no_bundle, opened_folder
from polydom_runtime.causes import shown
from polydom_runtime.codec.codec import Codec, Upgrades, current, unpack
from polydom_runtime.codec.marks import Unsound, bad
from polydom_runtime.exceptions import BundleFormatError, SignatureError
from polydom_runtime.trust import VARIABLE

if TYPE_CHECKING:
    from polydom_runtime.trust.trust import Signed, Trust


FORMAT = "polydom-bundle"
VERSION = 1
"""The format version. A change of a record raises it, and `UPGRADES` gets one more function."""

UPGRADES: Upgrades = {}
"""For each older version, the function that changes its document into one of the next version."""

MAX_INDEX_BYTES = 4 << 20
"""Thousands of models need one MiB. Decoded, an index may take some ten times as much memory."""

AGAIN = "Export the bundle again"

CODEC = Codec(Bundle)


def encode(bundle: Bundle) -> bytes:
    """Return the content of ``index.msgpack``.

    Raises `BundleFormatError` if something is known of some models only.
    """
    try:
        return bytes(msgpack.packb({"format": FORMAT, "version": VERSION, **CODEC.write(bundle)}))
    except Unsound as e:
        raise BundleFormatError(f"{e.says('The bundle')} {AGAIN}.") from e


def decode(data: bytes, folder: str | None = None) -> Bundle:
    """Return the bundle that the bytes of an ``index.msgpack`` describe; the inverse of `encode`.

    Raises `BundleFormatError` if they are not well-formed, of a version that is not known, or inconsistent.
    """
    if len(data) > MAX_INDEX_BYTES:
        raise bad(f"The index must have at most {MAX_INDEX_BYTES} bytes", len(data))
    try:
        document = unpack(data)
        if document.get("format") != FORMAT:
            raise Unsound(f"have format {FORMAT!r}", document.get("format"))
        bundle = replace(CODEC.read(current(document, VERSION, AGAIN, UPGRADES)), folder=folder)
        check_parts(bundle)
    except Unsound as e:
        raise BundleFormatError(f"{e.says('The index')} {e.remedy or AGAIN + '.'}") from e
    check_limits(bundle)
    check_scores(bundle)
    check_index(bundle)
    return bundle


INDEX_FILE, DIGEST_FILE = "index.msgpack", "index.sha256"

MOST_LOADS = 5
"""How many times a load begins again because the folder was replaced meanwhile."""


def load_bundle(folder: str | os.PathLike[str], trust: "Trust | None" = None) -> Bundle:
    """Read a bundle and check it, every model included.

    Parameters
    ----------
    folder : str or path
    trust : Trust, optional
        The keys one of which must have signed the bundle. If not given, those in the files that the environment
        variable ``POLYDOM_TRUST`` names; without this variable, no signature is needed or checked.

    Raises
    ------
    BundleFormatError
        As for `read_bundle`.
    """
    return read_bundle(folder, demanded(trust))


def demanded(trust: "Trust | None" = None) -> "Trust | None":
    """Return the keys one of which must have signed a bundle, by default those of the environment; None if none must.

    Raises `SignatureError` if they cannot be used.
    """
    if trust is None and VARIABLE not in os.environ:
        return None
    from polydom_runtime.trust.trust import checked_trust

    return checked_trust(trust)


def loaded(bundle: "Bundle | str | os.PathLike[str]", trust: "Trust | None" = None) -> Bundle:
    """Return a bundle that is loaded already, or read it as `load_bundle`.

    Raises `SignatureError` if keys are given for one that is loaded already: it is too late to check what was in its
    folder.
    """
    if not isinstance(bundle, Bundle):
        return load_bundle(bundle, trust)
    if trust is not None:
        raise SignatureError(
            "trust must come with the folder of a bundle. Got a bundle that is loaded already. "
            "Write load_bundle(folder, trust)."
        )
    return bundle


def read_bundle(folder: str | os.PathLike[str], trust: "Trust | None") -> Bundle:
    """Read a bundle and check it, whatever the environment says about signatures.

    All files are of one folder, and each is read once: if the folder is replaced meanwhile, the result is the old
    bundle or the new one.

    `trust`: the keys one of which must have signed the bundle; None if it need not be signed.

    Raises `BundleFormatError` if a file is missing, cut, altered, too large, of another version, or inconsistent with
    another. It is a `SignatureError` if the bundle is not signed as it must be.
    """
    if not isinstance(folder, str | os.PathLike):
        raise bad("A bundle must be given by the path of its folder", shown(folder), "The space comes after it.")
    for left in reversed(range(MOST_LOADS)):
        with opened_folder(folder) as opened:
            try:
                bundle = _loaded(opened, trust)
                break
            except BundleFormatError:  # such as a file that was deleted with the old folder
                if not left or not opened.was_replaced():
                    raise
    if opened.exposed:
        warnings.warn(
            f"{folder}: only its owner should be able to write to a bundle. Any user may write to "
            f"{', '.join(opened.exposed)}. Change that with chmod o-w.",
            stacklevel=2,
        )
    return bundle


def _loaded(folder: OpenedFolder, trust: "Trust | None") -> Bundle:
    if INDEX_FILE not in (names := folder.names()):
        releases = ", but releases: add /current to the path" * ("current" in names)
        raise no_bundle(folder.path, f"no file {INDEX_FILE} there{releases}")
    signed: Signed | None = None
    read: Callable[[str, int], bytes] = folder.read
    if trust is not None:
        from .signed_files import signed_files  # only here, since most nodes demand no signature

        signed, read = signed_files(folder, trust)
    index = read(INDEX_FILE, MAX_INDEX_BYTES)
    digest = read(DIGEST_FILE, 4096)
    if digest != digest_line(index):
        raise bad(f"{folder.path}/{DIGEST_FILE} must hold the SHA-256 of {INDEX_FILE}", digest[:80])
    bundle = decode(index, folder.path)
    check_memory(bundle)
    files = [f"{MODEL_FOLDER}/{model_file(number)}" for number in range(len(bundle.models))]
    contents = [
        entry.checked(read(file, entry.size_bytes), f"{folder.path}/{file}")
        for entry, file in zip(bundle.models, files, strict=True)
    ]
    return replace(bundle, sha256=hashlib.sha256(index).hexdigest(), contents=tuple(contents), signed=signed)


def index_sha256(bundle: Bundle) -> str:
    """Return the SHA-256 of a bundle's index in hexadecimal, as in ``index.sha256`` when it was loaded."""
    return bundle.sha256 or hashlib.sha256(encode(bundle)).hexdigest()


def digest_line(index: bytes) -> bytes:
    """Return the content of ``index.sha256``, as ``sha256sum`` writes it."""
    return f"{hashlib.sha256(index).hexdigest()}  {INDEX_FILE}\n".encode()
