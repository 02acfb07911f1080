"""How much worse the second one may be."""

from collections.abc import Iterator
from dataclasses import dataclass

from polydom_builder.exceptions import ComparisonError

from .comparison import Comparison, growth


@dataclass(frozen=True, slots=True)
class Limits:
    """What a change may cost; what is None is not limited."""

    score_loss: float | None = None
    """How much the score of an answer may fall at any size and deadline that is compared."""
    time_growth: float | None = None
    """The largest ratio of the times of a unit or an answer. Growth that may be noise does not count."""
    size_growth: float | None = None
    """The largest ratio of the bytes of all models."""

    def exceeded(self, found: Comparison) -> list[str]:
        """Return a line for each excess.

        Raises `ComparisonError` if a limit is not one of this kind of comparison, or the scores are of different
        scorings.
        """
        if found.kind == "costs" and (self.score_loss, self.size_growth) != (None, None):
            raise ComparisonError("Limits of costs files must be --max-time-growth only. Leave the others out.")
        return [*self._scores(found), *self._times(found), *self._sizes(found)]

    def _scores(self, found: Comparison) -> Iterator[str]:
        if self.score_loss is None:
            return
        for what in ("scoring", "costs of errors"):
            before, after = found.facts[what]
            if before != after:
                raise ComparisonError(
                    f"For --max-score-loss both bundles must have the same {what}. Got {before or 'none'} and "
                    f"{after or 'none'}. Build both with the same, or leave the limit out."
                )
        for answer in found.answers:
            if answer.loss > self.score_loss:
                where = f"at {answer.deadline:g} s and size {answer.size:g}"
                yield f"the score {where} falls by {answer.loss:.4g}, more than {self.score_loss:g}"

    def _times(self, found: Comparison) -> Iterator[str]:
        if self.time_growth is None:
            return
        for time in found.times:
            if time.growth > self.time_growth and time.is_beyond_noise is not False:
                what = f"the {time.kind} time of {time.unit} at size {time.size:g}"
                yield f"{what} grows to {time.growth:.3g} times, more than {self.time_growth:g}"

    def _sizes(self, found: Comparison) -> Iterator[str]:
        if self.size_growth is not None and (ratio := growth(*found.facts["model bytes"])) > self.size_growth:
            yield f"the bytes of all models grow to {ratio:.3g} times, more than {self.size_growth:g}"
