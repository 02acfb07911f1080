"""The statement of a signature: of in-toto, with the digest of every file, as in OpenSSF model signing."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

from polydom_runtime.exceptions import SignatureError

from . import SIGNATURE_FILE
from .envelope import SIGN_AGAIN

STATEMENT, PREDICATE = "https://in-toto.io/Statement/v1", "https://model_signing/signature/v1.0"

SERIALIZATION = {"method": "files", "hash_type": "sha256", "allow_symlinks": False, "ignore_paths": [SIGNATURE_FILE]}

TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"

MAX_SIGNED_BYTES, MAX_RELEASE = 1 << 40, (1 << 53) - 1


class FileDigest(NamedTuple):
    """The SHA-256 of a file, and its size in bytes, so that a larger one is never read."""

    sha256: bytes
    size: int

    @classmethod
    def of(cls, content: bytes) -> "FileDigest":
        """Return the digest of a file with this content."""
        return cls(hashlib.sha256(content).digest(), len(content))


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of the owner of a key about a bundle."""

    name: str
    """The name of the bundle: printable, 1 to 200 characters."""
    files: Mapping[str, FileDigest]
    """All files of the folder except the signature, by name, such as ``models/0000.onnx``."""
    signed_at: datetime
    """UTC, by the clock of the signer, in whole seconds."""
    expires: date | None = None
    """The last day on which the bundle may be loaded, in UTC."""
    release: int | None = None
    """A number that rises with each release under this name; None if the signer gives none."""
    devices: tuple[str, ...] = ()
    """Patterns of the devices that the bundle may be installed on; all if there are none."""
    named: bool = True
    """Whether somebody gave the name; if not, it is that of the folder, and other bundles may follow this one."""


def encode_statement(statement: Statement) -> bytes:
    """Return the payload of an envelope: JSON, with the files sorted by name."""
    files = sorted(statement.files.items())
    annotations: dict[str, Any] = {"signed_at": statement.signed_at.strftime(TIME_FORMAT)}
    if statement.expires is not None:
        annotations["expires"] = statement.expires.isoformat()
    if statement.release is not None:
        annotations["release"] = statement.release
    if statement.devices:
        annotations["devices"] = statement.devices
    if not statement.named:
        annotations["named"] = False
    whole = hashlib.sha256(b"".join(digest.sha256 for _, digest in files)).hexdigest()
    document = {
        "_type": STATEMENT,
        "subject": [{"name": statement.name, "digest": {"sha256": whole}, "annotations": annotations}],
        "predicateType": PREDICATE,
        "predicate": {
            "serialization": SERIALIZATION,
            "resources": [
                {"name": name, "algorithm": "sha256", "digest": digest.sha256.hex(), "size": digest.size}
                for name, digest in files
            ],
        },
    }
    return json.dumps(document, separators=(",", ":")).encode()


def decode_statement(payload: bytes) -> Statement:
    """Read a payload whose signature has been checked: only the spelling that `encode_statement` writes."""
    try:
        document = json.loads(payload)
        subject, predicate = document["subject"][0], document["predicate"]
        annotations = subject["annotations"]
        expires = annotations.get("expires")
        statement = Statement(
            name=checked_name(subject["name"]),
            files={resource["name"]: _digest(resource) for resource in predicate["resources"]},
            signed_at=datetime.strptime(annotations["signed_at"], TIME_FORMAT).replace(tzinfo=UTC),
            expires=None if expires is None else date.fromisoformat(expires),
            release=checked_release(annotations.get("release")),
            devices=tuple(map(_pattern, annotations.get("devices", ()))),
            named="named" not in annotations,
        )
        sound = encode_statement(statement) == payload
    except SignatureError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):  # of any other JSON
        sound = False
    if not sound:
        raise SignatureError(
            f"The signed payload must be a statement as `polydom sign` writes it. Got something else. {SIGN_AGAIN}"
        )
    return statement


def checked_name(name: object) -> str:
    """Return the name of a bundle, if it is a printable text of 1 to 200 characters."""
    if not isinstance(name, str) or not 1 <= len(name) <= 200 or not name.isprintable():
        raise SignatureError(
            "The name of a bundle must have 1 to 200 printable characters. "
            f"Got {ascii(name)[:200]}. Give another one with --name."
        )
    return name


def checked_release(release: object) -> int | None:
    """Return the number of a release, if it is None or a whole number from 1 to `MAX_RELEASE`."""
    if release is not None and (type(release) is not int or not 1 <= release <= MAX_RELEASE):
        raise SignatureError(
            f"The number of a release must be a whole number from 1 to {MAX_RELEASE}. Got {ascii(release)[:200]}. "
            "Give another one with --release."
        )
    return release


def _pattern(text: object) -> str:
    if not isinstance(text, str):
        raise ValueError(text)
    return text


def _digest(resource: Mapping[str, Any]) -> FileDigest:
    size = resource["size"]
    if type(resource["name"]) is not str or type(size) is not int or not 0 <= size <= MAX_SIGNED_BYTES:
        raise ValueError(resource)
    return FileDigest(bytes.fromhex(resource["digest"]), size)
