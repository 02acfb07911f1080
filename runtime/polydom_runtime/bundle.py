"""The bundle: what the host gives to the node. A folder with the index as msgpack beside ONNX models.

``index.msgpack`` (with its SHA-256 in ``index.sha256``, as ``sha256sum`` writes it) holds everything but the models;
``models/0000.onnx`` and so on are named by their number, so that no path is ever read from a file.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgpack

from . import schema
from .costs import CostFunction, total
from .exceptions import BundleFormatError, BundleMismatchError
from .features import MAX_FEATURES, FeatureSpace
from .index import Candidate, Interval, PolyDomIndex

FORMAT = "polydom-bundle"
VERSION = 1
INDEX_FILE, DIGEST_FILE, MODEL_FOLDER = "index.msgpack", "index.sha256", "models"
MAX_MODELS, MAX_MODEL_BYTES, MAX_CLASSES = 100_000, 1 << 30, 100_000

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


@dataclass(frozen=True)
class Bundle:
    """A decoded and checked index.

    Parameters
    ----------
    names, widths : tuples, one entry a feature
    classes : tuple of labels
        The label of each class number.
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
    prior : (int, float)
        Class number and score of the empty feature set.
    models : tuple of ModelEntry
        Every shipped feature set and every prefix of its order.
    shipped : tuple of int
        Model numbers of the candidates; candidate 0 of the index is the empty set, candidate k + 1 is ``shipped[k]``.
    intervals : tuple of Interval
        Where each candidate is on the skyline.
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
    prior: tuple[int, float]
    models: tuple[ModelEntry, ...] = ()
    shipped: tuple[int, ...] = ()
    intervals: tuple[Interval, ...] = ()
    path: Path | None = None

    @cached_property
    def index(self) -> PolyDomIndex:
        """The Poly-Dom index over the shipped candidates."""
        return PolyDomIndex([self.empty, *map(self.candidate, self.shipped)], self.intervals, self.sizes)

    @property
    def empty(self) -> Candidate:
        """The candidate of the empty feature set: the prior, for the price of dispatch."""
        return Candidate(0, (), self.prior[1], self.dispatch)

    @cached_property
    def model_of_order(self) -> Mapping[tuple[int, ...], int]:
        """The number of the model for each order of features."""
        return {model.order: i for i, model in enumerate(self.models)}

    def candidate(self, model: int) -> Candidate:
        """Return the candidate of one model: its features, steps, run and dispatch make its cost."""
        entry = self.models[model]
        mask = entry.mask
        features = (self.costs[i] for i in sorted(entry.order))
        steps = (step.cost for step in self.steps if step.users & mask)
        cost = total([self.dispatch, *features, *steps, CostFunction.of(entry.seconds)])
        return Candidate(mask, tuple(self.names[i] for i in entry.order), entry.accuracy, cost)

    def check_space(self, space: FeatureSpace) -> None:
        """Raise BundleMismatchError unless the bundle was built for this feature space."""
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

    def model_bytes(self, model: int) -> bytes:
        """Read one model and return its bytes if they are the ones that the index promises."""
        assert self.path is not None
        entry, file = self.models[model], self.path / MODEL_FOLDER / model_file(model)
        data = read_bounded(file, entry.size_bytes)
        if len(data) != entry.size_bytes or hashlib.sha256(data).digest() != entry.sha256:
            raise schema.bad(f"{file} must be the model that the index names", "other bytes", "Copy the bundle again.")
        return data

    def encode(self) -> bytes:
        """Return the content of ``index.msgpack``."""
        document = {
            "format": FORMAT,
            "version": VERSION,
            "names": list(self.names),
            "widths": list(self.widths),
            "classes": list(self.classes),
            "sizes": schema.pack_floats(self.sizes),
            "budgets": schema.pack_floats(self.budgets),
            "alpha": float(self.alpha),
            "tolerance": float(self.tolerance),
            "costs": schema.pack_floats([c.weights for c in self.costs]),
            "steps": [[s.name, s.users] for s in self.steps],
            "step_costs": schema.pack_floats([s.cost.weights for s in self.steps]),
            "dispatch": schema.pack_floats(self.dispatch.weights),
            "prior": self.prior[0],
            "prior_accuracy": float(self.prior[1]),
            "models": [[list(m.order), m.size_bytes, m.sha256] for m in self.models],
            "model_numbers": schema.pack_floats([(m.accuracy, m.seconds) for m in self.models]),
            "shipped": list(self.shipped),
            "intervals": [i.candidate for i in self.intervals],
            "interval_ends": schema.pack_floats([(i.start, i.end) for i in self.intervals]),
        }
        return bytes(msgpack.packb(document))

    @classmethod
    def load(cls, folder: str | Path) -> "Bundle":
        """Read a bundle and check it, every model included.

        Raises
        ------
        BundleFormatError
            If a file is missing, cut, altered, too large, of a newer version, or inconsistent with another.
        """
        path = Path(folder)
        if not (path / INDEX_FILE).is_file():
            raise schema.bad(f"{path} must be a bundle folder", f"no file {INDEX_FILE} there", "Give its path.")
        data = read_bounded(path / INDEX_FILE, schema.MAX_INDEX_BYTES)
        digest = read_bounded(path / DIGEST_FILE, 4096)
        if digest != digest_line(data):
            raise schema.bad(f"{path / DIGEST_FILE} must hold the SHA-256 of {INDEX_FILE}", digest[:80])
        bundle = decode(data, path)
        for model in range(len(bundle.models)):
            bundle.model_bytes(model)
        return bundle


def step_users(space: FeatureSpace) -> tuple[tuple[str, int], ...]:
    """Return each shared step of a space with the mask of the features that use it."""
    return tuple((s.name, sum(1 << i for i, f in enumerate(space.features) if f.step == s)) for s in space.steps)


def model_file(model: int) -> str:
    """Return the file name of a model."""
    return f"{model:04d}.onnx"


def digest_line(index: bytes) -> bytes:
    """Return the content of ``index.sha256``."""
    return f"{hashlib.sha256(index).hexdigest()}  {INDEX_FILE}\n".encode()


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


def decode(data: bytes, path: Path | None = None) -> Bundle:
    """Return the bundle of an ``index.msgpack``; the inverse of `Bundle.encode`."""
    d = schema.unpack(data)
    if d.get("format") != FORMAT:
        raise schema.bad(f"The index must have format {FORMAT!r}", d.get("format"))
    version = schema.count(d, "version", 1, 1 << 30)
    if version > VERSION:
        raise schema.bad(f"The bundle version must be at most {VERSION}", version, "Upgrade polydom-runtime.")
    names = tuple(schema.text("A feature name", n) for n in schema.field(d, "names", list))
    f = schema.in_range("The number of features", len(names), 1, MAX_FEATURES)
    widths = tuple(schema.in_range("A width", w, 1, 1 << 24) for w in schema.field(d, "widths", list))
    if len(widths) != f or len(set(names)) != f:
        raise schema.bad("There must be one width for each of the different feature names", (names, widths))
    models = _models(d, f)
    classes = _classes(d)
    prior = schema.count(d, "prior", 0, len(classes) - 1), schema.number(d, "prior_accuracy", -math.inf)
    shipped = tuple(schema.in_range("A model number", s, 0, len(models) - 1) for s in schema.field(d, "shipped", list))
    sizes = schema.ordered("sizes", schema.floats(d, "sizes", (2,)), 0.0)
    if sizes[1] == math.inf:
        raise schema.bad("Field 'sizes' must be finite", sizes)
    return Bundle(
        names=names,
        widths=widths,
        classes=classes,
        sizes=sizes,
        budgets=schema.ordered("budgets", schema.floats(d, "budgets", (2,)), 0.0),
        alpha=schema.number(d, "alpha", 1.0),
        tolerance=schema.number(d, "tolerance", 0.0),
        costs=_costs(d, "costs", f),
        steps=_steps(d, f),
        dispatch=_costs(d, "dispatch", 1)[0],
        prior=prior,
        models=models,
        shipped=shipped,
        intervals=_intervals(d, len(shipped) + 1),
        path=path,
    )


def _costs(d: Mapping[str, Any], name: str, rows: int) -> tuple[CostFunction, ...]:
    try:
        return tuple(CostFunction(tuple(w)) for w in schema.floats(d, name, (rows, 6)).tolist())
    except ValueError as e:
        raise BundleFormatError(f"Field {name!r} must hold cost functions. {e}") from e


def _steps(d: Mapping[str, Any], n_features: int) -> tuple[StepEntry, ...]:
    rows = schema.field(d, "steps", list)
    costs = _costs(d, "step_costs", len(rows))
    return tuple(
        StepEntry(
            schema.text("A step name", name), schema.in_range("A step's users", users, 1, (1 << n_features) - 1), cost
        )
        for (name, users), cost in zip((_row(r, 2) for r in rows), costs, strict=True)
    )


def _models(d: Mapping[str, Any], n_features: int) -> tuple[ModelEntry, ...]:
    rows = schema.field(d, "models", list)
    schema.in_range("The number of models", len(rows), 0, MAX_MODELS)
    numbers = schema.floats(d, "model_numbers", (len(rows), 2)).tolist()
    models, orders = [], set()
    for (order, size, digest), (accuracy, seconds) in zip((_row(r, 3) for r in rows), numbers, strict=True):
        if type(order) is not list or not order or type(digest) is not bytes or len(digest) != 32:
            raise schema.bad("A model must have an order of features and a SHA-256", (order, digest))
        features = tuple(schema.in_range("A feature number", i, 0, n_features - 1) for i in order)
        if len(set(features)) != len(features) or features in orders:
            raise schema.bad("A model must have different features, in an order that no other model has", order)
        if not (0.0 <= seconds < math.inf and math.isfinite(accuracy)):
            raise schema.bad("A model must have a finite accuracy and time", (accuracy, seconds))
        orders.add(features)
        size = schema.in_range("A model's size", size, 1, MAX_MODEL_BYTES)
        models.append(ModelEntry(features, accuracy, seconds, size, digest))
    for model in models:
        if len(model.order) > 1 and model.order[:-1] not in orders:
            raise schema.bad("Every prefix of a model's order must have a model", model.order)
    return tuple(models)


def _classes(d: Mapping[str, Any]) -> tuple[Label, ...]:
    classes = schema.field(d, "classes", list)
    schema.in_range("The number of classes", len(classes), 2, MAX_CLASSES)
    if not all(type(c) in (int, str, bool) for c in classes) or len({(type(c), c) for c in classes}) != len(classes):
        raise schema.bad("The classes must be different integers, strings or booleans", classes)
    return tuple(classes)


def _intervals(d: Mapping[str, Any], n_candidates: int) -> tuple[Interval, ...]:
    numbers = schema.field(d, "intervals", list)
    ends = schema.floats(d, "interval_ends", (len(numbers), 2))
    return tuple(
        Interval(schema.in_range("A candidate number", c, 0, n_candidates - 1), *schema.ordered("interval", pair, 0.0))
        for c, pair in zip(numbers, ends, strict=True)
    )


def _row(row: object, length: int) -> Sequence[Any]:
    if type(row) is not list or len(row) != length:
        raise schema.bad(f"A row must be a list of {length}", row)
    return row
