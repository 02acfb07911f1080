"""The private key that bundles are signed with, and its two files."""

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from polydom_runtime.causes import shown
from polydom_runtime.exceptions import SignatureError
from polydom_runtime.files import without_waiting, write_file
from polydom_runtime.trust.envelope import Signature, to_sign
from polydom_runtime.trust.keys import TrustedKey, check_installed, check_owner, key_id

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PASSPHRASE = "POLYDOM_PASSPHRASE"
"""The environment variable with the passphrase of a private key."""

EXTRA = "polydom-builder[sign]"

MAX_KEY_BYTES = 1 << 16


@dataclass(frozen=True)
class SigningKey:
    """A private key.

    Parameters
    ----------
    key : Ed25519PrivateKey
    name : str
        The name of the key, for messages.
    """

    key: "Ed25519PrivateKey"
    name: str

    @classmethod
    def from_file(cls, file: str | os.PathLike[str]) -> "SigningKey":
        """Read a private key, with the passphrase in ``POLYDOM_PASSPHRASE`` if it is encrypted.

        Raises
        ------
        SignatureError
            If the file cannot be read, other users may read it or own it, it holds no private Ed25519 key, or the
            passphrase is missing or wrong; also if ``cryptography`` is not installed.
        """
        check_installed(EXTRA)
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        pem = _private(Path(file))
        passphrase = _passphrase() if b"ENCRYPTED" in pem else None
        if b"ENCRYPTED" in pem and passphrase is None:
            raise SignatureError(f"The passphrase of {file} must be in {PASSPHRASE}. It is not set. Set it.")
        try:
            key = load_pem_private_key(pem, passphrase)
        except (ValueError, TypeError, UnsupportedAlgorithm) as e:
            got = "something else, or another passphrase" if passphrase else "something else"
            raise _bad(file, got) from e
        if not isinstance(key, Ed25519PrivateKey):
            raise _bad(file, type(key).__name__)
        return cls(key, Path(file).stem)

    @property
    def public(self) -> TrustedKey:
        """The public half, as a key that may sign everything."""
        key = self.key.public_key()
        return TrustedKey(key, key_id(key), self.name)

    def sign(self, payload: bytes) -> Signature:
        """Sign a payload."""
        return Signature(self.public.keyid, self.key.sign(to_sign(payload)))


def check_key(key: object) -> None:
    """Check that a key to sign with is one, or None."""
    if not isinstance(key, SigningKey | None):
        raise SignatureError(f"key must be a SigningKey. Got {shown(key)}. Write key=SigningKey.from_file(...).")


def make_keys(name: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Make a pair of keys, and return their new files: the private one, ``NAME.key``, and the public one, ``NAME.pub``.

    The private one is encrypted if ``POLYDOM_PASSPHRASE`` is set. Only its owner may read it.
    """
    check_installed(EXTRA)
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    key, passphrase = Ed25519PrivateKey.generate(), _passphrase()
    encryption = BestAvailableEncryption(passphrase) if passphrase else NoEncryption()
    private, public = (Path(f"{os.fspath(name)}{suffix}") for suffix in (".key", ".pub"))
    line = f"name: {re.sub(r'[^ -~]', '?', private.stem)}\n".encode()
    pem = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    _write_new(public, line + pem, 0o644)
    try:
        _write_new(private, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption), 0o600)
    except SignatureError:
        public.unlink()
        raise
    return private, public


def _write_new(file: Path, content: bytes, mode: int) -> None:
    try:
        write_file(file, content, mode)
    except FileExistsError as e:
        raise SignatureError(f"{file} must be a new file. It is there already. Give another name, or move it.") from e
    except OSError as e:
        raise SignatureError(f"{file} must be in a folder that can be written. {e}. Give another one.") from e


def _private(file: Path) -> bytes:
    try:
        with open(file, "rb", opener=without_waiting) as stream:
            status = os.fstat(stream.fileno())
            check_owner(file, status, "its owner can sign, too")
            pem, mode = stream.read(MAX_KEY_BYTES), status.st_mode
    except OSError as e:
        raise _bad(file, str(e.strerror)) from e
    if b"PRIVATE" in pem and mode & (stat.S_IRWXG | stat.S_IRWXO):  # a public key, named by mistake, needs other advice
        raise SignatureError(
            f"Only its owner may read {file}, since whoever has it can sign. Others may, too. "
            f"Change that with chmod 600 {file}."
        )
    return pem


def _passphrase() -> bytes | None:
    return os.environ[PASSPHRASE].encode() if os.environ.get(PASSPHRASE) else None


def _bad(file: str | os.PathLike[str], got: str) -> SignatureError:
    return SignatureError(
        f"{file} must hold a private key as `polydom keygen` writes it. Got {got}. Name the .key file of a pair."
    )
