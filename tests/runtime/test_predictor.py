"""The predictor, on a clock that only the features move."""

import gc
import inspect
from pathlib import Path
from typing import Any
from weakref import ref

import numpy as np
import pytest

from polydom_runtime import Predictor, Seams, load_bundle
from polydom_runtime.exceptions import BundleMismatchError, DeadlineError
from polydom_runtime.features import Feature, FeatureSpace
from polydom_runtime.policy.loaded_models import LoadedModels
from polydom_runtime.prediction import Policy
from tests.bundle_parts import changed

from .conftest import US, World, make_bundle


@pytest.fixture(params=["anytime", "strict"])
def policy(request: pytest.FixtureRequest) -> Policy:
    chosen: Policy = request.param
    return chosen


@pytest.fixture
def predictor(bundle_folder: Path, world: World, policy: Policy) -> Predictor:
    return Predictor.load(bundle_folder, world.space, deadline=200 * US, policy=policy, seams=Seams(clock=world.clock))


@pytest.fixture
def strict(bundle_folder: Path, world: World) -> Predictor:
    return Predictor.load(
        bundle_folder, world.space, deadline=200 * US, policy="strict", seams=Seams(clock=world.clock)
    )


def item(n: int) -> np.ndarray:
    return np.arange(n, dtype=np.float64)


# At 200 µs all three features fit up to 88 + 1.1 n <= 200: n = 101.8; mean and spread up to 38 + n/10 <= 200: n = 1620.
@pytest.mark.parametrize(
    ("n", "features", "label"),
    [
        (10, ("mean", "spread", "ends"), "yes"),
        (101, ("mean", "spread", "ends"), "yes"),
        (102, ("mean", "spread"), "no"),
    ],
)
def test_richest_set_that_fits_answers(strict: Predictor, n: int, features: tuple[str, ...], label: str) -> None:
    answer = strict.predict_one(item(n))

    assert (answer.features, answer.label, answer.reason) == (features, label, "planned")
    assert answer.deadline_met


def test_shared_step_is_paid_once(predictor: Predictor, world: World) -> None:
    answer = predictor.predict_one(item(10))

    assert world.calls == ["half", "mean", "spread", "ends"]
    assert answer.elapsed_ns == 82_000


def test_feature_that_no_longer_fits_is_left_out(predictor: Predictor, world: World) -> None:
    """At n = 90 `ends` and the model may take 145 µs: after 56 µs they no longer fit."""
    world.seconds["spread"] = 44 * US

    answer = predictor.predict_one(item(90))

    assert (answer.features, answer.reason, answer.accuracy) == (("mean", "spread"), "no time for ends", 0.8)
    assert answer.deadline_met


@pytest.mark.parametrize(("spread", "reason"), [(29, "planned"), (32, "planned"), (33, "no time for ends")])
def test_slower_item_is_expected_to_stay_slower(predictor: Predictor, world: World, spread: int, reason: str) -> None:
    """At n = 90 the worst case before `ends` is 1 + 2 + 10 + 29 µs, and 145 µs for `ends` and the model.

    12 µs and `spread` later, 145 µs times the slow-down must fit into the rest of the 200 µs: at 32 µs it does,
    44/42 · 145 = 151.9 <= 156; at 33 µs it does not, 45/42 · 145 = 155.4 > 155.
    """
    world.seconds["spread"] = spread * US

    assert predictor.predict_one(item(90)).reason == reason


def test_overrun_past_the_model_answers_with_the_prior(predictor: Predictor, world: World) -> None:
    world.seconds["ends"] = 165 * US

    answer = predictor.predict_one(item(10))

    assert (answer.features, answer.label, answer.reason) == ((), "no", "no time for the model")
    assert answer.deadline_met


def test_missed_deadline_is_said(predictor: Predictor, world: World) -> None:
    world.seconds["ends"] = 300 * US

    answer = predictor.predict_one(item(10))

    assert not answer.deadline_met
    assert answer.elapsed_ns == 332_000


@pytest.mark.parametrize(
    "result",
    [
        RuntimeError("sensor gone"),
        [np.nan, 1.0],
        [np.inf, 1.0],
        [1.0],
        1.0,
        [1.0, 2.0, 3.0],
        None,
        "ab",
        [[1.0, 2.0], [3.0, 4.0]],
        [1e300, 1.0],
        [np.inf, -np.inf],
    ],
    ids=[
        "raises",
        "nan",
        "infinite",
        "short",
        "scalar",
        "long",
        "none",
        "text",
        "matrix",
        "beyond float32",
        "infinities",
    ],
)
def test_failing_feature_is_answered_without(predictor: Predictor, world: World, result: object) -> None:
    world.results["spread"] = result

    answer = predictor.predict_one(item(10))

    assert (answer.features, answer.label, answer.reason) == (("mean",), "yes", "spread failed")


def test_numbers_whose_sum_overflows_are_finite(predictor: Predictor, world: World) -> None:
    world.results["spread"] = [3e38, 3e38]

    assert predictor.predict_one(item(10)).reason == "planned"


def test_failing_first_feature_leaves_the_prior(predictor: Predictor, world: World) -> None:
    world.results["half"] = RuntimeError()

    answer = predictor.predict_one(item(10))

    assert (answer.features, answer.label, answer.accuracy) == ((), "no", 0.5)


@pytest.mark.parametrize("broken", [np.array([]), 3.0, None])
def test_item_without_a_size_gets_the_prior(predictor: Predictor, broken: object) -> None:
    answer = predictor.predict_one(broken)

    assert (answer.features, answer.reason) == ((), "size failed")


def test_item_larger_than_measured_is_answered_and_counted(predictor: Predictor) -> None:
    answers = [predictor.predict_one(item(n)) for n in (1500, 1700)]

    assert [a.features for a in answers] == [("mean", "spread"), ("mean",)]
    assert {a.reason for a in answers} == {"planned, larger than measured"}
    assert predictor.n_oversized == 2


def test_failing_model_leaves_the_prior(world: World, policy: Policy) -> None:
    def fail() -> int:
        raise RuntimeError

    predictor = Predictor(
        make_bundle()[0], world.space, policy=policy, seams=Seams(clock=world.clock, run_of=lambda number: fail)
    )

    answer = predictor.predict_one(item(10))

    assert (answer.label, answer.features, answer.reason) == ("no", (), "the model failed")


@pytest.mark.parametrize(
    ("out", "features", "calls"),
    [
        ([2], ("mean", "spread"), ["half", "mean", "spread"]),
        ([1], ("mean", "spread", "ends"), ["half", "mean", "spread", "ends"]),
        ([1, 2], ("mean",), ["half", "mean"]),
        ([0, 1, 2], (), []),
    ],
)
def test_model_that_is_left_out_neither_answers_nor_is_worked_for(
    predictor: Predictor, world: World, out: list[int], features: tuple[str, ...], calls: list[str]
) -> None:
    before = predictor.predict_one(item(10))[:4]
    world.calls.clear()
    predictor.leave_out(out)
    answer = predictor.predict_one(item(10))
    predictor.leave_out([])

    assert (answer.features, world.calls) == (features, calls)
    assert predictor.predict_one(item(10))[:4] == before


def test_walk_goes_past_a_model_that_is_left_out(world: World) -> None:
    """Its only target is the whole sequence."""
    greedy = changed(make_bundle()[0], sequences=((0, 1, 2),), shipped=(), intervals=(), median_size=10.0)
    predictor = Predictor(
        greedy, world.space, deadline=200 * US, seams=Seams(clock=world.clock, run_of=lambda number: lambda: 0)
    )
    predictor.leave_out([2])

    assert predictor.predict_one(item(10)).features == ("mean", "spread")


def test_warming_up_computes_every_plan_and_never_raises(predictor: Predictor, world: World) -> None:
    predictor.warm_up(item(10))
    assert set(world.calls) == {"half", "mean", "spread", "ends"}

    world.results["mean"] = RuntimeError()
    predictor.warm_up(item(10))
    assert predictor.predict_one(item(10)).reason == "mean failed"


def test_deadline_defaults_to_the_bundles(bundle_folder: Path, world: World) -> None:
    assert Predictor.load(bundle_folder, world.space).deadline == 200 * US


@pytest.mark.parametrize("deadline", [0.0, -1.0, float("nan"), float("inf"), 0.5 * US, "2ms"])
def test_impossible_deadline_is_refused(bundle_folder: Path, world: World, deadline: Any) -> None:
    with pytest.raises(DeadlineError, match="deadline must be"):
        Predictor.load(bundle_folder, world.space, deadline=deadline)


def test_bundle_for_any_budget_needs_a_deadline(world: World) -> None:
    bundle = changed(make_bundle()[0], budgets=(0.0, float("inf")))

    with pytest.raises(DeadlineError, match="must be given"):
        Predictor(bundle, world.space)


def test_space_by_name_is_refused(bundle_folder: Path) -> None:
    with pytest.raises(BundleMismatchError, match="FeatureSpace"):
        Predictor.load(bundle_folder, "module:space")  # type: ignore[arg-type]


def test_only_models_that_the_deadline_reaches_are_loaded(bundle_folder: Path, world: World) -> None:
    """At 45 µs `ends` never fits."""
    with pytest.warns(UserWarning, match="100 µs to 200 µs; for 45 µs"):
        predictor = Predictor.load(bundle_folder, world.space, deadline=45 * US)

    assert predictor.models.loaded == (0, 1)


def test_models_are_let_go_without_a_garbage_collection(bundle_folder: Path) -> None:
    """A loop that follows its bundle collects rarely, and would have the models of many in memory."""
    gc.disable()
    try:
        models = LoadedModels(load_bundle(bundle_folder))
        models.load(0)
        before = ref(models)
        del models

        assert before() is None
    finally:
        gc.enable()


def test_other_space_is_refused(bundle_folder: Path, world: World) -> None:
    mean, spread, ends = world.space.features
    for features in (
        [spread, mean, ends],
        [mean, spread],
        [Feature("average", mean.extract, step=mean.step), spread, ends],
        [mean, Feature("spread", spread.extract, width=3, step=spread.step), ends],
        [Feature("mean", mean.extract), spread, ends],
    ):
        with pytest.raises(BundleMismatchError, match="built with"):
            Predictor.load(bundle_folder, FeatureSpace(features, size=len))


def test_load_takes_every_parameter_of_a_predictor() -> None:
    """`load` states them again, by name and type, so that editors and type checkers know them."""
    made, loaded = (inspect.signature(f).parameters for f in (Predictor.__init__, Predictor.load))

    assert loaded.keys() - made.keys() == {"folder", "compare", "trust"}
    assert made.keys() - loaded.keys() == {"self", "bundle"}
    differing = {name for name in made.keys() & loaded.keys() if made[name] != loaded[name]}
    assert differing == {"learned"}  # here the file
