"""The promise of a bundle in words."""

import math

import pytest

from polydom_runtime.describing.promise_text import promise_text
from tests.bundle_parts import changed
from tests.runtime.conftest import make_bundle


@pytest.mark.parametrize(
    ("margin", "alpha", "text"),
    [
        (None, 1.02, "no set that fits scores more than 1.02 times the one chosen"),
        (None, math.inf, "none about the score, since nothing is proven and no margin could be told"),
        (0.03, 1.2, "better than the chosen one by more than 0.03 at any size and deadline"),
        (0.03, math.inf, "nothing is proven"),
    ],
)
def test_the_promise_says_what_is_proven_and_what_is_estimated(margin: float | None, alpha: float, text: str) -> None:
    assert text in promise_text(changed(make_bundle()[0], margin=margin, alpha=alpha))
