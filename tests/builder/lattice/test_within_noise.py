"""The sets that are kept: of those that cannot be told apart, the cheaper one."""

import numpy as np
import pytest

from polydom_builder.lattice.within_noise import PairedErrors, select_within_noise, warn_if_all_is_noise
from polydom_builder.sets.region import QueryRegion
from polydom_builder.sets.set_costs import SetCosts
from polydom_runtime.costs import CostFunction

COSTS = SetCosts([CostFunction.of(1.0), CostFunction.of(2.0)])
REGION = QueryRegion((1, 100))
PARTS = {
    0: [0.5, 0.5, 0.5, 0.5],
    1: [0.7, 0.8, 0.7, 0.8],
    2: [0.7, 0.8, 0.7, 0.8],
    3: [0.8, 0.7, 0.8, 0.9],
}


def errors(inflation: float = 1.0) -> PairedErrors:
    return PairedErrors(lambda masks: np.array([PARTS[mask] for mask in masks]), np.full(4, 0.25), inflation)


def scores() -> dict[int, float]:
    return {mask: float(np.mean(parts)) for mask, parts in PARTS.items()}


def test_the_standard_error_of_a_difference_is_that_of_its_parts() -> None:
    differences = np.subtract(PARTS[3], PARTS[1])

    assert errors().of([3], 1) == pytest.approx([differences.std(ddof=1) / 2.0])
    assert errors(inflation=4.0).of([3], 1) == pytest.approx([differences.std(ddof=1)])
    assert errors().of([1, 2], 1) == pytest.approx([0.0, 0.0])
    assert errors().of([], 1).shape == (0,)


@pytest.mark.parametrize(("times", "kept"), [(0.0, [0, 1, 3]), (0.5, [0, 1, 3]), (1.0, [0, 1])])
def test_a_set_is_kept_if_it_is_better_than_a_cheaper_one_by_more_than_the_noise(times: float, kept: list[int]) -> None:
    """{1} costs 1 and scores .75, {2} costs 2 and scores as much, {1, 2} scores .8 with a standard error of .058."""
    assert select_within_noise(scores(), COSTS, REGION, errors(), times) == kept


def test_a_dropped_set_drops_no_other() -> None:
    """Else the loss would add up: .5, .55, .6, .65 with a noise of .06 each keep the first and the third."""
    costs = SetCosts([CostFunction.of(1.0), CostFunction.of(2.0)])
    rising = {0: 0.5, 1: 0.55, 2: 0.6, 3: 0.65}
    swing = np.array([[0.0, 0.0], [0.06, -0.06], [-0.06, 0.06], [0.06, -0.06]])
    table = np.array(list(rising.values()))[:, None] + swing
    noise = PairedErrors(lambda masks: table[list(masks)], np.full(2, 0.5))

    assert select_within_noise(rising, costs, REGION, noise, 1.0) == [0, 2]


def test_with_one_block_nothing_is_known_of_the_noise_and_all_better_sets_are_kept() -> None:
    lone = PairedErrors(lambda masks: np.array([[scores()[mask]] for mask in masks]), np.ones(1))

    assert select_within_noise(scores(), COSTS, REGION, lone, 1.0) == [0, 1, 3]


def test_scores_that_may_all_be_chance_are_told_with_the_items_that_are_missing() -> None:
    """A lead of .02 with a standard error of .04 needs 16 times as many items."""
    swing = 0.04 * np.sqrt(3.0) * np.array([1.0, -1.0, 1.0, -1.0])
    table = np.array([[0.5] * 4, 0.52 + swing])
    noise = PairedErrors(lambda masks: table[list(masks)], np.full(4, 0.25))

    with pytest.warns(UserWarning, match=r"scores 0\.02 more .* error 0\.04.* about 16 times as many"):
        warn_if_all_is_noise({0: 0.5, 1: 0.52}, noise)
    warn_if_all_is_noise(scores(), errors())


def test_of_a_set_without_scores_of_all_blocks_no_error_is_known() -> None:
    """A scorer may be undefined without some block."""
    table = np.array([[0.5, 0.6], [0.7, np.nan], [0.6, 0.8]])
    noise = PairedErrors(lambda masks: table[list(masks)], np.full(2, 0.5))

    assert noise.moves([1]).tolist() == [[0.0, 0.0]]
    assert noise.of([2], 0) > 0.0
    assert (noise.are_known([0, 2]), noise.are_known([0, 1])) == (True, False)
