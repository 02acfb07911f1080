"""``polydom demo``: build a bundle from real pictures here; a separate node then answers items in five deadlines.

The node answers them back to back, and some of them in a loop that sleeps between two items.
"""

import importlib
import json
import sys
import warnings
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Memory

from polydom_builder.evaluation import Labelled, evaluate
from polydom_builder.evaluation.baselines import trained
from polydom_builder.evaluation.predictions import Node
from polydom_builder.exceptions import BusyMachineWarning
from polydom_builder.preparation.progress import progress_bar
from polydom_builder.search import PolyDomSearch
from polydom_builder.training.labels import targets_of
from polydom_builder.training.table import extract_table
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.commands.options import Option, values_of
from polydom_runtime.commands.outcome import Outcome
from polydom_runtime.costs import format_seconds
from polydom_runtime.exceptions import ItemError
from polydom_runtime.files import replace_file
from polydom_runtime.items.packing import write_packed
from polydom_runtime.prediction import Prediction

from .arguments import JOBS
from .deadlines import long_enough
from .demo_report import Demonstrated, as_result, detail_tables, plot, print_results
from .estimator import default_estimator
from .tables import print_table, print_text

DEADLINES = (0.0004, 0.0006, 0.001, 0.002, 0.004)
QUANTILE = 0.99
"""One answer in a hundred may be late: a desktop or a virtual machine also does other work, and pauses at any time."""
LOOP_ITEMS = "loop.npz"
"""The file of the items that the loop answers."""

OPTIONS = (
    Option("--example", "the folder of the example (default examples/surface)", Path, Path("examples/surface")),
    Option("--node NODE", "the Python of the node (default: this one)", default=sys.executable),
    Option(
        "--out",
        "the folder for the bundle, the results and all work (default .cache/demo)",
        *(Path, Path(".cache/demo")),
    ),
    JOBS,
    Option("--count", "the number of patches for training, and as many again for the test (default 1500)", int, 1500),
    Option("--details", "print simpler methods beside it, times, the sets that answered, and the bundle's whole table"),
)

BEGINNING = """\
This takes about two minutes on two processors, 40 seconds for each step. What was done before is not done again.
  1. Cut {0:,} patches from photographs of brick, grass and gravel, and time their features on this computer.
  2. Train models that tell these apart, for the sets of features that matter, and find out how to plan with them.
  3. Let a node answer {0:,} other patches, each within a deadline ({1}): back to back, and in a loop that sleeps.
"""


class DemoLoop(NamedTuple):
    """The loop of the demo."""

    period: float = 0.02
    """Seconds from one item to the next."""
    items: int = 250
    """The number of test items that it answers."""


class Looped(NamedTuple):
    """The results of the loop at one deadline."""

    items: int
    late: int
    in_time: float
    """The share of answers that were right and in time."""
    at_once: float
    """`in_time` for the same items without sleeps between them."""
    rehearsing: float
    """The share of the time that was spent on rehearsals."""
    paused: int
    """The number of answers that were late through pauses of the machine."""


def to_go_on(arguments: Namespace) -> str:
    """Return what a user can do who has stopped the demo."""
    return "To go on where it was stopped, give the same command again."


def run(arguments: Namespace) -> Outcome:
    """Build the surface example and run it on a node."""
    options = values_of(arguments, "example", "node", "out", "count")
    found = run_demo(estimator=default_estimator(), deadlines=DEADLINES, n_jobs=arguments.jobs, **options)
    print_results(found, arguments.out)
    if arguments.details:
        print_text("")
        for table in detail_tables(found):
            print_table(table)
    return Outcome({"out": arguments.out, "deadlines": found.results})


def run_demo(
    *,
    example: Path,
    node: str,
    out: Path,
    estimator: Any,
    deadlines: Sequence[float],
    n_jobs: int | None,
    count: int,
    loop: DemoLoop = DemoLoop(),  # noqa: B008
) -> Demonstrated:
    """Build, run and compare; write ``results.json`` and ``accuracy.png`` beside the bundle; one result a deadline.

    `example`: the folder of ``surface.py``. `node`: the Python of the node: any environment that has polydom_runtime.
    `out`: the folder of all results; a second run finds its work done there. `deadlines`: seconds, rising. `count`: the
    number of patches for training, and as many again for the test.
    """
    surface = _import_surface(example)
    out.mkdir(parents=True, exist_ok=True)
    print_text(BEGINNING.format(count, ", ".join(map(format_seconds, deadlines))))
    sys.stdout.flush()  # a pipe would keep it until the end
    items, labels = surface.patches("train", count)
    test_items, test_labels = surface.patches("test", count)
    write_packed(out / "train.npz", items, labels)
    write_packed(out / "test.npz", test_items, test_labels)
    loop_labels = write_loop_items(out, test_items, test_labels, loop.items)

    search = PolyDomSearch(
        *(estimator, surface.space),
        deadline=deadlines,
        n_jobs=n_jobs,
        memory=(memory := Memory(out / "cache", verbose=0)),
        quantile=QUANTILE,
        verbose=1,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BusyMachineWarning)  # the results say it
        search.fit(items, labels)
    search.export(out / "surface.bundle")
    bundle, n_trained = load_bundle(out / "surface.bundle"), len(search.expanded_)

    targets, how = targets_of(test_labels, len(test_items)), {"n_jobs": n_jobs, "memory": memory}
    rows = extract_table(surface.space, test_items, targets, progress=lambda done: None, **how).rows
    test = Labelled(test_items, test_labels, [float(surface.space.size(item)) for item in test_items], rows)
    of_surface = Node(node, example, out / "surface.bundle", "surface:space")
    found, results = long_enough(bundle, deadlines), []
    with progress_bar(1, "deadlines", 2 * len(found)) as bar:

        def answering(deadline: float) -> Sequence[Prediction]:
            answers = of_surface.answering(out / "test.npz")(deadline)
            bar.update()
            return answers

        at_each = evaluate(bundle, test, found, answering=answering, baselines=trained(search, test), n_bands=1)
        for at in at_each.deadlines:
            results.append(as_result(at, bundle.promise.late))
            if looped := run_loop(of_surface, out / LOOP_ITEMS, at.deadline, loop.period, loop_labels):
                stated = stated_in_loop(bundle, at.deadline)
                results[-1]["loop"] = {"period": loop.period, "stated": stated, **looped._asdict()}
            bar.update()
    replace_file(out / "results.json", json.dumps(results, indent=2).encode())
    plot(results, out / "accuracy.png")
    return Demonstrated(bundle, n_trained, results)


def stated_in_loop(bundle: Bundle, deadline: float) -> float | None:
    """Return the score that the bundle states for a deadline, after a sleep and a rehearsal; None if it states none."""
    there = bundle.regimes.get("rehearsed")
    row = there and there.times.outlook_at(deadline)
    return row and row.score


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


def write_loop_items(out: Path, items: list[Any], labels: list[Any], count: int) -> list[Any]:
    """Write some of the items, drawn at random, for `run_loop`; return their labels."""
    chosen = np.sort(np.random.default_rng(0).permutation(len(items))[:count]).tolist()
    some = [labels[k] for k in chosen]
    write_packed(out / LOOP_ITEMS, [items[k] for k in chosen], some)
    return some


def run_loop(node: Node, items: Path, deadline: float, period: float, labels: list[Any]) -> Looped | None:
    """Answer the items in a loop, and once more without sleeps; None if the deadline is not shorter than the period."""
    if deadline >= period:
        return None
    answers, summary = node.run(items, deadline, period=period)
    at_once, _ = node.run(items, deadline)
    late = sum(not answer["deadline_met"] for answer in answers)
    share, paused = float(summary["loop"]["rehearsals"]["share"]), int(summary["promise"]["paused"])
    scores = _right_and_in_time(answers, labels), _right_and_in_time(at_once, labels)
    return Looped(len(answers), late, *scores, share, paused)


def _right_and_in_time(answers: list[dict[str, Any]], labels: list[Any]) -> float:
    """Return the share of right answers in time; an item that was skipped counts as wrong."""
    right = sum(bool(answer["deadline_met"] and answer["label"] == labels[answer["item"]]) for answer in answers)
    return right / len(labels)
