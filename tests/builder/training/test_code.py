"""Edited code of estimators and scorers is noticed, so that no cached score outlives it."""

import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from polydom_builder.exceptions import TrainingError
from polydom_builder.training.fingerprints import training_code
from tests.builder import task
from tests.builder.searches import search

MODULE = """
import helper_of_estimator
from sklearn.linear_model import LogisticRegression
class Mine(LogisticRegression):
    pass
def scaled(rows):
    return rows * helper_of_estimator.SCALE
def share(labels, answers):
    return helper_of_estimator.SCALE * (labels == answers).mean()
"""


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Writes the helper with a line and returns the module that imports it."""
    monkeypatch.syspath_prepend(str(tmp_path))
    # A file that changes within a second and keeps its length would be taken for its old bytecode.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "written_estimator.py").write_text(MODULE)

    def write(line: str) -> Any:
        (tmp_path / "helper_of_estimator.py").write_text(line)
        for name in ("written_estimator", "helper_of_estimator"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        importlib.invalidate_caches()
        return importlib.import_module("written_estimator")

    return write


@pytest.mark.parametrize(
    "parts",
    [
        lambda m: (m.Mine(), "accuracy"),
        lambda m: (make_pipeline(StandardScaler(), m.Mine()), "accuracy"),
        lambda m: (make_pipeline(FunctionTransformer(m.scaled), LogisticRegression()), "accuracy"),
        lambda m: (LogisticRegression(), make_scorer(m.share)),
    ],
    ids=["class", "step", "function", "scorer"],
)
def test_edited_code_is_noticed(parts: Callable[[Any], tuple[Any, Any]], written: Callable[[str], Any]) -> None:
    before = training_code(*parts(written("SCALE = 1.0\n")))

    assert training_code(*parts(written("SCALE = 1.0  # as it was\n"))) == before
    assert training_code(*parts(written("SCALE = 0.5\n"))) != before


def test_versions_of_libraries_count(monkeypatch: pytest.MonkeyPatch) -> None:
    import sklearn

    before = training_code(LogisticRegression(), "accuracy")
    monkeypatch.setattr(sklearn, "__version__", "0.1")
    assert training_code(LogisticRegression(), "accuracy") != before


def test_edited_scorer_does_not_keep_its_scores(written: Callable[[str], Any], tmp_path: Path) -> None:
    items, labels = task.items(60)

    def best(line: str) -> float:
        scorer = make_scorer(written(line).share)
        fitted = search(scoring=scorer, memory=str(tmp_path / "cache"), cv=2, alpha=1.2).fit(
            items, labels, costs=task.costs
        )
        return max(fitted.expanded_.values())

    assert best("SCALE = 0.5\n") == pytest.approx(0.5 * best("SCALE = 1.0\n"))


def test_cache_that_all_users_may_write_is_refused(tmp_path: Path) -> None:
    os.chmod(tmp_path, 0o777)
    with pytest.raises(TrainingError, match="must not be writable for all users"):
        search(memory=str(tmp_path)).fit(*task.items(60), costs=task.costs)
