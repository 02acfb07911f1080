"""Predictions for test items: timed, in this process or in the environment of a node, or planned on a virtual clock."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from polydom_builder.exceptions import ExportError
from polydom_builder.simulation.simulate import World, for_trials
from polydom_builder.simulation.trials import Trials
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.clock import collector_off
from polydom_runtime.features import FeatureSpace
from polydom_runtime.policy.loaded_models import RunOf
from polydom_runtime.prediction import Policy, Prediction
from polydom_runtime.predictor import Predictor, Seams

from .labelled import Labelled

AnswerItems = Callable[[float], Sequence[Prediction]]
"""A function that answers all test items, in their order, within a deadline in seconds each."""


def here(bundle: Bundle, space: FeatureSpace, items: Sequence[Any], policy: Policy = "anytime") -> AnswerItems:
    """Return a function that answers items back to back in this process."""

    def answer(deadline: float) -> list[Prediction]:
        predictor = Predictor(bundle, space, deadline=deadline, policy=policy)
        predictor.warm_up(items[0])
        with collector_off():
            return [predictor.predict_one(item) for item in items]

    return answer


class Node(NamedTuple):
    """A process of another Python that answers items with a bundle."""

    python: str
    """Any Python with polydom_runtime."""
    folder: Path
    """The folder that the process works in, such as that of the module with the feature space. Nothing else of this
    process's paths is known there: ``PYTHONPATH`` is left out."""
    bundle: Path
    space: str
    """``MODULE:SPACE``."""

    def run(
        self, items: str | Path, deadline: float, *, period: float | None = None, options: Iterable[str] = ()
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Return the answer to each item and the summary of a process of its own, which prints them at its end.

        `items`: a packed file, or MODULE:FUNCTION. `deadline`, `period`: seconds; without a period, the next item comes
        at once. `options`: more options of ``polydom-node run``.
        """
        # The link is not resolved: it marks a virtual environment.
        python = os.path.abspath(shutil.which(self.python) or self.python)
        source = str(Path(items).absolute()) if os.path.exists(items) else str(items)
        command = [python, "-m", "polydom_runtime", "run", str(self.bundle.absolute()), self.space, "--hold"]
        command += ["--items", source, "--deadline", f"{deadline!r}s", *options]
        command += [] if period is None else ["--period", f"{period!r}s"]
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        try:
            done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True)
        except OSError as e:
            raise ExportError(f"The node must be a Python with polydom_runtime. {e}. Give the path of one.") from e
        if done.returncode != 0:
            raise ExportError(f"The node must run the bundle. It said: {done.stderr.strip()[-500:]}")
        *answers, last = map(json.loads, done.stdout.splitlines())
        return answers, last["summary"]

    def answering(self, items: str | Path, policy: Policy = "anytime") -> AnswerItems:
        """Return a function that answers the items of a source back to back."""

        def answer(deadline: float) -> list[Prediction]:
            return [prediction_of(d) for d in self.run(items, deadline, options=["--policy", policy])[0]]

        return answer


def prediction_of(answer: Mapping[str, Any]) -> Prediction:
    """Return an answer that a node has printed."""
    return Prediction(**{name: answer[name] for name in Prediction._fields} | {"features": tuple(answer["features"])})


def planned_answers(bundle: Bundle, test: Labelled, deadline: float, policy: Policy) -> list[Prediction]:
    """Return the answers to items if each unit and each model takes its typical time; nothing is timed."""
    world = World(bundle, Trials.typical(bundle, test.sizes), {}, {}, test.rows)

    def around(exported: RunOf) -> RunOf:
        return lambda number: _Timed(world.run_of(number), exported(number))

    predictor = Predictor(
        for_trials(bundle.at(deadline), deadline),
        world.space,
        deadline=deadline,
        policy=policy,
        seams=Seams(adapt=False, clock=world.clock, keep_memory=False, around=around),
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
