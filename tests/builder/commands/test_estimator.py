"""The estimators of the command line: one as it is, or several by their names."""

import pytest
from sklearn.pipeline import Pipeline

from polydom_builder.commands.estimator import given_estimator
from polydom_builder.exceptions import TrainingError
from tests.builder.searches import LOGISTIC

LINES = "tests.builder.searches:LOGISTIC"


def test_one_is_given_as_it_is() -> None:
    assert given_estimator([LINES]) is LOGISTIC
    assert type(given_estimator([])) is Pipeline


def test_several_have_the_names_of_their_objects_or_their_own() -> None:
    assert given_estimator([LINES, f"also={LINES}"]) == {"LOGISTIC": LOGISTIC, "also": LOGISTIC}
    assert given_estimator([f"lines={LINES}"]) == {"lines": LOGISTIC}


@pytest.mark.parametrize("second", [LINES, f"LOGISTIC={LINES}"])
def test_two_of_one_name_are_refused(second: str) -> None:
    with pytest.raises(TrainingError, match=r"name of its own. Got LOGISTIC twice. Write NAME=MODULE:OBJECT\."):
        given_estimator([LINES, second])
