"""The bundle: all that the host gives to the node, decoded. A folder with the index as msgpack beside ONNX models."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np

from polydom_runtime.codec.marks import NO_CONTROL, NOT_STORED, In, Size, Text, Unsound
from polydom_runtime.costs import HUGE, CostFunction, format_seconds
from polydom_runtime.exceptions import BundleMismatchError, ItemError
from polydom_runtime.features import MAX_FEATURES, FeatureSpace, ItemKind

from .bundle_times import BundleTimes, Regime, RegimeTimes
from .confidence import Confidence, ErrorCosts
from .index import Candidate, Interval, PolyDomIndex
from .model_entry import FeatureOrder, ModelEntry, Score
from .number_types import ramp_like
from .promise import Identity, Promise, Shipping
from .references import References
from .unit_times import UnitTimes, step_users

if TYPE_CHECKING:
    from pathlib import Path

    from polydom_runtime.trust.trust import Signed

    from .greedy import GreedyIndex

MAX_MODELS = 10_000

MAX_LABEL = 1000
"""The most characters of a label."""

LABEL_TEXT = Text(MAX_LABEL, 0, NO_CONTROL, f"a text of at most {MAX_LABEL} characters, no control characters")

Label = int | str | bool


def is_label_text(text: str) -> bool:
    """Return whether a text may be a label: not too long, and without characters that control a terminal."""
    return len(text) <= MAX_LABEL and re.fullmatch(NO_CONTROL, text) is not None


class BundleSpace(NamedTuple):
    """The features that a bundle needs and the labels that it answers with."""

    names: Annotated[tuple[str, ...], Size(1, MAX_FEATURES)]
    widths: Annotated[tuple[int, ...], Size(1, MAX_FEATURES), In(1, 1 << 24)]
    """How many numbers each feature gives."""
    classes: Annotated[tuple[Label, ...], Size(0, 100_000), LABEL_TEXT]
    """The label of each class number; empty if the models are regressors."""
    item_kind: ItemKind | None = None
    """The kind that all training items have in common; None if it is not known, or they are no arrays."""

    def _check(self) -> None:
        names, classes = self.names, self.classes
        if len(names) != len(self.widths) or len({*names}) != len(names):
            raise Unsound("have one width for each of the different feature names", (names, self.widths))
        if len(classes) == 1 or len({*map(type, classes)}) > 1 or len({*classes}) != len(classes):
            raise Unsound("have different classes, two or more, all of one type", classes)


class Prior(NamedTuple):
    """The answer without features: the number of a class, or the value that a regressor gives, and its score.

    It may be the number after those of the classes: to abstain. Its score is then that of the best label, unless costs
    of errors tell what it is worth to abstain.
    """

    number: Annotated[int | float, In(-HUGE, HUGE)]
    accuracy: Score


class StoredIndex(NamedTuple):
    """The index as it is stored: the skyline, or the sequences of a greedy bundle."""

    shipped: Annotated[tuple[int, ...], Size(0, MAX_MODELS), In(0, MAX_MODELS)] = ()
    """Model numbers of the candidates; candidate 0 of the index is the empty set, candidate k + 1 is ``shipped[k]``."""
    intervals: Annotated[tuple[Interval, ...], Size(0, 200_000)] = ()
    """The ranges of sizes in which each candidate is on the skyline."""
    sequences: Annotated[tuple[FeatureOrder, ...], Size(0, MAX_MODELS)] = ()
    """The sequences of features of a greedy bundle; empty for a Poly-Dom index."""
    median_size: Annotated[float, In(0.0, HUGE)] = 0.0
    """The median size of the items, for which the sequences were made."""


@dataclass(frozen=True, repr=False)
class Bundle:
    """A decoded and checked bundle.

    Parameters
    ----------
    space : BundleSpace
    times : BundleTimes
        The times of the regime ``hot``.
    promise : Promise
    prior : Prior
    models : tuple of ModelEntry
        A model for every candidate and for every prefix of its order of features.
    stored : StoredIndex
    folder : str, optional
        The folder that it was read from; None if it is not from the disk.
    regimes : dict of str to RegimeTimes
        The times of the regimes ``rehearsed`` and ``cold``; empty if they were never measured.
    references : References
        A few items with their features, to compare those of the node with.
    identity : Identity
        Its name and version, and what it was built from.
    error_costs : ErrorCosts or None
        The costs of errors, if its models choose the label of least expected cost; None otherwise.
    shipping : Shipping
        The limits of its models, which models these left out, and the score that this costs.
    confidence : Confidence or None
        What its confidences are worth; None if it was built without, or its models are regressors.
    sha256 : str
        The digest of the index file that it was decoded from, in hexadecimal; empty if it is not from the disk.
    contents : tuple of bytes or memoryview
        The files of its models; empty if it is not from the disk.
    signed : Signed or None
        Who signed it; None if that was not checked.
    """

    space: BundleSpace
    times: BundleTimes
    promise: Promise
    prior: Prior
    models: Annotated[tuple[ModelEntry, ...], Size(0, MAX_MODELS)] = ()
    stored: StoredIndex = field(default_factory=StoredIndex)
    folder: str | None = field(default=None, metadata=NOT_STORED)
    regimes: Mapping[Regime, RegimeTimes] = field(default_factory=dict)
    references: References = field(default_factory=References)
    identity: Identity = field(default_factory=Identity)
    error_costs: ErrorCosts | None = None
    shipping: Shipping = field(default_factory=Shipping)
    confidence: Confidence | None = None
    sha256: str = field(default="", compare=False, metadata=NOT_STORED)
    contents: tuple[bytes | memoryview, ...] = field(default=(), compare=False, metadata=NOT_STORED)
    signed: "Signed | None" = field(default=None, compare=False, metadata=NOT_STORED)

    def __repr__(self) -> str:
        low, high = map(format_seconds, self.promise.budgets)
        where = f" in {self.folder}" if self.folder else ""
        return f"<Bundle of {len(self.names)} features and {len(self.models)} models for {low} to {high}{where}>"

    def _repr_html_(self) -> str:
        from polydom_runtime.tables import TextTable

        return TextTable(f"Bundle: {self.identity}", (), [*bundle_facts(self).items()]).to_html()

    @property
    def path(self) -> "Path | None":
        """The folder that it was read from; None if it is not from the disk."""
        from pathlib import Path  # only here, since it takes milliseconds to import

        return None if self.folder is None else Path(self.folder)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        return self.space.names

    @property
    def is_greedy(self) -> bool:
        """Whether it has sequences of features instead of a Poly-Dom index."""
        return bool(self.stored.sequences)

    @property
    def adds_up(self) -> bool:
        """Whether the cost of every set is the sum of its units' costs, not one of its own."""
        return all(model.cost is None for model in self.models)

    @property
    def stops_early(self) -> bool:
        """Whether each model states the confidence from which on its answer may be given early."""
        return bool(self.models) and all(model.stop is not None for model in self.models)

    @cached_property
    def index(self) -> "PolyDomIndex | GreedyIndex":
        """The Poly-Dom index over the shipped candidates, or the sequences of a greedy bundle."""
        stored = self.stored
        if self.is_greedy:
            from .greedy import GreedyIndex  # only here, since most bundles have a Poly-Dom index

            numbers = [[self.model_of_order[s[:k]] for k in range(1, len(s) + 1)] for s in stored.sequences]
            return GreedyIndex([[self.empty, *map(self.candidate, row)] for row in numbers], stored.median_size)
        return PolyDomIndex([self.empty, *map(self.candidate, stored.shipped)], stored.intervals, self.promise.sizes)

    @property
    def empty(self) -> Candidate:
        """The candidate of the empty feature set: the prior, which costs dispatch only."""
        return Candidate(0, (), self.prior.accuracy, self.times.worst.dispatch)

    @cached_property
    def model_of_order(self) -> Mapping[tuple[int, ...], int]:
        """The number of the model for each order of features."""
        return {model.order: i for i, model in enumerate(self.models)}

    def candidate(self, model: int) -> Candidate:
        """Return the candidate of one model. Its cost is of a whole answer: dispatch, features, steps, model run."""
        entry = self.models[model]
        cost = entry.cost or self.times.worst.of_set(entry.mask) + CostFunction.of(entry.seconds)
        features = tuple(self.names[i] for i in entry.order)
        return Candidate(entry.mask, features, entry.accuracy, cost, entry.estimator)

    def at(self, deadline: float, regime: Regime = "hot") -> "Bundle":
        """Return the bundle with the times for one deadline in one regime only; hot times if it was never measured."""
        there = self.regimes.get(regime)
        times, models = self.times, self.models
        if there is not None:
            times = there.times
            worst = there.times.worst
            models = tuple(self.with_times(m, s, worst) for m, s in zip(self.models, there.models, strict=True))
        return replace(self, times=times.at(deadline), models=models, regimes={})

    def with_times(self, entry: ModelEntry, seconds: float, worst: UnitTimes) -> ModelEntry:
        """Return a model with the time of a run and the cost that it has by other worst cases of units."""
        if entry.cost is None:
            return entry._replace(seconds=seconds)
        # How costs combine is not stored. A regime adds nearly a constant to each unit, so the difference is enough.
        here, there = self.times.worst.of_set(entry.mask), worst.of_set(entry.mask)
        a, b, c, d, e, f = (
            max(whole - of_units + of_units_there, 0.0)
            for whole, of_units, of_units_there in zip(entry.cost.weights, here.weights, there.weights, strict=True)
        )
        more = max(seconds - entry.seconds, 0.0)
        return entry._replace(seconds=seconds, cost=CostFunction((a + more, b, c, d, e, f)))

    def plus_dispatch(self, more: CostFunction) -> "Bundle":
        """Return the bundle for a node whose dispatch takes longer by `more`."""
        models = tuple(m if m.cost is None else m._replace(cost=m.cost + more) for m in self.models)
        regimes = {name: r._replace(times=r.times.plus_dispatch(more)) for name, r in self.regimes.items()}
        return replace(self, times=self.times.plus_dispatch(more), models=models, regimes=regimes)

    def space_of(self, space: FeatureSpace) -> FeatureSpace:
        """Return the part of a feature space that the bundle was built with, which may be all of it.

        Raises
        ------
        BundleMismatchError
            If a feature is missing, or has another width or step.
        """
        if set(self.names) < set(space.names):
            space = space.part(self.names)
        steps = tuple((step.name, step.users) for step in self.times.worst.steps)
        for what, ours, theirs in (
            ("feature names, in order,", self.names, space.names),
            ("feature widths", self.space.widths, space.widths),
            ("shared steps", steps, step_users(space)),
        ):
            if ours != theirs:
                raise BundleMismatchError(
                    f"The feature space must have the {what} of the bundle: {', '.join(map(str, ours))}. "
                    f"Got {', '.join(map(str, theirs))}. Use the module that the bundle was built with, or build again."
                )
        return space

    def check_features(self, space: FeatureSpace) -> None:
        """Compare the features of this machine with those of the build, on the reference items.

        Raises
        ------
        BundleMismatchError
            If one gives other numbers.
        """
        if lines := list(dict.fromkeys(self.references.differences(self.space_of(space)))):
            more = f" ({len(lines) - 1} more differ)" if len(lines) > 1 else ""
            raise BundleMismatchError(
                "The features must give the numbers that they gave when the bundle was built. On a reference item, "
                f"{lines[0]}{more}. Use the module that the bundle was built with, or build again."
            )

    def check_type(self, space: FeatureSpace, item: Any) -> None:
        """Compare features of an item whose numbers have another type than those of the build with features in that.

        Raises
        ------
        ItemError
            If one gives other numbers.
        """
        if lines := list(self.references.type_differences(self.space_of(space), item)):
            line = min(lines, key=lambda line: " must " in line)  # not that one fails, which is no secret
            raise ItemError(
                f"Features must give the same for numbers of {item.dtype} as for those of the build, of "
                f"{self.references.type_name}. {line[0].upper()}{line[1:]}. Integers wrap where floats do "
                f"not: give items of {self.references.type_name}, or let features convert, as by np.asarray(item, "
                "np.float64), and build again."
            )

    def type_doubt(self, space: FeatureSpace, item: Any) -> str:
        """Return the error of `check_type` for an item, or for larger numbers of its type; empty if there is none."""
        for given, where in ((item, ""), (ramp_like(item), "Not with this item, but with larger ones: ")):
            try:
                with np.errstate(all="ignore"):  # larger numbers may overflow
                    self.check_type(space, given)
            except ItemError as e:
                return f"{where}{e}"
        return ""

    def model_bytes(self, model: int) -> bytes:
        """Return the content of the file of one model, as it was when the bundle was read."""
        return bytes(self.contents[model])


def bundle_facts(bundle: Bundle) -> dict[str, str]:
    """Return the range, the features, the answers, the models and the times of a bundle, by what they are."""
    from polydom_runtime.tables import format_bytes

    low, high = bundle.promise.sizes
    any_deadline = bundle.promise.budgets[1] == math.inf
    return {
        "deadlines": "any" if any_deadline else " to ".join(map(format_seconds, sorted({*bundle.promise.budgets}))),
        "item sizes": f"{low:g} to {high:g}",
        "features": ", ".join(f"{n} (unsteady)" if n in bundle.references.unsteady else n for n in bundle.names),
        "classes": ", ".join(map(str, bundle.space.classes)) or "none: answers are numbers",
        "models": f"{len(bundle.models)}, {format_bytes(sum(model.size_bytes for model in bundle.models))}",
        "score": bundle.promise.scoring or "not stated",
        "costs": str(bundle.times.origin),
    }
