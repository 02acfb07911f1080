"""The knee: the shortest deadline that gives nearly all that any deadline does, and what half of it would cost."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import APART, ONLY_PRIOR, Outlook, Regime
from polydom_runtime.bundles.promise import Promise
from polydom_runtime.costs import format_seconds
from polydom_runtime.tables import percent

from .outlook_table import in_range, times_of_regimes

NEARLY_ALL = 0.95
"""The knee gives this share of what the best deadline gains on the prior."""


class Knee(NamedTuple):
    """The knee among the deadlines of a regime, which are those of its table."""

    regime: Regime
    knee: Outlook
    best: Outlook
    """The shortest deadline with the highest score."""
    keeping: tuple[Outlook, ...]
    """The deadlines at which answers are late no more often than promised."""
    half: tuple[Outlook, ...]
    """Half of the knee: that deadline, or those next to it; empty if it is below all of them."""
    useful: Outlook
    """The shortest deadline that gives more than the prior."""
    is_useful_from: bool
    """Whether a shorter deadline was tried, which gives only the prior."""
    prior: float
    """The score of the prior."""
    promised: float
    """The promised share of late answers."""

    @property
    def half_is_known(self) -> bool:
        """Whether half of the knee was tried itself."""
        return len(self.half) == 1

    @property
    def keeps_promise(self) -> bool:
        """Whether answers at the knee are late no more often than promised."""
        return self.knee in self.keeping

    def __str__(self) -> str:
        at, most = format_seconds(self.knee.deadline), self.best
        text = f"{self.regime}: {at} is the knee: score {self.knee.score:.3f}"
        if f"{most.score:.3f}" != f"{self.knee.score:.3f}":
            text += f", where {most.score:.3f} is the most, at {format_seconds(most.deadline)}"
        promised = f"at most {percent(self.promised)} is promised"
        kept = promised if self.keeps_promise else f"more than promised: {promised}"
        return f"{text}; {percent(self.knee.late, 3)} late ({kept})."

    def consequences(self) -> Iterator[str]:
        """Yield sentences on the promise if the knee does not keep it, on half of the knee, and on only the prior."""
        if not self.keeps_promise:
            kept = ", ".join(f"{format_seconds(o.deadline)} (score {o.score:.3f})" for o in self.keeping)
            yield f"The promise is kept at {kept}." if kept else "No deadline that was tried keeps the promise."
        half = format_seconds(self.knee.deadline / 2.0)
        if self.half:
            scores = [round(o.score, 3) for o in self.half]
            told, less = (
                " to ".join(dict.fromkeys(f"{number:.3f}" for number in numbers))
                for numbers in (scores, [round(self.knee.score, 3) - score for score in scores])
            )
            yield f"Half of it, {half}: score {told}, {less} less."
        else:
            yield f"Half of it, {half}: not tried."
        useful = format_seconds(self.useful.deadline)
        if self.is_useful_from:
            yield f"Below {useful}: {percent(ONLY_PRIOR)} or more of the answers are the prior, score {self.prior:.3f}."
        else:
            yield f"Already {useful}, the shortest tried, gives more than the prior, which scores {self.prior:.3f}."


def knees(bundle: Bundle) -> dict[Regime, Knee]:
    """Return the knee of each regime that was replayed; of none in which no deadline gives more than the prior."""
    every = times_of_regimes(bundle).items()
    found = {regime: knee_of(regime, times.outlook, bundle.prior.accuracy, bundle.promise) for regime, times in every}
    return {regime: knee for regime, knee in found.items() if knee is not None}


def verdict(bundle: Bundle) -> list[str]:
    """Return the knee of each regime in words, as lines."""
    found, lines = knees(bundle), []
    for regime, times in times_of_regimes(bundle).items():
        if knee := found.get(regime):
            lines += [str(knee), *(f"  {text}" for text in knee.consequences())]
        elif times.outlook:
            lines.append(f"{regime}: no deadline that was tried gives more than the prior.")
    return lines or ["No deadline was tried."]


def knee_of(regime: Regime, outlook: Sequence[Outlook], prior: float, promise: Promise) -> Knee | None:
    """Return the knee within the range of a bundle. `prior`: the score of the prior."""
    useful = [o for o in in_range(outlook, promise) if not o.is_only_prior]
    best = max(useful, key=lambda o: o.score, default=None)
    if best is None or best.score <= prior:
        return None
    knee = next(o for o in useful if o.score >= min(prior + NEARLY_ALL * (best.score - prior), best.score))
    keeping = tuple(o for o in useful if o.late <= promise.late * APART)
    (number, first), half = next((k, o) for k, o in enumerate(outlook) if not o.is_only_prior), knee.deadline / 2.0
    if number:
        prior = outlook[number - 1].score  # with the pauses
    after = bisect_left(outlook, half / APART, key=lambda o: o.deadline)
    is_there = outlook[after].deadline <= half * APART
    beside = tuple(outlook[after : after + 1] if is_there else outlook[after - 1 : after + 1] if after else ())
    return Knee(regime, knee, best, keeping, beside, first, number > 0, prior, promise.late)
