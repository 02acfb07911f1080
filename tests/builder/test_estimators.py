"""Estimators of all kinds work from the labels to the node, or are refused before the search."""

import pytest

from tests.builder.estimators import Case, cases, tried


@pytest.mark.end_to_end
@pytest.mark.parametrize("case", [*cases()], ids=lambda case: f"{case.name}-{case.kind}")
def test_estimator_works_or_is_refused_before_the_search(case: Case) -> None:
    result = tried(case)
    assert result.stage in ("works", "refused"), result.said
