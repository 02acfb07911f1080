"""``polydom demo``: build a bundle from real pictures here; a separate node then answers items in five deadlines.

The node answers them back to back, and some of them in a loop that sleeps between two items.
"""

import argparse
import importlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from joblib import Memory

from polydom_builder.evaluation import Labelled, evaluate
from polydom_builder.evaluation.answering import Node
from polydom_builder.evaluation.baselines import trained
from polydom_builder.search import PolyDomSearch
from polydom_builder.training.labels import targets_of
from polydom_builder.training.table import extract_table
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.commands.outcome import Outcome
from polydom_runtime.commands.terminal import show
from polydom_runtime.exceptions import ItemError
from polydom_runtime.files import replace_file
from polydom_runtime.items.packed import write_packed

from .deadlines import long_enough
from .demo_loop import LOOP_ITEMS, Pace, run_loop, write_loop_items
from .demo_report import as_result, as_table, plot
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


def run(arguments: argparse.Namespace) -> Outcome:
    """Build the surface example and run it on a node."""
    results = run_demo(
        example=arguments.example,
        node=arguments.node,
        out=arguments.out,
        estimator=default_estimator(),
        deadlines=DEADLINES,
        n_jobs=arguments.jobs,
        count=arguments.count,
    )
    return Outcome({"out": arguments.out, "deadlines": results})


def run_demo(
    *,
    example: Path,
    node: str,
    out: Path,
    estimator: Any,
    deadlines: Sequence[float],
    n_jobs: int | None,
    count: int,
    pace: Pace = Pace(),  # noqa: B008
) -> list[dict[str, Any]]:
    """Build, run and compare; write ``results.json`` and ``accuracy.png`` beside the bundle.

    `example`: the folder of ``surface.py``. `node`: the Python of the node: any environment that has polydom_runtime.
    `out`: the folder of all results; a second run finds its work done there. `deadlines`: seconds, rising. `n_jobs`:
    workers; -1 for all processors. `count`: patches for training, and as many again for the test. `pace`: of the loop.

    The result: one result for each deadline.

    Raises `ItemError` if the example cannot be imported. Raises `ExportError` if the node cannot run the bundle.
    """
    surface = _import_surface(example)
    out.mkdir(parents=True, exist_ok=True)
    memory = Memory(out / "cache", verbose=0)
    show(f"Cutting {count} training and {count} test patches from photographs of brick, grass and gravel.")
    items, labels = surface.patches("train", count)
    test_items, test_labels = surface.patches("test", count)
    write_packed(out / "train.npz", items, labels)
    write_packed(out / "test.npz", test_items, test_labels)
    loop_labels = write_loop_items(out, test_items, test_labels, pace.items)

    search = PolyDomSearch(
        estimator,
        surface.space,
        deadline=(deadlines[0], deadlines[-1]),
        n_jobs=n_jobs,
        memory=memory,
        quantile=QUANTILE,
        verbose=1,
    ).fit(items, labels)
    search.export(out / "surface.bundle")
    bundle = load_bundle(out / "surface.bundle")
    show(
        f"Trained {len(search.expanded_)} of {2 ** len(surface.space)} feature sets; the index has "
        f"{len(bundle.stored.shipped)} sets, {len(bundle.models)} models with all prefixes."
    )

    rows = extract_table(
        surface.space,
        test_items,
        targets_of(test_labels, len(test_items)),
        n_jobs=n_jobs,
        memory=memory,
        progress=lambda done: None,
    ).rows
    test = Labelled(test_items, test_labels, [float(surface.space.size(item)) for item in test_items], rows)
    for note in bundle.times.origin.notes:
        show(f"While the times were measured: {note}.")
    of_surface = Node(node, example, out / "surface.bundle", "surface:space")
    found = evaluate(
        bundle,
        test,
        long_enough(bundle, deadlines),
        answering=of_surface.answering(out / "test.npz"),
        baselines=trained(search, test),
        n_bands=1,
    )
    results = []
    for at in found.deadlines:
        results.append(as_result(at))
        if looped := run_loop(of_surface, out / LOOP_ITEMS, at.deadline, pace, loop_labels):
            results[-1]["loop"] = {"period": pace.period, **looped._asdict()}
    show(as_table(results))
    replace_file(out / "results.json", json.dumps(results, indent=2).encode())
    plot(results, out / "accuracy.png")
    show(f"Bundle, results and plot are in {out}: surface.bundle, results.json, accuracy.png.")
    return results


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
