"""The choice of a few features out of hundreds."""

from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from polydom_builder.exceptions import TrainingError
from polydom_builder.preselection import BlockSelector
from polydom_builder.preselection.block_pursuit import _Moments, _permuted, standardised

Floats = NDArray[np.float64]


def slices(widths: list[int]) -> list[slice]:
    ends = np.cumsum([0, *widths]).tolist()
    return [slice(a, b) for a, b in pairwise(ends)]


def selected(selector: BlockSelector) -> list[int]:
    chosen: list[int] = selector.support_blocks_.tolist()
    return chosen


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.mark.filterwarnings("ignore:No features were selected")
def test_it_keeps_scikit_learns_conventions() -> None:
    """Some of scikit-learn's checks fit noise, in which there is nothing to select."""
    results = check_estimator(BlockSelector(), on_skip=None)

    assert {r["check_name"] for r in results if r["status"] != "passed"} <= {"check_array_api_input"}


def test_planted_blocks_are_found_among_two_hundred_blocks_of_noise(rng: np.random.Generator) -> None:
    """Noise is of many widths, and the wide blocks explain more of the sample than the planted ones do."""
    planted = [3, 77, 150, 204]
    widths = rng.integers(1, 30, 205).tolist()
    blocks, y = slices(widths), rng.integers(0, 5, 1000)
    rows = rng.normal(size=(1000, sum(widths)))
    for number in planted:
        rows[:, blocks[number].start] += 0.8 * rng.permutation([-1.0, -0.5, 0.0, 0.5, 1.0])[y]

    selector = BlockSelector(blocks).fit(rows, y)

    assert sorted(selected(selector)) == planted
    assert len(selector.dropped_) == 201
    assert set(selector.dropped_.values()) == {"not informative: explains no more than noise would"}


@pytest.mark.parametrize("noise", ["heavy tails", "rare events"])
def test_noise_is_not_selected_though_few_rows_carry_it(noise: str) -> None:
    """One row in twenty is of the second class; the χ² test of normal noise would pass two or three of these blocks."""
    rng = np.random.default_rng(0)
    shape = (400, 400)
    rows = np.exp(2 * rng.normal(size=shape)) if noise == "heavy tails" else (rng.random(shape) < 0.01).astype(float)
    y = rng.permutation(np.arange(400) < 20)

    assert selected(BlockSelector(slices([5] * 80)).fit(rows, y)) == []


def redundant(rng: np.random.Generator) -> tuple[Floats, NDArray[Any]]:
    """Two blocks of two columns that are combinations of each other, and one of noise."""
    y = rng.integers(0, 3, 500)
    informative = np.eye(3)[y][:, :2] + rng.normal(size=(500, 2))
    return np.hstack([informative, informative @ [[2.0, 1.0], [1.0, -1.0]], rng.normal(size=(500, 2))]), y


@pytest.mark.parametrize(("costs", "kept"), [([1.0, 3.0, 1.0], 0), ([3.0, 1.0, 1.0], 1), ([1.0, 1.0, 0.1], 0)])
def test_of_two_redundant_blocks_the_cheaper_is_kept(rng: np.random.Generator, costs: list[float], kept: int) -> None:
    rows, y = redundant(rng)

    selector = BlockSelector(slices([2, 2, 2]), costs=costs).fit(rows, y)

    assert selected(selector) == [kept]
    assert selector.dropped_[1 - kept].startswith("redundant: explains ")
    assert selector.dropped_[2].startswith("not informative")


@pytest.mark.parametrize("n_rows", [500, 20_000])
def test_duplicates_are_kept_once(rng: np.random.Generator, n_rows: int) -> None:
    """Also within a block, and however many rows there are; of equal ones the first is kept."""
    y = rng.integers(0, 2, n_rows)
    column = (y + rng.normal(size=n_rows))[:, None]

    selector = BlockSelector(slices([2, 1, 2, 1])).fit(np.hstack([column] * 6), y)

    assert selected(selector) == [0]


def test_dear_block_with_more_information_is_kept_when_costs_weigh_little(rng: np.random.Generator) -> None:
    """With room for one: the dear block measures the target well, the cheap one badly, at a hundredth of its cost."""
    y = rng.normal(size=500)
    rows = np.stack([y + 0.2 * rng.normal(size=500), y + 2.0 * rng.normal(size=500)], axis=1)

    dear, cheap = (
        BlockSelector([[0], [1]], max_blocks=1, costs=[1.0, 0.01], cost_weight=weight).fit(rows, y)
        for weight in (0.1, 1.0)
    )

    assert selected(dear) == [0]
    assert selected(cheap) == [1]
    assert cheap.dropped_[0].startswith("max_blocks reached: would add ")


def test_features_that_cost_nothing_come_first_the_best_of_them_before_the_others(rng: np.random.Generator) -> None:
    y = rng.normal(size=500)
    rows = y[:, None] + rng.normal(size=(500, 3)) * [0.5, 2.0, 1.0]

    assert selected(BlockSelector(costs=[1.0, 0.0, 0.0]).fit(rows, y)) == [2, 1, 0]


def test_gains_are_shares_of_the_variance(rng: np.random.Generator) -> None:
    """The target is 3a + 4b and noise as large as both: they explain 9/50 and 16/50."""
    a, b, noise = rng.normal(size=(3, 20_000))

    selector = BlockSelector().fit(np.stack([a, b], axis=1), 3 * a + 4 * b + 5 * noise)

    assert selected(selector) == [1, 0]
    assert selector.gains_ == pytest.approx([16 / 50, 9 / 50], abs=0.02)


def test_gain_of_a_wide_block_is_not_that_of_its_noise(rng: np.random.Generator) -> None:
    """The narrow block explains a quarter of the target, the wide one a fifth and, by its noise, the sample."""
    noise, wide = rng.normal(size=500), rng.normal(size=(500, 100))
    narrow = rng.normal(size=(500, 1))
    y = np.sqrt(0.25) * narrow[:, 0] + np.sqrt(0.2) * wide[:, 0] + np.sqrt(0.55) * noise

    selector = BlockSelector(slices([100, 1])).fit(np.hstack([wide, narrow]), y)

    assert selected(selector) == [1, 0]
    assert selector.gains_ == pytest.approx([0.25, 0.2], abs=0.08)


def test_nothing_is_left_to_explain_once_the_target_is_known(rng: np.random.Generator) -> None:
    rows = rng.normal(size=(300, 4))

    assert sorted(selected(BlockSelector().fit(rows, rows[:, 1] - rows[:, 2]))) == [1, 2]


def test_more_columns_than_rows_explain_nothing(rng: np.random.Generator) -> None:
    """A block as wide as there are rows fits any target; its gain is that of noise."""
    selector = BlockSelector(slices([200, 60])).fit(rng.normal(size=(100, 260)), rng.normal(size=100))

    assert selected(selector) == []


def test_several_targets_of_different_units_count_alike(rng: np.random.Generator) -> None:
    """Each is known from its own column; in their own units the first would be all of the variance."""
    targets = rng.normal(size=(500, 2)) * [1000.0, 1.0]

    assert sorted(selected(BlockSelector().fit(targets + 0.0, targets))) == [0, 1]


def test_integers_are_numbers_in_a_regression(rng: np.random.Generator) -> None:
    y = rng.integers(0, 100, 400)
    rows = np.stack([y + 30.0 * rng.normal(size=400), rng.normal(size=400)], axis=1)

    assert selected(BlockSelector(task="regression").fit(rows, y)) == [0]


def test_constant_columns_are_harmless_and_constant_blocks_dropped(rng: np.random.Generator) -> None:
    y = rng.integers(0, 2, 300)
    rows = np.stack([np.full(300, 1e9), y + rng.normal(size=300), np.full(300, 0.1), np.zeros(300)], axis=1)

    selector = BlockSelector([[0, 1], [2, 3]]).fit(rows, y)

    assert selected(selector) == [0]
    assert selector.dropped_ == {1: "constant"}


def test_selection_does_not_depend_on_the_units_of_the_columns(rng: np.random.Generator) -> None:
    """Not even when their squares overflow."""
    rows, y = redundant(rng)
    plain = BlockSelector(slices([2, 2, 2])).fit(rows, y)

    scaled = BlockSelector(slices([2, 2, 2])).fit(rows * [1e200, 1e-200, 1, 1, 1e9, 1e-9], y)

    assert selected(scaled) == selected(plain)
    assert scaled.gains_ == pytest.approx(plain.gains_)


def test_it_is_a_step_of_a_pipeline(rng: np.random.Generator) -> None:
    """The classes may be strings; the columns of the block reach the classifier in the order of the table."""
    rows, y = redundant(rng)
    labels = np.array(["a", "b", "c"])[y]

    model = make_pipeline(BlockSelector([[5, 4], [3, 2], [1, 0]], costs=[1, 2, 1]), LogisticRegression())
    model.fit(rows, labels)

    assert model[0].get_support(indices=True).tolist() == [0, 1]
    assert model[0].transform(rows) == pytest.approx(rows[:, :2])
    assert model.score(rows, labels) > 0.5  # a third by chance


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_block_with_a_value_that_is_not_finite_is_named(rng: np.random.Generator, value: float) -> None:
    rows, y = redundant(rng)
    rows[17, 3] = value

    with pytest.raises(TrainingError, match=rf"Got {value} in block 1 \(row 17, column 3\)"):
        BlockSelector(slices([2, 2, 2])).fit(rows, y)


def test_columns_in_no_block_are_not_looked_at(rng: np.random.Generator) -> None:
    rows, y = redundant(rng)
    rows[:, 4] = np.nan

    selector = BlockSelector([[3, 2], [5]]).fit(rows, y)

    assert selector.get_support(indices=True).tolist() == [2, 3]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"blocks": [[0, 1], [1, 2]]}, "Got column 1 in block 0 and in block 1"),
        ({"blocks": [[0, 0]]}, "in one block only, and once"),
        ({"blocks": [[0], [6]]}, "columns 0 to 5. Got 6 in block 1"),
        ({"blocks": [slice(4, 7)]}, "columns 0 to 5. Got 6 in block 0"),
        ({"blocks": [[-1]]}, "columns 0 to 5. Got -1"),
        ({"blocks": [[0], []]}, "not empty"),
        ({"blocks": [slice(2, 2)]}, "not empty"),
        ({"blocks": [slice(2, None)]}, "must have an end"),
        ({"blocks": [[0.5]]}, "a slice or a list of columns"),
        ({"blocks": [3]}, "a slice or a list of columns"),
        ({"blocks": []}, "at least one block"),
        ({"max_blocks": 0}, "'max_blocks' parameter of BlockSelector must be an integer >= 1. Got 0"),
        ({"max_blocks": 2.5}, "'max_blocks'"),
        ({"cost_weight": -0.5}, "'cost_weight'"),
        ({"ridge": 0.0}, "'ridge'"),
        ({"level": 1.0}, "'level'"),
        ({"task": "ranking"}, "'task'"),
        ({"costs": [1.0]}, "one cost for each of 6 blocks"),
        ({"costs": [1, 1, 1, -1, 1, 1]}, "finite and >= 0. Got -1.0 for block 3"),
        ({"costs": [1, 1, 1, 1, 1, np.nan]}, "Got nan for block 5"),
    ],
)
def test_impossible_parameters_are_refused(rng: np.random.Generator, parameters: dict[str, Any], message: str) -> None:
    rows, y = redundant(rng)

    with pytest.raises(TrainingError, match=message):
        BlockSelector(**parameters).fit(rows, y)


def test_impossible_targets_are_refused(rng: np.random.Generator) -> None:
    rows, y = redundant(rng)

    with pytest.raises(TrainingError, match="inconsistent numbers of samples"):
        BlockSelector().fit(rows, y[1:])
    for constant in (np.zeros(500, dtype=int), np.full(500, 0.1)):
        with pytest.raises(TrainingError, match="two different values"):
            BlockSelector().fit(rows, constant)
    with pytest.raises(TrainingError, match="one for each row"):
        BlockSelector(task="classification").fit(rows, np.stack([y, y], axis=1))


@settings(max_examples=40)
@given(st.data())
def test_whole_blocks_are_selected_and_no_more_than_allowed(data: st.DataObject) -> None:
    """Any blocks, rows with ties and constant columns; every block is either selected or dropped."""
    n_columns = data.draw(st.integers(1, 12))
    columns = data.draw(st.permutations(range(n_columns)))
    ends = sorted(data.draw(st.sets(st.integers(1, n_columns), min_size=1)))
    blocks = [columns[a:b] for a, b in zip([0, *ends[:-1]], ends, strict=True)]
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    rows = rng.integers(0, data.draw(st.integers(1, 5)), (data.draw(st.integers(4, 60)), n_columns))
    y = rows @ rng.integers(-1, 2, n_columns) + rng.normal(size=len(rows))
    limit = data.draw(st.integers(1, 4))

    selector = BlockSelector(blocks, max_blocks=limit, level=0.5).fit(rows, y)

    chosen = selected(selector)
    assert len(chosen) <= limit
    assert sorted([*chosen, *selector.dropped_]) == list(range(len(blocks)))
    assert selector.get_support(indices=True).tolist() == sorted(c for b in chosen for c in blocks[b])


@settings(max_examples=20)
@given(st.integers(5, 6), st.integers(1, 3), st.integers(1, 2), st.integers(0, 10**6))
def test_moments_over_all_permutations_are_those_of_trying_them_all(n: int, p: int, m: int, seed: int) -> None:
    """The oracle permutes the rows in every way."""
    rng = np.random.default_rng(seed)
    x, y = standardised(rng.exponential(size=(n, p))), standardised(rng.exponential(size=(n, m)) ** 2)

    values = [((x[list(order)].T @ y) ** 2).sum() for order in permutations(range(n))]
    mean, variance = _permuted(_moments(x @ x.T), _moments(y @ y.T), float(n))

    assert mean == pytest.approx(np.mean(values))
    assert variance == pytest.approx(np.var(values))


def _moments(a: Floats) -> _Moments:
    return _Moments(float(np.trace(a)), float((a * a).sum()), float((np.diag(a) ** 2).sum()))
