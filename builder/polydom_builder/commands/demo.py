"""The demo: build a bundle from real pictures here, then let a separate node answer items inside five deadlines."""

import importlib
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
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

DEADLINES = (0.0004, 0.0006, 0.001, 0.002, 0.004)
QUANTILE = 0.99
"""One answer in a hundred may be late: a desktop, or a virtual machine, does other work too and pauses at will."""

MAX_SETS, MAX_MISSES = 3, 30


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
        Where everything goes; a second run finds its work done there.
    estimator : scikit-learn classifier or pipeline
    deadlines : sequence of float
        Seconds, rising.
    n_jobs : int, optional
    count : int
        Patches for training, and as many for test.

    Returns
    -------
    list of dict
        One result a deadline.
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
    """Answer the test items in a process of the node's Python, with only the example's folder on its path."""
    bundle, items = (out / "surface.bundle").absolute(), (out / "test.npz").absolute()
    python = os.path.abspath(shutil.which(node) or node)  # its link is kept: it is what makes it a virtual environment
    command = [python, "-m", "polydom_runtime", "run", str(bundle), "surface:space"]
    command += ["--items", str(items), "--deadline", f"{deadline}s", "--quiet"]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(command, cwd=example, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise ExportError(f"The node must run the bundle. It said: {done.stderr.strip()[-500:]}")
    *_, last = done.stdout.splitlines()
    summary: dict[str, Any] = json.loads(last)["summary"]
    return summary


def as_table(results: Sequence[dict[str, Any]]) -> str:
    """Return the results as a person reads them."""
    lines = [
        "",
        "                      accuracy                   elapsed / deadline",
        "deadline   Poly-Dom  best single  cheap-first     p50   p99    max    missed",
    ]
    for r in results:
        accuracies = f"{r['accuracy']:8.3f}  {r['single']:11.3f}  {r['cheap_first']:11.3f}"
        elapsed = "  ".join(f"{r['elapsed_share'][q]:5.2f}" for q in ("p50", "p99", "max"))
        lines.append(f"{format_seconds(r['deadline']):>8}   {accuracies}   {elapsed}   {r['missed']}/{r['items']}")
    lines += [
        "",
        "best single: the one feature set with the best held-out score among those that fit every item.",
        "cheap-first: features added cheapest first until the item's budget ends.",
        "Both by planned costs, on the host, with no overrun counted against them.",
        "",
        "Feature sets that answered, by share of items:",
    ]
    for r in results:
        shares = Counter(r["features"])
        deadline = format_seconds(r["deadline"])
        for names, count in shares.most_common(MAX_SETS):
            lines.append(f"{deadline:>8}   {count / r['items']:4.0%}  {names}")
            deadline = ""
        if len(shares) > MAX_SETS:
            rest = sum(count for _, count in shares.most_common()[MAX_SETS:])
            lines.append(f"{'':>8}   {rest / r['items']:4.0%}  {len(shares) - MAX_SETS} other sets")
    misses = [f"{format_seconds(r['deadline']):>8}   {what}" for r in results for what in r["misses"]]
    lines += ["", "Missed deadlines:" if misses else "No deadline was missed.", *misses[:MAX_MISSES]]
    if len(misses) > MAX_MISSES:
        lines.append(f"  and {len(misses) - MAX_MISSES} more; is the machine busy?")
    return "\n".join(lines)


def plot(results: Sequence[dict[str, Any]], file: Path) -> None:
    """Draw accuracy against deadline."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.2), layout="constrained")
    milliseconds = [r["deadline"] * 1e3 for r in results]
    for key, label, style in (
        ("accuracy", "Poly-Dom, on the node", "o-"),
        ("cheap_first", "features added cheapest first", "s--"),
        ("single", "best single set that fits every item", "^:"),
    ):
        axes.plot(milliseconds, [r[key] for r in results], style, label=label)
    axes.set_xscale("log")
    axes.set_xticks(milliseconds, [f"{m:g}" for m in milliseconds])
    axes.minorticks_off()
    axes.set(xlabel="deadline per item (ms)", ylabel="accuracy on test patches", title="Brick, grass or gravel?")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(file, dpi=120)
    pyplot.close(figure)


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
