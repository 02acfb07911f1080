"""The bundle: what the host gives to the node, decoded. A folder with the index as msgpack beside ONNX models.

The models are ``models/0000.onnx`` and so on, named by their number, so that no path is ever read from a file.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from polydom_runtime.costs import CostFunction, total
from polydom_runtime.exceptions import BundleMismatchError
from polydom_runtime.features import FeatureSpace
from polydom_runtime.unit_times import UnitTimes

from . import schema
from .greedy import GreedyIndex
from .index import Candidate, Interval, PolyDomIndex

MODEL_FOLDER = "models"

Label = int | str | bool


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """An exported model and what it promises.

    Parameters
    ----------
    order : tuple of int
        The positions of its features in the order of its input columns.
    accuracy : float
        Score of the exported model on items that it was not trained on.
    seconds : float
        Worst-case time of one run.
    size_bytes : int
    sha256 : bytes
    """

    order: tuple[int, ...]
    accuracy: float
    seconds: float
    size_bytes: int
    sha256: bytes

    @property
    def mask(self) -> int:
        """The feature set as a bit mask."""
        return sum(1 << i for i in self.order)


@dataclass(frozen=True, slots=True)
class StepEntry:
    """A shared step: the mask of the features that use it, and its worst-case cost."""

    name: str
    users: int
    cost: CostFunction


@dataclass(frozen=True, slots=True)
class CostOrigin:
    """Where the costs of a bundle come from.

    Parameters
    ----------
    device : str
        The machine that they are of.
    estimated : bool
        Whether they were carried over from another machine's rather than measured.
    notes : tuple of str
        What makes them doubtful.
    versions : dict of str to str
        Of numpy and onnxruntime, where they were measured.
    """

    device: str = ""
    estimated: bool = False
    notes: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        how = "estimated, not measured" if self.estimated else "measured" if self.device else "given"
        where = f" for {self.device}" if self.estimated else f" on {self.device}" if self.device else ""
        return "; ".join([f"costs {how}{where}", *self.notes])


@dataclass(frozen=True)
class Bundle:
    """A decoded and checked index.

    Parameters
    ----------
    names, widths : tuples, one entry a feature
    classes : tuple of labels
        The label of each class number; none if the models are regressors.
    sizes : (float, float)
        Range of item sizes that was measured.
    budgets : (float, float)
        Range of deadlines in seconds that the bundle was built for; equal if there is one deadline.
    alpha, tolerance : float
        The slacks that the search was run with.
    costs : tuple of CostFunction
        Worst case of each feature without its step.
    steps : tuple of StepEntry
    dispatch : CostFunction
        Worst case of everything that is not a feature, a step or a model.
    prior : (int or float, float)
        Class number, or a regressor's number, and score of the empty feature set.
    models : tuple of ModelEntry
        Every shipped feature set and every prefix of its order.
    shipped : tuple of int
        Model numbers of the candidates; candidate 0 of the index is the empty set, candidate k + 1 is ``shipped[k]``.
    intervals : tuple of Interval
        Where each candidate is on the skyline.
    set_costs : tuple of CostFunction
        Worst case of each model's whole answer, where it is not the sum of its parts; else empty.
    sequences : tuple of int tuples
        The orders of features that a greedy bundle walks; empty for a Poly-Dom index.
    median_size : float
        Of the items that the sequences were made for.
    expected, alone : UnitTimes, optional
        What the any-time policy plans with, and what it leaves time for before it starts a unit, each seldom exceeded;
        the costs above if not given.
    typical : UnitTimes, optional
        What units take as a rule, by which a slow-down is told.
    planning_quantile : float
        Of the times that are expected; 0 if they are not given.
    stops : tuple of float
        For each model the confidence at which its answer may stand though there is time for more; empty if unknown.
    stop_loss : float
        The accuracy that each of them may give up on the items where that happens.
    guard_quantile : float
        Of the times that each unit is guarded by; 0 if they are not given.
    slowdown : float
        Up to which slow-down it has the models that are best then, at the shortest of its deadlines.
    reference_seconds : float
        The stated worst case of the reference model on the device; 0 if not known.
    origin : CostOrigin
    path : Path, optional
        The folder that holds the models.
    """

    names: tuple[str, ...]
    widths: tuple[int, ...]
    classes: tuple[Label, ...]
    sizes: tuple[float, float]
    budgets: tuple[float, float]
    alpha: float
    tolerance: float
    costs: tuple[CostFunction, ...]
    steps: tuple[StepEntry, ...]
    dispatch: CostFunction
    prior: tuple[int | float, float]
    models: tuple[ModelEntry, ...] = ()
    shipped: tuple[int, ...] = ()
    intervals: tuple[Interval, ...] = ()
    set_costs: tuple[CostFunction, ...] = ()
    sequences: tuple[tuple[int, ...], ...] = ()
    median_size: float = 0.0
    expected: UnitTimes | None = None
    alone: UnitTimes | None = None
    typical: UnitTimes | None = None
    planning_quantile: float = 0.0
    guard_quantile: float = 0.0
    stops: tuple[float, ...] = ()
    stop_loss: float = 0.0
    slowdown: float = 1.0
    reference_seconds: float = 0.0
    origin: CostOrigin = field(default_factory=CostOrigin)
    path: Path | None = None

    @cached_property
    def index(self) -> "PolyDomIndex | GreedyIndex":
        """The Poly-Dom index over the shipped candidates, or the sequences of a greedy bundle."""
        if self.sequences:
            numbers = [[self.model_of_order[s[:k]] for k in range(1, len(s) + 1)] for s in self.sequences]
            return GreedyIndex([[self.empty, *map(self.candidate, row)] for row in numbers], self.median_size)
        return PolyDomIndex([self.empty, *map(self.candidate, self.shipped)], self.intervals, self.sizes)

    @property
    def covered(self) -> tuple[float, float]:
        """The range of budgets for which it has the best models: its deadlines on a machine as slow as `slowdown`."""
        return self.budgets[0] / self.slowdown, self.budgets[1]

    @property
    def worst(self) -> UnitTimes:
        """The costs of the units, such that their sums are the worst case of sets."""
        return UnitTimes(self.costs, tuple(step.cost for step in self.steps), self.dispatch)

    @property
    def empty(self) -> Candidate:
        """The candidate of the empty feature set: the prior, for the price of dispatch."""
        return Candidate(0, (), self.prior[1], self.dispatch)

    @cached_property
    def model_of_order(self) -> Mapping[tuple[int, ...], int]:
        """The number of the model for each order of features."""
        return {model.order: i for i, model in enumerate(self.models)}

    def candidate(self, model: int) -> Candidate:
        """Return the candidate of one model: its features, steps, run and dispatch make its cost, or `set_costs`."""
        entry = self.models[model]
        mask = entry.mask
        features = (self.costs[i] for i in sorted(entry.order))
        steps = (step.cost for step in self.steps if step.users & mask)
        parts = [self.dispatch, *features, *steps, CostFunction.of(entry.seconds)]
        cost = self.set_costs[model] if self.set_costs else total(parts)
        return Candidate(mask, tuple(self.names[i] for i in entry.order), entry.accuracy, cost)

    def space_of(self, space: FeatureSpace) -> FeatureSpace:
        """Return the part of a feature space that the bundle was built with, which may be all of it.

        Raises
        ------
        BundleMismatchError
            If a feature is missing, or has another width or step.
        """
        if set(self.names) < set(space.names):
            space = space.part(self.names)
        for what, ours, theirs in (
            ("feature names, in order", self.names, space.names),
            ("feature widths", self.widths, space.widths),
            ("shared steps", tuple((s.name, s.users) for s in self.steps), step_users(space)),
        ):
            if ours != theirs:
                raise BundleMismatchError(
                    f"The feature space must have the {what}, that the bundle was built for: {ours}. Got {theirs}. "
                    "Use the module that the bundle was built with, or build again."
                )
        return space

    def model_bytes(self, model: int) -> bytes:
        """Read one model and return its bytes if they are the ones that the index promises."""
        assert self.path is not None
        entry, file = self.models[model], self.path / MODEL_FOLDER / model_file(model)
        data = read_bounded(file, entry.size_bytes)
        if len(data) != entry.size_bytes or hashlib.sha256(data).digest() != entry.sha256:
            raise schema.bad(f"{file} must be the model that the index names", "other bytes", "Copy the bundle again.")
        return data


def step_users(space: FeatureSpace) -> tuple[tuple[str, int], ...]:
    """Return each shared step of a space with the mask of the features that use it."""
    return tuple((s.name, sum(1 << i for i, f in enumerate(space.features) if f.step == s)) for s in space.steps)


def model_file(model: int) -> str:
    """Return the file name of a model."""
    return f"{model:04d}.onnx"


def read_bounded(file: Path, limit: int) -> bytes:
    """Return the content of a file, or at most one byte more than `limit` of it."""
    try:
        with open(file, "rb") as stream:
            data = stream.read(limit + 1)
    except OSError as e:
        raise schema.bad(f"{file} must be a readable file", repr(e), "Copy the whole bundle folder again.") from e
    if len(data) > limit:
        raise schema.bad(f"{file} must have at most {limit} bytes", "more", "Copy the bundle again.")
    return data
