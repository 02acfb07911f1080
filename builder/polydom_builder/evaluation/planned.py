"""The answers that a policy plans: the node's own code on a virtual clock, with the real features and models."""

from collections.abc import Callable
from typing import Any

from polydom_builder.simulation.simulate import World
from polydom_builder.simulation.trials import Trials
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.policy.loaded_models import RunOf
from polydom_runtime.prediction import Policy, Prediction
from polydom_runtime.predictor import Predictor

from .labelled import Labelled


def planned_answers(bundle: Bundle, test: Labelled, deadline: float, policy: Policy) -> list[Prediction]:
    """Return the answers to items if each unit and each model takes the time that it typically takes; nothing is timed.

    Raises `DeadlineError` if the deadline is shorter than dispatch alone takes.
    """
    world = World(bundle, Trials.typical(bundle, test.sizes), {}, {}, test.rows)

    def around(exported: RunOf) -> RunOf:
        return lambda number: _Timed(world.run_of(number), exported(number))

    predictor = Predictor(
        bundle.at(deadline),
        world.space,
        deadline=deadline,
        policy=policy,
        adapt=False,
        clock=world.clock,
        keep_memory=False,
        around=around,
    )
    return [predictor.predict_one(k) for k in range(len(test.items))]


class _Timed:
    """Runs a model, and moves the virtual clock by the time that it takes."""

    def __init__(self, take_time: Callable[[], object], run: Any) -> None:
        self._take_time, self._run = take_time, run
        if hasattr(run, "confidence"):
            self.confidence: Callable[[], float] = run.confidence

    def __call__(self) -> int | float:
        self._take_time()
        number: int | float = self._run()
        return number
