"""Trust: a bundle counts only as a trusted key signed it, as long as key and signature count."""

import json
import random
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from polydom_runtime.exceptions import SignatureError
from polydom_runtime.trust.envelope import Envelope, decode_envelope, encode_envelope
from polydom_runtime.trust.keys import key_id
from polydom_runtime.trust.statement import FileDigest, encode_statement
from tests.draws import draws
from tests.runtime.trust.signer import (
    A_DAY_LATER,
    FILES,
    OWNER,
    SIGNED_AT,
    STATEMENT,
    STRANGER,
    SUCCESSOR,
    public,
    signature,
    signature_over,
    trust_in,
)


def test_a_signature_says_who_signed_what_and_when(tmp_path: Path) -> None:
    signed = trust_in(tmp_path, public(OWNER, "name: lab")).verify(signature(), FILES)

    assert str(signed) == "vibration-7, signed by lab at 2026-06-01 12:00 UTC"


def test_the_signature_itself_is_not_among_the_signed_files(tmp_path: Path) -> None:
    content = signature()
    signed = trust_in(tmp_path, public(OWNER)).verify(content, FILES | {"signature.json": FileDigest.of(content)})

    assert signed.name == "vibration-7"


def test_a_statement_has_the_form_of_model_signing() -> None:
    document = json.loads(encode_statement(STATEMENT))

    assert document["_type"] == "https://in-toto.io/Statement/v1"
    assert document["predicateType"] == "https://model_signing/signature/v1.0"
    assert document["subject"][0]["name"] == "vibration-7"
    assert [[resource["algorithm"], resource["name"]] for resource in document["predicate"]["resources"]] == [
        ["sha256", "index.msgpack"],
        ["sha256", "models/0000.onnx"],
    ]


def test_every_altered_byte_is_refused(tmp_path: Path) -> None:
    trust, content, rng = trust_in(tmp_path, public(OWNER)), signature(), random.Random(0)
    accepted = []
    for _ in range(draws(1000, 5000)):
        altered = bytearray(content)
        altered[rng.randrange(len(content))] ^= rng.randrange(1, 256)
        with pytest.raises(SignatureError):
            accepted.append(trust.verify(bytes(altered), FILES))

    assert accepted == []


def test_every_altered_payload_is_refused(tmp_path: Path) -> None:
    """In an envelope that is sound otherwise, with the signature of the payload before the alteration."""
    trust, rng = trust_in(tmp_path, public(OWNER)), random.Random(1)
    payload, signatures = decode_envelope(signature()).payload, decode_envelope(signature()).signatures
    accepted = []
    for _ in range(draws(1000, 5000)):
        altered = bytearray(payload)
        altered[rng.randrange(len(payload))] ^= rng.randrange(1, 256)
        with pytest.raises(SignatureError, match="it was altered"):
            accepted.append(trust.verify(encode_envelope(Envelope(bytes(altered), signatures)), FILES))

    assert accepted == []


OTHER_FILES: Mapping[str, tuple[Mapping[str, FileDigest], str]] = {
    "one more": (FILES | {"proof.npz": FileDigest.of(b"")}, "not signed: 'proof.npz'"),
    "one less": ({"index.msgpack": FILES["index.msgpack"]}, "signed, but missing: 'models/0000.onnx'"),
    "none": ({}, "signed, but missing: 'index.msgpack', 'models/0000.onnx'"),
    "renamed": (
        {"index.msgpack": FILES["index.msgpack"], "models/0001.onnx": FILES["models/0000.onnx"]},
        "not signed: 'models/0001.onnx'; signed, but missing: 'models/0000.onnx'",
    ),
    "altered": (FILES | {"index.msgpack": FileDigest.of(b"Index")}, "index.msgpack must be the file that was signed"),
    "swapped": (dict(zip(FILES, reversed(FILES.values()), strict=True)), "must be the file that was signed"),
}


@pytest.mark.parametrize(("files", "message"), OTHER_FILES.values(), ids=OTHER_FILES)
def test_other_files_are_refused(files: Mapping[str, FileDigest], message: str, tmp_path: Path) -> None:
    with pytest.raises(SignatureError, match=message):
        trust_in(tmp_path, public(OWNER)).verify(signature(), files)


def statement_with(**changes: Any) -> bytes:
    return json.dumps({**json.loads(encode_statement(STATEMENT)), **changes}, separators=(",", ":")).encode()


def with_subject(**changes: Any) -> bytes:
    subject = json.loads(encode_statement(STATEMENT))["subject"][0]
    return statement_with(subject=[{**subject, **changes}])


def with_resource(**changes: Any) -> bytes:
    predicate = json.loads(encode_statement(STATEMENT))["predicate"]
    first, *rest = predicate["resources"]
    return statement_with(predicate={**predicate, "resources": [{**first, **changes}, *rest]})


ODD_STATEMENTS = {
    "no JSON": b"{",
    "deep": b"[" * 100_000,
    "a list": b"[]",
    "another type": statement_with(_type="https://in-toto.io/Statement/v0.1"),
    "another predicate": statement_with(predicateType="https://model_signing/Digests/v0.1"),
    "no subject": statement_with(subject=[]),
    "two subjects": statement_with(subject=json.loads(encode_statement(STATEMENT))["subject"] * 2),
    "a field that is unknown": statement_with(more=1),
    "links allowed": statement_with(
        predicate={"serialization": {"method": "files", "hash_type": "sha256", "allow_symlinks": True}, "resources": []}
    ),
    "the digest of another list": with_subject(digest={"sha256": "00" * 32}),
    "no time": with_subject(annotations={}),
    "a time without a zone": with_subject(annotations={"signed_at": "2026-06-01T12:00:00"}),
    "an end that is no date": with_subject(annotations={"signed_at": "2026-06-01T12:00:00Z", "expires": "never"}),
    "an end that is empty": with_subject(annotations={"signed_at": "2026-06-01T12:00:00Z", "expires": None}),
    "an empty name": with_subject(name=""),
    "a name that controls a terminal": with_subject(name="\x1b[2J"),
    "a name that is a number": with_subject(name=7),
    "a file name that is a number": with_resource(name=7),
    "a file name that is a list": with_resource(name=[]),
    "another algorithm": with_resource(algorithm="blake2b"),
    "a digest in capitals": with_resource(digest=FILES["index.msgpack"].sha256.hex().upper()),
    "a size that is a truth value": with_resource(size=True),
    "a negative size": with_resource(size=-1),
    "a huge size": with_resource(size=1 << 41),
    "files that are not sorted": with_resource(name="z"),
    "a file twice": with_resource(name="models/0000.onnx"),
}


@pytest.mark.parametrize("payload", ODD_STATEMENTS.values(), ids=ODD_STATEMENTS)
def test_even_a_signed_statement_is_read_strictly(payload: bytes, tmp_path: Path) -> None:
    with pytest.raises(SignatureError, match=r"must be a statement as|name of a bundle must have"):
        trust_in(tmp_path, public(OWNER)).verify(signature_over(payload), FILES)


def test_the_signature_of_another_key_is_refused(tmp_path: Path) -> None:
    trust = trust_in(tmp_path, public(OWNER, "name: lab"))

    with pytest.raises(
        SignatureError, match=r"signed by a trusted key: lab \(.*of other keys only.*Sign it with a trusted key"
    ):
        trust.verify(signature(STATEMENT, STRANGER), FILES)


def test_a_signature_under_the_name_of_a_trusted_key_is_refused(tmp_path: Path) -> None:
    forged = signature(STATEMENT, STRANGER).replace(
        key_id(STRANGER.public_key()).encode(), key_id(OWNER.public_key()).encode()
    )

    with pytest.raises(SignatureError, match="it was altered"):
        trust_in(tmp_path, public(OWNER)).verify(forged, FILES)


def test_while_keys_change_either_signature_is_enough(tmp_path: Path) -> None:
    both = signature(STATEMENT, OWNER, SUCCESSOR)

    names = [
        trust_in(tmp_path, *keys).verify(both, FILES).key
        for keys in (
            [public(OWNER, "name: old")],
            [public(SUCCESSOR, "name: new")],
            [public(OWNER, "name: old", "expires: 2026-05-31"), public(SUCCESSOR, "name: new")],
            [public(OWNER, "name: old", "bundles: camera"), public(SUCCESSOR, "name: new")],
        )
    ]
    assert names == ["old", "new", "new", "new"]


def test_a_key_signs_only_bundles_of_its_pattern(tmp_path: Path) -> None:
    trust = trust_in(tmp_path, public(OWNER, "name: lab", "bundles: vibration-*"))
    trust.verify(signature(), FILES)

    with pytest.raises(SignatureError, match=r"lab must sign only bundles named vibration-.*Got a signature of camera"):
        trust.verify(signature(replace(STATEMENT, name="camera")), FILES)


@pytest.mark.parametrize("of_key", [False, True], ids=["signature", "key"])
def test_the_last_day_ends_at_midnight_utc(of_key: bool, tmp_path: Path) -> None:
    last = date(2026, 6, 3)
    key = public(OWNER, *(["expires: 2026-06-03"] if of_key else []))
    content = signature(STATEMENT if of_key else replace(STATEMENT, expires=last))
    midnight = SIGNED_AT.timestamp() + 2.5 * 86400
    trust_in(tmp_path, key, now=midnight - 1).verify(content, FILES)

    with pytest.raises(SignatureError, match=r"must not be over. It was 2026-06-03; today is 2026-06-04 in UTC"):
        trust_in(tmp_path, key, now=midnight).verify(content, FILES)


@pytest.mark.parametrize("of_key", [False, True], ids=["signature", "key"])
def test_an_end_is_not_checked_by_a_clock_that_is_wrong(of_key: bool, tmp_path: Path) -> None:
    """Such as that of a board without a battery: else a bundle that has expired would count again."""
    key = public(OWNER, *(["expires: 2027-06-03"] if of_key else []))
    content = signature(STATEMENT if of_key else replace(STATEMENT, expires=date(2027, 6, 3)))

    with pytest.raises(SignatureError, match=r"The clock must be right.*It says 1970-01-01 00:01"):
        trust_in(tmp_path, key, now=60.0).verify(content, FILES)


def test_clocks_may_differ_a_little(tmp_path: Path) -> None:
    content = signature(replace(STATEMENT, expires=date(2026, 6, 3)))
    trust = trust_in(tmp_path, public(OWNER), now=SIGNED_AT.timestamp() - 3600)

    assert trust.verify(content, FILES).expires == date(2026, 6, 3)


def test_without_an_end_no_clock_is_needed(tmp_path: Path) -> None:
    assert trust_in(tmp_path, public(OWNER), now=60.0).verify(signature(), FILES).expires is None


def test_a_signature_says_until_when_it_counts(tmp_path: Path) -> None:
    content = signature(replace(STATEMENT, expires=date(2026, 6, 3)))
    signed = trust_in(tmp_path, public(OWNER, "name: lab"), now=A_DAY_LATER).verify(content, FILES)

    assert str(signed).endswith("UTC, until 2026-06-03")
