"""Workers of a build: joblib's, on this machine or on a cluster."""

import multiprocessing
import os
from collections.abc import Iterable
from typing import Any

from joblib import Parallel, effective_n_jobs
from joblib.parallel import MultiprocessingBackend, get_active_backend

from polydom_builder.exceptions import TrainingError


def check_workers(n_jobs: int | None) -> None:
    """Refuse workers each of which would run the user's script again, without end if it does not ask for its name."""
    method = (
        os.environ.get("JOBLIB_START_METHOD", "").strip()
        or multiprocessing.get_start_method(allow_none=True)
        or multiprocessing.get_all_start_methods()[0]  # what it will be: a call without `allow_none` would settle it
    )
    backend, _ = get_active_backend()
    if type(backend) is MultiprocessingBackend and method != "fork" and effective_n_jobs(n_jobs) > 1:
        raise TrainingError(
            f"The workers of joblib's backend multiprocessing must be forked. Got the start method {method!r}, by "
            "which each worker runs your script again. Leave the backend to joblib: its own, loky, needs no fork."
        )


def in_order(tasks: Iterable[Any], n_jobs: int | None) -> Iterable[Any]:
    """Return the results of tasks in order, each as soon as it is known, or all at the end.

    The latter from backends that know no generators, such as multiprocessing and Ray's.
    """
    backend, _ = get_active_backend()
    kind = "generator" if getattr(backend, "supports_return_generator", False) else "list"
    results: Iterable[Any] = Parallel(n_jobs=n_jobs, return_as=kind)(tasks)
    return results
