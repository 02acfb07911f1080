"""Every system of the paper through the same front door."""

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polydom_builder import GreedySearch, PolyDomSearch
from polydom_builder.__main__ import main
from polydom_builder.costs.combined_costs import upper
from polydom_builder.exceptions import ExportError, LatticeError, TrainingError
from polydom_builder.lattice import expand_best_first
from polydom_builder.lattice.region import QueryRegion
from polydom_builder.verification.verify import verify_bundle
from polydom_runtime import Feature, FeatureSpace, Predictor, Step
from polydom_runtime.costs import ZERO, CostFunction
from polydom_runtime.exceptions import BundleFormatError
from polydom_runtime.testing import ManualClock
from polydom_runtime.unit_times import StepTime, UnitTimes
from tests import synthetic
from tests.bundle_parts import unit_times

from . import task

US = task.US
LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression())
QUERIES = [(n, c * US) for n in (8, 30, 100, 400, 1000, 2000) for c in (50, 70, 100, 150, 200, 300, 400)]


def search(**changes: Any) -> PolyDomSearch:
    given = {"estimator": LOGISTIC, "space": task.space, "deadline": (50 * US, 400 * US), "cv": 3, "alpha": 1.02}
    return PolyDomSearch(**(given | changes))


def fit(found: Any) -> Any:
    return found.fit(*task.items(), costs=task.costs)


@pytest.mark.parametrize("lattice", ["best-first", "layers", "all"])
def test_each_complete_lattice_search_keeps_the_promise(lattice: str, tmp_path: Path) -> None:
    found = fit(search(lattice=lattice, tolerance=0.1))

    every = found.trainer_.scores(range(32))
    for n, budget in QUERIES:
        best = max(every[m] for m in range(32) if m == 0 or found.set_costs_(m)(n) <= budget)
        assert 1.02 * found.index_.best(n, budget).accuracy >= best - 1e-12
    found.export(tmp_path / "b")
    assert verify_bundle(tmp_path / "b").ok


def test_search_as_printed_builds_a_bundle_without_a_proof(tmp_path: Path) -> None:
    fit(search(lattice="as-printed")).export(tmp_path / "b")

    Predictor.load(tmp_path / "b", task.space)
    with pytest.raises(BundleFormatError, match="built without it"):
        verify_bundle(tmp_path / "b")


def test_all_indexes_answer_alike() -> None:
    ours, *others = [fit(search(index=index)).index_ for index in ("envelope", "sweep", "all-crossings", "scan")]

    for other in others:
        assert [ours.best(n, c).mask for n, c in QUERIES] == [other.best(n, c).mask for n, c in QUERIES]


@pytest.mark.parametrize("narrow", [QueryRegion((50, 50)), QueryRegion(synthetic.SIZES, (2e4, 2e4))])
def test_what_is_fixed_at_build_time_saves_trainings_and_changes_no_answer(narrow: QueryRegion) -> None:
    """Prob-n0-Fixed and Prob-c0-Fixed against Prob-General, at the queries that they share."""
    trained = np.zeros(2)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        costs, scores = synthetic.costs(8, rng), synthetic.scores("cfinf", 8, rng)
        regions = (QueryRegion(synthetic.SIZES), narrow)
        found = [expand_best_first(costs, region, lambda m, a=scores: a[m].tolist()) for region in regions]
        trained += [len(expanded) for expanded in found]
        for n in np.linspace(*narrow.sizes, 5):
            for c in np.linspace(*narrow.budgets, 5) if narrow.budgets[1] < np.inf else np.geomspace(1e3, 1e6, 40):
                whole, part = (max(a for m, a in e.items() if m == 0 or costs(m)(n) <= c) for e in found)
                assert whole == part

    assert trained[1] < 0.8 * trained[0]


def test_tolerance_is_estimated_from_what_was_trained() -> None:
    found = fit(search(tolerance="auto", tolerance_quantile=1.0))

    pairs = [(a, b) for a in found.expanded_ for b in found.expanded_ if a != b and a & b == a]
    largest = max(found.expanded_[a] - found.expanded_[b] for a, b in pairs)
    assert found.tolerance_ == pytest.approx(max(largest, 0.0))


def test_limited_trainings_prove_the_smallest_alpha_they_can() -> None:
    alphas = [fit(search(alpha=1.0, tolerance=0.05, max_trainings=limit)) for limit in (3, 6, 12, 32)]

    assert [len(found.expanded_) for found in alphas[:2]] == [3, 6]
    assert all(a.alpha_ >= b.alpha_ for a, b in pairwise(alphas))
    for found in alphas:
        every = found.trainer_.scores(range(32))
        for n, budget in QUERIES:
            best = max(every[m] for m in range(32) if m == 0 or found.set_costs_(m)(n) <= budget)
            assert found.alpha_ * found.index_.best(n, budget).accuracy >= best - 1e-12
    with pytest.raises(LatticeError, match="empty and the full set"):
        fit(search(max_trainings=1))


@pytest.mark.parametrize("lambdas", [None, (0.0,), (math.inf,)])
def test_greedy_bundle_walks_its_sequence_on_the_node(lambdas: Any, tmp_path: Path) -> None:
    greedy = GreedySearch(LOGISTIC, task.space, deadline=(50 * US, 400 * US), cv=3)
    if lambdas:
        greedy.set_params(lambdas=lambdas)
    bundle = fit(greedy).export(tmp_path / "greedy")
    predictor = Predictor.load(tmp_path / "greedy", task.space, deadline=150 * US, clock=ManualClock())

    assert len(greedy.sequences_) == 1 if lambdas else len(greedy.sequences_) >= 1
    sequence = predictor.staircase.steps[-1][1].features
    for x in task.items(40, seed=1)[0]:
        answer = predictor.predict_one(x)  # the clock stands still, so no feature is left out
        assert answer.features == sequence[: len(answer.features)]
        assert answer.deadline_met
    assert bundle.index.best(100, 1.0).features == sequence if lambdas else True
    if lambdas == (math.inf,):
        costs = [
            bundle.times.worst.features[task.space.names.index(name)](greedy.median_size_) for name in sequence[:2]
        ]
        assert costs == sorted(costs)


def test_greedy_stops_where_the_time_is_spent(tmp_path: Path) -> None:
    """Each look at the clock costs 30 µs, so a few features and no more can be afforded."""
    greedy = GreedySearch(LOGISTIC, task.space, deadline=200 * US, cv=3, lambdas=(0.0,))
    fit(greedy).export(tmp_path / "greedy")
    whole = Predictor.load(tmp_path / "greedy", task.space, clock=ManualClock())
    hurried = Predictor.load(tmp_path / "greedy", task.space, clock=ManualClock(step_ns=30_000))
    item = task.items(1)[0][0][:100]

    assert whole.predict_one(item).reason == "planned"
    assert hurried.predict_one(item).reason.startswith("no time for")
    assert 0 < len(hurried.trace.features) < len(whole.trace.features)


def test_greedy_needs_sound_lambdas() -> None:
    for wrong in ((-1.0,), (math.nan,), ()):
        with pytest.raises(LatticeError, match=r"λ|lambda"):
            fit(GreedySearch(LOGISTIC, task.space, deadline=400 * US, cv=3, lambdas=wrong))


def lanes(costs: dict[str, CostFunction]) -> CostFunction:
    """The two dear features run at the same time as the rest."""
    dear = sum((c for name, c in costs.items() if name in ("roughness", "turns")), ZERO)
    rest = sum((c for name, c in costs.items() if name not in ("roughness", "turns")), ZERO)
    return upper([dear, rest])


def test_cost_beyond_sums_is_honoured_from_the_lattice_to_the_bundle(tmp_path: Path) -> None:
    found, summed = fit(search(combine=lanes, tolerance=0.1)), fit(search(tolerance=0.1))
    bundle = found.export(tmp_path / "b")

    assert found.set_costs_(0b11111)(500) < summed.set_costs_(0b11111)(500)
    for number, entry in enumerate(bundle.models):
        assert bundle.candidate(number).cost.weights == pytest.approx(found.set_costs_(entry.mask).weights)
    every = found.trainer_.scores(range(32))
    for n, budget in QUERIES:
        best = max(every[m] for m in range(32) if m == 0 or found.set_costs_(m)(n) <= budget)
        assert 1.02 * found.index_.best(n, budget).accuracy >= best - 1e-12
    assert verify_bundle(tmp_path / "b").ok


def many_features() -> FeatureSpace:
    """The task's features among eighty that tell nothing."""

    def nothing(k: int) -> Feature:
        return Feature(f"nothing{k}", lambda x: [math.sin(1e4 * k * float(x[0]))])

    return FeatureSpace([*map(nothing, range(40)), *task.space.features, *map(nothing, range(40, 80))], size=len)


def test_preselection_leaves_what_tells_something_and_the_node_takes_the_whole_space(tmp_path: Path) -> None:
    space = many_features()
    cheap = CostFunction.of(2 * US)
    features = (*[cheap] * 40, *task.costs.features, *[cheap] * 40)
    step = task.costs.steps[0]
    step = step._replace(users=step.users << 40)
    costs = unit_times(space.names, features, [step], task.costs.dispatch, model=20 * US)
    found = search(space=space, max_features=4, tolerance=0.1).fit(*task.items(), costs=costs)
    found.export(tmp_path / "b")

    assert set(found.space_.names) < set(task.space.names)
    assert all(found.dropped_[f"nothing{k}"] for k in range(80))
    predictor = Predictor.load(tmp_path / "b", space, clock=ManualClock())
    items, labels = task.items(60, seed=1)
    assert np.mean([predictor.predict_one(x).label == y for x, y in zip(items, labels, strict=True)]) > 0.7
    with pytest.raises(TrainingError, match="Give max_features"):
        search(space=space).fit(*task.items(), costs=costs)


def test_verify_command_tells_a_sound_bundle_from_an_altered_proof(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fit(search(tolerance=0.1)).export(tmp_path / "b")
    fit(search(tolerance=0.1, alpha=1.2)).export(tmp_path / "other")

    assert main(["verify", str(tmp_path / "b")]) == 0
    assert "all as promised" in capsys.readouterr().out
    (tmp_path / "b" / "proof.npz").write_bytes((tmp_path / "other" / "proof.npz").read_bytes())
    assert main(["verify", str(tmp_path / "b")]) == 1
    assert "alpha" in capsys.readouterr().out
    (tmp_path / "b" / "proof.npz").unlink()
    assert main(["verify", str(tmp_path / "b")]) == 2


def test_command_builds_greedy_and_limited_bundles(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    common = ["build", "tests.builder.task:space", "--items", "tests.builder.task:pairs", "--deadline", "20ms:40ms"]
    common += ["--cv", "3", "--scoring", "balanced_accuracy", "--quantile", "0.9"]

    assert main([*common, "--lattice", "greedy-cost", "--out", str(tmp_path / "greedy")]) == 0
    assert "1 sequences" in capsys.readouterr().out
    limited = ["--max-trainings", "5", "--tolerance", "0.05", "--sizes", "8:1500", "--max-features", "4"]
    assert main([*common, *limited, "--out", str(tmp_path / "limited")]) == 0
    assert "of 5 trained (8 possible)" in capsys.readouterr().out
    assert main(["inspect", str(tmp_path / "greedy")]) == 0


def test_refused_proof_does_not_hide_an_unwritable_folder() -> None:
    with pytest.raises(ExportError, match="writable"):
        fit(search()).export("/proc/nowhere/b")


def test_steps_of_a_preselection_are_in_the_order_of_the_space_that_is_left(tmp_path: Path) -> None:
    """Of f0 (step A), f1 (B) and f2 (A) the last two are left, so that B comes first."""
    first, second = Step("A", np.asarray), Step("B", np.array)
    space = FeatureSpace(
        [
            Feature("f0", lambda x: [0.0], step=first),
            Feature("f1", head, step=second),
            Feature("f2", second_of, step=first),
        ],
        size=len,
    )
    steps = [StepTime(name, users, CostFunction.of(3 * US)) for name, users in (("A", 0b101), ("B", 0b010))]
    costs = unit_times(space.names, [CostFunction.of(5 * US)] * 3, steps, CostFunction.of(5 * US), model=20 * US)
    rng = np.random.default_rng(0)
    items = [rng.normal(size=5) for _ in range(120)]
    labels = [int(x[0] + x[1] > 0) for x in items]

    search(space=space, max_features=2).fit(items, labels, costs=costs).export(tmp_path / "b")
    assert Predictor.load(tmp_path / "b", space, clock=ManualClock()).predict_one(items[0]).reason == "planned"


def head(x: np.ndarray) -> list[float]:
    return [float(x[0])]


def second_of(x: np.ndarray) -> list[float]:
    return [float(x[1])]


def test_node_has_the_time_that_a_cost_beyond_sums_leaves(tmp_path: Path) -> None:
    """Each feature takes 100 µs alone, both take no more: within 120 µs both are computed."""
    clock, seconds = ManualClock(), [0.0]

    def timed(x: np.ndarray) -> list[float]:
        clock.advance(seconds=seconds[0])
        return head(x)

    space = FeatureSpace([Feature("a", timed), Feature("b", second_of)], size=len)
    costs = UnitTimes.given(
        dict.fromkeys("ab", CostFunction.of(100 * US)), dispatch=CostFunction.of(1 * US), model=5 * US
    )
    rng = np.random.default_rng(0)
    items = [rng.normal(size=5) for _ in range(120)]
    labels = [int(x[0] + x[1] > 0) for x in items]
    found = search(space=space, deadline=120 * US, combine=lambda parts: upper(parts.values()), alpha=1.0)
    found.fit(items, labels, costs=costs).export(tmp_path / "b")
    predictor = Predictor.load(tmp_path / "b", space, clock=clock)

    for seconds[0] in (50 * US, 100 * US):
        assert predictor.predict_one(items[0]).features == ("a", "b")
