"""What the deadlines of a bundle buy, as text for people."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.outlook import Outlook
from polydom_runtime.bundles.regimes import REGIMES, Regime
from polydom_runtime.costs import format_seconds

from .first_answer import first_answer

ONLY_PRIOR = 0.99
"""From this share of answers by the prior on, a deadline buys nothing."""


COLUMNS = ("deadline", "score", "late", "prior", "most answers by")


class RegimeOutlook(NamedTuple):
    """What the deadlines of one regime buy, as texts."""

    title: str
    rows: list[tuple[str, ...]]
    """A text for each of `COLUMNS`, at each deadline; none if the bundle has no outlook."""
    notes: list[str]


def outlook_table(bundle: Bundle) -> str:
    """Return a table for each regime: for each deadline the expected score, late answers, and who answers.

    `bundle`: its outlook may be empty.

    The result: lines without an end of line at the last one. Where a deadline only gets the prior, a line says so; the
    last one says it if times are estimates.
    """
    return "\n".join([*(line for there in outlooks(bundle) for line in _lines(there)), *estimate_notes(bundle)])


def _lines(outlook: RegimeOutlook) -> Iterator[str]:
    yield outlook.title
    for deadline, score, late, prior, features in (COLUMNS, *outlook.rows) if outlook.rows else ():
        yield f"  {deadline:>8}  {score:>6}  {late:>7}  {prior:>7}  {features}"
    yield from (f"  {note}" for note in outlook.notes)


def estimate_notes(bundle: Bundle) -> list[str]:
    """Return what is to be said of a bundle whose times are estimates."""
    origin = bundle.times.origin
    note = [f"all of this is for {origin.device}, estimated: on a slower machine, more answers are the prior"]
    return note * origin.estimated


def outlooks(bundle: Bundle) -> Iterator[RegimeOutlook]:
    """Return what the deadlines buy in each regime that the bundle has times of."""
    for regime in REGIMES:
        there = bundle.regimes.get(regime)
        if regime == "hot" or there is not None:
            title = "hot, items back to back:"
            if there is not None:
                title = f"{regime}, after {format_seconds(there.asleep)} asleep:"
            outlook = (bundle.times if there is None else there.times).outlook
            yield RegimeOutlook(title, [_row(o) for o in outlook], [*_notes(bundle, regime, outlook)])


def _row(o: Outlook) -> tuple[str, ...]:
    shares = _percent(o.late), _percent(o.prior_share)
    return format_seconds(o.deadline), f"{o.score:.3f}", *shares, "+".join(o.features) or "(prior)"


def _notes(bundle: Bundle, regime: Regime, outlook: Sequence[Outlook]) -> Iterator[str]:
    first = first_answer(bundle, regime)
    if first is None:
        yield "no set scores higher than the prior"
        return
    yield f"the shortest deadline for more than the prior is {first}"
    if priors := [o.deadline for o in outlook if o.prior_share >= ONLY_PRIOR]:
        yield f"warning: deadlines up to {format_seconds(max(priors))} only get the prior"


def regimes_text(bundle: Bundle) -> str:
    """Return which regimes a bundle has times of, for people."""
    origin = bundle.times.origin
    if not bundle.regimes:
        measured = origin.device and not origin.estimated
        return f"hot; cold was never measured{': measure again with this version' if measured else ''}"
    asleep = {name: format_seconds(there.asleep) for name, there in bundle.regimes.items()}
    if len(set(asleep.values())) == 1:
        others = f"{' and '.join(asleep)} after {next(iter(asleep.values()))} asleep"
    else:
        others = ", ".join(f"{name} after {seconds} asleep" for name, seconds in asleep.items())
    missing = [f"{name} was never measured" for name in REGIMES[1:] if name not in asleep]
    return "; ".join(["hot", others, *missing])


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
