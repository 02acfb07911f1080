"""What features are worth, in worlds that are small enough to work it out by hand."""

import pytest

from polydom_builder.displays.index_view import IndexView
from polydom_builder.displays.worth import Worth, worths
from polydom_runtime.bundles.bundle import Bundle, StoredIndex
from polydom_runtime.bundles.model_entry import ModelEntry
from polydom_runtime.bundles.unit_times import StepTime
from polydom_runtime.costs import CostFunction
from tests.bundle_parts import bundle_of, changed

US = 1e-6


def model(order: tuple[int, ...], score: float) -> ModelEntry:
    return ModelEntry(order, score, 0.0, 1, b"\0" * 32)


@pytest.fixture
def bundle() -> Bundle:
    """At a deadline of 80 µs only ``quick`` fits; ``slow`` is better and would fit if it took half its time."""
    return bundle_of(
        names=("quick", "slow", "idle"),
        costs=(CostFunction.of(10 * US), CostFunction.of(90 * US), CostFunction.of(500 * US)),
        steps=(StepTime("shared", 0b010, CostFunction.of(20 * US)),),
        models=(model((0,), 0.7), model((1,), 0.9), model((2,), 0.6)),
        shipped=(0, 1, 2),
        budgets=(80 * US, 80 * US),
        sizes=(10.0, 10.0),
    )


def by_name(bundle: Bundle) -> dict[str, Worth]:
    return {worth.name: worth for worth in worths(IndexView.of_bundle(bundle))}


def test_a_feature_is_worth_what_is_lost_without_it_and_gained_at_half_its_time(bundle: Bundle) -> None:
    found = by_name(bundle)

    assert [found["quick"].lost, found["quick"].gained] == pytest.approx([0.2, 0.0])
    assert [found["slow"].lost, found["slow"].gained] == pytest.approx([0.0, 0.2])
    assert (found["idle"].lost, found["idle"].gained) == (0.0, 0.0)
    assert [worth.used for worth in found.values() if worth.name in ("quick", "slow")] == [0.0, 1.0]


def test_a_shared_step_is_no_choice_but_may_be_made_quicker(bundle: Bundle) -> None:
    found = by_name(changed(bundle, budgets=(100 * US, 100 * US)))["shared"]

    assert found.lost is None
    assert found.gained == pytest.approx(0.2)


def test_a_step_is_used_wherever_any_of_its_features_is(bundle: Bundle) -> None:
    """No set has both of them: at some deadlines neither fits, at some ``quick`` alone, at some ``slow`` is better."""
    steps = (StepTime("shared", 0b011, CostFunction.of(20 * US)),)
    found = by_name(changed(bundle, steps=steps, budgets=(20 * US, 200 * US)))

    quick, slow = found["quick"].used, found["slow"].used
    assert 0.0 < quick < quick + slow < 1.0
    assert found["shared"].used == pytest.approx(quick + slow)


def test_the_one_that_gains_most_comes_first(bundle: Bundle) -> None:
    assert worths(IndexView.of_bundle(bundle))[0].name == "slow"


def test_without_a_feature_a_greedy_sequence_ends_before_it(bundle: Bundle) -> None:
    both = (*bundle.models[:2], model((0, 1), 0.95))
    greedy = changed(bundle, models=both, budgets=(200 * US, 200 * US))
    greedy = changed(greedy, shipped=(), sequences=((0, 1),), median_size=10.0)
    assert isinstance(greedy.stored, StoredIndex)
    found = by_name(greedy)

    assert found["quick"].lost == pytest.approx(0.45)
    assert found["slow"].lost == pytest.approx(0.25)
    assert found["idle"].used == 0.0
