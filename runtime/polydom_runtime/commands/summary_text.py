"""What people read on a terminal: lines of subjects and their values, the most useful first, folded to its width."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from shutil import get_terminal_size
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

from polydom_runtime.bundles.promise import Identity
from polydom_runtime.causes import printable
from polydom_runtime.costs import format_seconds
from polydom_runtime.describing.kept_promise import late_text
from polydom_runtime.records.metrics import time_summary
from polydom_runtime.tables import TextTable, percent

from .terminal import show

if TYPE_CHECKING:
    from polydom_runtime.describing.description import Description

    from .tally import Tally

MOST_SETS, MOST_ERRORS = 3, 2
"""The sets and the errors that are told by themselves, the most frequent first."""

UNIT = re.compile(r"(?<=\d) (?=(?:[nµm]?s|[kMG]B)\b|%)")
"""The space between a number and its unit."""

JOINED = "\N{NO-BREAK SPACE}"

ABOVE = "verdict", "answers", "range", "scores"
"""The parts of a bundle that stand above the table of its deadlines."""

DIGESTS = "SHA-256", "fingerprint"
"""How the lines on a bundle begin that stand last."""

LEAST_TEXT = 12
"""The narrowest that the last column of a table becomes."""

LEAST_WIDTH = 20
"""A narrower terminal is taken for one of this width."""


class RunFacts(NamedTuple):
    """What there is to say of the answers of a run, or of a recording."""

    bundle: Mapping[str, str]
    """Its name, version and SHA-256."""
    deadline: float
    items: int
    late: int
    times: Sequence[float]
    """Seconds that half of the answers took at most, 99 % of them, and all."""
    sets: Mapping[str, int]
    """The number of answers by each feature set, the most frequent first."""
    errors: Mapping[str, int]
    """The number of items on which each error was the first one."""
    withheld: int = 0
    """Answers without a label, since they were not sure enough."""
    scores: Mapping[str, float | None] = {}
    """What labelled items tell, by name; None where it is not known."""
    verdict: str = ""
    """How the promise was kept; empty if it is not known what was promised."""
    learned: str = ""
    warnings: Sequence[str] = ()


def run_facts(summary: Mapping[str, Any], tally: "Tally") -> RunFacts:
    """Return the facts of a summary of ``polydom-node run``, and of its counts."""
    promise, s = summary["promise"]["text"], summary
    counts = {
        "items that could not be read": s["unreadable"],
        "lines of standard output that were lost": s["lost_lines"],
        "workers that were lost and replaced": s.get("restarts", 0),
        "periods that were skipped": s.get("loop", {}).get("skipped", 0),
        "items that took longer than a period": s.get("loop", {}).get("overruns", 0),
        "items that newer ones replaced": s.get("loop", {}).get("dropped", 0),
        "messages that were not published": s.get("mqtt", {}).get("dropped", 0),
        "new bundles that were refused": s.get("reloads", {}).get("refused", 0),
    }
    wanted = {} if s["scoring"] in (None, "accuracy") else {str(s["scoring"]): s["score"]}
    return RunFacts(
        *(s["bundle"], s["deadline"], s["items"], s["missed"]),
        times=_times(time_summary(tally.elapsed)),
        sets=s["features"],
        errors=s["errors"],
        withheld=s["abstained"],
        scores={**wanted, "accuracy": s["accuracy"], "mean absolute error": s.get("mean_absolute_error")},
        verdict=promise,
        learned=s["learning"]["text"].removeprefix("Learned "),
        warnings=[
            *(sentence for sentence in tally.said if sentence != promise),
            *(f"{what}: {n:,}" for what, n in counts.items() if n),
        ],
    )


def recorded_facts(summary: Mapping[str, Any]) -> RunFacts:
    """Return the facts of a summary of ``polydom-node flight``."""
    s, margin = summary, summary["margin"]
    torn = [f"records that are damaged, and left out: {s['torn']:,}"] * bool(s["torn"])
    return RunFacts(
        *(s["bundle"], s["deadline"], s["items"], s["misses"]),
        times=_times(s["elapsed"]),
        sets=s["features"],
        errors=s["errors"],
        withheld=s["abstained"],
        learned=f"a margin of {margin['last']:.2f}" if margin else "",
        warnings=torn,
    )


def _times(elapsed: Mapping[str, Any]) -> list[Any]:
    return [elapsed[name] for name in ("p50", "p99", "max")]


def summary_lines(facts: RunFacts) -> Iterator[str]:
    """Yield what there is to say of a run, the verdict first and digests last."""
    f, identity = facts, Identity(facts.bundle["name"], facts.bundle["version"])
    late = late_text(f.late, f.items)
    yield f"{f.verdict or f'{late}.'}" if f.items else "No item was answered."
    yield f"bundle: {printable(str(identity))}"
    yield f"deadline: {format_seconds(f.deadline)}"
    yield f"items: {f.items:,}"
    yield f"late: {f.late:,}"
    if f.items:
        half, most, longest = map(format_seconds, f.times)
        yield f"time of an answer: half within {half}, 99 % within {most}, longest {longest}"
    yield from (f"{name}: {value:.4g}" for name, value in f.scores.items() if value is not None)
    first, others = [*f.sets.items()][:MOST_SETS], sum([*f.sets.values()][MOST_SETS:])
    for name, n in (*first, *([("other sets", others)] if others else [])):
        yield f"answered by {printable(name).replace('+', ' + ')}: {percent(n / f.items)}"
    if f.withheld:
        yield f"withheld: {f.withheld:,}, since they were not sure enough"
    if f.learned:
        yield f"learned: {f.learned}"
    for error, n in [*f.errors.items()][:MOST_ERRORS]:
        yield f"warning: {printable(error)} (items: {n:,})"
    yield from (f"warning: {text}" for text in f.warnings)
    yield f"SHA-256 of the bundle: {f.bundle['sha256'][:12]}..."


def show_bundle(said: "Description", parts: Mapping[str, Sequence[str]]) -> None:
    """Print what a bundle is; `parts`: lines on each part of it."""
    name, *identity = (f"{what}: {text}" for what, text in said.identity.items())
    show_folded([name, *chain(*(parts[part] for part in ABOVE))])
    show_table(said.outlook)
    show_folded([*parts["promise"], *chain(*(parts[part] for part in parts if part not in (*ABOVE, "promise")))])
    show_table(said.risks)
    show_folded(sorted(identity, key=lambda line: line.startswith(DIGESTS)))


def show_folded(lines: Iterable[str]) -> None:
    """Print lines, each folded to the width of the terminal; what goes on is indented."""
    width = max(get_terminal_size().columns, LEAST_WIDTH)
    show("\n".join(part for line in lines for part in _folded(line, width)))


def show_table(table: TextTable) -> None:
    """Print a table, its last column folded; if the terminal is too narrow, each row as a line of heads and cells."""
    rows = [*_aligned(table, get_terminal_size().columns)] if table.rows else []
    if table.rows and not rows:
        rows = ["; ".join(map(": ".join, zip(table.heads, row, strict=True))) for row in table.rows]
    show_folded([table.title, *rows, *table.notes])


def _aligned(table: TextTable, width: int) -> Iterator[str]:
    """Yield the lines of a table below its title, with the last column folded; none if nothing is left for that."""
    numbers = table._replace(columns=table.columns[:-1], rows=[row[:-1] for row in table.rows], notes=())
    starts, texts = numbers.lines()[1:], (table.heads[-1], *(row[-1] for row in table.rows))
    left = max(map(len, starts)) + 2
    if width - left < LEAST_TEXT:
        return
    for start, text in zip(starts, texts, strict=True):
        first, *others = wrap(text.replace("+", " + "), width - left) or [""]
        yield f"{start:<{left}}{first}".rstrip()
        yield from (f"{'':<{left}}{part}" for part in others)


def _folded(line: str, width: int) -> list[str]:
    """Return the parts of a line; a number stays with its unit.

    >>> _folded("late: 0.8 % of all answers", 16)
    ['late: 0.8 % of', '  all answers']
    """
    if len(line) <= width:
        return [line]
    parts = wrap(UNIT.sub(JOINED, line), width, subsequent_indent="  ", break_on_hyphens=False)
    return [part.replace(JOINED, " ") for part in parts]
