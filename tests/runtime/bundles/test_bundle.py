"""The bundle reader: what it gives back, and that nothing damaged gets through."""

import contextlib
import math
import random
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import msgpack
import pytest

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import CostOrigin
from polydom_runtime.bundles.decoding import decode
from polydom_runtime.bundles.encoding import VERSION, encode
from polydom_runtime.bundles.index import PolyDomIndex
from polydom_runtime.bundles.index_file import DIGEST_FILE, INDEX_FILE, digest_line, load_bundle
from polydom_runtime.bundles.model_entry import MODEL_FOLDER
from polydom_runtime.bundles.schema import pack_floats
from polydom_runtime.exceptions import BundleFormatError
from tests.bundle_parts import changed
from tests.runtime.conftest import make_bundle, write


def made_for_planning() -> Bundle:
    """Return the small bundle with all that the any-time policy plans with."""
    bundle, _ = make_bundle()
    worst = bundle.times.worst
    typical, planned, guarded = (
        replace(worst.scaled(k), model_ratio=k, quantile=quantile)
        for k, quantile in ((0.25, 0.0), (0.5, 0.8), (0.75, 0.9))
    )
    return changed(
        bundle,
        planned=planned,
        guarded=guarded,
        typical=typical,
        models=tuple(replace(m, stop=s) for m, s in zip(bundle.models, (0.9, math.inf, 1.0), strict=True)),
        stop_loss=0.01,
        slowdown=2.0,
        reference_seconds=5e-6,
    )


@pytest.mark.parametrize("bundle", [make_bundle()[0], made_for_planning()], ids=["plain", "for planning"])
def test_round_trip(bundle: Bundle) -> None:
    assert decode(encode(bundle)) == bundle


SINCE = {
    2: {"origin"},
    3: {"set_costs", "sequences", "median_size"},
    4: {
        *(
            "expected",
            "alone",
            "typical",
            "planning_quantile",
            "guard_quantile",
            "reference_seconds",
            "slowdown",
            "stops",
            "stop_loss",
        ),
    },
}
"""Which fields each version added."""


@pytest.mark.parametrize("version", [1, 2, 3])
def test_older_version_loads_without_what_it_did_not_know(version: int) -> None:
    bundle = changed(made_for_planning(), origin=CostOrigin("a board", notes=("warm",)))
    document = msgpack.unpackb(encode(bundle))
    unknown = set().union(*(names for since, names in SINCE.items() if since > version))
    old = {name: value for name, value in document.items() if name not in unknown} | {"version": version}

    loaded = decode(bytes(msgpack.packb(old)))

    plain = make_bundle()[0]
    assert loaded == (plain if version < 2 else changed(plain, origin=bundle.times.origin))


def test_fields_of_a_newer_version_are_not_read_from_an_older_one() -> None:
    document = msgpack.unpackb(encode(made_for_planning())) | {"version": 3}

    assert decode(bytes(msgpack.packb(document))) == make_bundle()[0]


def test_written_bundle_loads(bundle_folder: Path) -> None:
    assert load_bundle(bundle_folder) == changed(make_bundle()[0], path=bundle_folder)


def files(folder: Path) -> Iterator[Path]:
    yield from sorted(p for p in folder.rglob("*") if p.is_file())


def test_every_missing_file_is_noticed(bundle_folder: Path) -> None:
    for file in files(bundle_folder):
        content = file.read_bytes()
        file.unlink()
        with pytest.raises(BundleFormatError, match=r"readable file|bundle folder"):
            load_bundle(bundle_folder)
        file.write_bytes(content)


def test_every_cut_is_noticed(bundle_folder: Path) -> None:
    for file in files(bundle_folder):
        content = file.read_bytes()
        for length in range(len(content)):
            file.write_bytes(content[:length])
            with pytest.raises(BundleFormatError):
                load_bundle(bundle_folder)
        file.write_bytes(content)


def test_every_flipped_byte_is_noticed(bundle_folder: Path) -> None:
    for file in files(bundle_folder):
        content = file.read_bytes()
        for position in range(len(content)):
            flipped = bytearray(content)
            flipped[position] ^= 0x40
            file.write_bytes(flipped)
            with pytest.raises(BundleFormatError):
                load_bundle(bundle_folder)
        file.write_bytes(content)


def test_damage_behind_a_right_digest_raises_nothing_else() -> None:
    """Whoever writes a wrong index may write its digest too: the schema itself must hold."""
    content = encode(made_for_planning())
    rng = random.Random(0)
    for position in range(len(content)):
        for change in (0x01, 0x80, rng.randrange(1, 256)):
            altered = bytearray(content)
            altered[position] ^= change
            with contextlib.suppress(BundleFormatError, AssertionError):
                cast(PolyDomIndex, decode(bytes(altered)).index)._check()


def test_model_swapped_for_another_is_noticed(bundle_folder: Path) -> None:
    models = sorted((bundle_folder / MODEL_FOLDER).iterdir())
    shutil.copy(models[0], models[1])

    with pytest.raises(BundleFormatError, match="the model that the index names"):
        load_bundle(bundle_folder)


def altered(**changes: Any) -> bytes:
    document = msgpack.unpackb(encode(make_bundle()[0]))
    return bytes(msgpack.packb(document | changes))


nan, inf = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "other"}, "format"),
        ({"version": VERSION + 1}, "Upgrade polydom-runtime"),
        ({"version": True}, "type int"),
        ({"costs": pack_floats([[nan] * 6] * 3)}, "NaN"),
        ({"costs": pack_floats([[inf] * 6] * 3)}, "finite, non-negative weights"),
        ({"costs": pack_floats([[-1e-6] * 6] * 3)}, "finite, non-negative weights"),
        ({"costs": pack_floats([[0.0] * 7] * 3)}, "float64 numbers"),
        ({"sizes": pack_floats([1000.0, 1.0])}, "range from low to high"),
        ({"sizes": pack_floats([1.0, inf])}, "finite"),
        ({"budgets": pack_floats([-1.0, 1.0])}, "range from low to high"),
        ({"alpha": 0.5}, "from 1.0"),
        ({"alpha": nan}, "from 1.0"),
        ({"names": ["mean", "mean", "ends"]}, "different feature names"),
        ({"names": []}, "number of features"),
        ({"widths": [1, 2, 0]}, "width"),
        ({"classes": ["yes", "yes"]}, "different"),
        ({"classes": ["yes", None]}, "integers, strings or booleans"),
        ({"prior": 2}, "from 0 to 1"),
        ({"shipped": [0, 1, 3]}, "model number"),
        ({"shipped": [0, 1, -1]}, "model number"),
        ({"intervals": [1, 2, 4]}, "candidate number"),
        ({"models": [[[0], 1, b"short"]] * 3}, "SHA-256"),
        ({"steps": [["half", 8]]}, "users"),
        ({"steps": [["half"]]}, "list of 2"),
        ({"expected": [pack_floats([[1.0] * 6] * 4), 1.0]}, "float64 numbers"),
        ({"expected": [pack_floats([[nan] * 6] * 5), 1.0]}, "NaN"),
        ({"expected": [pack_floats([[-1.0] * 6] * 5), 1.0]}, "finite, non-negative weights"),
        ({"alone": [pack_floats([[1.0] * 6] * 5)]}, "list of 2"),
        ({"alone": [pack_floats([[1.0] * 6] * 5), -1.0]}, "alone"),
        ({"alone": [pack_floats([[1.0] * 6] * 5), nan]}, "alone"),
        ({"typical": [pack_floats([[1.0] * 6] * 5), 1]}, "type float"),
        ({"typical": None}, "type list"),
        ({"planning_quantile": 1.5}, "from 0.0 to 1.0"),
        ({"reference_seconds": inf}, "reference_seconds"),
        ({"slowdown": 0.5}, "from 1.0"),
        ({"slowdown": inf}, "slowdown"),
        ({"stops": pack_floats([0.5])}, "float64 numbers"),
        ({"stops": pack_floats([0.5, -0.1, 0.5])}, "confidences"),
        ({"stop_loss": nan}, "stop_loss"),
    ],
)
def test_impossible_content_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BundleFormatError, match=message):
        decode(altered(**changes))


@pytest.mark.parametrize("missing", sorted(msgpack.unpackb(encode(make_bundle()[0]))))
def test_every_missing_field_is_named(missing: str) -> None:
    document = msgpack.unpackb(encode(make_bundle()[0]))
    del document[missing]

    with pytest.raises(BundleFormatError, match=missing):
        decode(bytes(msgpack.packb(document)))


@pytest.mark.parametrize(
    "data",
    [b"\xdd\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\x81\xa1a\xdb\xff\xff\xff\xff", b""],
)
def test_lengths_that_promise_gigabytes_are_refused(data: bytes) -> None:
    with pytest.raises(BundleFormatError, match="well-formed"):
        decode(data)


def test_model_without_its_prefixes_is_refused() -> None:
    bundle, _ = make_bundle()

    with pytest.raises(BundleFormatError, match="Every prefix"):
        decode(encode(changed(bundle, models=bundle.models[1:], shipped=(0, 1), intervals=())))


def test_model_for_another_width_is_refused(tmp_path: Path, world: Any) -> None:
    from polydom_runtime import Predictor

    bundle, models = make_bundle()
    widths = (1, 2, 4)
    space = world.space
    wide = type(space)([*space.features[:2], type(space.features[2])("ends", space.features[2].extract, width=4)], len)
    folder = write(tmp_path / "wide.bundle", changed(bundle, widths=widths), models)

    with pytest.raises(BundleFormatError, match=r"float32 \(1, 7\)"):
        Predictor.load(folder, wide)


def test_digest_is_what_sha256sum_checks(bundle_folder: Path) -> None:
    assert (bundle_folder / DIGEST_FILE).read_bytes() == digest_line((bundle_folder / INDEX_FILE).read_bytes())


@pytest.mark.parametrize("score", [math.inf, -math.inf, math.nan])
def test_prior_scores_a_finite_number(score: float) -> None:
    """An infinite one would be better than every model: the node would never use any."""
    with pytest.raises(BundleFormatError, match="prior_accuracy"):
        decode(encode(changed(make_bundle()[0], prior=(0, score))))
