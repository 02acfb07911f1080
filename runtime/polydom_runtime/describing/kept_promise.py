"""How the promise about late answers was kept, in words."""

from typing import NamedTuple

from polydom_runtime.binomial import chance_of
from polydom_runtime.tables import percent

BY_CHANCE = 0.05
"""As many late answers as come by chance at least this often do not prove that the promise is broken."""

ROUNDING = 1e-9

RAREST = 1e-6
"""A chance below this is not told exactly."""


def late_text(late: int, answers: int) -> str:
    """Return how many answers were late, in words.

    >>> late_text(2, 250)
    '2 of 250 answers were late, 0.8 %'
    """
    return f"{late:,} of {answers:,} answers were late, {percent(late / max(answers, 1))}"


class KeptPromise(NamedTuple):
    """Late answers of a run, beside the promised share of them.

    Examples
    --------
    >>> print(KeptPromise(2, 250, 0.01))
    The promise was kept: 2 of 250 answers were late, 0.8 %; promised is at most 1 %.
    >>> print(KeptPromise(9, 250, 0.01, paused=2))  # doctest: +NORMALIZE_WHITESPACE
    The promise was broken: 9 of 250 answers were late, 3.6 %; promised is at most 1 %. By chance alone, as many are
    late once in 950 such runs. 2 of them would be late by any plan: the machine paused, or the item had waited.
    """

    late: int
    answers: int
    promised: float
    """The promised share of late answers."""
    paused: int = 0
    """The number of the late ones that no plan could have given in time: the machine paused, or the item had waited
    for longer than the deadline. 0 where that is not known."""

    @property
    def is_kept(self) -> bool:
        """Whether no more answers were late than promised."""
        return self.late <= self.promised * self.answers * (1.0 + ROUNDING)

    @property
    def chance(self) -> float:
        """The probability of as many late answers where each is late at the promised rate."""
        return chance_of(self.late, self.answers, self.promised)

    def __str__(self) -> str:
        chance, late = self.chance, late_text(self.late, self.answers)
        verdict = "kept" if self.is_kept else "broken" if chance < BY_CHANCE else "missed, maybe by chance"
        text = f"The promise was {verdict}: {late}; promised is at most {percent(self.promised)}."
        if not self.is_kept:
            runs = f"once in {float(f'{1.0 / max(chance, RAREST):.2g}'):,.0f} such runs"
            text += f" By chance alone, as many are late {'less than ' * (chance < RAREST)}{runs}."
        if self.paused:
            text += f" {self.paused:,} of them would be late by any plan: the machine paused, or the item had waited."
        return text

    def to_json(self) -> dict[str, object]:
        """Return it as plain data."""
        return self._asdict() | {"kept": self.is_kept, "chance": float(f"{self.chance:.3g}"), "text": str(self)}
