"""What deadlines buy in each regime, as a table."""

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import takewhile

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import APART, REGIMES, BundleTimes, Outlook, Regime
from polydom_runtime.costs import format_seconds
from polydom_runtime.tables import TextTable, percent

from .time_bounds import first_answer

ONLY_PRIOR = 0.99
"""The share of answers by the prior from which on a deadline buys nothing."""

PAUSED = "pauses of the machine, which no plan avoids, are not among these answers"


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

    `deadline`: seconds; it gets a line of its own in each regime, between those that were replayed.
    """
    every = times_of_regimes(bundle)
    columns = ("regime", "#deadline", "#score", "#late", "#promised", "#prior", "most answers by")
    promised = f"≤ {percent(bundle.promise.late)}"
    rows = [
        (regime, format_seconds(o.deadline), f"{o.score:.3f}", percent(o.late), promised, percent(o.prior_share), by)
        for regime, times in every.items()
        for o, by in _with(times.outlook, deadline)
    ]
    notes = [note for regime, times in every.items() for note in _notes(bundle, regime, times.outlook)]
    origin = bundle.times.origin
    if origin.estimated:
        whose = f"all of this is for {origin.device}, estimated: on a slower machine, more answers are the prior"
        notes.append(whose)
    title = f"expected answers {', '.join(_meaning(bundle, regime) for regime in every)}:"
    return TextTable(title, columns, rows, [*[PAUSED] * bool(rows), *notes])


def outlook_text(bundle: Bundle) -> str:
    """Return the table as lines."""
    return "\n".join(outlook_table(bundle).lines("  "))


def shortcomings(regime: Regime, outlook: Sequence[Outlook], promised: float) -> Iterator[str]:
    """Yield why some deadlines of a regime buy less than was asked for.

    `promised`: the promised share of late answers.
    """
    if priors := [*takewhile(lambda o: o.prior_share >= ONLY_PRIOR, outlook)]:
        too_large = f"{percent(ONLY_PRIOR)} or more of the items are too large to get more than the prior"
        yield f"{regime}: at deadlines up to {format_seconds(priors[-1].deadline)}, {too_large}"
    if late := [f"{percent(o.late)} at {format_seconds(o.deadline)}" for o in outlook if o.late > promised * APART]:
        yield f"{regime}: the replays were late more often than the promised {percent(promised)}: {', '.join(late)}"


def _meaning(bundle: Bundle, regime: Regime) -> str:
    if regime == "hot":
        return "hot (items back to back)"
    return f"{regime} (after {format_seconds(bundle.regimes[regime].asleep)} asleep)"


def _with(outlook: Sequence[Outlook], deadline: float | None) -> Iterator[tuple[Outlook, str]]:
    """Yield the rows and who answers, with one for a further deadline, if it is not below all of them."""
    rows = [(o, set_text(o.features)) for o in outlook]
    if deadline is not None and outlook and outlook[0].deadline <= deadline * APART:
        after = bisect_left(outlook, deadline / APART, key=lambda o: o.deadline)
        if after == len(outlook):
            rows.append((outlook[-1]._replace(deadline=deadline), "(as the line before)"))
        elif outlook[after].deadline > deadline * APART:
            between = _between(outlook[after - 1], outlook[after], deadline)
            rows.insert(after, (between, "(between the lines beside it)"))
    yield from rows


def _between(low: Outlook, high: Outlook, deadline: float) -> Outlook:
    share = math.log(deadline / low.deadline) / math.log(high.deadline / low.deadline)
    mixed = {
        name: getattr(low, name) + share * (getattr(high, name) - getattr(low, name))
        for name in ("score", "prior_share", "late")
    }
    return low._replace(deadline=deadline, **mixed)


def _notes(bundle: Bundle, regime: Regime, outlook: Sequence[Outlook]) -> Iterator[str]:
    first = first_answer(bundle, regime)
    if first is None:
        yield f"{regime}: no set scores higher than the prior"
        return
    sooner = any(o.deadline < first.seconds and o.prior_share < ONLY_PRIOR for o in outlook)
    more = "; below, answers get more only where units are quicker than that" * sooner
    yield f"{regime}: the shortest deadline for more than the prior, with the smallest items, is {first}{more}"
    yield from (f"warning: {text}" for text in shortcomings(regime, outlook, bundle.promise.late))
