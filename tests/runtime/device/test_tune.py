"""A tune: the times of one machine in the bundle, and a file that no other bundle or machine takes."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polydom_runtime import CostFunction, Predictor, Seams
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import BundleTimes, Choice, Outlook, RegimeTimes
from polydom_runtime.bundles.engines import Engine
from polydom_runtime.bundles.index_file import index_sha256, load_bundle
from polydom_runtime.bundles.unit_times import UnitTimes
from polydom_runtime.device import tune_file
from polydom_runtime.device.tune import RegimeTune, Tune, tuned
from polydom_runtime.device.tune_file import MAGIC, load_tune, this_machine, write_tune
from polydom_runtime.exceptions import BundleFormatError, BundleMismatchError
from tests.bundle_parts import floats
from tests.runtime.conftest import World, make_bundle, write

US = 1e-6
HOT = RegimeTune((3 * US, 4 * US), (6 * US, 7 * US, 8 * US), (0.0, 0.0, 0.0, 0.0), 0.0)
COLD = RegimeTune((23 * US, 30 * US), (26 * US, 27 * US, 28 * US), (5 * US, 6 * US, 7 * US, 8 * US), 0.02)


ENGINES_HERE: tuple[Engine, ...] = ("numpy", "onnxruntime", "numpy")


def tune_of(bundle: Bundle, **changes: Any) -> Tune:
    digest = "" if bundle.path is None else index_sha256(bundle)
    made = Tune(digest, this_machine(), "2026-11-28T12:00:00Z", (), ENGINES_HERE, {"hot": HOT, "cold": COLD})
    return replace(made, **changes)


@pytest.fixture
def bundle(bundle_folder: Path) -> Bundle:
    return load_bundle(bundle_folder)


def test_models_and_dispatch_take_the_times_of_the_tune_in_every_regime(bundle: Bundle) -> None:
    plain = bundle.times
    bundle = tuned(bundle, tune_of(bundle))
    hot, cold = bundle.at(1.0), bundle.at(1.0, "cold")

    assert [model.seconds for model in hot.models] == list(HOT.models)
    assert tuple(model.engine for model in hot.models) == ENGINES_HERE
    assert [model.seconds for model in cold.models] == list(COLD.models)
    for times, median, high in [(hot.times, 3 * US, 4 * US), (cold.times, 23 * US, 30 * US)]:
        assert times.typical.dispatch(100) == pytest.approx(median)
        for careful in (times.worst, times.planned, times.guarded):
            assert careful.dispatch(100) == pytest.approx(high)
    assert hot.times.worst.terms == plain.worst.terms
    assert bundle.regimes["cold"].asleep == 0.02


def test_regime_that_was_never_measured_gets_the_constants_of_the_tune(bundle: Bundle) -> None:
    cold = tuned(bundle, tune_of(bundle)).regimes["cold"].times

    for term, before, added in zip(cold.worst.terms, bundle.times.worst.terms, COLD.added, strict=True):
        assert term(100) - before(100) == pytest.approx(added)


def slow(times: BundleTimes, by: float) -> BundleTimes:
    def longer(units: UnitTimes) -> UnitTimes:
        return units.mapped(lambda cost: cost + CostFunction.of(by))

    choice = Choice(1.0, longer(times.planned), longer(times.guarded))
    changed: dict[str, Any] = {
        name: longer(getattr(times, name)) for name in ("worst", "planned", "guarded", "typical")
    }
    return times._replace(**changed, choices=(choice,))


@pytest.mark.parametrize("estimated", [False, True])
def test_measured_features_of_a_regime_stay_but_estimated_ones_do_not(bundle: Bundle, estimated: bool) -> None:
    times = bundle.times._replace(origin=bundle.times.origin._replace(estimated=estimated))
    there = slow(times, 40 * US)
    asleep = replace(bundle, times=times, regimes={"cold": RegimeTimes(there, (1.0, 1.0, 1.0), 0.5)})
    cold = tuned(asleep, tune_of(bundle)).regimes["cold"].times

    added = COLD.added if estimated else (40 * US,) * 4
    for term, before, more in zip(cold.guarded.terms, times.guarded.terms, added, strict=True):
        assert term(100) - before(100) == pytest.approx(more)
    if not estimated:  # those chosen for a deadline move, too
        assert cold.choices[0].planned.dispatch(100) == pytest.approx(30 * US)
        assert cold.choices[0].planned.terms == there.choices[0].planned.terms


def test_dispatch_that_is_spread_out_stays_so(bundle: Bundle) -> None:
    """Typically 1 µs and at worst 21 µs before; the median moves by 2 µs."""
    times = bundle.times._replace(worst=bundle.times.worst.plus_dispatch(CostFunction.of(20 * US)))
    changed = tuned(replace(bundle, times=times), tune_of(bundle)).times

    assert changed.typical.dispatch(100) == pytest.approx(3 * US)
    assert changed.worst.dispatch(100) == pytest.approx(23 * US)


def test_cost_of_a_whole_answer_changes_with_its_model(bundle: Bundle) -> None:
    models = tuple(model._replace(cost=CostFunction.of(100 * US, linear=1 * US)) for model in bundle.models)
    changed = tuned(replace(bundle, models=models), tune_of(bundle))

    costs = [model.cost for model in changed.models if model.cost is not None]
    assert [cost(10) for cost in costs] == pytest.approx([111 * US, 112 * US, 113 * US])


def test_outlook_of_the_build_is_dropped_since_it_does_not_hold_any_more(bundle: Bundle) -> None:
    seen = (Outlook(1e-4, 0.8, 0.1, ("mean",), 0.0),)
    built = replace(bundle, times=bundle.times._replace(outlook=seen))

    assert tuned(built, tune_of(bundle)).times.outlook == ()


def test_bundle_says_that_it_is_tuned_and_what_speaks_against_it(bundle: Bundle) -> None:
    tune = tune_of(bundle, machine={**this_machine(), "device": "a board"}, warnings=("the machine was busy",))

    assert str(tuned(bundle, tune).times.origin).endswith("tuned on a board, 2026-11-28; the machine was busy")


def test_predictor_plans_by_the_tune(bundle: Bundle, bundle_folder: Path, tmp_path: Path, world: World) -> None:
    """Of 100 µs, three features take 86 µs: with a model of 5 µs they fit, with one of 60 µs only two of them do."""
    slow_models = HOT._replace(models=(60 * US,) * 3)
    file = tmp_path / "slow.tune"
    write_tune(file, tune_of(bundle, regimes={"hot": slow_models}))

    def features(**options: Any) -> tuple[str, ...]:
        options |= {"deadline": 100 * US, "seams": Seams(clock=world.clock), "policy": "strict"}
        return Predictor.load(bundle_folder, world.space, **options).predict_one(np.ones(4)).features

    assert features() == ("mean", "spread", "ends")
    assert features(tune=file) == ("mean", "spread")


def test_file_keeps_everything(bundle: Bundle, tmp_path: Path) -> None:
    tune = tune_of(bundle, warnings=("hot", "cold"))
    write_tune(tmp_path / "pi.tune", tune)

    assert load_tune(tmp_path / "pi.tune", bundle) == tune
    assert [file.name for file in tmp_path.glob("*.tune")] == ["pi.tune"]


def test_tune_of_another_bundle_is_refused(bundle: Bundle, tmp_path: Path) -> None:
    other, models = make_bundle()
    changed = replace(other, promise=other.promise._replace(alpha=1.5))
    elsewhere = load_bundle(write(tmp_path / "other.bundle", changed, models))
    write_tune(tmp_path / "pi.tune", tune_of(elsewhere))

    with pytest.raises(BundleMismatchError, match=r"must be a tune of the bundle .*small\.bundle.*tune` again"):
        load_tune(tmp_path / "pi.tune", bundle)


@pytest.mark.parametrize("fact", ["device", "cpu", "numpy", "onnxruntime"])
def test_tune_of_another_machine_or_engine_is_refused(bundle: Bundle, tmp_path: Path, fact: str) -> None:
    write_tune(tmp_path / "pi.tune", tune_of(bundle, machine={**this_machine(), fact: "another"}))

    with pytest.raises(BundleMismatchError, match=f"{fact} another and not .*tune` again"):
        load_tune(tmp_path / "pi.tune", bundle)


@given(st.data())
def test_file_that_is_cut_or_altered_anywhere_is_refused(data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:
        content = CONTENT[0]
        at = data.draw(st.integers(0, len(content) - 1))
        broken = (
            content[:at] if data.draw(st.booleans()) else content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
        )
        patch.setattr(tune_file, "read_bounded", lambda file, limit: broken)
        with pytest.raises(BundleFormatError, match="must be a sound tune file"):
            load_tune("pi.tune", make_bundle()[0])


def packed(document: dict[str, Any]) -> bytes:
    body = bytes(msgpack.packb(document))
    return MAGIC + b"1\n" + hashlib.sha256(body).digest() + body


def unpacked(content: bytes) -> dict[str, Any]:
    document: dict[str, Any] = msgpack.unpackb(content.partition(b"\n")[2][32:])
    return document


def _written() -> list[bytes]:
    kept: list[bytes] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tune_file, "replace_file", lambda file, content: kept.append(content))
        write_tune("pi.tune", tune_of(make_bundle()[0], bundle_sha256="0" * 64))
    return kept


CONTENT = _written()


def times(name: str, *values: float) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        column = floats(*values)
        document["regimes"]["cold"][name] = column if name == "dispatch" else [len(values), column]

    return change


@pytest.mark.parametrize(
    "change",
    [
        times("models", 1e-6, 1e-6),
        times("models", 1e-6, 1e-6, -1e-6),
        times("models", 1e-6, 1e-6, float("nan")),
        times("models", 1e-6, 1e-6, float("inf")),
        times("added", 0.0),
        times("dispatch", 1e-6, 1e7),
        lambda document: document["regimes"]["cold"].update(asleep=-1.0),
        lambda document: document["regimes"]["cold"].update(asleep=1),
        lambda document: document["regimes"].pop("hot"),
        lambda document: document["regimes"].update(warm=document["regimes"]["cold"]),
        lambda document: document["regimes"].update(cold=[]),
        lambda document: document["machine"].pop("cpu"),
        lambda document: document.update(warnings=[21, ["x"] * 21]),
        lambda document: document.update(warnings=[1, [1]]),
        lambda document: document.update(engines=[1, ["numpy"]]),
        lambda document: document.update(engines=[3, ["numpy", "numpy", []]]),
        lambda document: document.update(began=""),
    ],
)
def test_impossible_values_are_refused(
    bundle: Bundle, tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    document = unpacked(CONTENT[0])
    change(document)
    file = tmp_path / "pi.tune"
    file.write_bytes(packed(document))

    with pytest.raises(BundleFormatError, match=r"pi\.tune must be a sound tune file"):
        load_tune(file, bundle)


def test_other_version_or_missing_file_is_refused(bundle: Bundle, tmp_path: Path) -> None:
    file = tmp_path / "pi.tune"
    with pytest.raises(BundleFormatError, match="sound tune file"):
        load_tune(file, bundle)
    file.write_bytes(CONTENT[0].replace(b"tune 1\n", b"tune 2\n"))
    with pytest.raises(BundleFormatError, match=r"version 1\. Got 2\. Run `polydom-node tune` again, or upgrade"):
        load_tune(file, bundle)


def test_file_that_cannot_be_written_is_an_error(bundle: Bundle, tmp_path: Path) -> None:
    with pytest.raises(BundleFormatError, match="can be written"):
        write_tune(tmp_path / "nowhere" / "pi.tune", tune_of(bundle))
