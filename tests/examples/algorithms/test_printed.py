"""The paper's pseudo-code as printed, its faults included, and training every set."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples.paper.algorithms.every_set import expand_all
from examples.paper.algorithms.layers import expand_layers
from examples.paper.algorithms.printed import expand_as_printed, select_as_printed
from polydom_builder.exceptions import LatticeError
from polydom_builder.sets.covers import Costs
from polydom_builder.sets.region import QueryRegion
from polydom_builder.sets.set_costs import SetCosts
from tests import synthetic
from tests.builder.lattice.test_lattice import EVERYTHING, constant_costs, flat, load, mask_of, scores_of
from tests.property import strategies as own
from tests.property.lattice_oracle import ROUNDING, score_of, worst_ratio

law = settings(max_examples=30, derandomize=True)


@pytest.mark.parametrize(("alpha", "n_trained", "n_drawn"), [(1.0, 16, 14), (1.1, 11, 11)])
def test_search_as_printed_contradicts_the_papers_figure(alpha: float, n_trained: int, n_drawn: int) -> None:
    """At alpha = 1 it trains all sets of the paper's lattice, of which two are drawn as not expanded."""
    golden = load("lattice_figure")
    a = scores_of(golden)

    trained = expand_as_printed(4, lambda masks: [a[m] for m in masks], alpha=alpha)

    assert n_trained == len(trained)
    assert n_drawn == 16 - len(golden["not_expanded"][str(alpha)])


def test_search_as_printed_loses_the_best_set() -> None:
    """The set whose neighbours are all sandwiched is not looked at, and the answer to its budget breaks the promise."""
    golden = load("lost_node")
    a = scores_of(golden)
    costs = constant_costs(*golden["cost"].values())

    trained = expand_as_printed(6, lambda masks: [a[m] for m in masks], alpha=golden["alpha"])

    affordable = [m for m in trained if costs(m)(1.0) <= golden["query"]["budget"]]
    assert mask_of([1, 2, 3]) not in trained
    assert max(a[m] for m in affordable) < golden["query"]["lowest_acceptable"]


def test_search_as_printed_trains_several_times_what_it_must() -> None:
    """Of the 1,024 sets of the paper's cf1 it trains about 270, where all trained sets as witnesses leave 95."""
    as_printed, layers = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        _, scores = synthetic.costs(10, rng), synthetic.scores("cf1", 10, rng)
        as_printed.append(len(expand_as_printed(10, score_of(scores))))
        layers.append(len(expand_layers(10, score_of(scores))))

    assert 200 < np.mean(as_printed) < 340
    assert np.mean(layers) == 95


@pytest.mark.parametrize(("full", "n_trained"), [(0.78, 2), (0.82, 4), (0.88, 4), (0.92, 4)])
def test_search_as_printed_subtracts_the_tolerance_before_alpha_multiplies(full: float, n_trained: int) -> None:
    """Single features are sandwiched if the full set scores at most 2 · (.5 - .1) = .8, not 2 · .5 - .1 = .9."""
    scores = [0.5, 0.6, 0.6, full]

    trained = expand_as_printed(2, lambda masks: [scores[m] for m in masks], alpha=2.0, tolerance=0.1)

    assert n_trained == len(trained)


@law
@given(st.data(), st.integers(0, 5), own.alphas, own.tolerances)
def test_search_as_printed_leaves_out_what_any_trained_pair_sandwiches(
    data: st.DataObject, n_features: int, alpha: float, tolerance: float
) -> None:
    """It trains both ends, and each set it looks at and leaves out lies between two trained sets."""
    scores = data.draw(own.scores(n_features, tolerance))
    full = len(scores) - 1

    trained = expand_as_printed(n_features, score_of(scores), alpha=alpha, tolerance=tolerance)

    assert {0, full} <= trained.keys()
    assert {mask: scores[mask] for mask in trained} == trained
    for mask in set(range(full + 1)) - trained.keys():
        above = [trained[m] for m in trained if m & mask == mask]
        below = [trained[m] for m in trained if m & mask == m]
        near = [mask ^ 1 << i for i in range(n_features)]
        assert alpha * (max(below) - tolerance) >= min(above) or trained.keys().isdisjoint(near)


def test_alpha_compounds_in_the_selection_as_printed() -> None:
    """The second of the chain removes the third, and the first the second."""
    golden = load("alpha_chain")
    first, second, third = golden["chain"]
    costs = constant_costs(first["cost"], second["cost"] - first["cost"], third["cost"] - second["cost"])
    expanded = {0b000: 0.01, 0b001: first["a"], 0b011: second["a"], 0b111: third["a"]}

    kept = select_as_printed(expanded, costs, EVERYTHING, alpha=golden["alpha"])

    assert kept == [0b000, 0b001]
    assert expanded[0b001] < golden["query"]["lowest_acceptable"]


def test_equals_remove_each_other_in_the_selection_as_printed() -> None:
    """Of two sets of equal cost and score neither stays, though both are needed by no one else."""
    assert select_as_printed({0: 0.5, 1: 0.8, 2: 0.8}, constant_costs(1.0, 1.0), EVERYTHING) == [0]


def test_the_empty_set_stays_though_an_equal_removes_it() -> None:
    """A feature that costs nothing and helps nothing does not leave the budget 0 without an answer."""
    assert select_as_printed({1: 0.5, 0: 0.5}, constant_costs(0.0), EVERYTHING) == [0]


@law
@given(st.data(), own.set_costs(max_features=4), own.alphas)
def test_selection_as_printed_is_the_double_loop(data: st.DataObject, costs: SetCosts, alpha: float) -> None:
    """For all s and r: s goes if r dominates it."""
    region = data.draw(own.regions(costs))
    scores = data.draw(own.scores(costs.n_features))
    masks = data.draw(st.lists(st.integers(0, len(scores) - 1), min_size=1, unique=True))
    prepared = Costs(costs.weights(np.array(masks)), region)

    kept = select_as_printed({m: float(scores[m]) for m in masks}, costs, region, alpha=alpha)

    removed = set()
    for row, r in enumerate(masks):
        covered = prepared.covered_by(prepared, row)
        removed |= {s for s, c in zip(masks, covered, strict=True) if s != r and c and alpha * scores[r] >= scores[s]}
    assert [m for m in masks if m == 0 or m not in removed] == kept


def test_selection_as_printed_breaks_the_promise_on_the_papers_scores() -> None:
    """On cf-infinity, every set trained, some query is answered worse than alpha allows."""
    region = QueryRegion(synthetic.SIZES)
    worst = 1.0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        costs, scores = synthetic.costs(7, rng), synthetic.scores("cfinf", 7, rng)
        kept = select_as_printed(expand_all(7, score_of(scores)), costs, region, alpha=1.2)
        worst = max(worst, worst_ratio(kept, scores, costs, region))

    assert worst > 1.2 * (1 + ROUNDING)


@pytest.mark.parametrize("batch", [1, 3, 256])
def test_every_set_is_trained_once_in_batches(batch: int) -> None:
    """Naive-Expand-All asks for each set once, at most `batch` at a time."""
    asked: list[list[int]] = []

    def score(masks: list[int]) -> list[float]:
        asked.append(masks)
        return [m / 16 for m in masks]

    trained = expand_all(4, score, batch=batch)

    assert {m: m / 16 for m in range(16)} == trained
    assert list(range(16)) == [m for masks in asked for m in masks]
    assert max(map(len, asked)) <= batch


def test_no_features_leave_one_set() -> None:
    """The empty set is the full set, and trained once."""
    assert {0: 0.5} == expand_all(0, flat) == expand_as_printed(0, flat)


def test_lattices_too_large_are_refused() -> None:
    """The message names the limit and the search to use."""
    for search in (expand_all, expand_as_printed):
        with pytest.raises(LatticeError, match=r"at most 24 features.*expand_best_first"):
            search(25, flat)


def test_impossible_parameters_are_refused() -> None:
    """The message names the parameter."""
    with pytest.raises(LatticeError, match="alpha"):
        expand_as_printed(2, flat, alpha=0.9)
    with pytest.raises(LatticeError, match="tolerance"):
        expand_as_printed(2, flat, tolerance=-1.0)
    with pytest.raises(LatticeError, match="batch"):
        expand_all(2, flat, batch=0)
    with pytest.raises(LatticeError, match="alpha"):
        select_as_printed({0: 0.5}, constant_costs(1.0), EVERYTHING, alpha=0.5)
