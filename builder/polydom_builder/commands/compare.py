"""``polydom compare``: what changed between two bundles or two costs files."""

from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from polydom_builder.comparison import ChangeLimits, Comparison, compare_files
from polydom_builder.comparison.comparison import AnswerChange, ReplayChange, TimeChange
from polydom_runtime.causes import printable
from polydom_runtime.commands.arguments import positive
from polydom_runtime.commands.options import Option
from polydom_runtime.commands.outcome import ExitCode, Outcome
from polydom_runtime.costs import format_seconds
from polydom_runtime.describing.outlook_table import set_text
from polydom_runtime.tables import TextTable

from .arguments import loss
from .tables import print_table, print_text

OPTIONS = (
    Option("before BEFORE", "the old bundle folder or costs file"),
    Option("after AFTER", "the new one, of the same kind"),
    Option(
        "--max-score-loss LOSS",
        "exit with 1 if the score of an answer falls by more, such as 0.01, at any size and deadline (bundles only)",
        loss,
    ),
    Option(
        "--max-time-growth RATIO",
        "exit with 1 if a time grows by a larger ratio, such as 1.1, and by more than noise if that is known",
        positive,
    ),
    Option(
        "--max-size-growth RATIO",
        "exit with 1 if the bytes of all models grow by a larger ratio, such as 1.2 (bundles only)",
        positive,
    ),
)


def run(arguments: Namespace) -> Outcome:
    """Print what changed; exit code 1 if it is worse than allowed, with a line for each excess."""
    found = compare_files(arguments.before, arguments.after)
    limits = ChangeLimits(arguments.max_score_loss, arguments.max_time_growth, arguments.max_size_growth)
    exceeded = limits.exceeded(found)
    print_comparison(found)
    if exceeded:
        print_text("\n".join(f"exceeded: {line}" for line in exceeded))
    return Outcome({**found.as_dict(), "exceeded": exceeded}, ExitCode.WRONG if exceeded else ExitCode.DONE)


def print_comparison(found: Comparison) -> None:
    """Print what changed. What is the same is only named or counted."""
    print_text("\n".join([*_facts(found), *_units(found), ""]))
    if found.kind == "bundles":
        sets = "#before", "#after", "change", "features"
        print_table(TextTable("feature sets shipped, with their scores", sets, [*_sets(found)]))
    if found.worst is not None:
        answers = "#deadline", "#size", "#before", "#after", "#change", "answers by"
        print_table(TextTable("scores of answers, by worst cases", answers, [*map(_answer, found.answers)]))
        lost = [_answer(found.worst)] if found.worst.loss > 0.0 else []
        print_table(TextTable(f"the answer that loses most{'' if lost else ': none loses'}", answers, lost))
        replays = [_replay(row) for row in found.replays if row.loss]
        n, n_same = len(found.replays), len(found.replays) - len(replays)
        same = f"expected scores in the tables of both, hot: {n_same} of {n} are the same"
        print_table(TextTable(same, ("#deadline", "#before", "#after", "#change"), replays))
    changed = [row for row in found.times if row.before != row.after]
    print_text(f"times: {len(found.times) - len(changed)} of {len(found.times)} are the same")
    if changed:
        times = "#size", "#before", "#after", "#ratio", "#noise", "unit"
        print_table(TextTable("times that changed", times, [*map(_time, changed)]))


def _facts(found: Comparison) -> Iterator[str]:
    for what, (before, after) in found.facts.items():
        if before != after:
            yield f"{what}: {_text(before)} -> {_text(after)}"
    yield f"the same: {', '.join(what for what, (a, b) in found.facts.items() if a == b) or 'none of these'}"


def _text(value: Any) -> str:
    if isinstance(value, dict):
        value = [f"{name} {held}" for name, held in value.items()]
    if isinstance(value, list):
        value = ", ".join("any" if part is None else _text(part) for part in value)
    return printable(f"{value:g}" if isinstance(value, float) else str(value)) or "not stated"


def _units(found: Comparison) -> Iterator[str]:
    units = found.units
    what = "features" if found.kind == "bundles" else "units"
    for how, names in (("the same", units.same), ("added", units.added), ("removed", units.removed)):
        yield f"{what} {how}: {', '.join(names) or 'none'}"


def _sets(found: Comparison) -> Iterator[tuple[str, ...]]:
    for row in found.sets:
        how = "added" if row.before is None else "removed" if row.after is None else ""
        scores = ("-" if score is None else f"{score:.3f}" for score in (row.before, row.after))
        yield *scores, how, set_text(row.features, row.estimator)


def _answer(row: AnswerChange) -> tuple[str, ...]:
    names = dict.fromkeys(map(set_text, row.features, row.estimators))
    return format_seconds(row.deadline), f"{row.size:.6g}", *_scores(row), " -> ".join(names)


def _replay(row: ReplayChange) -> tuple[str, ...]:
    return format_seconds(row.deadline), *_scores(row)


def _scores(row: AnswerChange | ReplayChange) -> tuple[str, ...]:
    return (
        f"{row.score.before:.3f}",
        f"{row.score.after:.3f}",
        f"{round(row.score.after, 3) - round(row.score.before, 3):+.3f}".replace("-0.000", "+0.000"),
    )


def _time(row: TimeChange) -> tuple[str, ...]:
    times = format_seconds(row.before), format_seconds(row.after), f"{row.growth:.2f}"
    noise = "-" if row.noise is None else f"{row.noise:.2f}"
    mark = " (more than noise)" if row.is_beyond_noise else ""
    return f"{row.size:.6g}", *times, noise, f"{row.unit}, {row.kind}{mark}"
