"""Workers of other kinds, and other ways to start them."""

import multiprocessing
from pathlib import Path
from typing import Any

import pytest
from joblib import delayed, parallel_config

from polydom_builder import SearchLimits
from polydom_builder.exceptions import TrainingError
from polydom_builder.training.workers import check_workers, in_order
from polydom_runtime import load_bundle
from tests.builder import task
from tests.builder.searches import search

JOBLIB = "JOBLIB_START_METHOD"


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_results_come_in_order_from_workers_of_any_kind(
    backend: str, n_jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(JOBLIB, "fork")
    with parallel_config(backend=backend):
        check_workers(n_jobs)
        found = list(in_order((delayed(pow)(2, k) for k in range(10)), n_jobs))

    assert found == [2**k for k in range(10)]


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
@pytest.mark.parametrize("by", ["joblib", "multiprocessing", "python"])
def test_workers_that_run_the_script_again_are_refused_before_the_training(
    by: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From Python 3.14 on, forkserver is what a program gets that asks for nothing."""
    monkeypatch.delenv(JOBLIB, raising=False)
    if by == "joblib":
        monkeypatch.setenv(JOBLIB, method)
    monkeypatch.setattr(multiprocessing, "get_start_method", lambda allow_none: method if by != "python" else None)
    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: [method])

    with (
        parallel_config(backend="multiprocessing", n_jobs=2),
        pytest.raises(TrainingError, match=f"must be forked. Got the start method '{method}'.*loky"),
    ):
        search().fit([], [])


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_workers_of_joblib_itself_need_no_start_method(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiprocessing, "get_start_method", lambda allow_none: method)

    check_workers(2)
    with parallel_config(backend="multiprocessing"):
        check_workers(1)


def test_forked_workers_build_a_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(JOBLIB, "fork")
    given: dict[str, Any] = {"alpha": None, "cv": 2, "memory": None, "limits": SearchLimits(max_trainings=4)}
    with parallel_config(backend="multiprocessing", n_jobs=2):
        search(**given).fit(*task.items(45), costs=task.costs).export(tmp_path / "b")

    assert load_bundle(tmp_path / "b").models
