"""Construction of the Poly-Dom index: the skyline of the candidates over a query region."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from polydom_builder.sets.region import QueryRegion
from polydom_runtime.bundles.index import Candidate, Interval, PolyDomIndex
from polydom_runtime.costs import CostFunction

from .crossings import order

NOBODY = -1
"""Owner of the envelope before any candidate has been added; its cost is infinite."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the envelope that is the cost of one candidate."""

    owner: int
    start: float
    end: float
    """`start`, `end`: the piece holds for start < n <= end."""
    low: float
    high: float
    """`low`, `high`: the cost at `start` and at `end`."""


def build_index(candidates: Sequence[Candidate], region: QueryRegion) -> PolyDomIndex:
    """Return the index that answers every query of the region with the most accurate candidate that fits.

    Candidates are added by falling accuracy, those of equal accuracy together. L(n), the lower envelope of the costs
    added so far, is the least budget that some candidate at least as accurate fits. A new candidate is on the skyline
    exactly where its cost is below L; there it lowers L. So crossings are computed with L only, never between two
    dominated candidates.

    Of a range of budgets [c_lo, c_hi], S is the answer to some budget only if S fits c_hi and no better candidate fits
    c_lo. Costs rise with n, so this holds for n*(better, c_lo) < n <= n*(S, c_hi), where n*(S, c) is the largest size
    at which S fits c. The empty set, which must be among `candidates`, fits every budget. The index keeps it and, by
    rising accuracy, those that are the answer to some query.

    O(k log k + k · p + x) for k candidates, p pieces of L and x crossings with L.

    The spectrum is more accurate than the mean and costs less up to size 4, so the mean is on the skyline only above:

    >>> empty = Candidate(0, (), 0.5, CostFunction.of())
    >>> mean = Candidate(1, ("mean",), 0.7, CostFunction.of(8, linear=1))
    >>> spectrum = Candidate(2, ("spectrum",), 0.9, CostFunction.of(linear=3))
    >>> index = build_index([mean, spectrum, empty], QueryRegion(sizes=(0, 10)))
    >>> [(index.candidates[i.candidate].features, round(i.start), round(i.end)) for i in index.intervals]
    [((), 0, 10), (('mean',), 4, 10), (('spectrum',), 0, 10)]
    >>> index.best(3, budget=11).features, index.best(6, budget=16).features
    (('spectrum',), ('mean',))

    With the single budget 15 the index is a staircase: the spectrum fits up to size 5, the mean up to 7.

    >>> index = build_index([mean, spectrum, empty], QueryRegion(sizes=(0, 10), budgets=(15, 15)))
    >>> [(index.candidates[i.candidate].features, round(i.start), round(i.end)) for i in index.intervals]
    [((), 7, 10), (('mean',), 5, 7), (('spectrum',), 0, 5)]
    """
    empty = min((c for c in candidates if c.mask == 0), key=lambda c: -c.accuracy)
    better = [c for c in candidates if c.accuracy > empty.accuracy]
    ranked = [*sorted(better, key=lambda c: (-c.accuracy, c.mask.bit_count(), c.mask)), empty]
    skyline = _skyline(ranked, region)
    kept = sorted({interval.candidate for interval in skyline} | {len(ranked) - 1}, reverse=True)
    number = {old: new for new, old in enumerate(kept)}
    intervals = [Interval(number[i.candidate], i.start, i.end) for i in reversed(skyline)]
    return PolyDomIndex([ranked[i] for i in kept], intervals, region.sizes)


def _skyline(ranked: Sequence[Candidate], region: QueryRegion) -> list[Interval]:
    """Return where each candidate, ranked by falling accuracy, answers some query."""
    smallest, largest = region.sizes
    least, most = region.budgets
    costs = [c.cost for c in ranked]
    envelope = [Piece(NOBODY, smallest, largest, math.inf, math.inf)]
    answered = -math.inf  # up to this size a better candidate fits even the least budget
    found: list[Interval] = []
    for _, group in groupby(range(len(ranked)), key=lambda i: ranked[i].accuracy):
        # Of two equally accurate candidates the cheaper one dominates, so all are added before any is looked up.
        members = tuple(group)
        for i in members:
            envelope = _lowered(envelope, i, costs)
        for piece in (p for p in envelope if p.owner in members and p.low <= most):
            start = max(piece.start, answered)
            end = piece.end if piece.high <= most else costs[piece.owner].largest_size(most)
            # Intervals exclude their start, so one that is needed at the smallest size alone has start == end.
            if start < end or answered < end == smallest:
                found.append(Interval(piece.owner, start, end))
        for i in members:
            if costs[i](max(answered, smallest)) <= least:
                answered = max(answered, costs[i].largest_size(least))
        if answered >= largest:
            break  # some candidate so far fits every query, so no worse one is ever the answer
    return found


def _lowered(envelope: list[Piece], newcomer: int, costs: Sequence[CostFunction]) -> list[Piece]:
    """Return min(envelope, cost of the newcomer); the envelope itself if the newcomer is nowhere below it.

    Costs rise with the size, so where one at the start of a piece is at least the other at the end, as on most pieces,
    their order is known; crossings are computed for the others.
    """
    cost = costs[newcomer]
    owners: list[tuple[float, int]] = []
    low = cost(envelope[0].start)
    for piece in envelope:
        high = cost(piece.end)
        if low >= piece.high:
            owners.append((piece.end, piece.owner))
        elif high < piece.low:
            owners.append((piece.end, newcomer))
        else:
            parts = order(cost, costs[piece.owner], piece.start, piece.end)
            owners.extend((end, newcomer if below else piece.owner) for end, below in parts)
        low = high
    if all(owner != newcomer for _, owner in owners):
        return envelope
    return _pieces(owners, envelope[0].start, costs)


def _pieces(owners: Sequence[tuple[float, int]], start: float, costs: Sequence[CostFunction]) -> list[Piece]:
    """Return the pieces of an envelope, given (end, owner) of each; neighbours with the same owner are merged."""
    pieces = []
    for owner, run in groupby(owners, key=itemgetter(1)):
        *_, (end, _) = run
        pieces.append(Piece(owner, start, end, costs[owner](start), costs[owner](end)))
        start = end
    return pieces
