"""The envelope of a signature: what is signed, and that only one spelling of it is read."""

import json
import tracemalloc
from typing import Any

import pytest

from polydom_runtime.exceptions import SignatureError
from polydom_runtime.trust.envelope import (
    MAX_SIGNATURE_BYTES,
    Envelope,
    Signature,
    decode_envelope,
    encode_envelope,
    to_sign,
)

ENVELOPE = Envelope(b"what is signed", (Signature("ab" * 32, bytes(64)), Signature("cd" * 32, bytes(range(64)))))


def document() -> Any:
    return json.loads(encode_envelope(ENVELOPE))


def written(changed: object) -> bytes:
    """Return JSON in the spelling of `encode`."""
    return json.dumps(changed, indent=1).encode() + b"\n"


def test_an_envelope_is_read_as_it_was_written() -> None:
    assert decode_envelope(encode_envelope(ENVELOPE)) == ENVELOPE


def test_what_is_signed_has_the_lengths_of_its_parts() -> None:
    """As in the specification of DSSE, so that no other type and payload give the same bytes."""
    assert to_sign("ä".encode()) == b"DSSEv1 28 application/vnd.in-toto+json 2 \xc3\xa4"


ALTERED = {
    "no JSON": b"{",
    "no text": b"\xff\xfe",
    "a list": b"[]\n",
    "deep": b"[" * 100_000,
    "null": b"null\n",
    "a huge number": b"1" * 10_000,
    "other white space": json.dumps(document()).encode(),
    "a field twice": encode_envelope(ENVELOPE).replace(b"{\n", b'{\n "payload": "",\n', 1),
    "an unknown field": written({**document(), "more": 1}),
    "no signature": written({**document(), "signatures": []}),
    "17 signatures": encode_envelope(Envelope(b"", ENVELOPE.signatures[:1] * 17)),
    "another type": written({**document(), "payloadType": "application/json"}),
    "signatures that are no list": written({**document(), "signatures": {"keyid": "ab", "sig": ""}}),
    "a key that is a number": written({**document(), "signatures": [{"keyid": 7, "sig": ""}]}),
    "a key that controls a terminal": written({**document(), "signatures": [{"keyid": "\x1b[2J", "sig": ""}]}),
    "a key that is a list": written({**document(), "signatures": [{"keyid": [], "sig": ""}]}),
    "no base64": written({**document(), "payload": "?"}),
    "base64 with bits that mean nothing": written({**document(), "payload": "YR=="}),
    "a payload that is a number": written({**document(), "payload": 7}),
}


@pytest.mark.parametrize("data", ALTERED.values(), ids=ALTERED)
def test_any_other_spelling_is_refused(data: bytes) -> None:
    with pytest.raises(SignatureError, match="must be as `polydom sign` writes it"):
        decode_envelope(data)


def test_an_envelope_that_is_too_large_is_refused_unread() -> None:
    with pytest.raises(SignatureError, match="must have at most 4194304 bytes"):
        decode_envelope(b"[" * (MAX_SIGNATURE_BYTES + 1))


@pytest.mark.parametrize("start", [b"[", b'{"payload": [', b'{\n "payloadType": ['], ids=["list", "object", "type"])
def test_json_of_another_spelling_is_not_parsed(start: bytes) -> None:
    """It took 25 times as much memory as bytes, before any signature was checked."""
    data = (start + b"[]," * (MAX_SIGNATURE_BYTES // 3))[: MAX_SIGNATURE_BYTES - 4] + b"1]}\n"
    tracemalloc.start()
    with pytest.raises(SignatureError, match="as `polydom sign` writes it"):
        decode_envelope(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 4 * MAX_SIGNATURE_BYTES
