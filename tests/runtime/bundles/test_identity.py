"""The identity of a bundle: only short and printable texts of the right form are read."""

from dataclasses import replace
from typing import Any

import msgpack
import pytest

from polydom_runtime.bundles.index_file import decode, encode
from polydom_runtime.bundles.promise import Identity
from polydom_runtime.exceptions import BundleFormatError
from tests.bundle_parts import document_of, index_of
from tests.runtime.conftest import make_bundle

IDENTITY = Identity("bats", "1.2", "2026-01-31T12:00:00Z", "Ada", "0" * 64, "2:" + "a" * 64, {"numpy": "2.0"})


def test_an_identity_survives_the_file() -> None:
    bundle = replace(make_bundle()[0], identity=IDENTITY)

    assert decode(encode(bundle)).identity == IDENTITY


@pytest.mark.parametrize(
    "fault",
    [
        {"name": "a\x1b[2Jb"},
        {"name": "x" * 201},
        {"name": 3},
        {"version": "1\n2"},
        {"builder": "\u202eevil"},
        {"built": "yesterday"},
        {"built": "2026-01-31T12:00:00Z\n"},
        {"data": "0" * 63},
        {"code": "a" * 64},
        {"libraries": []},
        {"libraries": {"numpy": 2}},
        {"libraries": {"num\0py": "2"}},
        {"libraries": {"": "2"}},
        {"libraries": {f"l{k}": "1" for k in range(101)}},
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(fault: dict[str, Any]) -> None:
    with pytest.raises(BundleFormatError, match=rf"^identity\.{next(iter(fault))}.* Export the bundle again"):
        decode(index_of(make_bundle()[0], identity=IDENTITY._asdict() | fault))


def test_a_missing_part_is_refused() -> None:
    document = document_of(make_bundle()[0])
    del document["identity"]["data"]

    with pytest.raises(BundleFormatError, match="'data'"):
        decode(bytes(msgpack.packb(document)))


@pytest.mark.parametrize(
    ("identity", "shown"), [(Identity(), "no name"), (Identity("bats"), "bats"), (Identity("bats", "1.2"), "bats 1.2")]
)
def test_an_identity_shows_name_and_version(identity: Identity, shown: str) -> None:
    assert shown == str(identity)
