"""An evaluation as tables."""

from collections.abc import Mapping

from polydom_builder.evaluation import AtDeadline, Evaluation, Part, Score
from polydom_runtime.bundles.estimates import CONFIDENCE
from polydom_runtime.costs import format_seconds
from polydom_runtime.records.metrics import PRIOR

from .tables import print_table, print_text

MAX_SETS = 3
"""The most feature sets of a deadline that are named."""


def print_evaluation(found: Evaluation) -> None:
    """Print scores and times by deadline, the same by size at each deadline, and the sets that answered."""
    whole = {format_seconds(at.deadline): at.whole for at in found.deadlines}
    name = " ".join(filter(None, (found.name, found.version))) or found.sha256[:12]
    print_text(f"{name}, {found.policy}: {found.scoring or 'score of an unknown name'}\n")
    _print_parts("By deadline", "deadline", whole)
    for at in found.deadlines:
        bands = {f"{part.sizes[0]:g} to {part.sizes[1]:g}": part for part in at.bands}
        if bands:
            _print_parts(f"By size, at {format_seconds(at.deadline)}", "size", bands)
    print_table(
        "Sets that answered", ("deadline", "items", "set "), [row for at in found.deadlines for row in _sets(at)]
    )
    unsure = any(part.calibration_error is not None or part.abstained for part in whole.values())
    if unsure:
        columns = ("deadline", "calibration error", "withheld")
        print_table(
            "Confidences", columns, [(at, _number(p.calibration_error), str(p.abstained)) for at, p in whole.items()]
        )
    print_text(NOTES + CONFIDENCES * unsure + (TIMED if found.deadlines[0].whole.timing else ""))


NOTES = f"""\
Score: by the scoring of the bundle, with the interval that holds the score on new items with {CONFIDENCE:.0%}.
Planned: each unit takes its typical time.
Single: the best set that fits every item.
Cheap-first: features are added cheapest first until the time of the item is used.
Single and cheap-first are by planned costs, no overrun counted.
Prior: the share of answers without features."""

CONFIDENCES = """
Calibration error: how far stated confidences are from the shares of right answers of about the same confidence.
It is the mean over answers.
Withheld: answers that were not given, since they were too unsure."""

TIMED = """
A late answer counts in a score as the answer that it is.
In time: the share of items whose answers are right and in time.
Times are from the arrival of an item to its answer, divided by the deadline."""


def _print_parts(title: str, key: str, parts: Mapping[str, Part]) -> None:
    is_timed = all(part.timing for part in parts.values())
    scores = ("score", "interval", "in time", "planned") if is_timed else ("planned", "interval")
    times = ("p50", "p99", "max", "late") if is_timed else ()
    columns = (key, "items", *scores, "single", "cheap-first", *times, "prior")
    print_table(title, columns, [(name, *_cells(part)) for name, part in parts.items()])


def _cells(part: Part) -> list[str]:
    timing, systems = part.timing, part.systems
    first = next(iter(systems.values()))
    scores = [_number(first.score), _interval(first)]
    if timing is not None:
        scores += [_number(timing.right_in_time), _number(systems["planned"].score)]
    times = [] if timing is None else [f"{timing.elapsed_share[q]:.2f}" for q in ("p50", "p99", "max")]
    late = [] if timing is None else [str(timing.late)]
    others = [_number(systems[name].score) for name in ("single", "cheap_first")]
    return [str(part.items), *scores, *others, *times, *late, f"{part.prior / part.items:.1%}"]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _interval(score: Score) -> str:
    return "-" if score.low is None or score.high is None else f"{score.low:.3f} to {score.high:.3f}"


def _sets(at: AtDeadline) -> list[tuple[str, str, str]]:
    counts = list(at.whole.sets.items())
    named = [(f"{n / at.whole.items:.0%}", name or PRIOR) for name, n in counts[:MAX_SETS]]
    if len(counts) > MAX_SETS:
        rest = sum(n for _, n in counts[MAX_SETS:])
        named.append((f"{rest / at.whole.items:.0%}", f"(others: {len(counts) - MAX_SETS})"))
    return [(format_seconds(at.deadline) if not k else "", *row) for k, row in enumerate(named)]
