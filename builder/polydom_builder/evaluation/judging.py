"""Answers beside the truth: their score with an interval, who was taken for whom, and whether confidences hold."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.model_entry import CONFIDENCE
from polydom_runtime.records.answer_scores import Confusion, ErrorSums

from .evaluation import Bin, JudgedScore

RESAMPLES = 500
N_BINS = 10

ItemNumbers = NDArray[np.intp]
"""The positions of some items."""


@dataclass(frozen=True)
class Judged:
    """The answers of one system, and the truth."""

    bundle: Bundle
    told: Sequence[Any]
    true: Sequence[Any]
    """`told`, `true`: shape (n_items,). Labels, or numbers of a regression; an answer that was withheld is None."""
    groups: Sequence[Any] | None = None
    """Shape (n_items,)."""

    @cached_property
    def right(self) -> NDArray[np.bool_]:
        """Whether each answer is right, shape ``(n_items,)``; for classes."""
        told, true = self._numbers
        right: NDArray[np.bool_] = (told == true) & (true < len(self.bundle.space.classes))
        return right

    def score(self, chosen: ItemNumbers) -> JudgedScore:
        """Return the score of the answers to some items. The interval is by bootstrap, over groups if there are some.

        O(resamples · (items + classes²)).
        """
        classes = self.bundle.space.classes
        value = self._value(chosen, np.ones(len(chosen)))
        low, high = (None, None) if value is None else self._interval(chosen)
        given = chosen[[self.told[k] is not None for k in chosen.tolist()]]
        return JudgedScore(value, low, high, float(self.right[given].mean()) if classes and len(given) else None)

    def _interval(self, chosen: ItemNumbers) -> tuple[float | None, float | None]:
        groups, n_groups = self._grouped(chosen)
        if n_groups < 2:
            return None, None
        rng = np.random.default_rng(0)  # the same items give the same interval
        counts = (np.bincount(rng.integers(n_groups, size=n_groups), minlength=n_groups) for _ in range(RESAMPLES))
        values = [value for drawn in counts if (value := self._value(chosen, drawn[groups])) is not None]
        low, high = np.quantile(values, [(1.0 - CONFIDENCE) / 2.0, (1.0 + CONFIDENCE) / 2.0]).tolist()
        return low, high

    def _grouped(self, chosen: ItemNumbers) -> tuple[NDArray[np.intp], int]:
        if self.groups is None:
            return np.arange(len(chosen)), len(chosen)
        known: dict[Any, int] = {}
        return np.array([known.setdefault(self.groups[k], len(known)) for k in chosen.tolist()]), len(known)

    def _value(self, chosen: ItemNumbers, weights: NDArray[Any]) -> float | None:
        """Return the score by the bundle's scoring, if each item counted as often as its weight says."""
        scoring = self.bundle.promise.scoring
        if self.bundle.space.classes:
            matrix = self._matrix(chosen, weights)
            return Confusion(self.bundle.space.classes, self.bundle.error_costs, matrix).value(scoring)
        errors, true = self._errors
        return ErrorSums.of(errors[chosen], true[chosen], weights).value(scoring)

    def confusion(self, chosen: ItemNumbers) -> tuple[tuple[int, ...], ...]:
        """Return how often each class (row) was told as each (column); see `Part.confusion`."""
        if not (classes := self.bundle.space.classes):
            return ()
        counts = self._matrix(chosen)[:, :-1]
        known = len(classes) + bool(counts[-1].any() or counts[:, -1].any())
        return tuple(map(tuple, counts[:known, :known].tolist()))

    def reliability(self, chosen: ItemNumbers, confidences: Sequence[float | None]) -> tuple[Bin, ...]:
        """Return how often answers of about the same confidence are right; empty without confidences."""
        stated = [k for k in chosen.tolist() if confidences[k] is not None and self.told[k] is not None]
        if not stated or not self.bundle.space.classes:
            return ()
        sure, right = np.array([confidences[k] for k in stated], dtype=np.float64), self.right[stated]
        bins = np.minimum((sure * N_BINS).astype(int), N_BINS - 1)
        return tuple(
            Bin(b / N_BINS, (b + 1) / N_BINS, int(own.sum()), float(sure[own].mean()), float(right[own].mean()))
            for b in range(N_BINS)
            if (own := bins == b).any()
        )

    def _matrix(self, chosen: ItemNumbers, weights: NDArray[Any] | None = None) -> NDArray[np.int64]:
        told, true = self._numbers
        n = len(self.bundle.space.classes) + 1
        cells = np.bincount(true[chosen] * (n + 1) + told[chosen], weights, minlength=n * (n + 1))
        return cells.reshape(n, n + 1).astype(np.int64)

    @cached_property
    def _numbers(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The class numbers of answers and truth; labels that are no classes are one more, no answer the last."""
        known = {label: number for number, label in enumerate(self.bundle.space.classes)}
        told = [len(known) + 1 if label is None else known.get(label, len(known)) for label in self.told]
        return np.array(told, dtype=np.intp), np.array([known.get(label, len(known)) for label in self.true])

    @cached_property
    def _errors(self) -> tuple[Floats, Floats]:
        """The errors of a regression, and the truth; an answer that was withheld has none, and is never asked for."""
        told, true = (np.array(values, dtype=np.float64) for values in (self.told, self.true))
        return told - true, true
