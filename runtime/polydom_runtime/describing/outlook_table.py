"""What deadlines buy in each regime, as a table: every command shows this one."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import takewhile

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import APART, ONLY_PRIOR, REGIMES, BundleTimes, Outlook, Regime
from polydom_runtime.bundles.promise import Promise
from polydom_runtime.costs import format_seconds
from polydom_runtime.tables import TextTable, percent

COLUMNS = ("#deadline", "#score", "#late", "#score alone", "#late alone", "#prior", "most answers by")

MEANING = (
    "score, late: on the machine as it was measured, with its pauses; alone: without them, as if it did nothing else; "
    "a late answer counts as 0 in scores, or as the prior if that is less"
)
TYPICAL = "score, late: if each unit takes its typical time, without pauses; nothing was replayed"


def set_text(features: Sequence[str], estimator: str = "", plus: str = "+") -> str:
    """Return a feature set in words.

    >>> set_text(("mean", "spread"), "trees"), set_text(())
    ('mean+spread of trees', '(prior)')
    """
    return (plus.join(features) or "(prior)") + (f" of {estimator}" if estimator else "")


def times_of_regimes(bundle: Bundle) -> dict[Regime, BundleTimes]:
    """Return the times of each regime that was measured; those of the first one, hot, are always known."""
    there: dict[Regime, BundleTimes] = {"hot": bundle.times}
    return there | {name: bundle.regimes[name].times for name in REGIMES if name in bundle.regimes}


def outlook_table(bundle: Bundle, deadline: float | None = None) -> TextTable:
    """Return the expected score, late answers, and who answers, by regime and deadline, and notes on each regime.

    `deadline`: seconds; if it was not replayed, it gets a line in each regime with what those beside it hold.
    """
    every, low = times_of_regimes(bundle), bundle.promise.budgets[0]
    rows = [(regime, *cells) for regime, times in every.items() for cells in _lines(times.outlook, deadline)]
    notes = [note for regime, times in every.items() for note in _notes(bundle, regime, times.outlook)]
    if rows and any(times.outlook and times.outlook[0].deadline * APART < low for times in every.values()):
        notes.insert(
            0, f"the bundle was built for deadlines from {format_seconds(low)}: below, it may lack good models"
        )
    origin = bundle.times.origin
    if origin.estimated:
        whose = f"all of this is for {origin.device}, estimated: on a slower machine, more answers are the prior"
        notes.append(whose)
    meanings = ", ".join(_meaning(bundle, regime) for regime in every)
    title = f"expected answers {meanings}; promised is at most {percent(bundle.promise.late)} late:"
    meaning = MEANING if any(o.answers for times in every.values() for o in times.outlook) else TYPICAL
    return TextTable(title, ("regime", *COLUMNS), rows, [*[meaning] * bool(rows), *notes])


def outlook_cells(o: Outlook) -> tuple[str, ...]:
    """Return an outlook as cells below `COLUMNS`."""
    measured, alone = (
        (f"{score:.3f}", percent(late)) for score, late in ((o.score, o.late), (o.score_alone, o.late_alone))
    )
    return format_seconds(o.deadline), *measured, *alone, percent(o.prior_share), set_text(o.features)


def few_answers(regime: Regime, answers: int, promised: float) -> str:
    """Return what some recorded answers cannot tell of a promised share of late ones; empty if they can."""
    # None late of n: the bound of Clopper and Pearson, as `upper_bound` of `polydom_runtime.binomial`, with 95 %.
    if not answers or (most := 1.0 - 0.05 ** (1.0 / answers)) <= promised:
        return ""
    return (
        f"{regime}: {answers} answers were recorded, too few to tell {percent(promised)} late from none: where "
        f"none was, up to {percent(most)} may be"
    )


def in_range(outlook: Sequence[Outlook], promise: Promise) -> list[Outlook]:
    """Return the outlooks within the range of deadlines that a bundle was built for."""
    return [o for o in outlook if o.deadline * APART >= promise.budgets[0]]


def shortcomings(regime: Regime, outlook: Sequence[Outlook], promise: Promise) -> Iterator[str]:
    """Yield why some deadlines of a bundle's range buy less in a regime than was asked for."""
    asked = in_range(outlook, promise)
    if priors := [*takewhile(lambda o: o.is_only_prior, asked)]:
        only = f"{percent(ONLY_PRIOR)} or more of the answers are only the prior"
        yield f"{regime}: at deadlines up to {format_seconds(priors[-1].deadline)}, {only}"
    if late := [
        f"{percent(o.late, 3)} at {format_seconds(o.deadline)}" for o in asked if o.late > promise.late * APART
    ]:
        yield f"{regime}: more answers are late than the promised {percent(promise.late)}: {', '.join(late)}"


def useful_text(outlook: Sequence[Outlook]) -> str:
    """Return the shortest deadline for more than the prior, in words."""
    first = next((o for o in outlook if not o.is_only_prior), None)
    if first is None:
        return "not replayed" if not outlook else "none: no deadline gives more than the prior"
    return f"{format_seconds(first.deadline)}{' or less' if first is outlook[0] else ''}"


def _meaning(bundle: Bundle, regime: Regime) -> str:
    if regime == "hot":
        return "hot (items back to back)"
    return f"{regime} (after {format_seconds(bundle.regimes[regime].asleep)} asleep)"


def _lines(outlook: Sequence[Outlook], deadline: float | None) -> list[tuple[str, ...]]:
    """Return the cells of all rows, with one for a further deadline, if it is not below all of them."""
    rows = [*map(outlook_cells, outlook)]
    if deadline is None or not outlook or deadline * APART < outlook[0].deadline:
        return rows
    after, asked = bisect_left(outlook, deadline / APART, key=lambda o: o.deadline), format_seconds(deadline)
    if after == len(rows):
        rows.append((asked, *rows[-1][1:-1], "(as the line before)"))
    elif outlook[after].deadline > deadline * APART:
        between = (
            low if low == high else f"{low} to {high}" for low, high in zip(*rows[after - 1 : after + 1], strict=True)
        )
        rows.insert(after, (asked, *[*between][1:-1], "(between the lines beside it)"))
    return rows


def _notes(bundle: Bundle, regime: Regime, outlook: Sequence[Outlook]) -> Iterator[str]:
    yield f"{regime}: the shortest deadline for more than the prior: {useful_text(outlook)}"
    if doubt := few_answers(regime, min((o.answers for o in outlook), default=0), bundle.promise.late):
        yield doubt
    yield from (f"warning: {text}" for text in shortcomings(regime, outlook, bundle.promise))
