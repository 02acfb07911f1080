"""How late the answers of a bundle are on a board: hot, at a period, and at a period beside other work."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from polydom_runtime.binomial import SamplingPlan
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.certification.certificate import Certificate, Claim
from polydom_runtime.certification.certify import certify
from polydom_runtime.certification.load import Load, UnderLoad
from polydom_runtime.device.board import Board, usable_cpus
from polydom_runtime.features import FeatureSpace
from polydom_runtime.loop.metronome import Metronome
from polydom_runtime.measuring.conditions import Conditions, machine_facts
from polydom_runtime.predictor import Predictor

from .report import Way

CLAIM, FORGIVEN = Claim(miss_rate=0.01, confidence=0.99), 10
"""What the certificates prove or refute, with about 2,000 answers: one in a hundred answers is late at most."""

PERIOD, PERIOD_SHARE = 0.02, 2.0
"""Seconds from one item to the next; a deadline above half of this has a period that is this number of times longer."""

LEAST_SECONDS = 1.0
"""Half of this time a certificate watches wake-ups, without an answer."""


@dataclass(frozen=True, slots=True)
class BundleScene:
    """A bundle with items to answer."""

    bundle: Bundle
    space: FeatureSpace
    items: list[Any]
    deadline: float
    context: Mapping[str, Any] = field(default_factory=dict)
    """The circumstances that certificates state, except load and machine."""

    def certificate(self, way: Way, seconds: float, board: Board, progress: Callable[[float], None]) -> Certificate:
        """Answer items in one way for at most some seconds."""
        predictor = Predictor(self.bundle, self.space, deadline=self.deadline)
        period = None if way == "hot" else max(PERIOD, PERIOD_SHARE * self.deadline)
        load = (Load("cpu", len(usable_cpus())),) if way == "load" else ()
        conditions = Conditions(board, machine := machine_facts(board))
        with UnderLoad(load):
            found = certify(
                *(predictor, self.items, CLAIM),
                plan=SamplingPlan.single_look(CLAIM.miss_rate, CLAIM.confidence, FORGIVEN),
                deadline=self.deadline,
                seconds=max(seconds, LEAST_SECONDS),
                metronome=None if period is None else Metronome(predictor, period),
                progress=progress,
            )
        if found.stopped == "interrupted":
            raise KeyboardInterrupt
        conditions.have_moved()
        conditions.seen = conditions.with_losses(conditions.seen)
        stated = {"load": ",".join(map(str, load)) or "none", "machine": {**machine, **conditions.summary()}}
        return replace(found, context={**self.context, **stated})
