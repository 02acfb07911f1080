"""Replay of recorded times: the answers of each system for the test items, and the best possible answers."""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from examples.paper.results import Row
from polydom_builder.simulation import Simulated, Trials, simulate
from polydom_builder.training.cache import Cache
from polydom_builder.training.labels import Targets
from polydom_builder.training.onnx import OnnxModel
from polydom_builder.training.table import Table, extract_table
from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import Regime
from polydom_runtime.bundles.unit_times import step_users
from polydom_runtime.features import members
from polydom_runtime.measuring.cost_samples import AROUND, WAKING, CostSamples
from polydom_runtime.policy.deadline import too_short
from polydom_runtime.prediction import Policy

from .model_runs import ModelRuns
from .systems import LAMBDAS, Systems
from .task import Task

Codes = NDArray[np.int64]

ANY_TIME, NO_ESTIMATE, STRICT = "any-time", "any-time without estimate", "strict"
SINGLE, ORACLE, BEFORE = "best single set", "oracle", "before"
POLICIES: dict[str, Policy] = {ANY_TIME: "anytime", NO_ESTIMATE: "anytime", STRICT: "strict", BEFORE: "anytime"}
SYSTEMS = (ORACLE, ANY_TIME, STRICT, *LAMBDAS, SINGLE, NO_ESTIMATE)
"""All systems but ``before``, which is there only if an earlier version built a bundle."""

CHECKED = (ANY_TIME, STRICT)
"""The systems that are also replayed on `N_ANSWERS` answers, since those to the test items are too few to show whether
a promise is kept."""

N_ANSWERS = 10_000


class Answers(NamedTuple):
    """The answers of one system at one deadline, by item."""

    codes: Codes
    """Class numbers."""
    promised: Floats
    """The held-out score of the model that answered."""
    late: NDArray[np.bool_]


class Replay:
    """The systems of one task on its test items, each with measured times that no plan was made from, in one regime.

    `samples`: times to replay. `runs`: the real times of the models. `memory`: cache for the features of the test items
    and the answers of further sets. `seed`: of the random choice of a round for each item.
    """

    def __init__(
        self,
        systems: Systems,
        samples: CostSamples,
        runs: ModelRuns,
        memory: Cache,
        regime: Regime = "hot",
        seed: int = 0,
    ) -> None:
        self.systems, self.task, self.regime, self.runs = systems, systems.task, regime, runs
        self.trials = Trials.drawn(samples, self.task.test_sizes, seed, regime)
        self.many = _many(samples, self.task, regime, seed)
        self.test = _test_table(systems, memory)
        self.balanced = self.task.scoring == "balanced_accuracy"
        self.prior = systems.search.prior_
        self.model_seconds = runs.of(None, self.trials, regime)
        self._trained: dict[int, Codes] = {}

    def rows(self) -> list[Row]:
        """Return one row for each deadline and system."""
        rows: list[Row] = []
        for k, deadline in enumerate(self.systems.deadlines):
            for system in (*SYSTEMS, *([BEFORE] if BEFORE in self.systems.bundles else [])):
                here: Row = {"task": self.task.name, "regime": self.regime, "deadline": deadline, "system": system}
                rows.append(here | self._scores(self._answers(system, k)) | self._lateness(system, deadline))
        return rows

    def _lateness(self, system: str, deadline: float) -> Row:
        """Return the number of late answers among very many."""
        if system not in CHECKED:
            return {"late": 0, "answers": 0}
        bundle, policy = self.systems.bundles["Poly-Dom"], POLICIES[system]
        if too_short(bundle.at(deadline, self.regime), deadline):
            return {"late": 0, "answers": 0}
        timed = self.runs.in_bundle(bundle, self.many, self.regime)
        outcome = simulate(bundle, self.many, deadline, policy=policy, regime=self.regime, timed=timed)
        return {"late": outcome.missed, "answers": len(self.many)}

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
            return self._single(self.systems.single(deadline, self.regime), deadline)
        bundle = self.systems.bundles[_bundle_of(system)]
        if too_short(bundle.at(deadline, self.regime), deadline):  # no node can be started; the prior needs none
            return self._prior_only()
        outcome = simulate(
            bundle,
            self.trials,
            deadline,
            policy=POLICIES.get(system, "strict"),
            adapt=system != NO_ESTIMATE,
            predicted=self._predicted[system],
            regime=self.regime,
            timed=self.runs.in_bundle(bundle, self.trials, self.regime),
        )
        return _answers_of(outcome, bundle)

    @cached_property
    def _predicted(self) -> dict[str, dict[tuple[int, ...], Codes]]:
        answers = {name: _model_answers(bundle, self.test) for name, bundle in self.systems.bundles.items()}
        return {name: answers[_bundle_of(name)] for name in (*POLICIES, *LAMBDAS) if _bundle_of(name) in answers}

    def _single(self, mask: int, deadline: float) -> Answers:
        """Return the answers of one fixed set, which is always computed to its end."""
        late = self.seconds_of(mask) > deadline
        (score,) = self.systems.search.trainer_.scores([mask])  # perhaps of a set that no system trained
        return Answers(self._codes(mask), np.full(len(late), score), late)

    def _prior_only(self) -> Answers:
        n_items, (code, score) = len(self.trials), self.prior
        return Answers(np.full(n_items, code, dtype=np.int64), np.full(n_items, score), np.zeros(n_items, dtype=bool))

    def _foreseen(self, deadline: float) -> Answers:
        """Return for each item the answer of the best set, by held-out score, among the sets that are in time."""
        codes, promised, late = self._prior_only()
        waiting = ~late
        for mask in sorted(self.systems.scores, key=lambda mask: (-self.systems.scores[mask], mask)):
            if mask == 0 or not waiting.any():
                break
            here = waiting & (self.seconds_of(mask) <= deadline)
            if here.any():
                codes[here], promised[here] = self._codes(mask)[here], self.systems.scores[mask]
                waiting &= ~here
        return Answers(codes, promised, late)

    def seconds_of(self, mask: int) -> Floats:
        """Return the real time of an answer with these features for each test item, in seconds."""
        steps = [name for name, users in step_users(self.task.space) if users & mask]
        around = (unit for unit in AROUND if mask or unit != WAKING)
        names = (*around, *steps, *self.task.space.names_of(mask))
        seconds: Floats = np.sum([self.trials.of(unit) for unit in names], axis=0)
        return seconds + self.model_seconds if mask else seconds

    def _codes(self, mask: int) -> Codes:
        """Return the answer of a set's model for every test item."""
        if mask not in self._trained:
            order = tuple(members(mask))
            trainer = self.systems.search.trainer_
            rows = self.test.rows_of(order) if order else np.zeros((len(self.test.rows), 1))
            self._trained[mask] = trainer.codes(trainer.fit(order), rows).astype(np.int64)
        return self._trained[mask]


def _bundle_of(system: str) -> str:
    """Return the name of the bundle that a system answers with."""
    return system if system in LAMBDAS or system == BEFORE else "Poly-Dom"


def _answers_of(outcome: Simulated, bundle: Bundle) -> Answers:
    number: dict[Any, int] = {label: code for code, label in enumerate(bundle.space.classes)}
    return Answers(
        np.array([number[a.label] for a in outcome.answers], dtype=np.int64),
        np.array([a.accuracy for a in outcome.answers]),
        np.array([not a.deadline_met for a in outcome.answers]),
    )


def _many(samples: CostSamples, task: Task, regime: Regime, seed: int) -> Trials:
    """Return very many trials: answers as they were measured, or sizes of test items where no answers were."""
    if regime in samples.items:
        return Trials.as_they_came(samples, N_ANSWERS, regime, seed)
    return Trials.drawn(samples, np.random.default_rng(seed).choice(task.test_sizes, N_ANSWERS).tolist(), seed)


def _model_answers(bundle: Bundle, test: Table) -> dict[tuple[int, ...], Codes]:
    """Return the answers of each model of a bundle for every test item."""
    return {
        entry.order: OnnxModel(bundle.model_bytes(k)).predict(test.rows_of(entry.order))
        for k, entry in enumerate(bundle.models)
    }


def _test_table(systems: Systems, memory: Cache) -> Table:
    """Return the features of the test items, and their classes by the class numbers of the training items."""
    task, classes = systems.task, systems.search.trainer_.table.classes
    targets = Targets(classes, np.searchsorted(classes, task.test_labels))
    return extract_table(task.space, task.test_items, targets, n_jobs=1, memory=memory, progress=lambda done: None)


def mean_of_classes(right: NDArray[np.bool_], targets: Codes) -> float:
    """Return the balanced accuracy: the mean over the classes of the share of right answers.

    >>> mean_of_classes(np.array([True, True, True, False]), np.array([0, 0, 0, 1]))
    0.5
    """
    return float(np.mean([right[targets == code].mean() for code in np.unique(targets)]))
