"""What the deadlines of a bundle buy, as text for people."""

from collections.abc import Iterator

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.regimes import REGIMES, Regime
from polydom_runtime.costs import format_seconds

from .first_answer import first_answer

ONLY_PRIOR = 0.99
"""From this share of answers by the prior on, a deadline buys nothing."""


def outlook_table(bundle: Bundle) -> str:
    """Return a table for each regime: for each deadline the expected score, late answers, and who answers.

    Parameters
    ----------
    bundle : Bundle
        Its outlook may be empty.

    Returns
    -------
    str
        Lines without an end of line at the last one. Where a deadline only gets the prior, a line says so; the last one
        says it if times are estimates.
    """
    origin = bundle.times.origin
    note = [f"all of this is for {origin.device}, estimated: on a slower machine, more answers are the prior"]
    return "\n".join([*(line for regime in REGIMES for line in _of_regime(bundle, regime)), *note * origin.estimated])


def _of_regime(bundle: Bundle, regime: Regime) -> Iterator[str]:
    there = bundle.regimes.get(regime)
    if regime != "hot" and there is None:
        return
    times = bundle.times if there is None else there.times
    yield "hot, items back to back:" if there is None else f"{regime}, after {format_seconds(there.asleep)} asleep:"
    if times.outlook:
        yield "  deadline   score     late    prior  most answers by"
    for o in times.outlook:
        shares = f"{_percent(o.late)}  {_percent(o.prior_share)}"
        yield f"  {format_seconds(o.deadline):>8}  {o.score:6.3f}  {shares}  {'+'.join(o.features) or '(prior)'}"
    first = first_answer(bundle, regime)
    if first is None:
        yield "  no set scores higher than the prior"
        return
    yield f"  the shortest deadline for more than the prior is {first}"
    if priors := [o.deadline for o in times.outlook if o.prior_share >= ONLY_PRIOR]:
        yield f"  warning: deadlines up to {format_seconds(max(priors))} only get the prior"


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
    return f"{100 * share:5.1f} %"
