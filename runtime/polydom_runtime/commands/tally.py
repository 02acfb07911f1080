"""Counting the answers of a run."""

from collections import Counter
from contextlib import suppress
from typing import Any

from polydom_runtime.items.sources import UNLABELLED
from polydom_runtime.prediction import Prediction
from polydom_runtime.records.histogram import Histogram

PRIOR = "(class prior)"
QUANTILES = (("p50", 0.5), ("p99", 0.99))

MAX_MISSES, REST = 1000, "others"
"""The number of different misses that are counted separately: memory must not grow in a loop that runs for months."""


class Tally:
    """Counts over all answers of a run, in bounded memory."""

    def __init__(self, deadline: float) -> None:
        self.deadline_ns = deadline * 1e9
        self.elapsed, self.waited = Histogram(), Histogram()
        self.items = self.labelled = self.correct = self.unreadable = self.failed = 0
        self.error = 0.0
        self.regresses = False
        self.features: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.missed: Counter[str] = Counter()

    def add(self, answer: Prediction, label: Any) -> None:
        """Count one answer; `label` is the true label, or `UNLABELLED`."""
        self.items += 1
        self.elapsed.add(answer.elapsed_ns)
        self.waited.add(answer.waited_ns)
        self.features["+".join(answer.features) or PRIOR] += 1
        self.reasons[answer.reason] += 1
        self.failed += not answer.features and answer.reason.endswith(" failed")
        if not answer.deadline_met:
            miss = f"{answer.elapsed_ns / self.deadline_ns:.2f} of the deadline, {answer.reason}"
            self.missed[miss if miss in self.missed or len(self.missed) < MAX_MISSES else REST] += 1
        if label is UNLABELLED:
            return
        if type(answer.label) is not float:
            self.labelled += 1
            self.correct += bool(answer.label == label)
            return
        with suppress(ValueError, TypeError):  # a label that is no number cannot be compared with a number
            self.error += abs(answer.label - float(label))
            self.labelled += 1
            self.regresses = True

    @property
    def is_sound(self) -> bool:
        """Whether all items could be read, and not all of them failed."""
        return not self.unreadable and (not self.items or self.failed < self.items)

    def summary(self) -> dict[str, Any]:
        """Return the counts; `elapsed_share` and `waited_share` are times divided by the deadline."""
        known = self.labelled > 0
        return {
            "items": self.items,
            "unreadable": self.unreadable,
            "deadline": self.deadline_ns * 1e-9,
            "accuracy": round(self.correct / self.labelled, 6) if known and not self.regresses else None,
            **({"mean_absolute_error": float(f"{self.error / self.labelled:.6g}")} if self.regresses else {}),
            "missed": self.missed.total(),
            "misses": dict(self.missed),
            "elapsed_share": self._shares(self.elapsed),
            "waited_share": self._shares(self.waited),
            "features": dict(self.features.most_common()),
            "reasons": dict(self.reasons.most_common()),
        }

    def _shares(self, times: Histogram) -> dict[str, float]:
        """Return quantiles and maximum of times, divided by the deadline."""
        found = times.quantiles([q for _, q in QUANTILES]) if self.items else [0.0] * len(QUANTILES)
        named = dict(zip((name for name, _ in QUANTILES), found, strict=True)) | {"max": times.longest_ns}
        return {name: round(ns / self.deadline_ns, 4) for name, ns in named.items()}
