"""The timed answers of a node: of the runtime's predictor in this process, or in the environment of a node."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from polydom_builder.exceptions import ExportError
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.features import FeatureSpace
from polydom_runtime.pauses import collector_off
from polydom_runtime.prediction import Policy, Prediction
from polydom_runtime.predictor import Predictor

Answering = Callable[[float], Sequence[Prediction]]
"""Answers all test items, in their order, within a deadline in seconds each."""


def here(bundle: Bundle, space: FeatureSpace, items: Sequence[Any], policy: Policy = "anytime") -> Answering:
    """Return what answers items back to back in this process."""

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
        """Answer items in a process of their own; all answers are printed at the end, none between two items.

        `items`: a packed file, or MODULE:FUNCTION. `deadline`: seconds. `period`: seconds from one item to the next;
        the next one comes at once if not given. `options`: more options of ``polydom-node run``.

        The result: one for each item.

        Raises `ExportError` if the node cannot run the bundle.
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

    def answering(self, items: str | Path, policy: Policy = "anytime") -> Answering:
        """Return what answers the items of a source back to back; see `run` for its errors."""

        def answer(deadline: float) -> list[Prediction]:
            return [prediction_of(d) for d in self.run(items, deadline, options=["--policy", policy])[0]]

        return answer


def prediction_of(answer: Mapping[str, Any]) -> Prediction:
    """Return an answer that a node has printed."""
    return Prediction(**{name: answer[name] for name in Prediction._fields} | {"features": tuple(answer["features"])})
