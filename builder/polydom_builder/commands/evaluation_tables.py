"""An evaluation as tables."""

from collections import Counter
from collections.abc import Mapping, Sequence

from polydom_builder.evaluation import Evaluation, JudgedScore, Part
from polydom_runtime.bundles.model_entry import CONFIDENCE
from polydom_runtime.costs import format_seconds
from polydom_runtime.describing.kept_promise import KeptPromise
from polydom_runtime.describing.outlook_table import set_text
from polydom_runtime.items.digests import seen_text
from polydom_runtime.tables import TextTable, percent

from .tables import print_table, print_text

MAX_SETS = 3
"""The most feature sets of a deadline that are named."""


def print_evaluation(found: Evaluation) -> None:
    """Print scores and times by deadline, the same by size at each deadline, and the sets that answered."""
    whole = {format_seconds(at.deadline): at.whole for at in found.deadlines}
    stated = [at.stated for at in found.deadlines]
    name = " ".join(filter(None, (found.name, found.version))) or found.sha256[:12]
    print_text(f"{name}, {found.policy}: {found.scoring or 'score of an unknown name'}\n")
    _print_parts("By deadline", "deadline", whole, stated)
    for at in found.deadlines:
        bands = {f"{part.sizes[0]:g} to {part.sizes[1]:g}": part for part in at.bands}
        if bands:
            _print_parts(f"By size, at {format_seconds(at.deadline)}", "size", bands)
    sets = [
        row for at in found.deadlines for row in named_sets(format_seconds(at.deadline), at.whole.sets, at.whole.items)
    ]
    print_table(TextTable("Sets that answered", ("#deadline", "#items", "set"), sets))
    unsure = any(part.calibration_error is not None or part.abstained for part in whole.values())
    if unsure:
        columns = ("#deadline", "#calibration error", "#withheld")
        rows = [(at, _number(part.calibration_error), str(part.abstained)) for at, part in whole.items()]
        print_table(TextTable("Confidences", columns, rows))
    print_text(SCORE_NOTES + CONFIDENCES * unsure + (TIMED if found.deadlines[0].whole.timing else PLANNED))
    if told := seen_text(found.seen):
        print_text(f"{told}\n")
    for name, part in whole.items():
        if part.timing is not None:
            print_text(f"At {name}, items back to back: {KeptPromise(part.timing.late, part.items, found.late)}")


SCORE_NOTES = f"""\
Score: by the scoring of the bundle, with the interval that holds the score on new items with {percent(CONFIDENCE)}.
Stated: what the table of the bundle expects, hot, on its own held-out items.
Single: the best set that fits every item.
Cheap-first: features are added cheapest first until the time of the item is used.
Single and cheap-first are by planned costs, no overrun counted.
Prior: the share of answers without features."""

CONFIDENCES = """
Calibration error: how far stated confidences are from the shares of right answers of about the same confidence.
It is the mean over answers.
Withheld: answers that were not given, since they were too unsure."""

PLANNED = """
Planned: each unit takes its typical time."""

TIMED = """
A late answer counts as wrong, or as the prior where the score is no share of right answers.
Times are from the arrival of an item to its answer, divided by the deadline."""


def _print_parts(title: str, key: str, parts: Mapping[str, Part], stated: Sequence[float | None] = ()) -> None:
    is_timed = all(part.timing for part in parts.values())
    scores = ("score" if is_timed else "planned", "interval", *["stated"] * bool(stated))
    times = ("p50", "p99", "max", "late") if is_timed else ()
    columns = (f"#{name}" for name in (key, "items", *scores, "single", "cheap-first", *times, "prior"))
    expected = [[_number(score)] for score in stated] or [[] for _ in parts]
    rows = [(name, *_cells(part, more)) for (name, part), more in zip(parts.items(), expected, strict=True)]
    print_table(TextTable(title, [*columns], rows))


def _cells(part: Part, stated: list[str]) -> list[str]:
    timing, systems = part.timing, part.systems
    first = next(iter(systems.values()))
    scores = [_number(first.score), _interval(first), *stated]
    times = [] if timing is None else [f"{timing.elapsed_share[q]:.2f}" for q in ("p50", "p99", "max")]
    late = [] if timing is None else [str(timing.late)]
    others = [_number(systems[name].score) for name in ("single", "cheap_first")]
    return [str(part.items), *scores, *others, *times, *late, percent(part.prior / part.items)]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _interval(score: JudgedScore) -> str:
    return "-" if score.low is None or score.high is None else f"{score.low:.3f} to {score.high:.3f}"


def named_sets(deadline: str, sets: Mapping[str, int], items: int) -> list[tuple[str, str, str]]:
    """Return the deadline, the share of the items and the name of the sets that answered most."""
    shares = [(count, name or set_text(())) for name, count in Counter(sets).most_common()]
    if len(shares) > MAX_SETS:
        rest = sum(count for count, _ in shares[MAX_SETS:])
        shares[MAX_SETS:] = [(rest, f"(others: {len(shares) - MAX_SETS})")]
    return [("" if k else deadline, percent(count / items), name) for k, (count, name) in enumerate(shares)]
