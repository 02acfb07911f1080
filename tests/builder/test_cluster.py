"""A cluster does the training: joblib's dask backend on two workers, one of which dies."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import pytest
from distributed import Client, LocalCluster
from sklearn.linear_model import LogisticRegression

from polydom_builder import PolyDomSearch
from polydom_runtime.bundles.index_file import load_bundle

from . import task
from .slow_score import FatalOnce

US = task.US


@pytest.fixture(scope="module")
def cluster() -> Iterator[Client]:
    """Two worker processes, and joblib told to use them."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
        joblib.parallel_config(backend="dask"),
    ):
        yield client


def search(**changes: Any) -> PolyDomSearch:
    given = {"estimator": LogisticRegression(), "space": task.space, "deadline": (50 * US, 400 * US), "cv": 2}
    return PolyDomSearch(**(given | changes))


def found(fitted: PolyDomSearch) -> Any:
    return fitted.expanded_, fitted.candidates_, fitted.index_.intervals


@pytest.fixture(scope="module")
def near() -> PolyDomSearch:
    """The same search by local workers."""
    with joblib.parallel_config(backend="loky"):
        return search(n_jobs=2).fit(*task.items(90), costs=task.costs)


def test_cluster_builds_what_local_workers_build(cluster: Client, near: PolyDomSearch, tmp_path: Path) -> None:
    fitted = search().fit(*task.items(90), costs=task.costs)
    fitted.export(tmp_path / "far")
    with joblib.parallel_config(backend="loky"):
        near.export(tmp_path / "near")

    assert found(fitted) == found(near)
    assert load_bundle(tmp_path / "far").models == load_bundle(tmp_path / "near").models


def test_worker_killed_at_work_costs_nothing(cluster: Client, near: PolyDomSearch, tmp_path: Path) -> None:
    fatal = FatalOnce(str(tmp_path), calls=6, spared=os.getpid())
    before = set(cluster.run(os.getpid).values())
    fitted = search(scoring=fatal).fit(*task.items(90), costs=task.costs)

    assert (tmp_path / "killed").exists()
    assert len(before - set(cluster.run(os.getpid).values())) == 1
    assert found(fitted) == found(near)
