"""The bundle reader: what it gives back, and that nothing damaged gets through."""

import contextlib
import math
import os
import random
import re
import shutil
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import msgpack
import pytest

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import UNKNOWN_CALM, Choice, CostOrigin
from polydom_runtime.bundles.decoding import decode
from polydom_runtime.bundles.encoding import VERSION, encode
from polydom_runtime.bundles.index import PolyDomIndex
from polydom_runtime.bundles.index_file import DIGEST_FILE, INDEX_FILE, digest_line, load_bundle
from polydom_runtime.bundles.model_entry import MODEL_FOLDER, ModelEntry
from polydom_runtime.bundles.opened_folder import OpenedFolder, opened_folder
from polydom_runtime.bundles.outlook import Outlook
from polydom_runtime.bundles.regimes import REGIMES, Regime, RegimeTimes
from polydom_runtime.bundles.schema import pack_floats
from polydom_runtime.costs import CostFunction
from polydom_runtime.exceptions import BundleFormatError
from tests.bundle_parts import changed
from tests.draws import draws
from tests.runtime.conftest import US, make_bundle, write


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


def made_for_regimes() -> Bundle:
    """Return the bundle for planning with choices by deadline, an outlook, and the times of both other regimes."""
    bundle = made_for_planning()
    hot = bundle.times
    outlook = (
        Outlook(100 * US, 0.5, 1.0, (), 0.0),
        Outlook(200 * US, 0.8, 0.25, ("spread", "mean"), 0.002),
    )
    choices = (Choice(100 * US, hot.worst, hot.guarded, 1.5), Choice(200 * US, hot.planned, hot.worst.scaled(0.6)))
    hot = replace(hot, choices=choices, calm=1.25, outlook=outlook)
    more = CostFunction.of(30 * US)
    cold = replace(
        hot.plus_dispatch(more),
        typical=replace(hot.typical, quantile=0.0).plus_dispatch(more),
        choices=(Choice(150 * US, hot.planned.plus_dispatch(more), hot.guarded.plus_dispatch(more)),),
        calm=1.0,
        outlook=outlook[:1],
    )
    regimes: dict[Regime, RegimeTimes] = {
        "rehearsed": RegimeTimes(replace(hot, choices=(), reference_seconds=6 * US), (6 * US,) * 3, 0.02),
        "cold": RegimeTimes(cold, (40 * US, 41 * US, 42 * US), 0.05),
    }
    return replace(bundle, times=hot, regimes=regimes)


KINDS = {"plain": make_bundle()[0], "for planning": made_for_planning(), "for regimes": made_for_regimes()}


@pytest.mark.parametrize("bundle", KINDS.values(), ids=KINDS)
def test_round_trip(bundle: Bundle) -> None:
    assert decode(encode(bundle)) == bundle


def test_equal_times_are_stored_once() -> None:
    """Choices and regimes name fourteen times; five differ from those of the regime hot and from each other."""
    assert len(msgpack.unpackb(encode(made_for_regimes()))["more_times"]) == 5


def test_times_of_one_deadline_and_regime_survive_the_file() -> None:
    bundle = made_for_regimes()
    loaded = decode(encode(bundle))

    for regime in REGIMES:
        for deadline in (50 * US, 120 * US, 150 * US, 900 * US):
            assert loaded.at(deadline, regime) == bundle.at(deadline, regime)
    assert loaded.at(120 * US, "cold") != loaded.at(120 * US) != loaded.at(150 * US)


def test_a_set_with_a_cost_of_its_own_is_dearer_in_a_regime_by_what_its_units_are() -> None:
    bundle = made_for_regimes()
    costs = [CostFunction.of(30 * US, linear=US), CostFunction.of(20 * US), CostFunction.of(90 * US)]
    bundle = replace(bundle, models=tuple(replace(m, cost=c) for m, c in zip(bundle.models, costs, strict=True)))

    cold = bundle.at(150 * US, "cold").models

    more = [m.cost(10.0) - c(10.0) for m, c in zip(cold, costs, strict=True) if m.cost is not None]
    assert more == pytest.approx([(30 + 35) * US, (30 + 36) * US, (30 + 37) * US])


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
    5: {"choices", "calm", "outlook", "regimes", "more_times"},
}
"""Which fields each version added."""


def by_order(bundle: Bundle) -> Bundle:
    """Return a bundle as one before version 8: the columns of models are in the order of computation."""
    return replace(bundle, models=tuple(replace(model, rising=False) for model in bundle.models))


@pytest.mark.parametrize("version", [1, 2, 3])
def test_older_version_loads_without_what_it_did_not_know(version: int) -> None:
    bundle = changed(made_for_planning(), origin=CostOrigin("a board", notes=("warm",)))
    document = msgpack.unpackb(encode(bundle))
    unknown = set().union(*(names for since, names in SINCE.items() if since > version))
    old = {name: value for name, value in document.items() if name not in unknown} | {"version": version}

    loaded = decode(bytes(msgpack.packb(old)))

    plain = make_bundle()[0]
    known = {} if version < 2 else {"origin": bundle.times.origin}
    assert loaded == by_order(changed(plain, **known, calm=UNKNOWN_CALM))


def test_fields_of_a_newer_version_are_not_read_from_an_older_one() -> None:
    document = msgpack.unpackb(encode(made_for_planning())) | {"version": 3}

    assert decode(bytes(msgpack.packb(document))) == by_order(changed(make_bundle()[0], calm=UNKNOWN_CALM))


def test_version_4_has_one_choice_for_all_deadlines_and_only_hot_times() -> None:
    document = msgpack.unpackb(encode(made_for_regimes())) | {"version": 4}

    assert decode(bytes(msgpack.packb(document))) == by_order(changed(made_for_planning(), calm=UNKNOWN_CALM))


def test_version_6_has_one_calm_estimate_for_all_deadlines_of_a_regime() -> None:
    bundle = made_for_regimes()
    document = msgpack.unpackb(encode(bundle)) | {"version": 6}
    for there in (document, *document["regimes"]):
        there["choices"] = [row[:3] for row in there["choices"]]

    loaded = decode(bytes(msgpack.packb(document)))

    assert [choice.calm for choice in loaded.times.choices] == [1.25, 1.25]
    alike = tuple(choice._replace(calm=1.25) for choice in bundle.times.choices)
    assert replace(loaded, times=replace(loaded.times, choices=alike)) == by_order(changed(bundle, choices=alike))


def test_written_bundle_loads(bundle_folder: Path) -> None:
    assert load_bundle(bundle_folder) == changed(make_bundle()[0], path=bundle_folder)


def files(folder: Path) -> Iterator[Path]:
    yield from sorted(p for p in folder.rglob("*") if p.is_file())


@pytest.mark.parametrize("kind", ["link", "endless", "pipe", "folder"])
def test_every_file_must_be_one(kind: str, bundle_folder: Path, tmp_path: Path) -> None:
    """A pipe would be waited for, a device has no end, and a link may point at anything."""
    for file in files(bundle_folder):
        aside = tmp_path / "aside"
        file.rename(aside)
        if kind in ("link", "endless"):
            file.symlink_to(aside if kind == "link" else "/dev/zero")
        elif kind == "pipe":
            os.mkfifo(file)
        else:
            file.mkdir()
        with pytest.raises(BundleFormatError):
            load_bundle(bundle_folder)
        file.rmdir() if kind == "folder" else file.unlink()
        aside.rename(file)
    load_bundle(bundle_folder)


@pytest.mark.parametrize(
    "document",
    [
        {"format": [None] * 300_000},
        {"format": {str(k): None for k in range(2000)}},
        {"format": b"x" * (5 << 20)},
        {"format": "x" * 70_000},
        {"format": [[[]] * 60_000] * 2},
        {"format": [[{}] * 60_000] * 2},
    ],
    ids=["list", "map", "bytes", "text", "empty lists", "empty maps"],
)
def test_index_that_would_take_much_memory_is_refused(document: Any) -> None:
    with pytest.raises(BundleFormatError, match=r"well-formed|at most"):
        decode(msgpack.packb(document))


def test_exchange_during_a_load_gives_the_old_or_the_new_bundle(
    bundle_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old folder is deleted at once, as `write_bundle` does it."""
    old, models = make_bundle()
    new = changed(old, classes=("other", "labels"))
    open_ = os.open
    steps: Iterator[str] = iter(())

    def open_after_the_exchange(*arguments: Any, **options: Any) -> int:
        if next(steps, None) == "exchange":
            bundle_folder.rename(tmp_path / "old")
            write(bundle_folder, new, models)
            shutil.rmtree(tmp_path / "old")
        return open_(*arguments, **options)

    monkeypatch.setattr(os, "open", open_after_the_exchange)
    found = []
    for step in range(5 + len(models)):
        shutil.rmtree(bundle_folder)
        write(bundle_folder, old, models)
        steps = iter([*[""] * step, "exchange"])
        found.append(load_bundle(bundle_folder).space.classes)

    assert set(found) == {old.space.classes, new.space.classes}


def test_folder_that_is_replaced_again_and_again_is_refused(
    bundle_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OpenedFolder, "was_replaced", lambda _: True)
    load_bundle(bundle_folder)
    (bundle_folder / MODEL_FOLDER / "0000.onnx").unlink()

    with pytest.raises(BundleFormatError, match="readable file"):
        load_bundle(bundle_folder)


@pytest.mark.parametrize("exposed", [".", "index.msgpack", "models", "models/0001.onnx"])
def test_what_any_user_may_write_to_is_named(exposed: str, bundle_folder: Path) -> None:
    (bundle_folder / exposed).chmod(0o777)

    with pytest.warns(match=rf"only its owner.* {re.escape(exposed)}\. "):
        load_bundle(bundle_folder)


def test_models_may_not_be_in_a_linked_folder(bundle_folder: Path, tmp_path: Path) -> None:
    (bundle_folder / MODEL_FOLDER).rename(tmp_path / "elsewhere")
    (bundle_folder / MODEL_FOLDER).symlink_to(tmp_path / "elsewhere")

    with pytest.raises(BundleFormatError, match="readable file"):
        load_bundle(bundle_folder)


def test_load_leaves_no_descriptor_open(bundle_folder: Path) -> None:
    before = os.listdir("/proc/self/fd")
    load_bundle(bundle_folder)
    (model := bundle_folder / MODEL_FOLDER / "0001.onnx").unlink()
    with pytest.raises(BundleFormatError):
        load_bundle(bundle_folder)
    model.mkdir()
    with pytest.raises(BundleFormatError):
        load_bundle(bundle_folder)

    assert os.listdir("/proc/self/fd") == before


@pytest.mark.parametrize("depth", [1000, 1_000_000])
def test_a_value_in_many_lists_is_refused(depth: int) -> None:
    """Msgpack lets a thousand lists through; to print them all would exceed the stack."""
    start = b"\x83\xa6format\xaepolydom-bundle\xa7version\x09\xa5names\x91"

    with pytest.raises(BundleFormatError, match=r"well-formed|feature name must be"):
        decode(start + b"\x91" * depth + b"\xc0")


def test_a_message_shows_no_character_that_controls_a_terminal() -> None:
    with pytest.raises(BundleFormatError, match=r"Got sp\?\[2Jread\."):
        decode(altered(format="sp\x1b[2Jread"))


def test_a_file_that_is_larger_than_the_index_says_is_not_read(bundle_folder: Path) -> None:
    """A sparse file of 64 GB takes no room on the disk, but all memory."""
    os.truncate(bundle_folder / INDEX_FILE, 64 << 30)

    with pytest.raises(BundleFormatError, match=r"at most \d+ bytes. Got 68719476736"):
        load_bundle(bundle_folder)


def test_no_memory_is_taken_for_bytes_that_a_model_file_lacks(bundle_folder: Path) -> None:
    tracemalloc.start()
    with opened_folder(bundle_folder) as folder:
        folder.read(INDEX_FILE, 1 << 30)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 1 << 20


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
        for length in range(len(content) - 1, -1, -draws(5, 1)):
            os.truncate(file, length)
            with pytest.raises(BundleFormatError):
                load_bundle(bundle_folder)
        file.write_bytes(content)


def test_every_flipped_byte_is_noticed(bundle_folder: Path) -> None:
    for path in files(bundle_folder):
        with path.open("r+b", buffering=0) as file:
            for position, byte in list(enumerate(path.read_bytes()))[:: draws(5, 1)]:
                os.pwrite(file.fileno(), bytes([byte ^ 0x40]), position)
                with pytest.raises(BundleFormatError):
                    load_bundle(bundle_folder)
                os.pwrite(file.fileno(), bytes([byte]), position)


def test_damage_behind_a_right_digest_raises_nothing_else() -> None:
    """Whoever writes a wrong index may write its digest too: the schema itself must hold."""
    content = encode(made_for_regimes())
    rng = random.Random(0)
    for position in range(0, len(content), draws(3, 1)):
        for change in rng.sample([0x01, 0x80, rng.randrange(1, 256)], draws(1, 3)):
            altered = bytearray(content)
            altered[position] ^= change
            with contextlib.suppress(BundleFormatError, AssertionError):
                bundle = decode(bytes(altered))
                for regime in REGIMES:
                    bundle.at(120 * US, regime)
                cast(PolyDomIndex, bundle.index)._check()


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
        ({"names": ["mean", "sp\x1b[2Jread", "ends"]}, "printable characters"),
        ({"widths": [1, 2, 0]}, "width"),
        ({"classes": ["yes", "yes"]}, "different"),
        ({"classes": ["yes", None]}, "integers, strings or booleans"),
        ({"classes": [["yes"], ["no"]]}, "integers, strings or booleans"),
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
        ({"scoring": None}, "type str"),
        ({"scoring": "x" * 201}, "1 to 200 characters"),
        ({"assumption": [5, 1]}, "list of 3"),
        ({"assumption": [-1, 0, 0.0]}, "number of pairs"),
        ({"assumption": [5, 6, 0.1]}, "from 0 to 5"),
        ({"assumption": [5, 1, nan]}, "worst"),
        ({"item_kind": [1]}, "list of 2"),
        ({"item_kind": [-1, False]}, "number of dimensions"),
        ({"item_kind": [1, 0]}, "type bool"),
        ({"choices": [[1e-4, 0, 0]]}, "list of 4"),
        ({"choices": [[1e-4, 0, 4, 1.0]]}, "number of times"),
        ({"choices": [[1e-4, 0, 0, 0.9]]}, "calm"),
        ({"choices": [[1e-4, 0, 0, nan]]}, "calm"),
        ({"choices": [[1e-4, -1, 0, 1.0]]}, "number of times"),
        ({"choices": [[1e-4, 0.0, 0, 1.0]]}, "number of times"),
        ({"choices": [[0.0, 0, 0, 1.0]]}, "choices"),
        ({"choices": [[5e-324, 0, 0, 1.0]]}, "choices"),
        ({"choices": [[nan, 0, 0, 1.0]]}, "choices"),
        ({"choices": [[inf, 0, 0, 1.0]]}, "choices"),
        ({"choices": [[1e-4, 0, 0, 1.0], [1e-4, 0, 0, 1.0]]}, "choices"),
        ({"choices": [[2e-4, 0, 0, 1.0], [1e-4, 0, 0, 1.0]]}, "choices"),
        ({"choices": [[1e-4 * (k + 1), 0, 0, 1.0] for k in range(101)]}, "number of deadlines"),
        ({"calm": 0.99}, "calm"),
        ({"calm": nan}, "calm"),
        ({"calm": inf}, "calm"),
        ({"calm": 1}, "type float"),
        ({"outlook": [[1e-4, 0.5, 0.0, 0.0]]}, "list of 5"),
        ({"outlook": [[1e-4, nan, 0.0, 0.0, []]]}, "score"),
        ({"outlook": [[1e-4, 0.5, 1.5, 0.0, []]]}, "prior_share"),
        ({"outlook": [[1e-4, 0.5, 0.0, -0.5, []]]}, "late"),
        ({"outlook": [[1e-4, 0.5, 0.0, 0.0, [3]]]}, "feature number"),
        ({"outlook": [[1e-4, 0.5, 0.0, 0.0, [1, 1]]]}, "different"),
        ({"outlook": [[1e-4, 0.5, 0.0, 0.0, "all"]]}, "must be a list"),
        ({"more_times": [[pack_floats([[1.0] * 6] * 5), 1.0]]}, "list of 3"),
        ({"more_times": [[pack_floats([[1.0] * 6] * 4), 1.0, 0.5]]}, "float64 numbers"),
        ({"more_times": [[pack_floats([[-1.0] * 6] * 5), 1.0, 0.5]]}, "finite, non-negative weights"),
        ({"more_times": [[pack_floats([[1.0] * 6] * 5), inf, 0.5]]}, "more_times"),
        ({"more_times": [[pack_floats([[1.0] * 6] * 5), 1.0, 1.5]]}, "quantile"),
        ({"more_times": [[b"", 1.0, 0.5]] * 1001}, "number of more_times"),
        ({"regimes": {}}, "type list"),
        ({"regimes": [[]]}, "must be a map"),
        ({"sizes": pack_floats([1.0, 1e91])}, "finite"),
        ({"sizes": pack_floats([0.0, 0.0])}, "largest positive"),
        ({"sizes": pack_floats([0.0, 5e-324]), "intervals": [], "interval_ends": b""}, "not tiny"),
        ({"budgets": pack_floats([0.0, 0.0])}, "longest budget"),
        ({"budgets": pack_floats([1.0, 1e6])}, "longest budget"),
        ({"costs": pack_floats([[1e19] * 6] * 3)}, r"at most 1e\+18"),
        ({"more_times": [[pack_floats([[1e300] * 6] * 5), 1.0, 0.5]]}, r"at most 1e\+18"),
        ({"steps": [["mean", 3]]}, "names of their own"),
        ({"steps": [["a", 3], ["b", 6]], "step_costs": pack_floats([[0.0] * 6] * 2)}, "one at most"),
        ({"classes": [1, True]}, "all of one type"),
        ({"classes": ["yes", 0]}, "all of one type"),
        ({"classes": ["yes", "\x1b[2J"]}, "no control characters"),
        ({"classes": ["yes", "x" * 1001]}, "at most 1000 characters"),
        ({"sequences": [[0], [0]]}, "sequences must be different"),
    ],
)
def test_impossible_content_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BundleFormatError, match=message):
        decode(altered(**changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"regime": "hot"}, "must be one of"),
        ({"regime": "frozen"}, "must be one of"),
        ({"regime": ["cold"]}, "must be one of"),
        ({"regime": "rehearsed"}, "each regime once"),
        ({"times": [0, 0, 0]}, "list of 4"),
        ({"times": [0, 0, 0, 99]}, "number of times"),
        ({"times": [0, 0, 0, True]}, "number of times"),
        ({"reference_seconds": nan}, "reference_seconds"),
        ({"models": pack_floats([1e-6] * 2)}, "float64 numbers"),
        ({"models": pack_floats([1e-6, 1e-6, -1e-6])}, "finite times"),
        ({"models": pack_floats([1e-6, 1e-6, inf])}, "finite times"),
        ({"models": pack_floats([1e-6, 1e-6, nan])}, "NaN"),
        ({"asleep": -1.0}, "asleep"),
        ({"asleep": inf}, "asleep"),
        ({"calm": 0.5}, "calm"),
        ({"choices": [[1e-4, 0, 99, 1.0]]}, "number of times"),
        ({"outlook": [[1e-4, 0.5, 0.0, nan, []]]}, "late"),
        *(({name: None}, name) for name in ("times", "models", "asleep", "calm", "choices", "outlook")),
    ],
)
def test_impossible_regime_is_refused(changes: dict[str, Any], message: str) -> None:
    document = msgpack.unpackb(encode(made_for_regimes()))
    document["regimes"][1] |= changes

    with pytest.raises(BundleFormatError, match=message):
        decode(bytes(msgpack.packb(document)))


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


@pytest.mark.onnxruntime
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


def test_columns_of_a_model_are_in_the_order_of_the_space_since_version_8() -> None:
    entry = ModelEntry((2, 0, 1), 0.9, 1e-6, 10, b"0" * 32)

    assert entry.features == (0, 1, 2)
    assert replace(entry, rising=False).features == (2, 0, 1)
