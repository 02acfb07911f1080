"""The results of the demo as a table and as a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polydom_builder.evaluation import AtDeadline
from polydom_runtime.costs import format_seconds
from polydom_runtime.describing.kept_promise import KeptPromise
from polydom_runtime.files import replacing
from polydom_runtime.tables import TextTable

from .evaluation_tables import named_sets


def as_result(at: AtDeadline, promised: float) -> dict[str, Any]:
    """Return the figures of the demo at a deadline; all answers were timed. `promised`: the share of late ones."""
    whole, timing = at.whole, at.whole.timing
    if timing is None:
        raise ValueError("The answers must have been timed.")
    return {
        "deadline": at.deadline,
        "items": whole.items,
        "accuracy": whole.systems["node"].right,
        "single": whole.systems["single"].right,
        "cheap_first": whole.systems["cheap_first"].right,
        "promised": promised,
        "missed": timing.late,
        "misses": {"elapsed_share": timing.late_by},
        "reasons": timing.reasons,
        "elapsed_share": timing.elapsed_share,
        "features": whole.sets,
    }


def as_table(results: Sequence[dict[str, Any]]) -> str:
    """Return the results as text for a person."""
    rows, sets, misses = [], [], []
    for r in results:
        deadline = format_seconds(r["deadline"])
        accuracies = (f"{r[system]:.3f}" for system in ("accuracy", "single", "cheap_first"))
        elapsed = (f"{r['elapsed_share'][q]:.2f}" for q in ("p50", "p99", "max"))
        rows.append((deadline, *accuracies, *elapsed, f"{r['missed']}/{r['items']}"))
        sets += named_sets(deadline, r["features"], r["items"])
        if r["missed"]:
            shares = ", ".join(f"{n} {share}" for share, n in r["misses"]["elapsed_share"].items())
            misses.append((deadline, f"{r['missed']} of {r['items']}: {shares}"))
    columns = ("#deadline", "#Poly-Dom", "#best single", "#cheap-first", "#p50", "#p99", "#max", "#missed")
    late = "Missed deadlines, by the time of the answer divided by the deadline:"
    tables = (
        TextTable(
            "Hot, items back to back: accuracy, and the time of an answer divided by the deadline:",
            *(columns, rows, [_kept(r, r["missed"], r["items"]) for r in results]),
        ),
        *_loops(results),
        TextTable(BASELINES),
        TextTable("Feature sets that answered, by share of items:", ("#deadline", "#items", "set"), sets),
        TextTable(late, ("#deadline", "answers"), misses) if misses else TextTable("No deadline was missed."),
    )
    return "\n".join(line for table in tables for line in ("", *table.lines()))


BASELINES = """\
best single: the one feature set with the best held-out score among those that fit every item.
cheap-first: features added cheapest first until the item's budget ends.
Both by planned costs, on the host, with no overrun counted against them."""


def _loops(results: Sequence[dict[str, Any]]) -> list[TextTable]:
    """Return the table of the loops, if there are any; the elapsed time is that from when an item was due."""
    looped = [(format_seconds(r["deadline"]), r["loop"]) for r in results if "loop" in r]
    rows = [
        (at, f"{r['in_time']:.3f}", f"{r['at_once']:.3f}", f"{r['late']}/{r['items']}", f"{r['rehearsing']:.1%}")
        for at, r in looped
    ]
    columns = ("#deadline", "#in the loop", "#same items at once", "#late", "#time spent on rehearsals")
    kept = [_kept(r, r["loop"]["late"], r["loop"]["items"], r["loop"]["paused"]) for r in results if "loop" in r]
    periods = [format_seconds(loop["period"]) for _, loop in looped[:1]]
    title = "Rehearsed: a loop with a period of {} sleeps between two items. Right and in time:"
    return [TextTable(title.format(period), columns, rows, kept) for period in periods]


def _kept(result: dict[str, Any], late: int, answers: int, paused: int = 0) -> str:
    return f"{format_seconds(result['deadline'])}: {KeptPromise(late, answers, result['promised'], paused)}"


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
    with replacing(file, sync=False) as stream:
        figure.savefig(stream, dpi=120)
    pyplot.close(figure)
