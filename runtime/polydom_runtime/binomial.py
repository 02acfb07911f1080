"""Exact statistics of the rate of misses: its bounds from counts, and plans that decide about a claim.

The bounds are those of Clopper and Pearson (1934), which hold for any number of items. The usual normal approximation
fails here: with no miss among 1,000 items it gives a rate of exactly 0. The node has no scipy, so numpy must do.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from polydom_runtime.arrays import Floats
from polydom_runtime.exceptions import CertificateError

ODDS_STEP, N_RIVALS = 1.25, 20
"""The higher rates that a claim is tested against: the odds of each are 1.25 times those before, up to 87 times."""

MAX_MISSES = 20
"""The last look of a plan with many looks allows this number of misses."""


def upper_bound(misses: int, items: int, confidence: float) -> float:
    """Return the upper bound of the rate: the smallest at which as few misses have at most the chance 1 - `confidence`.

    >>> upper_bound(0, 4603, 0.99) <= 0.001 < upper_bound(0, 4602, 0.99)
    True
    """
    return 1.0 if misses >= items else _around(misses, items, 1.0 - confidence)[1]


def lower_bound(misses: int, items: int, confidence: float) -> float:
    """Return the lower bound of the rate: the largest at which as many misses have at most the chance 1 - `confidence`.

    >>> round(lower_bound(10, 10, 0.95), 4)  # 0.05 ** (1 / 10)
    0.7411
    """
    return 0.0 if misses <= 0 else _around(misses - 1, items, confidence)[0]


def chance_of(misses: int, items: int, rate: float) -> float:
    """Return the probability of at least as many misses, if each of the items is missed at this rate by itself.

    >>> round(chance_of(9, 250, 0.01), 5), chance_of(0, 250, 0.01), chance_of(1, 250, 0.0)
    (0.00106, 1.0, 0.0)
    """
    if misses <= 0 or rate >= 1.0:
        return 1.0
    return max(-math.expm1(_log_tail(misses - 1, items, rate)), 0.0) if rate > 0.0 else 0.0


def items_needed(rate: float, confidence: float, misses: int = 0) -> int:
    """Return the number of items that prove a rate if at most `misses` of them are missed.

    The number must be fixed before the first item: a run that stops at the first good moment proves less.

    >>> [items_needed(0.001, 0.99, misses) for misses in (0, 1, 2)]
    [4603, 6636, 8403]
    """
    limit = math.log1p(-confidence)
    low, high = misses, 2 * misses + 1  # if every item was a miss, nothing is proven
    while _log_tail(misses, high, rate) > limit:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _log_tail(misses, middle, rate) > limit else (low, middle)
    return high


def misses_allowed(items: int, rate: float, confidence: float) -> int | None:
    """Return the most misses with which `items` items prove a rate; None if not even a run without a miss proves it.

    The confidence must be at least one half.

    >>> misses_allowed(4602, 0.001, 0.99), misses_allowed(4603, 0.001, 0.99), misses_allowed(10000, 0.001, 0.99)
    (None, 0, 2)
    """
    if items < 1:
        return None
    # With a confidence of at least one half, more misses than the median of the binomial distribution prove nothing.
    # The median is at most the mean rounded up, so the probabilities up to there are enough.
    chances = np.logaddexp.accumulate(_log_masses(math.ceil(items * rate), items, rate))
    allowed = int(np.searchsorted(chances, math.log1p(-confidence), side="right")) - 1
    return allowed if allowed >= 0 else None


class Look(NamedTuple):
    """A point at which the plan decides: after exactly `items` items, at most `misses` misses prove the rate."""

    items: int
    misses: int


@dataclass(frozen=True, slots=True)
class SamplingPlan:
    """A sequential test of the claim that the rate of misses is at most `rate`, fixed before the first item.

    Below, p is the true rate and r the claimed one. The plan may be wrong in two ways. Each has at most the probability
    1 - `confidence` over the whole plan, provided that misses are independent of each other.

    **A false proof** (p > r, and yet a look proves the claim). Such a test is a group sequential test: the permitted
    error is spent over the looks (Lan and DeMets 1983). It is enough to look at p = r, since the probability of a proof
    falls as p rises: a look that does not prove the claim for a sequence does not prove it with more misses either.
    At p = r, `chance_of_proof` gives the probability exactly. A plan with a single look spends all of it there. A plan
    with many looks has spent at most the part 1/2 + 1/6 + 1/12 + ... = (k + 1)/(k + 2) after the look that allows k
    misses. The first look gets most, because it decides for a system that never misses; later ones still get some.

    So 4,603 items without a miss prove 0.1 % at 99 % confidence only as a single look (0.999 ** 4603 = 0.0099987 uses
    up the 1 %); of many looks, the first one comes after 5,296 items.

    **A false refutation** (p <= r, and yet the claim is refuted). A single look refutes by `lower_bound`. A plan with
    many looks tests after every miss, so that a bad system is recognised early, by a sequential likelihood ratio test
    against several higher rates (Wald 1945, with a mixture of alternatives as in Robbins 1970). The ratio of the
    likelihood at a higher rate to that at r is a supermartingale that starts at 1 if p <= r, and so is the mean of the
    ratios. By Ville's inequality (1939) it ever reaches 1 / (1 - confidence) with at most the probability
    1 - confidence, however often it is looked at.
    """

    rate: float
    """The claimed rate r: above 0 and below 1."""
    confidence: float
    """At least 0.5 and below 1."""
    looks: tuple[Look, ...]
    """The looks in rising order of items."""

    @classmethod
    def single_look(cls, rate: float, confidence: float, misses: int = 0) -> "SamplingPlan":
        """Return the plan that decides once, after the fewest items that prove the rate with at most `misses`."""
        _check(rate, confidence, misses)
        return cls(rate, confidence, (Look(items_needed(rate, confidence, misses), misses),))

    @classmethod
    def many_looks(cls, rate: float, confidence: float, most_misses: int = MAX_MISSES) -> "SamplingPlan":
        """Return the plan that looks a first time for no miss, then for at most one, and so on up to `most_misses`.

        It needs more items than a single look, but one miss does not end it.

        >>> SamplingPlan.many_looks(0.001, 0.99, most_misses=2).looks
        (Look(items=5296, misses=0), Look(items=8060, misses=1), Look(items=10443, misses=2))
        """
        _check(rate, confidence, most_misses)
        return cls(rate, confidence, tuple(_spending(rate, 1.0 - confidence, most_misses)))

    @property
    def first(self) -> int:
        """The number of items at the first look."""
        return self.looks[0].items

    @property
    def last(self) -> int:
        """The number of items at the last look."""
        return self.looks[-1].items

    def is_proof(self, misses: int, items: int) -> bool:
        """Tell whether there is a look after this number of items, and it proves the rate."""
        return any(items == look.items and misses <= look.misses for look in self.looks)

    def is_refutation(self, misses: int, items: int) -> bool:
        """Tell whether the claim is refuted: by a single look after its items, by many looks after any miss."""
        if len(self.looks) == 1:
            return items == self.last and lower_bound(misses, items, self.confidence) > self.rate
        odds = self.rate / (1.0 - self.rate) * ODDS_STEP ** np.arange(1, N_RIVALS + 1)
        rivals = odds / (1.0 + odds)
        ratios = misses * np.log(rivals / self.rate) + (items - misses) * (np.log1p(-rivals) - math.log1p(-self.rate))
        return float(np.logaddexp.reduce(ratios)) - math.log(N_RIVALS) >= -math.log1p(-self.confidence)

    def chance_of_proof(self, rate: float) -> float:
        """Return the exact probability that one of the looks proves the claim if `rate` is the true rate.

        >>> single, many = SamplingPlan.single_look(0.001, 0.99), SamplingPlan.many_looks(0.001, 0.99)
        >>> [round(plan.chance_of_proof(0.001), 6) for plan in (single, many)]  # false proofs: at most 0.01
        [0.009999, 0.009545]
        >>> [round(plan.chance_of_proof(0.0001), 2) for plan in (single, many)]
        [0.63, 1.0]
        """
        before, proven = 0, 0.0
        undecided = np.ones(1)  # probability of k misses without a proof so far, for each k that a later look allows
        for items, misses in self.looks:
            undecided = _later(undecided, items - before, rate, self.looks[-1].misses)
            proven += float(undecided[: misses + 1].sum())
            undecided[: misses + 1] = 0.0
            before = items
        return proven


def _check(rate: float, confidence: float, misses: int) -> None:
    if not 1e-9 <= rate < 1.0:
        raise CertificateError(f"The rate of misses must be at least 1e-9 and below 1, such as 0.001. Got {rate!r}.")
    if not 0.5 <= confidence < 1.0:
        raise CertificateError(f"The confidence must be at least 0.5 and below 1, such as 0.99. Got {confidence!r}.")
    if not 0 <= misses <= 10_000:
        raise CertificateError(f"The number of misses that are allowed must be from 0 to 10000. Got {misses}.")


def _spending(rate: float, chance: float, most_misses: int) -> Iterator[Look]:
    """Yield the look for k = 0, 1, ... misses: the earliest by which false proofs have (k + 1)/(k + 2) of `chance`."""
    items, spent = 0, 0.0
    undecided = np.ones(1)
    for misses in range(most_misses + 1):
        # The looks before have proven every sequence with fewer misses. This look therefore proves exactly those that
        # had k misses at the look before and none since: undecided[k] * (1 - rate) ** gap, which must fit the share.
        share = chance * (misses + 1) / (misses + 2) - spent
        gap = max(math.ceil(math.log(share / undecided[misses]) / math.log1p(-rate)), 0)
        undecided = _later(undecided, gap, rate, most_misses)
        items += gap
        spent += float(undecided[misses])
        undecided[misses] = 0.0
        yield Look(items, misses)


def _later(chances: Floats, items: int, rate: float, most: int) -> Floats:
    """Return the probabilities of 0 to `most` misses after `items` more items, from those before."""
    masses = np.exp(_log_masses(most, items, rate))
    later: Floats = np.zeros(most + 1)
    sums = np.convolve(chances, masses)[: most + 1]
    later[: len(sums)] = sums
    return later


def _around(misses: int, items: int, chance: float) -> tuple[float, float]:
    """Return the two neighbouring floats between which P(at most `misses` misses) falls to `chance`.

    By bisection, exact to the last place, since the probability falls as the rate rises; the node has no scipy.
    """
    low, high, limit = 0.0, 1.0, math.log(chance)
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if _log_tail(misses, items, middle) > limit else (low, middle)
    return low, high


def _log_tail(misses: int, items: int, rate: float) -> float:
    return float(np.logaddexp.reduce(_log_masses(misses, items, rate)))


def _log_masses(most: int, items: int, rate: float) -> Floats:
    """Return the logarithms of the probabilities, which may round to 0, of 0, 1, ... min(`most`, `items`) misses."""
    k = np.arange(min(most, items))
    growth = np.log((items - k) / (k + 1)) + (math.log(rate) - math.log1p(-rate))
    return np.concatenate(([0.0], np.cumsum(growth))) + items * math.log1p(-rate)
