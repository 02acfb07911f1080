"""The results of the demo: in short, with details, and as a picture."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from polydom_builder.evaluation import AtDeadline
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.commands.terminal import show
from polydom_runtime.costs import format_seconds
from polydom_runtime.describing.kept_promise import KeptPromise
from polydom_runtime.describing.knee import NEARLY_ALL, knees
from polydom_runtime.describing.outlook_table import outlook_table
from polydom_runtime.files import replacing
from polydom_runtime.measuring.stopwatch import BUSY_WARNINGS
from polydom_runtime.tables import TextTable, percent

from .evaluation_tables import named_sets
from .tables import print_table, print_text, print_warning

Result = dict[str, Any]
"""The figures of the demo at a deadline, as in ``results.json``."""

Z_95 = 1.96
"""95 % of all values lie within this number of standard errors."""


class Demonstrated(NamedTuple):
    """What the demo built, and how a node answered with it."""

    bundle: Bundle
    n_trained: int
    """The number of feature sets that were trained for it."""
    results: Sequence[Result]
    """One for each deadline."""


def as_result(at: AtDeadline, promised: float) -> Result:
    """Return the figures of the demo at a deadline; all answers were timed. `promised`: the share of late ones."""
    whole, timing = at.whole, at.whole.timing
    if timing is None:
        raise ValueError("The answers must have been timed.")
    return {
        "deadline": at.deadline,
        "items": whole.items,
        "stated": at.stated,
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


def print_results(found: Demonstrated, out: Path) -> None:
    """Print what was trained, how the promise was kept, the scores by deadline, and which deadline is sensible."""
    bundle, results = found.bundle, found.results
    for note in bundle.times.origin.notes:
        print_warning(note)
        if note.startswith(BUSY_WARNINGS):
            show("To measure again while nothing else runs, give --out another folder.")
    n_possible, n_models = 2 ** len(bundle.space.names), len(bundle.models)
    show(f"Trained: {found.n_trained:,} of {n_possible:,} possible feature sets; the bundle has {n_models} models.")
    print_text("\n".join([*kept_promises(results), ""]))
    print_table(main_table(results))
    print_text("\n".join([*knee_lines(bundle), ""]))
    show(f"The bundle, the results and a plot are in {out}: surface.bundle, results.json, accuracy.png.")
    show(f"More figures: this command with --details, and polydom deadline {out / 'surface.bundle'}.")
    show("The words are explained in docs/glossary.md.")


def kept_promises(results: Sequence[Result]) -> Iterator[str]:
    """Yield how the promise was kept, back to back and in the loop, and at which deadlines it was not."""
    for where, every in (("Back to back", map(_hot, results)), ("In the loop", map(_looped, results))):
        if found := {r["deadline"]: kept for r, kept in zip(results, every, strict=True) if kept}:
            late, answers, promised, paused = zip(*found.values(), strict=True)
            missed = ", ".join(format_seconds(deadline) for deadline, kept in found.items() if not kept.is_kept)
            together = KeptPromise(sum(late), sum(answers), promised[0], sum(paused))
            yield f"{where}: {together}" + f" One by one, it was not kept at {missed}." * bool(missed)


def main_table(results: Sequence[Result]) -> TextTable:
    """Return the scores that the bundle states, and those of the answers, by deadline."""
    columns = ("#deadline", "#stated", "#back to back", "#late", "#stated", "#in the loop", "#late")
    rows = [(format_seconds(r["deadline"]), *_cells(r), *_cells_of_loop(r.get("loop"))) for r in results]
    return TextTable("Share of answers that were right and in time:", columns, rows, [*_meanings(results)])


def _cells(r: Result) -> tuple[str, str, str]:
    return _score(r["stated"]), _score(r["accuracy"]), f"{r['missed']} of {r['items']:,}"


def _cells_of_loop(loop: Result | None) -> tuple[str, str, str]:
    if loop is None:
        return "-", "-", "-"
    return _score(loop["stated"]), _score(loop["in_time"]), f"{loop['late']} of {loop['items']:,}"


def _score(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _meanings(results: Sequence[Result]) -> Iterator[str]:
    yield "stated: what the bundle expects on this computer, from the patches that it was trained with"
    counts, loop = {r["items"]: r["accuracy"] for r in results}, next((r["loop"] for r in results if "loop" in r), None)
    if loop:
        yield f"in the loop: a patch comes every {format_seconds(loop['period'])}; the node sleeps until then"
        counts |= {loop["items"]: loop["in_time"]}
    chance = (f"{Z_95 * math.sqrt(p * (1.0 - p) / n):.3f} with {n:,} patches" for n, p in counts.items())
    yield f"by chance alone, a share may be too high or too low by {' and '.join(chance)}"


def knee_lines(bundle: Bundle) -> list[str]:
    """Return which deadline is sensible, back to back and after sleeps, and what the words mean."""
    lines = [f"Which deadline? The knee is the shortest one with {percent(NEARLY_ALL)} of what the best one gains:"]
    for regime, knee in knees(bundle).items():
        if regime != "cold":
            lines += [str(knee), *(f"  {text}" for text in knee.consequences())]
    return [*lines, *MEANINGS] if len(lines) > 1 else ["No deadline that was tried gives more than the prior.", PRIOR]


PRIOR = "prior: the answer without any feature, which is the most frequent class"
MEANINGS = (
    "hot: each patch comes right after the last answer, back to back",
    "rehearsed: the node slept, as in the loop, and then answered kept patches, so that its code is warm",
    PRIOR,
)


def detail_tables(found: Demonstrated) -> list[TextTable]:
    """Return simpler methods beside the answers, their times, the loops, sets and misses, and the bundle's table."""
    rows, sets, misses = [], [], []
    for r in found.results:
        deadline = format_seconds(r["deadline"])
        accuracies = (f"{r[system]:.3f}" for system in ("accuracy", "single", "cheap_first"))
        elapsed = (f"{r['elapsed_share'][q]:.2f}" for q in ("p50", "p99", "max"))
        rows.append((deadline, *accuracies, *elapsed, f"{r['missed']}/{r['items']}"))
        sets += named_sets(deadline, r["features"], r["items"])
        if r["missed"]:
            shares = ", ".join(f"{n} {share}" for share, n in r["misses"]["elapsed_share"].items())
            misses.append((deadline, f"{r['missed']} of {r['items']}: {shares}"))
    columns = ("#deadline", "#Poly-Dom", "#best single", "#cheap-first", "#p50", "#p99", "#max", "#late")
    late = f"Late answers, by {ELAPSED}:"
    return [
        TextTable(f"Back to back: right and in time, and {ELAPSED}:", columns, rows, BASELINES),
        *_loops(found.results),
        TextTable("Feature sets that answered, by share of items:", ("#deadline", "#items", "set"), sets),
        TextTable(late, ("#deadline", "answers"), misses) if misses else TextTable("No answer was late."),
        outlook_table(found.bundle),
        TextTable(COLD),
    ]


ELAPSED = "the time of an answer divided by the deadline"
BASELINES = (
    "best single: the one feature set with the best held-out score among those that fit every item",
    "cheap-first: features added cheapest first until the item's budget ends",
    "both by planned costs, on the host, with no overrun counted against them",
    "p50, p99, max: half, 99 % and all of the answers took at most this share of the deadline",
)
COLD = "cold: after a sleep, without a rehearsal; with `polydom-node run --no-rehearse`"


def _hot(r: Result) -> KeptPromise:
    return KeptPromise(r["missed"], r["items"], r["promised"])


def _looped(r: Result) -> KeptPromise | None:
    loop = r.get("loop")
    return KeptPromise(loop["late"], loop["items"], r["promised"], loop["paused"]) if loop else None


def _loops(results: Sequence[Result]) -> list[TextTable]:
    """Return the table of the loops, if there are any."""
    looped = [(format_seconds(r["deadline"]), r["loop"]) for r in results if "loop" in r]
    rows = [
        (at, f"{loop['in_time']:.3f}", f"{loop['at_once']:.3f}", percent(loop["rehearsing"])) for at, loop in looped
    ]
    columns = ("#deadline", "#in the loop", "#same items at once", "#time spent on rehearsals")
    return [TextTable("In the loop: right and in time:", columns, rows)] if rows else []


def plot(results: Sequence[Result], file: Path) -> None:
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
