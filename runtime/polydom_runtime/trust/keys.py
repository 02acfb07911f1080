"""The file of the keys that a node trusts: PEM public keys, each with lines before it that limit it."""

import os
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from polydom_runtime.exceptions import SignatureError
from polydom_runtime.files import may_be_planted, without_waiting

from . import VARIABLE

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

MAX_KEYS_BYTES = 1 << 20

KEY_WORDS = ("name", "expires", "bundles")

KEY = re.compile(r"(-----BEGIN [A-Z ]+-----[^-]*-----END [A-Z ]+-----)")
"""A key in PEM; no text without one takes long to search."""


@dataclass(frozen=True, slots=True)
class TrustedKey:
    """A public key, and the bundles that it may sign."""

    key: "Ed25519PublicKey"
    keyid: str
    """The SHA-256 of the key (in DER), in hexadecimal."""
    name: str
    expires: date | None = None
    """The last day on which its signatures count, in UTC."""
    bundles: str = "*"
    """A pattern for the names of the bundles that it may sign, such as ``vibration-*``."""

    def __str__(self) -> str:
        known_as = self.keyid[:16]
        return known_as if self.name == known_as else f"{self.name} ({known_as})"

    def may_sign(self, name: str) -> bool:
        """Tell whether the key may sign a bundle of this name."""
        return fnmatchcase(name, self.bundles)

    def signed(self, data: bytes, signature: bytes) -> bool:
        """Tell whether a signature over these bytes was made with the private half of the key."""
        from cryptography.exceptions import InvalidSignature

        try:
            self.key.verify(signature, data)
        except InvalidSignature:
            return False
        return True


def key_id(key: "Ed25519PublicKey") -> str:
    """Return the SHA-256 of a public key in DER, in hexadecimal."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()


def check_installed(extra: str) -> None:
    """Check that the package for keys is there; the SignatureError names the extra that brings it."""
    try:
        import cryptography.hazmat.primitives.asymmetric.ed25519  # noqa: F401
    except ImportError as e:
        raise SignatureError(
            f"For signatures, the package cryptography must be installed. It is not. Run pip install '{extra}'."
        ) from e


def load_keys(files: Sequence[str | os.PathLike[str]]) -> tuple[TrustedKey, ...]:
    """Read all keys of at least one file, which must hold keys and their lines only, each key once."""
    keys: dict[str, TrustedKey] = {}
    for file in files:
        for key in _keys_of(Path(file)):
            if key.keyid in keys:
                raise _bad(file, f"the key {key.name} twice, which is also named {keys[key.keyid].name}")
            keys[key.keyid] = key
    if not keys:
        raise SignatureError(
            "There must be a file of trusted keys. Got none. Name the .pub file of `polydom keygen`. "
            f"If {VARIABLE} is empty, unset it."
        )
    return tuple(keys.values())


def _keys_of(file: Path) -> list[TrustedKey]:
    *parts, last = KEY.split(_text_of(file))
    if not parts:
        raise _bad(file, "no key")
    if rest := _words(file, last):
        raise _bad(file, f"the line {next(iter(rest))!r} after the last key")
    return [_key(file, _words(file, lines), pem) for lines, pem in zip(parts[::2], parts[1::2], strict=True)]


def _text_of(file: Path) -> str:
    try:
        with open(file, "rb", opener=without_waiting) as stream:
            status = os.fstat(stream.fileno())
            check_owner(file, status, "it says whom to trust")
            if may_be_planted(status, os.stat(file.resolve().parent)):
                raise SignatureError(
                    f"{file} must not be a second name of a file, since it says whom to trust, and any user may have "
                    "put it there. Move it to a folder in which only its owner may write, and look at its keys."
                )
            if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                raise SignatureError(
                    f"Only its owner may write to {file}, since it says whom to trust. Others may, too. "
                    f"Change that with chmod go-w {file}."
                )
            content = stream.read(MAX_KEYS_BYTES + 1)
    except OSError as e:
        raise SignatureError(
            f"{file} must be a readable file of trusted keys. {e}. Give the path of a .pub file from `polydom keygen`."
        ) from e
    if len(content) > MAX_KEYS_BYTES:
        raise _bad(file, f"more than {MAX_KEYS_BYTES} bytes")
    try:
        return content.decode()
    except UnicodeDecodeError as e:
        raise _bad(file, "bytes that are no text") from e


def check_owner(file: Path, status: os.stat_result, why: str) -> None:
    """Check that a file of keys belongs to this user or to root, and is a file: nobody else decides what is in it."""
    if not stat.S_ISREG(status.st_mode):
        raise SignatureError(f"{file} must be a file of keys. It is something else. Give the path of the file.")
    if status.st_uid not in (0, os.geteuid()):
        raise SignatureError(
            f"{file} must belong to this user or to root, since {why}. It belongs to user {status.st_uid}. Look at "
            "what is in it, and change that with chown, or make a copy."
        )


def _words(file: Path, lines: str) -> Mapping[str, str]:
    words: dict[str, str] = {}
    for line in map(str.strip, lines.splitlines()):
        word, _, value = map(str.strip, line.partition(":"))
        if not line or line.startswith("#"):
            continue
        if word not in KEY_WORDS or word in words or not value or not value.isprintable():
            raise _bad(file, f"the line {line[:100]!r}")
        words[word] = value
    return words


def _key(file: Path, words: Mapping[str, str], pem: str) -> TrustedKey:
    check_installed("polydom-runtime[sign]")
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(pem.encode())
    except (ValueError, UnsupportedAlgorithm) as e:
        raise _bad(file, f"{pem.splitlines()[0]} and something that is no public key") from e
    if not isinstance(key, Ed25519PublicKey):
        raise _bad(file, f"a key of type {type(key).__name__}")
    keyid = key_id(key)
    try:
        expires = date.fromisoformat(words["expires"]) if "expires" in words else None
    except ValueError as e:
        raise _bad(file, f"the date {words['expires']!r}, which must be such as 2027-06-01") from e
    return TrustedKey(key, keyid, words.get("name", keyid[:16]), expires, words.get("bundles", "*"))


def _bad(file: str | os.PathLike[str], got: str) -> SignatureError:
    return SignatureError(
        f"{file} must hold public keys as `polydom keygen` writes them, and before each at most one line of each of "
        f"{', '.join(f'{word}: ...' for word in KEY_WORDS)}. Got {got}. Correct the file."
    )
