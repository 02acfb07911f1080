"""Counting the answers of a run."""

from collections import Counter
from typing import Any

import numpy as np

from .items import UNLABELLED
from .predictor import Prediction

PRIOR = "(class prior)"
QUANTILES = (("p50", 0.5), ("p99", 0.99), ("max", 1.0))


class Tally:
    """Counts over all answers of a run."""

    def __init__(self, deadline: float) -> None:
        self.deadline_ns = deadline * 1e9
        self.elapsed: list[int] = []
        self.correct: list[bool] = []
        self.errors: list[float] = []
        self.features: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.missed: Counter[str] = Counter()

    def add(self, answer: Prediction, label: Any) -> None:
        """Count one answer; `label` is what is true, if known."""
        self.elapsed.append(answer.elapsed_ns)
        self.features["+".join(answer.features) or PRIOR] += 1
        self.reasons[answer.reason] += 1
        if not answer.deadline_met:
            self.missed[f"{answer.elapsed_ns / self.deadline_ns:.2f} of the deadline, {answer.reason}"] += 1
        if label is UNLABELLED:
            return
        if type(answer.label) is float:
            self.errors.append(abs(answer.label - float(label)))
        else:
            self.correct.append(answer.label == label)

    def summary(self) -> dict[str, Any]:
        """Return the counts; `elapsed_share` is elapsed time divided by the deadline."""
        shares = np.array(self.elapsed or [0]) / self.deadline_ns
        return {
            "items": len(self.elapsed),
            "deadline": self.deadline_ns * 1e-9,
            "accuracy": round(float(np.mean(self.correct)), 6) if self.correct else None,
            **({"mean_absolute_error": float(f"{np.mean(self.errors):.6g}")} if self.errors else {}),
            "missed": self.missed.total(),
            "misses": dict(self.missed),
            "elapsed_share": {q: round(float(np.quantile(shares, p)), 4) for q, p in QUANTILES},
            "features": dict(self.features.most_common()),
            "reasons": dict(self.reasons.most_common()),
        }
