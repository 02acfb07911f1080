"""The promise of a bundle in words."""

import math

import pytest

from polydom_runtime.bundles.promise import Assumption
from polydom_runtime.describing.promise_text import promise_text, promises_score
from tests.bundle_parts import changed
from tests.runtime.conftest import make_bundle

BROKEN = Assumption(0.0, 10, 2, 0.05)


@pytest.mark.parametrize(
    ("margin", "alpha", "text"),
    [
        (None, 1.02, "no set that fits scores more than 1.02 times the one chosen, as far as the tolerance holds"),
        (0.03, 1.2, "better than the chosen one by more than 0.03 at any size and deadline"),
        (0.03, math.inf, "if sets that were not trained are like those that were; nothing useful is proven"),
        (1.1, 1.2, "no set that fits scores more than 1.2 times the one chosen, as far as no set scores more than one"),
        (0.0, 1.0, "better than the chosen one by more than 0 at"),
    ],
)
def test_the_promise_says_what_is_proven_and_what_is_estimated(margin: float | None, alpha: float, text: str) -> None:
    bundle = changed(make_bundle()[0], margin=margin, alpha=alpha)

    assert text in promise_text(bundle)
    assert promises_score(bundle)


@pytest.mark.parametrize(
    ("margin", "alpha", "text"),
    [
        (None, math.inf, "none about the score, since nothing is proven and no margin could be told"),
        (1.1, math.inf, "another set may be better than the chosen one by 1.1, and the best set gains only 0.4 on the"),
        (1.1, 3.0, "another set may be better than the chosen one by 1.1"),
        (None, 3.0, "another set may score 3 times as much as the chosen one"),
    ],
)
def test_a_promise_that_the_prior_alone_would_keep_is_none(margin: float | None, alpha: float, text: str) -> None:
    """The prior scores 0.5, the best set 0.9."""
    bundle = changed(make_bundle()[0], margin=margin, alpha=alpha)

    assert text in promise_text(bundle)
    assert not promises_score(bundle)


def test_the_tolerance_is_told_of_a_search_that_uses_one_only() -> None:
    proven = changed(make_bundle()[0], alpha=1.2, assumption=BROKEN)

    assert "the tolerance of 0 does not hold for 2 of 10 pairs" in promise_text(proven)
    assert "tolerance" not in promise_text(changed(proven, margin=0.03))
    assert "tolerance" not in promise_text(changed(proven, margin=1.1))
