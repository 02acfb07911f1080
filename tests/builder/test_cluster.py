"""A cluster does the training: joblib's dask backend on two workers, one of which dies."""

import os
from pathlib import Path
from typing import Any

import joblib
from distributed import Client, LocalCluster
from sklearn.linear_model import LogisticRegression

from polydom_builder import PolyDomSearch, SearchLimits
from polydom_runtime.bundles.index_file import load_bundle

from . import task
from .slow_score import FatalOnce

US = task.US


def built(out: Path, scoring: Any) -> PolyDomSearch:
    """Return a fitted search whose bundle has been written."""
    deadline = (50 * US, 400 * US)
    search = PolyDomSearch(
        LogisticRegression(),
        task.space,
        deadline=deadline,
        cv=2,
        scoring=scoring,
        limits=SearchLimits(max_trainings=10),
    )
    search.fit(*task.items(45), costs=task.costs)
    search.export(out)
    return search


def found(fitted: PolyDomSearch) -> Any:
    return fitted.expanded_, fitted.candidates_, fitted.index_.intervals


def test_cluster_builds_what_this_process_builds_though_a_worker_is_killed_at_work(tmp_path: Path) -> None:
    fatal = FatalOnce(str(tmp_path), calls=6, spared=os.getpid())
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
        joblib.parallel_config(backend="dask"),
    ):
        before = set(client.run(os.getpid).values())
        far = built(tmp_path / "far", fatal)
        lost = before - set(client.run(os.getpid).values())
    assert (tmp_path / "killed").exists()
    with joblib.parallel_config(backend="threading", n_jobs=2):  # as many sets are in work at a time
        near = built(tmp_path / "near", fatal)

    assert len(lost) == 1
    assert found(far) == found(near)
    assert load_bundle(tmp_path / "far").models == load_bundle(tmp_path / "near").models
