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

from polydom_runtime.bundles import index_file
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import REGIMES, Choice, Outlook, Regime, RegimeTimes
from polydom_runtime.bundles.index import Interval, PolyDomIndex
from polydom_runtime.bundles.index_file import DIGEST_FILE, INDEX_FILE, decode, digest_line, encode, load_bundle
from polydom_runtime.bundles.model_entry import MODEL_FOLDER, ModelEntry
from polydom_runtime.bundles.opened_folder import OpenedFolder, opened_folder
from polydom_runtime.bundles.promise import Assumption
from polydom_runtime.bundles.unit_times import StepTime, UnitTimes
from polydom_runtime.codec.codec import Document
from polydom_runtime.costs import CostFunction
from polydom_runtime.exceptions import BundleFormatError
from polydom_runtime.features import ItemKind
from tests.bundle_parts import changed, document_of, floats, index_of
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
        models=tuple(m._replace(stop=s) for m, s in zip(bundle.models, (0.9, math.inf, 1.0), strict=True)),
        stop_loss=0.01,
        slowdown=2.0,
        reference_seconds=5e-6,
    )


def made_for_regimes() -> Bundle:
    """Return the bundle for planning with choices by deadline, an outlook, and the times of both other regimes."""
    bundle = made_for_planning()
    hot = bundle.times
    outlook = (
        Outlook(100 * US, 0.5, 1.0, (), 0.0, 0.5, 0.0, 0),
        Outlook(200 * US, 0.8, 0.25, ("spread", "mean"), 0.002, 0.81, 0.001, 300),
    )
    choices = (Choice(100 * US, hot.worst, hot.guarded), Choice(200 * US, hot.planned, hot.worst.scaled(0.6)))
    hot = hot._replace(choices=choices, outlook=outlook)
    more = CostFunction.of(30 * US)
    cold = hot.plus_dispatch(more)._replace(
        typical=replace(hot.typical, quantile=0.0).plus_dispatch(more),
        choices=(Choice(150 * US, hot.planned.plus_dispatch(more), hot.guarded.plus_dispatch(more)),),
        outlook=outlook[:1],
    )
    regimes: dict[Regime, RegimeTimes] = {
        "rehearsed": RegimeTimes(hot._replace(choices=(), reference_seconds=6 * US), (6 * US,) * 3, 0.02),
        "cold": RegimeTimes(cold, (40 * US, 41 * US, 42 * US), 0.05),
    }
    return replace(bundle, times=hot, regimes=regimes)


KINDS = {"plain": make_bundle()[0], "for planning": made_for_planning(), "for regimes": made_for_regimes()}


@pytest.mark.parametrize("bundle", KINDS.values(), ids=KINDS)
def test_round_trip(bundle: Bundle) -> None:
    assert decode(encode(bundle)) == bundle


def test_equal_times_are_stored_once() -> None:
    """Choices and regimes name eighteen times, nine of which differ."""
    n_times, _ = document_of(made_for_regimes())["once"]["unit_times"]

    assert n_times == 9


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
    bundle = replace(bundle, models=tuple(m._replace(cost=c) for m, c in zip(bundle.models, costs, strict=True)))

    cold = bundle.at(150 * US, "cold").models

    more = [m.cost(10.0) - c(10.0) for m, c in zip(cold, costs, strict=True) if m.cost is not None]
    assert more == pytest.approx([(30 + 35) * US, (30 + 36) * US, (30 + 37) * US])


@pytest.mark.parametrize("version", [0, 2, 11, 1 << 40, "1", True, None])
def test_an_index_of_another_version_says_what_to_do(version: Any) -> None:
    """Development versions had numbers up to 11, which may be older or newer."""
    with pytest.raises(BundleFormatError) as caught:
        decode(index_of(make_bundle()[0], version=version))

    said = f"The index must have format version 1. Got {version}. Export the bundle again, or upgrade polydom-runtime."
    assert said == str(caught.value)


def test_an_older_version_is_upgraded(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one is that a later program reads: version 0 did not state a score."""

    def from_version_0(document: Document) -> Document:
        return {**document, "promise": {**document["promise"], "scoring": ""}}

    monkeypatch.setattr(index_file, "UPGRADES", {0: from_version_0})
    document = document_of(make_bundle()[0], version=0)
    del document["promise"]["scoring"]

    assert decode(bytes(msgpack.packb(document))) == make_bundle()[0]


def test_written_bundle_loads(bundle_folder: Path) -> None:
    assert load_bundle(bundle_folder) == changed(make_bundle()[0], folder=str(bundle_folder))


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
    start = b"\x83\xa6format\xaepolydom-bundle\xa7version\x01\xa5space\x91"

    with pytest.raises(BundleFormatError, match=r"well-formed|once must be a map"):
        decode(start + b"\x91" * depth + b"\xc0")


def test_a_message_shows_no_character_that_controls_a_terminal() -> None:
    with pytest.raises(BundleFormatError, match=r"Got sp\?\[2Jread\."):
        decode(index_of(make_bundle()[0], format="sp\x1b[2Jread"))


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


nan, inf = float("nan"), float("inf")


def times(weight: float = 1.0, **changes: Any) -> UnitTimes:
    """Return times of the units of the small bundle."""
    worst = make_bundle()[0].times.worst
    object.__setattr__(cost := replace(worst.after), "weights", (weight,) * 6)  # past its own check
    return replace(worst, **{"terms": (cost,) * 4, "after": cost, **changes})


def choices(*deadlines: float) -> tuple[Choice, ...]:
    return tuple(Choice(deadline, times(), times()) for deadline in deadlines)


def outlook(deadline: float = 1e-4, score: float = 0.5, share: float = 0.0, late: float = 0.0, *names: str) -> Any:
    return (Outlook(deadline, score, share, names, late, score, late, 300),)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sizes": (1000.0, 1.0)}, "promise must have sizes from low to high"),
        ({"sizes": (1.0, inf)}, r"promise\.sizes\[1\] must be a float from 0 to 2"),
        ({"sizes": (1.0, 1e91)}, r"promise\.sizes\[1\]"),
        ({"sizes": (0.0, 0.0)}, "not tiny"),
        ({"sizes": (0.0, 5e-324), "intervals": ()}, "not tiny"),
        ({"budgets": (-1.0, 1.0)}, r"promise\.budgets\[0\] must be a float of at least 0"),
        ({"budgets": (2.0, 1.0)}, "budgets from low to high"),
        ({"budgets": (0.0, 0.0)}, "budgets from low to high, above 0"),
        ({"budgets": (1.0, 1e6)}, r"below 1e\+06 seconds"),
        ({"alpha": 0.5}, r"promise\.alpha must be a float of at least 1\. Got 0\.5"),
        ({"alpha": nan}, r"promise\.alpha must be a float of at least 1\. Got nan"),
        ({"slowdown": 0.5}, r"promise\.slowdown must be a float from 1 to"),
        ({"slowdown": inf}, r"promise\.slowdown"),
        ({"stop_loss": nan}, r"promise\.stop_loss"),
        ({"scoring": "x" * 201}, r"promise\.scoring must be a text of 0 to 200 printable characters"),
        ({"assumption": Assumption(0.0, -1, 0, 0.0)}, r"assumption\.n_pairs must be an integer from 0"),
        ({"assumption": Assumption(0.0, 5, 6, 0.1)}, "broken by some of the pairs at most"),
        ({"assumption": Assumption(0.5, 5, 1, 0.1)}, "the assumption for its tolerance"),
        ({"assumption": Assumption(0.0, 5, 1, nan)}, r"assumption\.worst"),
        ({"names": ("mean", "mean", "ends")}, "different feature names"),
        ({"names": ("mean", "sp\x1b[2Jread", "ends")}, r"names\[1\] must be a text of 1 to 200 printable"),
        ({"widths": (1, 2)}, "one width for each"),
        ({"widths": (1, 2, 0)}, r"space\.widths\[2\] must be an integer from 1 to 16777216\. Got 0"),
        ({"classes": ("yes", "yes")}, "different classes"),
        ({"classes": ("yes",)}, "two or more"),
        ({"classes": ("yes", None)}, r"space\.classes\[1\] must be of type int or str or bool\. Got None"),
        ({"classes": (["yes"], ["no"])}, "of type int or str or bool"),
        ({"classes": (1, True)}, "all of one type"),
        ({"classes": ("yes", 0)}, "all of one type"),
        ({"classes": ("yes", "\x1b[2J")}, "no control characters"),
        ({"classes": ("yes", "x" * 1001)}, "at most 1000 characters"),
        ({"item_kind": ItemKind(-1, False)}, r"space\.item_kind\.ndim"),
        ({"prior": (3, 0.5)}, r"prior\.number must be an integer from 0 to 2\. Got 3"),
        ({"prior": (0.5, 0.5)}, r"prior\.number must be an integer"),
        ({"shipped": (0, 1, 3)}, r"stored\.shipped must have numbers from 0 to 2\. Got 3"),
        ({"shipped": (0, 1, -1)}, r"stored\.shipped\[2\]"),
        ({"intervals": (Interval(4, 1.0, 2.0),)}, r"stored\.intervals must have numbers from 0 to 3"),
        ({"intervals": (Interval(1, 3.0, 2.0),)}, r"stored\.intervals\[0\] must not end before it starts"),
        ({"sequences": ((0,), (0,))}, "sequences must be different"),
        ({"sequences": ((1,),)}, "must be orders of models"),
        ({"worst": times(nan)}, r"once\.unit_times\[0\]\.terms(\[0\])?\.weights\[0\] must be a float from 0 to 1e\+18"),
        ({"worst": times(inf)}, r"weights\[0\] must be a float from 0 to 1e\+18\. Got inf"),
        ({"worst": times(-1e-6)}, r"weights\[0\] must be a float from 0 to 1e\+18\. Got -1e-06"),
        ({"guarded": times(1e300)}, r"once\.unit_times\[1\]\.terms(\[0\])?\.weights\[0\]"),
        ({"planned": times(terms=(CostFunction.of(1.0),) * 3)}, "a time of each unit"),
        ({"planned": times(model=1.0)}, r"once\.unit_times\.model must be known of each entry or of none"),
        ({name: times(model=1.0) for name in ("worst", "planned", "guarded", "typical")}, "hold for every model"),
        ({"planned": times(names=("mean", "spread", "ends", "whole"))}, "of the same units"),
        ({"planned": times(quantile=1.5)}, r"once\.unit_times\[1\]\.quantile must be a float from 0 to 1"),
        ({"guarded": times(model_ratio=-1.0)}, r"once\.unit_times\[1\]\.model_ratio"),
        ({"guarded": times(model_ratio=nan)}, r"once\.unit_times\[1\]\.model_ratio"),
        ({"steps": (StepTime("half", 8, CostFunction.of()),)}, "a feature may use one at most"),
        ({"steps": (StepTime("half", 0, CostFunction.of()),)}, r"users\[0\]"),
        ({"steps": (StepTime("mean", 3, CostFunction.of()),)}, "names of their own"),
        ({"steps": (StepTime("a", 3, CostFunction.of()), StepTime("b", 6, CostFunction.of()))}, "one at most"),
        ({"reference_seconds": inf}, r"times\.reference_seconds"),
        ({"choices": choices(0.0)}, r"times\.choices\[0\]\.deadline must be a float from 1e-09 to 1e\+06\. Got 0"),
        *(({"choices": choices(deadline)}, r"choices\[0\]\.deadline") for deadline in (5e-324, nan, inf)),
        ({"choices": choices(1e-4, 1e-4)}, "by rising deadline"),
        ({"choices": choices(2e-4, 1e-4)}, "by rising deadline"),
        ({"choices": choices(*(1e-4 * (k + 1) for k in range(101)))}, r"times\.choices must have 0 to 100 entries"),
        ({"outlook": outlook(score=nan)}, r"times\.outlook\[0\]\.score"),
        ({"outlook": outlook(share=1.5)}, r"times\.outlook\[0\]\.prior_share"),
        ({"outlook": outlook(late=-0.5)}, r"times\.outlook\[0\]\.late"),
        ({"outlook": outlook(1e-4, 0.5, 0.0, 0.0, "peak")}, "outlooks of different features of the bundle"),
        ({"outlook": outlook(1e-4, 0.5, 0.0, 0.0, "mean", "mean")}, "outlooks of different features"),
        ({"outlook": outlook() + outlook()}, "by rising deadline"),
    ],
)
def test_impossible_content_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BundleFormatError, match=message):
        decode(encode(changed(make_bundle()[0], **changes)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"order": (3,)}, r"models\[0\]\.order must have feature numbers from 0 to 2"),
        ({"order": ()}, r"models\[0\]\.order must have 1 to 60 entries\. Got 0"),
        ({"order": (0, 0)}, r"models\[0\] must have different features"),
        ({"order": (0, 1, 2)}, "in an order that its estimator has once|a model for every prefix"),
        ({"accuracy": inf}, r"models\[0\]\.accuracy"),
        ({"accuracy": nan}, r"models\[0\]\.accuracy"),
        ({"seconds": -1.0}, r"models\[0\]\.seconds must be a float from 0 to 1e\+06\. Got -1\.0"),
        ({"seconds": nan}, r"models\[0\]\.seconds"),
        ({"size_bytes": 0}, r"models\[0\]\.size_bytes"),
        ({"sha256": b"short"}, r"models\[0\]\.sha256 must be 32 bytes"),
        ({"stop": 0.5}, r"models\.stop must be known of each entry or of none\. Got 1 of 3"),
        ({"cost": CostFunction.of(1e-6)}, r"models\.cost must be known of each entry or of none"),
    ],
)
def test_impossible_models_are_refused(changes: dict[str, Any], message: str) -> None:
    bundle, _ = make_bundle()
    first, *others = bundle.models

    with pytest.raises(BundleFormatError, match=message):
        decode(encode(changed(bundle, models=(first._replace(**changes), *others))))


ONE: list[Any] = [1, {"deadline": floats(1e-4), "planned": [0], "guarded": [0]}]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "other"}, "have format 'polydom-bundle'"),
        ({"more": 1}, "Got one with 'more'"),
        ({"space": []}, "space must be a map"),
        ({"space__names": []}, r"space\.names must have 1 to 60 entries. Got 0"),
        ({"space__names": [0, []]}, r"space\.names must have 1 to 60 entries"),
        ({"space__names": [3, ["mean", "spread"]]}, r"space\.names must be a list of 3. Got a list of 2"),
        ({"space__names": [1 << 40, {"all": "mean"}]}, "1 to 60 entries"),
        ({"space__names": ["mean", "spread", "ends"]}, "list of 2"),
        ({"space__item_kind": [1, False]}, r"space\.item_kind must be a map of ndim, is_complex"),
        ({"space__item_kind": {"ndim": 1, "is_complex": 0}}, r"is_complex must be of type bool"),
        ({"promise__alpha": 1}, r"promise\.alpha must be a float"),
        ({"promise__sizes": floats(1.0)}, r"promise\.sizes must be bytes of 2 float64 numbers. Got 8 bytes"),
        ({"promise__scoring": None}, r"promise\.scoring must be a text"),
        ({"times__worst": 1}, r"times\.worst must be the number of one of the 1 rows of once\.unit_times"),
        ({"times__worst": -1}, r"times\.worst must be the number"),
        ({"times__worst": 0.0}, r"times\.worst must be the number"),
        ({"times__worst": True}, r"times\.worst must be the number"),
        ({"times__reference_seconds": 1}, r"times\.reference_seconds must be a float"),
        ({"times__choices": [1, {**ONE[1], "planned": [4]}]}, r"times\.choices\[0\]\.planned must be the number"),
        ({"times__choices": [1, {**ONE[1], "deadline": b""}]}, r"choices\.deadline must be bytes of 1 float64"),
        ({"times__choices": [1, {"deadline": floats(1e-4)}]}, r"choices must be a map.*Got one without 'guarded'"),
        ({"times__choices": None}, r"times\.choices must be a list of 2"),
        ({"once": None}, "once must be a map of unit_times, origins, feature_sets"),
        ({"once__origins": []}, r"times\.origin must be the number of one of the 0 rows"),
        ({"once__unit_times": [1001, {"all": None}]}, r"once\.unit_times must have 0 to 1000 entries"),
        ({"once__unit_times__1__names": [[4, []]]}, r"once\.unit_times\[0\]\.names must be a list of 4"),
        ({"once__unit_times__1__terms__0__0": 5}, r"unit_times\[0\]\.terms\.weights must be bytes of 30 float64"),
        ({"once__unit_times__1__terms__0__0": 121}, r"once\.unit_times\[0\]\.terms must have 1 to 120 entries"),
        ({"regimes": []}, "regimes must be a map of 0 to"),
        ({"regimes": {"cold": []}}, r"regimes\.cold must be a map"),
        ({"models__1__stop": floats(0.5)}, r"models\.stop must be bytes of 3 float64"),
        ({"models__1__stop": floats(0.5, -0.1, 0.5)}, r"models\[1\]\.stop must be a float of at least 0"),
        ({"models__1__engine": ["numpy", "numpy", "abacus"]}, r"models\[2\]\.engine must be one of onnxruntime, numpy"),
        ({"models__1__sha256": {"all": b"short"}}, r"models\.sha256 must be 32 bytes"),
    ],
)
def test_content_of_another_form_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BundleFormatError, match=message):
        decode(index_of(make_bundle()[0], **changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"models": (1e-6, 1e-6)}, r"regimes\.cold must be rehearsed or cold, with a time of each model"),
        *(({"models": (1e-6, 1e-6, x)}, r"regimes\.cold\.models\[2\] must be a float") for x in (-1e-6, inf, nan)),
        ({"asleep": -1.0}, r"regimes\.cold\.asleep"),
        ({"asleep": inf}, r"regimes\.cold\.asleep"),
        ({"reference_seconds": nan}, r"regimes\.cold\.times\.reference_seconds"),
        ({"choices": choices(1e-4, 1e-4)}, r"regimes\.cold\.times must have choices and outlooks by rising deadline"),
        ({"outlook": outlook(late=nan)}, r"regimes\.cold\.times\.outlook\[0\]\.late"),
    ],
)
def test_impossible_regime_is_refused(changes: dict[str, Any], message: str) -> None:
    bundle = made_for_regimes()
    cold = bundle.regimes["cold"]
    own = {name: changes[name] for name in ("models", "asleep") if name in changes}
    of_times = {name: value for name, value in changes.items() if name not in own}
    cold = cold._replace(**own, times=cold.times._replace(**of_times))

    with pytest.raises(BundleFormatError, match=message):
        decode(encode(replace(bundle, regimes={**bundle.regimes, "cold": cold})))


@pytest.mark.parametrize("name", ["hot", "frozen", ""])
def test_regimes_are_rehearsed_and_cold(name: str) -> None:
    document = document_of(made_for_regimes())
    document["regimes"][name] = document["regimes"].pop("cold")

    with pytest.raises(BundleFormatError, match=r"be one of hot, rehearsed, cold|be rehearsed or cold"):
        decode(bytes(msgpack.packb(document)))


PLACES = [
    f"{name}__{part}" if isinstance(value, dict) else name
    for name, value in document_of(make_bundle()[0]).items()
    for part in (value if isinstance(value, dict) else [""])
]


@pytest.mark.parametrize("missing", PLACES)
def test_every_missing_field_is_named(missing: str) -> None:
    document = document_of(make_bundle()[0])
    name, _, part = missing.partition("__")
    if part:
        del document[name][part]
    else:
        del document[name]

    with pytest.raises(BundleFormatError, match=f"without '{part or name}'|have format"):
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

    with pytest.raises(BundleFormatError, match="a model for every prefix"):
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
    with pytest.raises(BundleFormatError, match=r"prior\.accuracy"):
        decode(encode(changed(make_bundle()[0], prior=(0, score))))


def test_columns_of_a_model_are_in_the_order_of_the_space() -> None:
    assert ModelEntry((2, 0, 1), 0.9, 1e-6, 10, b"0" * 32).features == (0, 1, 2)
