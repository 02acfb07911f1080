"""``polydom demo``: build a bundle from real pictures here; a separate node then answers items in five deadlines."""

import argparse
import importlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from joblib import Memory

from polydom_builder.exceptions import ExportError
from polydom_builder.search import PolyDomSearch
from polydom_builder.training.table import extract_table
from polydom_runtime.costs import format_seconds
from polydom_runtime.exceptions import ItemError
from polydom_runtime.items import write_packed

from .baselines import Baselines
from .demo_report import as_table, plot
from .estimator import default_estimator

DEADLINES = (0.0004, 0.0006, 0.001, 0.002, 0.004)
QUANTILE = 0.99
"""One answer in a hundred may be late: a desktop or a virtual machine also does other work, and pauses at any time."""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of ``polydom demo``."""
    command.add_argument(
        "--example",
        type=Path,
        default=Path("examples/surface"),
        help="the folder of the example (default examples/surface)",
    )
    command.add_argument("--node", default=sys.executable, help="the Python of the node (default: this one)")
    command.add_argument(
        "--out",
        type=Path,
        default=Path(".cache/demo"),
        help="the folder for the bundle, the results and all work (default .cache/demo)",
    )
    command.add_argument("--jobs", type=int, help="the number of worker processes; -1 for all processors (default 1)")
    command.add_argument(
        "--count",
        type=int,
        default=1500,
        help="the number of patches for training, and as many again for the test (default 1500)",
    )


def run(arguments: argparse.Namespace) -> None:
    """Build the surface example and run it on a node."""
    run_demo(
        example=arguments.example,
        node=arguments.node,
        out=arguments.out,
        estimator=default_estimator(),
        deadlines=DEADLINES,
        n_jobs=arguments.jobs,
        count=arguments.count,
    )


def run_demo(
    *, example: Path, node: str, out: Path, estimator: Any, deadlines: Sequence[float], n_jobs: int | None, count: int
) -> list[dict[str, Any]]:
    """Build, run and compare; write ``results.json`` and ``accuracy.png`` beside the bundle.

    Parameters
    ----------
    example : Path
        The folder of ``surface.py``.
    node : str
        The Python of the node: any environment that has polydom_runtime.
    out : Path
        The folder of all results; a second run finds its work done there.
    estimator : scikit-learn classifier or pipeline
    deadlines : sequence of float
        Seconds, rising.
    n_jobs : int, optional
        Workers; -1 for all processors.
    count : int
        Patches for training, and as many again for the test.

    Returns
    -------
    list of dict
        One result for each deadline.

    Raises
    ------
    ItemError
        If the example cannot be imported.
    ExportError
        If the node cannot run the bundle.
    """
    surface = _import_surface(example)
    out.mkdir(parents=True, exist_ok=True)
    memory = Memory(out / "cache", verbose=0)
    print(f"Cutting {count} training and {count} test patches from photographs of brick, grass and gravel.")
    items, labels = surface.patches("train", count)
    test_items, test_labels = surface.patches("test", count)
    write_packed(out / "train.npz", items, labels)
    write_packed(out / "test.npz", test_items, test_labels)

    search = PolyDomSearch(
        estimator,
        surface.space,
        deadline=(deadlines[0], deadlines[-1]),
        n_jobs=n_jobs,
        memory=memory,
        quantile=QUANTILE,
        verbose=1,
    ).fit(items, labels)
    bundle = search.export(out / "surface.bundle")
    print(
        f"Trained {len(search.expanded_)} of {2 ** len(surface.space)} feature sets; the bundle has "
        f"{len(bundle.stored.shipped)} of them, {len(bundle.models)} models with all prefixes."
    )

    test = extract_table(
        surface.space, test_items, test_labels, n_jobs=n_jobs, memory=memory, progress=lambda done: None
    )
    baselines = Baselines(search, test, [float(surface.space.size(item)) for item in test_items])
    results = []
    shortest = bundle.times.worst.dispatch(bundle.promise.sizes[0])
    for deadline in deadlines:
        if deadline < shortest:
            print(f"Left out {format_seconds(deadline)}: an answer may take {format_seconds(shortest)} here.")
            continue
        result = run_node(node, example, out, deadline)
        result |= {"single": baselines.single(deadline), "cheap_first": baselines.cheap_first(deadline)}
        results.append(result)
    print(as_table(results))
    (out / "results.json").write_text(json.dumps(results, indent=2))
    plot(results, out / "accuracy.png")
    print(f"Bundle, results and plot are in {out}: surface.bundle, results.json, accuracy.png.")
    return results


def run_node(node: str, example: Path, out: Path, deadline: float) -> dict[str, Any]:
    """Answer the test items in a process of the node's Python, with only the example's folder on its path.

    Parameters
    ----------
    node : str
        The Python of the node.
    example : Path
        The folder of ``surface.py``.
    out : Path
        The folder with the bundle and the test items.
    deadline : float
        Seconds.

    Returns
    -------
    dict
        The summary that the node prints.

    Raises
    ------
    ExportError
        If the node cannot run the bundle.
    """
    bundle, items = (out / "surface.bundle").absolute(), (out / "test.npz").absolute()
    python = os.path.abspath(shutil.which(node) or node)  # the link is not resolved: it marks a virtual environment
    command = [python, "-m", "polydom_runtime", "run", str(bundle), "surface:space"]
    command += ["--items", str(items), "--deadline", f"{deadline}s", "--quiet"]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(command, cwd=example, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise ExportError(f"The node must run the bundle. It said: {done.stderr.strip()[-500:]}")
    *_, last = done.stdout.splitlines()
    summary: dict[str, Any] = json.loads(last)["summary"]
    return summary


def _import_surface(example: Path) -> Any:
    if not (example / "surface.py").is_file():
        raise ItemError(
            f"The demo must find the surface example. There is no {example / 'surface.py'}. "
            "Run it in a clone of the repository, or give --example."
        )
    sys.path.insert(0, str(example.absolute()))
    try:
        return importlib.import_module("surface")
    except ImportError as e:
        raise ItemError(f"The demo must be able to import {example / 'surface.py'}. {e}") from e
