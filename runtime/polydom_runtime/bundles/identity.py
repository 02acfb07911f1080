"""The identity of a bundle: its name and version, when and by whom it was built, and from what."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from polydom_runtime.codec.marks import Size, Text

MAX_WORD_CHARS = 200

Word = Annotated[str, Text(MAX_WORD_CHARS, 0)]
TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"


@dataclass(frozen=True, slots=True)
class Identity:
    """What a bundle says of itself. Each text is empty if it is not known."""

    name: Word = ""
    version: Word = ""
    """As the user gave them."""
    built: Annotated[str, Text(MAX_WORD_CHARS, 0, TIME)] = ""
    """The time of the build in UTC, such as ``2026-01-31T12:00:00Z``, if it was stated."""
    builder: Word = ""
    """Who built it, as the user says."""
    data: Annotated[str, Text(MAX_WORD_CHARS, 0, r"[0-9a-f]{64}")] = ""
    """SHA-256 of the items and labels that it was trained on, in hexadecimal."""
    code: Annotated[str, Text(MAX_WORD_CHARS, 0, r"[0-9]{1,9}:[0-9a-f]{64}")] = ""
    """Fingerprint of the code of its features."""
    libraries: Annotated[Mapping[str, str], Size(0, 100)] = field(default_factory=dict)
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


def is_word(text: object) -> bool:
    """Return whether a value may be the name or the version of a bundle, or its builder."""
    return isinstance(text, str) and len(text) <= MAX_WORD_CHARS and text.isprintable()
