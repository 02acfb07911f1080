"""The identity of a bundle: its name and version, when and by whom it was built, and from what."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from . import schema

MAX_CHARS, MAX_LIBRARIES = 200, 100

PATTERNS = {
    "built": r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z",
    "data": r"[0-9a-f]{64}",
    "code": r"[0-9]{1,9}:[0-9a-f]{64}",
}


@dataclass(frozen=True, slots=True)
class Identity:
    """What a bundle says of itself. Each text is empty if it is not known."""

    name: str = ""
    version: str = ""
    """As the user gave them."""
    built: str = ""
    """The time of the build in UTC, such as ``2026-01-31T12:00:00Z``, if it was stated."""
    builder: str = ""
    """Who built it, as the user says."""
    data: str = ""
    """SHA-256 of the items and labels that it was trained on, in hexadecimal."""
    code: str = ""
    """Fingerprint of the code of its features."""
    libraries: Mapping[str, str] = field(default_factory=dict)
    """The versions of the libraries that built it, by name."""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.name, self.version))) or "no name"

    def described(self, sha256: str) -> dict[str, str]:
        """Return what is known, by what it is, for people; `sha256` is that of the index."""
        known = {
            "bundle": str(self),
            "built": ", ".join(filter(None, (self.built, self.builder and f"by {self.builder}"))),
            "SHA-256 of the index": sha256,
            "SHA-256 of the data": self.data,
            "fingerprint of the features' code": self.code,
            "libraries": ", ".join(f"{name} {version}" for name, version in self.libraries.items()),
        }
        return {what: text or "not stated" for what, text in known.items()}


TEXTS = ("name", "version", "built", "builder", "data", "code")


def encoded(identity: Identity) -> dict[str, object]:
    """Return the field ``identity`` of an index."""
    return asdict(identity)


def decoded(document: Mapping[str, Any]) -> Identity:
    """Return the identity in the document of an index.

    Raises `BundleFormatError` if a part is missing, of another type, too long, not printable, or of another form.
    """
    parts = schema.field(document, "identity", dict)
    libraries = schema.field(parts, "libraries", dict)
    schema.in_range("The number of libraries", len(libraries), 0, MAX_LIBRARIES)
    return Identity(
        **{name: _text(name, schema.field(parts, name, str)) for name in TEXTS},
        libraries={
            schema.printable_text("A library", name): schema.printable_text("A version", version)
            for name, version in libraries.items()
        },
    )


def is_word(text: object) -> bool:
    """Return whether a value may be the name or the version of a bundle, or its builder."""
    return isinstance(text, str) and len(text) <= MAX_CHARS and text.isprintable()


def _text(name: str, text: str) -> str:
    pattern = PATTERNS.get(name)
    if text and not (re.fullmatch(pattern, text) if pattern else is_word(text)):
        form = f"match {pattern}" if pattern else f"have at most {MAX_CHARS} printable characters"
        raise schema.bad(f"Field {name!r} of the identity must be empty or {form}", ascii(text))
    return text
