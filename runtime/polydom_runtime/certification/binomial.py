"""What counts say about a rate, exactly: bounds of Clopper and Pearson (1934), and plans that decide about a rate."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from polydom_runtime.arrays import Floats
from polydom_runtime.exceptions import CertificateError

ODDS_STEP, N_RIVALS = 1.25, 20
"""The higher rates that a claim is weighed against: each with odds 1.25 times those before, up to 87 times."""

MAX_MISSES = 20
"""A plan with many looks ends after the one that allows so many misses."""


def upper_bound(misses: int, items: int, confidence: float) -> float:
    """Return what the rate is at most, with this confidence.

    >>> upper_bound(0, 4603, 0.99) <= 0.001 < upper_bound(0, 4602, 0.99)
    True
    """
    return 1.0 if misses >= items else _around(misses, items, 1.0 - confidence)[1]


def lower_bound(misses: int, items: int, confidence: float) -> float:
    """Return what the rate is at least, with this confidence.

    >>> round(lower_bound(10, 10, 0.95), 4)  # 0.05 ** (1 / 10)
    0.7411
    """
    return 0.0 if misses <= 0 else _around(misses - 1, items, confidence)[0]


def items_needed(rate: float, confidence: float, misses: int = 0) -> int:
    """Return how many items, decided on before, prove a rate if at most so many of them are missed.

    >>> [items_needed(0.001, 0.99, misses) for misses in (0, 1, 2)]
    [4603, 6636, 8403]
    """
    limit = math.log1p(-confidence)
    low, high = misses, 2 * misses + 1  # with as many items as misses nothing is proven
    while _log_tail(misses, high, rate) > limit:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _log_tail(misses, middle, rate) > limit else (low, middle)
    return high


def misses_allowed(items: int, rate: float, confidence: float) -> int | None:
    """Return the most misses with which so many items prove a rate; None if they are too few even for none.

    The confidence is at least one half.

    >>> misses_allowed(4602, 0.001, 0.99), misses_allowed(4603, 0.001, 0.99), misses_allowed(10000, 0.001, 0.99)
    (None, 0, 2)
    """
    if items < 1:
        return None
    # The median is at most the next whole number above the mean, and nothing is proven by more than the median.
    chances = np.logaddexp.accumulate(_log_masses(math.ceil(items * rate), items, rate))
    allowed = int(np.searchsorted(chances, math.log1p(-confidence), side="right")) - 1
    return allowed if allowed >= 0 else None


class Look(NamedTuple):
    """After exactly so many items, at most so many misses prove the rate."""

    items: int
    misses: int


@dataclass(frozen=True, slots=True)
class SamplingPlan:
    """When counts decide whether a rate of misses is at most the claimed one; written down before the first item.

    **A false proof** has at most the probability 1 - `confidence` over the whole plan, whatever the true rate p above
    the claimed r is. Take two sequences of items of which the second misses wherever the first does, and maybe
    elsewhere: if a look proves the rate by the second, it does by the first. So the probability of a proof falls with
    p, and at p = r `chance_of_proof` gives it exactly. `single_look` is below by the definition of `items_needed`;
    `many_looks` spends the part 1/2 + 1/6 + 1/12 + ... = (k + 1)/(k + 2) of it until the look that allows k misses.

    4,603 items without a miss prove 0.1 % at 99 % only if that is the single look: 0.999 ** 4603 = 0.0099987 leaves
    nothing of 1 % for a second chance after a miss. With many looks the first comes after 5,296 items.

    **A false refutation** has at most the probability 1 - `confidence`, too. A single look refutes by `lower_bound`.
    With many looks each miss is one for this side: the ratio of the likelihood under a higher rate to that under r is,
    for p <= r, a supermartingale that starts at 1, and so is the mean of the ratios for several higher rates; that it
    ever reaches 1 / (1 - confidence) has at most the probability 1 - confidence (Ville's inequality).

    Both hold for misses that come independently of each other.

    Parameters
    ----------
    rate : float
        Above 0 and below 1.
    confidence : float
        At least 0.5 and below 1.
    looks : tuple of Look
        In order of items.
    """

    rate: float
    confidence: float
    looks: tuple[Look, ...]

    @classmethod
    def single_look(cls, rate: float, confidence: float, misses: int = 0) -> "SamplingPlan":
        """Decide once, after the fewest items that prove the rate if at most so many are missed."""
        _check(rate, confidence, misses)
        return cls(rate, confidence, (Look(items_needed(rate, confidence, misses), misses),))

    @classmethod
    def many_looks(cls, rate: float, confidence: float, most_misses: int = MAX_MISSES) -> "SamplingPlan":
        """Look a first time for no miss, then for at most one, and so on: slower, but a miss is forgiven.

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
        """Tell whether this is a look and the rate is proven."""
        return any(items == look.items and misses <= look.misses for look in self.looks)

    def is_refutation(self, misses: int, items: int) -> bool:
        """Tell whether the claim is refuted: at the look if there is a single one, else after any miss."""
        if len(self.looks) == 1:
            return items == self.last and lower_bound(misses, items, self.confidence) > self.rate
        odds = self.rate / (1.0 - self.rate) * ODDS_STEP ** np.arange(1, N_RIVALS + 1)
        rivals = odds / (1.0 + odds)
        ratios = misses * np.log(rivals / self.rate) + (items - misses) * (np.log1p(-rivals) - math.log1p(-self.rate))
        return float(np.logaddexp.reduce(ratios)) - math.log(N_RIVALS) >= -math.log1p(-self.confidence)

    def chance_of_proof(self, rate: float) -> float:
        """Return the probability that one of the looks proves the claim if this is the true rate; exact.

        >>> single, many = SamplingPlan.single_look(0.001, 0.99), SamplingPlan.many_looks(0.001, 0.99)
        >>> [round(plan.chance_of_proof(0.001), 6) for plan in (single, many)]  # false proofs: at most 0.01
        [0.009999, 0.009545]
        >>> [round(plan.chance_of_proof(0.0001), 2) for plan in (single, many)]
        [0.63, 1.0]
        """
        before, proven = 0, 0.0
        undecided = np.ones(1)  # by misses, as far as a look can still forgive them
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
    """Yield the earliest looks for 0, 1, ... misses until each of which a false proof has (k + 1)/(k + 2) `chance`."""
    items, spent = 0, 0.0
    undecided = np.ones(1)
    for misses in range(most_misses + 1):
        # Whoever was not proven before has at least so many misses, and must not have had another one since.
        share = chance * (misses + 1) / (misses + 2) - spent
        gap = max(math.ceil(math.log(share / undecided[misses]) / math.log1p(-rate)), 0)
        undecided = _later(undecided, gap, rate, most_misses)
        items += gap
        spent += float(undecided[misses])
        undecided[misses] = 0.0
        yield Look(items, misses)


def _later(chances: Floats, items: int, rate: float, most: int) -> Floats:
    """Return the probabilities of 0 to `most` misses after some more items."""
    masses = np.exp(_log_masses(most, items, rate))
    later: Floats = np.zeros(most + 1)
    sums = np.convolve(chances, masses)[: most + 1]
    later[: len(sums)] = sums
    return later


def _around(misses: int, items: int, chance: float) -> tuple[float, float]:
    """Return two neighbouring rates: with the lower at most so many misses are likelier than `chance`."""
    low, high, limit = 0.0, 1.0, math.log(chance)
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if _log_tail(misses, items, middle) > limit else (low, middle)
    return low, high


def _log_tail(misses: int, items: int, rate: float) -> float:
    return float(np.logaddexp.reduce(_log_masses(misses, items, rate)))


def _log_masses(most: int, items: int, rate: float) -> Floats:
    """Return the logarithms of the probabilities of 0, 1, ... `most` misses, or `items` if those are fewer."""
    k = np.arange(min(most, items))
    growth = np.log((items - k) / (k + 1)) + (math.log(rate) - math.log1p(-rate))
    return np.concatenate(([0.0], np.cumsum(growth))) + items * math.log1p(-rate)
