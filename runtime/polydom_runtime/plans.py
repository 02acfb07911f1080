"""Plans: for each step of the staircase, the stages to compute, what to answer after each, and the time to leave."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .bundle import Bundle
from .costs import CostFunction, total
from .features import FeatureSpace
from .greedy import Walk
from .index import Candidate, Staircase
from .models import InputRow, ModelRunner
from .stages import Stage, stages_for


@dataclass(frozen=True, slots=True)
class Answer:
    """What can be said once some features are computed: the best model among the prefixes of a plan.

    `values` are the numbers that its model reads; `ones` is as long.
    """

    features: tuple[str, ...]
    accuracy: float
    run: Callable[[], int | float]
    model_ns: int
    values: NDArray[np.float32]
    ones: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Guarded:
    """A stage with what the timer must leave for it.

    Parameters
    ----------
    stage : Stage
    cost : CostFunction
        Worst case of the stage and of the model after it.
    before : CostFunction
        Worst case of everything before the stage.
    ample_ns : int
        Twice `cost` at the largest measured size that the plan is chosen for: with so much time left nothing needs to
        be evaluated.
    after : Answer
    no_time, failed : str
        Reasons.
    """

    stage: Stage
    cost: CostFunction
    before: CostFunction
    ample_ns: int
    after: Answer
    no_time: str
    failed: str

    def fits(self, n: float, elapsed_ns: int, left_ns: int) -> bool:
        """Tell whether the stage's worst case fits.

        If this item has already taken longer than its worst case, the processor is slower now than when the costs were
        measured (heat, load, another clock), and the rest is expected to be slower by as much.
        """
        planned_ns = self.before(n) * 1e9
        slowdown = elapsed_ns / planned_ns if elapsed_ns > planned_ns > 0.0 else 1.0
        return slowdown * self.cost(n) * 1e9 <= left_ns


Plan = tuple[tuple[Callable[[Any, list[Any]], None], int, Answer, Guarded], ...]
"""For each stage what the per-item loop needs, unpacked: how to compute it, its ample time, the answer after it."""


def prior_answer(bundle: Bundle) -> Answer:
    """Return the answer that needs no feature: the class prior."""
    nothing = np.zeros(0, dtype=np.float32)
    return Answer((), bundle.prior[1], lambda: bundle.prior[0], 0, nothing, nothing)


class PlanLoader:
    """Loads the models that a staircase can reach and lays out its plans over one input row.

    Every plan writes its features from the first column on, so each prefix of it is the input of a model as it stands.
    """

    def __init__(self, bundle: Bundle, space: FeatureSpace, staircase: Staircase | Walk, prior: Answer) -> None:
        self._bundle = bundle
        self._space = space
        self._staircase = staircase
        self._prior = prior
        self._row = InputRow(max(self._width(self._order(c)) for _, c in staircase.steps))
        self._answers: dict[tuple[int, ...], Answer] = {}

    def load(self) -> list[Plan]:
        """Return one plan for each step of the staircase.

        Raises
        ------
        BundleFormatError
            If a model cannot be run.
        """
        largest = self._bundle.sizes[1]
        return [self._plan(candidate, min(end, largest)) for end, candidate in self._staircase.steps]

    def _plan(self, candidate: Candidate, largest: float) -> Plan:
        order = self._order(candidate)
        guarded: list[Guarded] = []
        best, before, charged = self._prior, self._bundle.dispatch, 0
        for k, stage in enumerate(stages_for(self._space, order, self._row.values)):
            answer = self._answer(order[: k + 1])
            best = answer if answer.accuracy >= best.accuracy else best
            cost = self._stage_cost(order, k, before, charged)
            charged |= 1 << order[k]
            with_model = cost + CostFunction.of(best.model_ns * 1e-9)
            ample_ns = math.ceil(2.0 * with_model(largest) * 1e9)
            name = self._space.names[order[k]]
            guarded.append(Guarded(stage, with_model, before, ample_ns, best, f"no time for {name}", f"{name} failed"))
            before += cost
        return tuple((g.stage.run, g.ample_ns, g.after, g) for g in guarded)

    def _stage_cost(self, order: tuple[int, ...], k: int, before: CostFunction, charged: int) -> CostFunction:
        """Return what stage k adds to the worst case: its feature and steps, or the growth of the whole set's cost."""
        if not self._bundle.set_costs:
            return self._bundle.costs[order[k]] + self._steps_due(order[k], charged)
        number = self._bundle.model_of_order[order[: k + 1]]
        whole = self._bundle.set_costs[number].weights
        model = CostFunction.of(self._bundle.models[number].seconds).weights
        a, b, c, d, e, f = (max(w - m - p, 0.0) for w, m, p in zip(whole, model, before.weights, strict=True))
        return CostFunction((a, b, c, d, e, f))

    def _steps_due(self, feature: int, charged: int) -> CostFunction:
        """Return the cost of the steps of a feature that none of the features in `charged` has paid."""
        return total(s.cost for s in self._bundle.steps if s.users >> feature & 1 and not s.users & charged)

    def _answer(self, order: tuple[int, ...]) -> Answer:
        if order not in self._answers:
            number = self._bundle.model_of_order[order]
            entry, width = self._bundle.models[number], self._width(order)
            data = self._bundle.model_bytes(number)
            runner = ModelRunner(data, self._row, width, len(self._bundle.classes))
            names = tuple(self._space.names[i] for i in order)
            values, ones = self._row.values[:width], np.ones(width, dtype=np.float32)
            model_ns = math.ceil(entry.seconds * 1e9)
            self._answers[order] = Answer(names, entry.accuracy, runner, model_ns, values, ones)
        return self._answers[order]

    def _order(self, candidate: Candidate) -> tuple[int, ...]:
        return tuple(self._space.names.index(name) for name in candidate.features)

    def _width(self, order: tuple[int, ...]) -> int:
        return sum(self._space.widths[i] for i in order)
