"""Signatures for tests, made with keys that are the same in every run."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from polydom_runtime.trust import SIGNATURE_FILE
from polydom_runtime.trust.envelope import Envelope, Signature, encode_envelope, to_sign
from polydom_runtime.trust.keys import key_id
from polydom_runtime.trust.statement import FileDigest, Statement, encode_statement
from polydom_runtime.trust.trust import Trust

OWNER, SUCCESSOR, STRANGER = (Ed25519PrivateKey.from_private_bytes(bytes([n] * 32)) for n in (1, 2, 3))

SIGNED_AT = datetime(2026, 6, 1, 12, tzinfo=UTC)

A_DAY_LATER = SIGNED_AT.timestamp() + 86400

FILES = {"index.msgpack": FileDigest.of(b"index"), "models/0000.onnx": FileDigest.of(b"model")}

STATEMENT = Statement("vibration-7", FILES, SIGNED_AT)


def public(key: Ed25519PrivateKey, *lines: str) -> str:
    """Return the public half of a key as PEM, after some lines."""
    pem = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    return "".join(f"{line}\n" for line in lines) + pem


def trust_in(folder: Path, *keys: str, now: float = A_DAY_LATER) -> Trust:
    """Return the trust in some keys, after they were in a file."""
    (folder / "trusted.pub").write_text("\n".join(keys))
    (folder / "trusted.pub").chmod(0o644)  # whatever the umask says
    return Trust.from_files([folder / "trusted.pub"], clock=lambda: now)


def signature(statement: Statement = STATEMENT, *keys: Ed25519PrivateKey) -> bytes:
    """Return the content of ``signature.json``, by the owner if no keys are given."""
    return signature_over(encode_statement(statement), *keys)


def signature_over(payload: bytes, *keys: Ed25519PrivateKey) -> bytes:
    """Return the content of ``signature.json`` for any payload."""
    signatures = (Signature(key_id(key.public_key()), key.sign(to_sign(payload))) for key in keys or (OWNER,))
    return encode_envelope(Envelope(payload, tuple(signatures)))


def digests_of(folder: Path) -> Mapping[str, FileDigest]:
    """Return the digests of all files of a folder but its signature."""
    files = (file for file in folder.rglob("*") if file.is_file() and file.name != SIGNATURE_FILE)
    return {file.relative_to(folder).as_posix(): FileDigest.of(file.read_bytes()) for file in files}


def sign(folder: Path, *keys: Ed25519PrivateKey, **stated: Any) -> bytes:
    """Sign a folder, with other fields of the statement, and return the content of its ``signature.json``."""
    content = signature(replace(STATEMENT, files=digests_of(folder), **stated), *keys)
    (folder / SIGNATURE_FILE).write_bytes(content)
    return content
