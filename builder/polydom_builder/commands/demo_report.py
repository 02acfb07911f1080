"""The results of the demo as a table and as a picture."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polydom_builder.evaluation import AtDeadline
from polydom_runtime.costs import format_seconds
from polydom_runtime.files import replacing

MAX_SETS = 3
"""The most feature sets of a deadline that the table names."""


def as_result(at: AtDeadline) -> dict[str, Any]:
    """Return what the demo says of a deadline; all answers were timed."""
    whole, timing = at.whole, at.whole.timing
    if timing is None:
        raise ValueError("The answers must have been timed.")
    return {
        "deadline": at.deadline,
        "items": whole.items,
        "accuracy": whole.systems["node"].right,
        "single": whole.systems["single"].right,
        "cheap_first": whole.systems["cheap_first"].right,
        "missed": timing.late,
        "misses": {"elapsed_share": timing.late_by},
        "reasons": timing.reasons,
        "elapsed_share": timing.elapsed_share,
        "features": whole.sets,
    }


def as_table(results: Sequence[dict[str, Any]]) -> str:
    """Return the results as text for a person."""
    lines = [
        "",
        "                      accuracy                   elapsed / deadline",
        "deadline   Poly-Dom  best single  cheap-first     p50   p99    max    missed",
    ]
    for r in results:
        accuracies = f"{r['accuracy']:8.3f}  {r['single']:11.3f}  {r['cheap_first']:11.3f}"
        elapsed = "  ".join(f"{r['elapsed_share'][q]:5.2f}" for q in ("p50", "p99", "max"))
        lines.append(f"{format_seconds(r['deadline']):>8}   {accuracies}   {elapsed}   {r['missed']}/{r['items']}")
    lines += _loops(results)
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
    misses = [_misses(r) for r in results if r["missed"]]
    said = (
        "Missed deadlines, by the time of the answer divided by the deadline:" if misses else "No deadline was missed."
    )
    return "\n".join([*lines, "", said, *misses])


def _misses(result: dict[str, Any]) -> str:
    shares = ", ".join(f"{n} {share}" for share, n in result["misses"]["elapsed_share"].items())
    return f"{format_seconds(result['deadline']):>8}   {result['missed']} of {result['items']}: {shares}"


def _loops(results: Sequence[dict[str, Any]]) -> list[str]:
    """Return the table of the loops, if there are any; the elapsed time is that from when an item was due."""
    looped = [(r["deadline"], r["loop"]) for r in results if "loop" in r]
    if not looped:
        return []
    period = format_seconds(looped[0][1]["period"])
    lines = [
        "",
        f"A loop with a period of {period} sleeps between two items. Right and in time:",
        "deadline   in the loop  same items at once     late   time spent on rehearsals",
    ]
    for deadline, loop in looped:
        rates = f"{loop['in_time']:11.3f}  {loop['at_once']:18.3f}"
        late = f"{loop['late']}/{loop['items']}"
        lines.append(f"{format_seconds(deadline):>8}   {rates}  {late:>7}   {loop['rehearsing']:8.1%}")
    return lines


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
