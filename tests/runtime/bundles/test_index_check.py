"""The index of a bundle is compared with a scan of its candidates when it is loaded."""

from dataclasses import replace

import pytest

from polydom_runtime import CostFunction
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index import Interval
from polydom_runtime.bundles.index_file import decode, encode
from polydom_runtime.exceptions import BundleFormatError
from tests.bundle_parts import changed
from tests.runtime.conftest import US, make_bundle

WHOLE = tuple(Interval(k, 1.0, 1000.0) for k in (1, 2, 3))
"""The intervals of the small bundle: each candidate costs more and scores higher than the one before, at every size."""


def with_intervals(*intervals: Interval) -> Bundle:
    return changed(make_bundle()[0], intervals=intervals)


@pytest.mark.parametrize(
    ("intervals", "message"),
    [
        ((Interval(1, 0.5, 1000.0), *WHOLE[1:]), "between the sizes"),
        ((Interval(1, 1.0, 1001.0), *WHOLE[1:]), "between the sizes"),
        ((*WHOLE, Interval(1, 500.0, 1000.0)), "must not overlap"),
        (WHOLE[1:], "must give a candidate that scores 0.7. Got 0.5"),
        (WHOLE[:2], "must give a candidate that scores 0.9. Got 0.8"),
        ((), "must give a candidate"),
        ((Interval(1, 1.0, 500.0), Interval(1, 700.0, 1000.0), *WHOLE[1:]), "must give a candidate"),
        ((*WHOLE[:2], Interval(3, 1.0, 50.0)), "must give a candidate"),
        ((*WHOLE[:2], Interval(0, 1.0, 1000.0)), "must give a candidate"),
    ],
)
def test_an_index_that_misses_the_best_candidate_is_refused(intervals: tuple[Interval, ...], message: str) -> None:
    with pytest.raises(BundleFormatError, match=message):
        decode(encode(with_intervals(*intervals)))


def test_a_candidate_that_costs_more_than_a_better_one_is_refused() -> None:
    """The search in a row of the index relies on it that costs rise with scores."""
    bundle, _ = make_bundle()
    scores = (0.9, 0.8, 0.7)
    falling = tuple(model._replace(accuracy=a) for model, a in zip(bundle.models, scores, strict=True))

    with pytest.raises(BundleFormatError, match="the better must cost more"):
        decode(encode(replace(bundle, models=falling)))


def test_candidates_are_different_models() -> None:
    with pytest.raises(BundleFormatError, match="different models"):
        decode(encode(changed(make_bundle()[0], shipped=(0, 1, 1))))


def test_a_greedy_bundle_has_no_other_candidates() -> None:
    with pytest.raises(BundleFormatError, match="sequences only"):
        decode(encode(changed(make_bundle()[0], sequences=((0, 1),))))


def test_only_budgets_of_the_promise_are_asked_for() -> None:
    """At 100 µs the third candidate, of at least 89 µs, fits sizes up to 11 only; the builder leaves the rest out."""
    bundle = changed(with_intervals(*WHOLE[:2], Interval(3, 1.0, 12.0)), budgets=(50 * US, 100 * US))

    assert decode(encode(bundle)) == bundle


@pytest.mark.parametrize("sizes", [(1.0, 1.0), (0.0, 1e-90), (0.0, 1e90)])
def test_any_range_of_sizes_can_be_checked(sizes: tuple[float, float]) -> None:
    bundle = changed(with_intervals(*(Interval(k, *sizes) for k in (1, 2, 3))), sizes=sizes)

    assert decode(encode(bundle)) == bundle


def test_costs_of_their_own_are_those_that_count() -> None:
    bundle, _ = make_bundle()
    costs = map(CostFunction.of, (30 * US, 20 * US, 10 * US))
    models = tuple(model._replace(cost=cost) for model, cost in zip(bundle.models, costs, strict=True))

    with pytest.raises(BundleFormatError, match="the better must cost more"):
        decode(encode(replace(bundle, models=models)))
