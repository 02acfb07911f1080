"""The limits of training hold for all estimators together."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from polydom_builder.families.family_limits import FamilyLimits
from polydom_builder.training.families import Family


def families(*trained: int) -> list[Family]:
    """Return families whose trainers have trained so many sets."""
    table = SimpleNamespace(columns=range(12))
    trainers = [SimpleNamespace(known=dict.fromkeys(range(n)), table=table) for n in trained]
    return [Family(str(k), cast(Any, trainer), 1.0) for k, trainer in enumerate(trainers)]


def test_one_estimator_has_all_of_the_limits() -> None:
    assert FamilyLimits(families(0), 30, 60.0, clock=lambda: 0.0).of_lattice == (30, 60.0)


@pytest.mark.parametrize(("trained", "explored"), [((8, 8), 60), ((8, 8, 8), 40), ((0, 0), 50)])
def test_all_estimators_train_at_most_half_as_much_again(trained: tuple[int, ...], explored: int) -> None:
    left = FamilyLimits(families(explored, *trained[1:]), None, None, clock=lambda: 0.0).of_others(explored)

    assert left == max(1.5 * explored - explored - sum(trained[1:]), 0)


def test_many_estimators_are_compared_on_one_set_at_least() -> None:
    assert FamilyLimits(families(*[0] * 20), None, None, clock=lambda: 0.0).to_compare == 19
    assert FamilyLimits(families(*[0] * 20), 60, None, clock=lambda: 0.0).to_compare == 10


def test_the_limit_of_trainings_holds_for_all_together() -> None:
    """Of 40, 6 were spent in a comparison of two, and 10 are kept for the end."""
    before = FamilyLimits(families(3, 3), 40, None, clock=lambda: 0.0)
    after = FamilyLimits(families(27, 3), 40, None, clock=lambda: 0.0)

    assert before.to_compare == 6
    assert before.of_lattice == (24, None)
    assert after.of_others(27) == 10


def test_the_limit_of_seconds_holds_for_all_together() -> None:
    now = [100.0]
    limits = FamilyLimits(families(3, 3), None, 40.0, clock=lambda: now[0])
    now[0] += 5.0

    assert limits.of_lattice == (None, 25.0)
    assert limits.in_time()
    now[0] += 35.0
    assert not limits.in_time()
