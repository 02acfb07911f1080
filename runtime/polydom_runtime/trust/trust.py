"""Trust: the keys whose signatures count, and the check of a signature by them."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from polydom_runtime.causes import shown
from polydom_runtime.exceptions import SignatureError

from . import SIGNATURE_FILE, VARIABLE
from .envelope import SIGN_AGAIN, Envelope, decode_envelope, to_sign
from .keys import TrustedKey, load_keys
from .statement import FileDigest, Statement, decode_statement

CLOCK_TOLERANCE = timedelta(hours=1)
"""The most time that the clock of the node may be behind that of the signer."""


@dataclass(frozen=True, slots=True)
class Signed:
    """A signature that has been checked."""

    name: str
    """The name that the signer gave to the bundle."""
    key: str
    signed_at: datetime
    """UTC, by the clock of the signer."""
    expires: date | None
    """The last day on which the bundle may be loaded, in UTC."""
    release: int | None = None
    """A number that rises with each release under this name; None if the signer gave none."""

    def __str__(self) -> str:
        until = f", until {self.expires}" if self.expires else ""
        number = f" {self.release}" if self.release is not None else ""
        return f"{self.name}{number}, signed by {self.key} at {self.signed_at:%Y-%m-%d %H:%M} UTC{until}"


@dataclass(frozen=True)
class Trust:
    """The keys whose signatures count.

    Examples
    --------
    ``load_bundle(folder, trust=Trust.from_files(["owner.pub"]))`` reads only a bundle that the owner signed.
    """

    keys: tuple[TrustedKey, ...]
    clock: Callable[[], float] = time.time
    """Returns the seconds since 1970. It is read only if a key or a bundle expires."""

    @classmethod
    def from_files(
        cls, files: Sequence[str | os.PathLike[str]] | str | os.PathLike[str], clock: Callable[[], float] = time.time
    ) -> "Trust":
        """Return the trust in all keys of one or more files; raises `SignatureError` if one cannot be used."""
        return cls(load_keys([files] if isinstance(files, str | os.PathLike) else files), clock)

    def verify(self, signature: bytes, digests: Mapping[str, FileDigest]) -> Signed:
        """Check that a trusted key signed a bundle with exactly these files.

        `signature` is the content of ``signature.json``; `digests` has every other file of the folder, by its name.
        `SignatureError` if no trusted key signed it, the signature or every such key has expired or may not sign
        bundles of this name, or the files are other ones.
        """
        signed, stated = self.opened(signature)
        check_files(stated, digests)
        return signed

    def opened(self, signature: bytes) -> tuple[Signed, Statement]:
        """Check a signature as `verify` does, and return its statement, with which the files must then be compared."""
        envelope = decode_envelope(signature)
        signers = self._signers(envelope)
        stated = decode_statement(envelope.payload)
        self._check_day(f"the signature of {stated.name}", stated.expires, stated.signed_at)
        refusals = []
        for key in signers:
            try:
                self._check_day(f"the key {key.name}", key.expires, stated.signed_at)
                if key.may_sign(stated.name):
                    signed = Signed(stated.name, key.name, stated.signed_at, stated.expires, stated.release)
                    return signed, stated
                refusals.append(
                    f"The key {key.name} must sign only bundles named {key.bundles}. Got a signature of "
                    f"{stated.name}. Sign with another key, or change the line bundles: in the keys file."
                )
            except SignatureError as e:
                refusals.append(str(e))
        raise SignatureError(" ".join(refusals))

    def _signers(self, envelope: Envelope) -> list[TrustedKey]:
        """Return the trusted keys that signed; the identifiers in an envelope only say which ones to try."""
        data, named = to_sign(envelope.payload), dict(envelope.signatures)
        tried = [key for key in self.keys if key.keyid in named]
        signers = [key for key in tried if key.signed(data, named[key.keyid])]
        if not signers:
            trusted = ", ".join(map(str, self.keys))
            if tried:
                names, advice = ", ".join(key.name for key in tried), SIGN_AGAIN
                got = f"A signature that names {names} and does not match: it was altered"
            else:
                got = f"Signatures of other keys only: {', '.join(keyid[:16] for keyid in named)}"
                advice = "Sign it with a trusted key, or add the other key to the trusted ones."
            raise SignatureError(f"The bundle must be signed by a trusted key: {trusted}. Got: {got}. {advice}")
        return signers

    def _check_day(self, what: str, expires: date | None, signed_at: datetime) -> None:
        if expires is None:  # then a node needs no clock
            return
        now = datetime.fromtimestamp(self.clock(), UTC)
        if now < signed_at - CLOCK_TOLERANCE:
            raise SignatureError(
                f"The clock must be right to see whether {what} still counts. It says {now:%Y-%m-%d %H:%M} UTC, before "
                f"the signature was made ({signed_at:%Y-%m-%d %H:%M}). Set the clock, or sign without an end."
            )
        if now.date() > expires:
            raise SignatureError(
                f"The last day of {what} must not be over. It was {expires}; today is {now.date()} in UTC. "
                "Sign the bundle again, with another key if it is the key that has expired."
            )


def check_files(stated: Statement, digests: Mapping[str, FileDigest]) -> None:
    """Compare all files of a bundle with those that were signed."""
    check_file_names(stated, digests)
    for name in stated.files:
        check_file(stated, name, digests[name])


def check_file_names(stated: Statement, names: Mapping[str, object] | Sequence[str]) -> None:
    """Compare the names of the files of a bundle with those that were signed."""
    there, signed = set(names) - {SIGNATURE_FILE}, set(stated.files)
    if there != signed:
        kinds = (("not signed", there - signed), ("signed, but missing", signed - there))
        got = "; ".join(f"{kind}: {', '.join(sorted(map(ascii, found))[:5])}" for kind, found in kinds if found)
        raise SignatureError(f"The bundle must have exactly the files that were signed. Got files {got}. {SIGN_AGAIN}")


def check_file(stated: Statement, name: str, digest: FileDigest) -> None:
    """Compare a file with the one of this name that was signed."""
    if digest != stated.files[name]:
        raise SignatureError(f"{name} must be the file that was signed. Got other content. {SIGN_AGAIN}")


def checked_trust(given: Trust | None) -> Trust:
    """Return the given trust, or else that in the keys of the environment: an empty variable is refused, too."""
    if given is None:
        return Trust.from_files([file for file in os.environ[VARIABLE].split(os.pathsep) if file])
    if not isinstance(given, Trust):
        raise SignatureError(f"trust must be a Trust. Got {shown(given)}. Write trust=Trust.from_files([...]).")
    return given
