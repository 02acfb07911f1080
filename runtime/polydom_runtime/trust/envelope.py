"""The envelope of a signature, ``signature.json``: a DSSE envelope in one spelling only."""

import json
import re
from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import NamedTuple

from polydom_runtime.exceptions import SignatureError

PAYLOAD_TYPE = "application/vnd.in-toto+json"

MAX_SIGNATURE_BYTES, MAX_SIGNATURES = 4 << 20, 16

_SPELLING = re.compile(
    rb'\{\n "payloadType": "[a-z/.+-]+",\n "payload": "([A-Za-z0-9+/=]*)",'
    rb'\n "signatures": \[\n([^\]]{1,10000}) \]\n\}\n'
)
_SIGNATURE = re.compile(rb'"keyid": "((?:[0-9a-f]{2})*)",\s+"sig": "([A-Za-z0-9+/=]*)"')

SIGN_AGAIN = "Copy the bundle again, or sign it again with `polydom sign`."


class Signature(NamedTuple):
    """The bytes of a signature, and the key that made it: the SHA-256 of its public key, in hexadecimal."""

    keyid: str
    sig: bytes


@dataclass(frozen=True, slots=True)
class Envelope:
    """The signed bytes, and their signatures."""

    payload: bytes
    signatures: tuple[Signature, ...]


def to_sign(payload: bytes) -> bytes:
    """Return the bytes to sign: DSSE's pre-authentication encoding, which includes the payload's type.

    >>> to_sign(b"{}")
    b'DSSEv1 28 application/vnd.in-toto+json 2 {}'
    """
    return f"DSSEv1 {len(PAYLOAD_TYPE)} {PAYLOAD_TYPE} {len(payload)} ".encode() + payload


def encode_envelope(envelope: Envelope) -> bytes:
    """Return the content of ``signature.json``."""
    signatures = [{"keyid": keyid, "sig": _text(sig)} for keyid, sig in envelope.signatures]
    document = {"payloadType": PAYLOAD_TYPE, "payload": _text(envelope.payload), "signatures": signatures}
    return json.dumps(document, indent=1).encode() + b"\n"


def decode_envelope(data: bytes) -> Envelope:
    """Read a ``signature.json``, for which nobody vouches yet: only the spelling that `encode_envelope` writes.

    So no other JSON is ever parsed, which could take much more memory than bytes.
    """
    if len(data) > MAX_SIGNATURE_BYTES:
        raise SignatureError(
            f"signature.json must have at most {MAX_SIGNATURE_BYTES} bytes. Got {len(data)}. {SIGN_AGAIN}"
        )
    if (found := _SPELLING.fullmatch(data)) is not None:
        try:
            signatures = (Signature(keyid.decode(), b64decode(sig)) for keyid, sig in _SIGNATURE.findall(found[2]))
            envelope = Envelope(b64decode(found[1]), tuple(signatures))
            if 1 <= len(envelope.signatures) <= MAX_SIGNATURES and encode_envelope(envelope) == data:
                return envelope
        except ValueError:  # base64 of a wrong length
            pass
    raise SignatureError(
        f"signature.json must be as `polydom sign` writes it, with 1 to {MAX_SIGNATURES} signatures. "
        f"Got something else. {SIGN_AGAIN}"
    )


def _text(data: bytes) -> str:
    return b64encode(data).decode()
