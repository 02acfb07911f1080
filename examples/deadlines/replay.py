"""Replay of recorded times: the answers of each system for the test items, and the best possible answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from joblib import Memory
from numpy.typing import NDArray

from examples.paper.results import Row
from polydom_builder.simulation import Trials, simulate
from polydom_builder.training.onnx import OnnxModel
from polydom_builder.training.table import Table, extract_table
from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.features import members
from polydom_runtime.measuring.cost_samples import DISPATCH, CostSamples
from polydom_runtime.unit_times import step_users

from .systems import LAMBDAS, Systems

Codes = NDArray[np.int64]

ANY_TIME, STRICT, SINGLE, ORACLE = "any-time", "strict", "best single set", "oracle"
POLICIES = {ANY_TIME: "anytime", STRICT: "strict"}
SYSTEMS = (ORACLE, ANY_TIME, STRICT, *LAMBDAS, SINGLE)


@dataclass(frozen=True)
class Answers:
    """The answers of one system at one deadline.

    Parameters
    ----------
    codes : int array of shape (n_items,)
        Class numbers.
    promised : float array of shape (n_items,)
        The held-out score of the model that answered.
    late : bool array of shape (n_items,)
    """

    codes: Codes
    promised: Floats
    late: NDArray[np.bool_]


class Replay:
    """The systems of one task on its test items, each with measured times that no plan was made from.

    Parameters
    ----------
    systems : Systems
    samples : CostSamples
        Times to replay.
    memory : Memory
        Cache for the features of the test items and the answers of further sets.
    seed : int
        Seed of the random choice of a round for each item.
    """

    def __init__(self, systems: Systems, samples: CostSamples, memory: Memory, seed: int = 0) -> None:
        self.systems, self.task = systems, systems.task
        self.trials = Trials.drawn(samples, self.task.test_sizes, seed)
        self.test = _test_table(systems, memory)
        self.balanced = self.task.scoring == "balanced_accuracy"
        self.prior = systems.search.prior_
        self.model_seconds = self.trials.model_seconds * _model_ratio(systems.bundles["Poly-Dom"])
        self._trained: dict[int, Codes] = {}

    def rows(self) -> list[Row]:
        """Return one row for each deadline and system."""
        rows: list[Row] = []
        for k, deadline in enumerate(self.systems.deadlines):
            for system in SYSTEMS:
                here: Row = {"task": self.task.name, "deadline": deadline, "system": system}
                rows.append(here | self._scores(self._answers(system, k)))
        return rows

    def _scores(self, answers: Answers) -> Row:
        """Return the promised and the real score; a late answer counts as wrong."""
        promised = float(np.where(answers.late, 0.0, answers.promised).mean())
        right = (answers.codes == self.test.targets) & ~answers.late
        tested = mean_of_classes(right, self.test.targets) if self.balanced else float(right.mean())
        return {"estimated": promised, "tested": tested, "missed": int(answers.late.sum()), "items": len(right)}

    def _answers(self, system: str, k: int) -> Answers:
        deadline = self.systems.deadlines[k]
        if system == ORACLE:
            return self._foreseen(deadline)
        if system == SINGLE:
            return self._single(self.systems.singles[k], deadline)
        bundle = self.systems.bundles[system if system in LAMBDAS else "Poly-Dom"]
        return _simulated(bundle, self.trials, deadline, POLICIES.get(system, "strict"), self._predicted[system])

    @cached_property
    def _predicted(self) -> dict[str, dict[tuple[int, ...], Codes]]:
        answers = {name: _model_answers(bundle, self.test) for name, bundle in self.systems.bundles.items()}
        return {name: answers[name if name in LAMBDAS else "Poly-Dom"] for name in (*POLICIES, *LAMBDAS)}

    def _single(self, mask: int, deadline: float) -> Answers:
        """Return the answers of one fixed set, which is always computed to its end."""
        late = self.seconds_of(mask) > deadline
        (score,) = self.systems.search.trainer_.scores([mask])  # perhaps of a set that no system trained
        return Answers(self._codes(mask), np.full(len(late), score), late)

    def _foreseen(self, deadline: float) -> Answers:
        """Return for each item the answer of the best set, by held-out score, among the sets that are in time."""
        n_items = len(self.trials)
        codes = np.full(n_items, self.prior[0], dtype=np.int64)
        promised = np.full(n_items, self.prior[1])
        waiting = np.ones(n_items, dtype=bool)
        for mask in sorted(self.systems.scores, key=lambda mask: (-self.systems.scores[mask], mask)):
            if mask == 0 or not waiting.any():
                break
            here = waiting & (self.seconds_of(mask) <= deadline)
            if here.any():
                codes[here], promised[here] = self._codes(mask)[here], self.systems.scores[mask]
                waiting &= ~here
        return Answers(codes, promised, np.zeros(n_items, dtype=bool))

    def seconds_of(self, mask: int) -> Floats:
        """Return the real time of an answer with these features for each test item, in seconds."""
        steps = [name for name, users in step_users(self.task.space) if users & mask]
        units = [self.trials.of(unit) for unit in (DISPATCH, *steps, *self.task.space.names_of(mask))]
        seconds: Floats = np.sum(units, axis=0)
        return seconds + self.model_seconds if mask else seconds

    def _codes(self, mask: int) -> Codes:
        """Return the answer of a set's model for every test item."""
        if mask not in self._trained:
            order = tuple(members(mask))
            model = self.systems.search.trainer_.fit(order)
            rows = self.test.rows_of(order) if order else np.zeros((len(self.test.rows), 1))
            self._trained[mask] = np.asarray(model.predict(rows), dtype=np.int64)
        return self._trained[mask]


def _simulated(
    bundle: Bundle, trials: Trials, deadline: float, policy: Any, predicted: Mapping[tuple[int, ...], Codes]
) -> Answers:
    """Answer all trials with the code of the node on a virtual clock."""
    outcome = simulate(bundle, trials, deadline, policy=policy, predicted=predicted)
    number: dict[Any, int] = {label: code for code, label in enumerate(bundle.space.classes)}
    return Answers(
        np.array([number[a.label] for a in outcome.answers], dtype=np.int64),
        np.array([a.accuracy for a in outcome.answers]),
        np.array([not a.deadline_met for a in outcome.answers]),
    )


def _model_answers(bundle: Bundle, test: Table) -> dict[tuple[int, ...], Codes]:
    """Return the answers of each model of a bundle for every test item."""
    return {
        entry.order: OnnxModel(bundle.model_bytes(k)).predict(test.rows_of(entry.order))
        for k, entry in enumerate(bundle.models)
    }


def _model_ratio(bundle: Bundle) -> float:
    """Return the ratio of the time of a typical model of a bundle to the time of the recorded model."""
    seconds = [entry.seconds for entry in bundle.models]
    return float(np.median(seconds)) / bundle.times.reference_seconds if bundle.times.reference_seconds else 1.0


def _test_table(systems: Systems, memory: Memory) -> Table:
    """Return the features of the test items, and their classes by the class numbers of the training items."""
    task, classes = systems.task, systems.search.trainer_.table.classes
    table = extract_table(
        task.space, task.test_items, task.test_labels, n_jobs=1, memory=memory, progress=lambda done: None
    )
    return Table(table.rows, classes, np.searchsorted(classes, task.test_labels), table.columns)


def mean_of_classes(right: NDArray[np.bool_], targets: Codes) -> float:
    """Return the balanced accuracy: the mean over the classes of the share of right answers.

    >>> mean_of_classes(np.array([True, True, True, False]), np.array([0, 0, 0, 1]))
    0.5
    """
    return float(np.mean([right[targets == code].mean() for code in np.unique(targets)]))
