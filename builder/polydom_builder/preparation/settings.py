"""The parameters of a search by name: rarely used ones are in records that scikit-learn reads, clones and changes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, NamedTuple, Self

from joblib import Memory
from sklearn.base import BaseEstimator

from polydom_builder.exceptions import TrainingError
from polydom_builder.sets.combined_costs import Combine
from polydom_runtime.causes import shown
from polydom_runtime.codec.near_names import one_of
from polydom_runtime.features import FeatureSpace

CORRECTIONS = ("resampling", "nested", None)


class ParameterRecord:
    """Settings that belong together. A search changes one by ``set_params(record__field=value)``."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def __repr__(self) -> str:
        defaults = {field.name: field.default for field in fields(self)}  # type: ignore[arg-type]
        given = ((name, repr(value)) for name, value in self.get_params().items())
        changed = (f"{name}={value}" for name, value in given if value != repr(defaults[name]))
        return f"{type(self).__name__}({', '.join(changed)})"


@dataclass(frozen=True, repr=False)
class ProvenPromise(ParameterRecord):
    """A promise about the score at any size and deadline, which a search proves for the sets that it trains.

    At each size and deadline, the score is at least the best possible one divided by alpha, as far as no set scores
    more, by more than the tolerance, than one that contains it.

    Parameters
    ----------
    alpha : float or falling sequence of float
        α of the paper's Problem 1, at least 1. This is meaningful for scores of which 0 is worthless and 1 perfect
        (accuracy, balanced accuracy, F1, average precision, R²); shift other scores so, or leave alpha at 1. With
        `max_trainings` or `max_seconds` it is the alpha to reach, or a sequence of alphas to reach one after another.
    tolerance : float or "auto"
        e of the paper, at least 0, by which the score of a set may lie below that of a set which it contains. "auto"
        estimates it from the pairs of trained sets.
    tolerance_quantile : float
        The quantile of the violations that "auto" takes; 1 is the largest violation.

    Examples
    --------
    >>> ProvenPromise(alpha=1.02, tolerance="auto")
    ProvenPromise(alpha=1.02, tolerance='auto')
    """

    alpha: float | Sequence[float] = 1.0
    tolerance: float | Literal["auto"] = 0.0
    tolerance_quantile: float = 0.99


@dataclass(frozen=True, repr=False)
class Noise(ParameterRecord):
    """The chance in scores: how stated scores are corrected for it, and which sets are kept in spite of it.

    Parameters
    ----------
    correction : {"resampling", "nested", None}
        A set that is chosen among many for its score had some luck, so this score is too high. "resampling" estimates
        the luck, without more trainings, and lowers the scores that a bundle states by it. "nested" estimates it by one
        more search for each fold, without the held-out items of this fold. Each score also gets an interval. The order
        of the scores, the search and its promise stay as measured. None leaves out all of this.
    standard_errors : float
        A set must be better than a cheaper one by this number of standard errors of their difference, or it is not
        kept: 1 is the one-standard-error rule, which ships few models. Where few groups are held out, errors are large,
        and even 0.25 loses up to two points of the score. 0 keeps all that are better. For a search by gain.

    Examples
    --------
    >>> Noise(correction=None)
    Noise(correction=None)
    """

    correction: str | None = "resampling"
    standard_errors: float = 0.0


@dataclass(frozen=True, repr=False)
class SearchLimits(ParameterRecord):
    """How much a search may train, and how much a bundle may ship.

    Parameters
    ----------
    max_trainings, max_seconds : optional
        The limits of training, in sets and in seconds, for all estimators together. The search ends with the best sets
        so far.
    max_features : int, optional
        The number of features that a cost-aware pre-selection leaves to the search. If not given, all take part, and
        there must be at most 60.
    max_models : int, optional
        The largest number of models that a bundle ships, of all estimators together. If not all that are best somewhere
        fit, those are left out that lose least of the mean score over sizes and deadlines; the bundle states the price.
        For each model there is one of the quickest estimator for each prefix of its order.
    max_memory : int or str, optional
        The most bytes of all model files together, such as "20MB". The memory of the device, if its costs or its
        profile state it, is a limit too.
    max_mismatches : int
        The number of training items on which an exported model may answer otherwise than scikit-learn's.

    Examples
    --------
    >>> SearchLimits(max_trainings=40, max_models=8)
    SearchLimits(max_trainings=40, max_models=8)
    """

    max_trainings: int | None = None
    max_seconds: float | None = None
    max_features: int | None = None
    max_models: int | None = None
    max_memory: int | str | None = None
    max_mismatches: int = 0

    @property
    def trainings(self) -> tuple[int | None, float | None]:
        """The limits of training: the number of sets, and seconds."""
        return self.max_trainings, self.max_seconds


@dataclass(frozen=True, repr=False)
class AnswerRules(ParameterRecord):
    """What answers state, when they are given early, and which error they avoid.

    Parameters
    ----------
    confidence : bool
        Whether each answer on the node states the probability that it is right, and the bundle the share of wrong
        answers if unsure ones are withheld. The estimator needs probabilities or decision values. A linear model or a
        small network then takes some microseconds longer; trees and models that onnxruntime runs do not.
    early_stop : float, optional
        The accuracy that early answers may give up, 0.01 say. If given, the bundle states for each model the confidence
        from which the node may answer before its time is used, to save energy. The node does so only when asked. It
        implies `confidence`.
    costs_of_errors : mapping of (label, label) to float, optional
        For each pair of a true label and another one that is said for it, what this error costs: at least 0. Models
        then answer with the label of least expected cost, for which the estimator must have probabilities, and the
        score is the share of the cost of the best constant answer that is saved, unless `scoring` is given. None may be
        said for each true label, too: then models abstain where that is expected to cost least.
    prior : "label", "abstain", or a label
        The answer where no model is in time. "label" is the best constant answer: the most frequent label, or that of
        least cost; for a regressor the mean. It may look like an alarm, so it can be a label of your choice, or none:
        then the label is None. The accuracy of the prior is that of its label, also if that is withheld. A search's own
        `predict` withholds nothing.

    Examples
    --------
    >>> AnswerRules(confidence=True).is_sure, AnswerRules(early_stop=0.01).is_sure, AnswerRules().is_sure
    (True, True, False)
    """

    confidence: bool = False
    early_stop: float | None = None
    costs_of_errors: Mapping[tuple[Any, Any], float] | None = None
    prior: Any = "label"

    @property
    def is_sure(self) -> bool:
        """Whether the models of a bundle state their confidence: early stops go by it."""
        return self.confidence or self.early_stop is not None


@dataclass(frozen=True, repr=False)
class NodeConditions(ParameterRecord):
    """What the node will meet.

    Parameters
    ----------
    sizes : sequence of float, optional
        Sizes that items are expected to have on the node, for the mean score over sizes and for replays; those of the
        items if not given.
    slowdown : float
        The largest slow-down of the device for which the bundle has the best models even at the shortest deadline.
    combine : callable, optional
        The cost of a set, if it is not the sum of its features' costs: see `polydom_builder.sets.combined_costs`.

    Examples
    --------
    >>> NodeConditions(slowdown=3.0)
    NodeConditions(slowdown=3.0)
    """

    sizes: Sequence[float] | None = None
    slowdown: float = 2.0
    combine: Combine | None = None


class Settings(NamedTuple):
    """All records of a search; one that was not given has its defaults, except a promise: without it, there is none."""

    noise: Noise = Noise()
    limits: SearchLimits = SearchLimits()
    answers: AnswerRules = AnswerRules()
    node: NodeConditions = NodeConditions()
    promise: ProvenPromise | None = None


RECORDS = {
    "noise": Noise,
    "limits": SearchLimits,
    "answers": AnswerRules,
    "node": NodeConditions,
    "promise": ProvenPromise,
}
"""The kind of each record, by the parameter that it is given for."""

START = "estimator__"


class NamedSettings(BaseEstimator):  # type: ignore[misc]
    """Parameters by scikit-learn's names, also those in records and those of estimators that are given by name."""

    estimator: Any
    space: FeatureSpace
    deadline: float | Sequence[float] | None
    size_range: tuple[float, float] | None
    scoring: str | Callable[..., float] | None
    cv: Any
    n_jobs: int | None
    memory: str | Memory | None
    random_state: int | None
    verbose: int
    quantile: float

    @property
    def settings(self) -> Settings:
        """The records that are given; `TrainingError` if one is of another kind."""
        given = {name: record for name in RECORDS if (record := getattr(self, name, None)) is not None}
        for name, record in given.items():
            if not isinstance(record, RECORDS[name]):
                kind = RECORDS[name].__name__
                raise TrainingError(f"{name} must be a {kind}. Got {shown(record)}. Write {name}={kind}(...).")
        return Settings(**given)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, such as ``limits__max_models`` or ``estimator__trees__C`` if `deep`."""
        found: dict[str, Any] = super().get_params(deep)
        if not deep:
            return found
        for name, default in Settings()._asdict().items():
            if name in found and found[name] is None and default is not None:
                found |= {f"{name}__{field}": value for field, value in default.get_params().items()}
        for name, model in self.estimator.items() if isinstance(self.estimator, Mapping) else ():
            known = model.get_params() if hasattr(model, "get_params") and not isinstance(model, type) else {}
            found |= {f"{START}{name}": model, **{f"{START}{name}__{key}": value for key, value in known.items()}}
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters by the names that `get_params` returns; fields of a promise also before one is given.

        Raises `ValueError` if there is no such parameter, field or estimator.
        """
        records = tuple(f"{name}__" for name in RECORDS if hasattr(self, name))
        own = {key for key in params if key.startswith(records)}
        if isinstance(params.get("estimator", self.estimator), Mapping):
            own |= {key for key in params if key.startswith(START)}
        nested = {key: params.pop(key) for key in sorted(own)}  # an estimator before its parameters
        super().set_params(**params)
        for key, value in nested.items():
            name, _, rest = key.partition("__")
            if name in RECORDS:
                self._set_field(name, rest, value)
            else:
                self._set_of_estimator(*rest.partition("__")[::2], value)
        return self

    def _set_field(self, name: str, field: str, value: Any) -> None:
        record = getattr(self, name) or RECORDS[name]()
        if field not in (known := record.get_params()):
            raise ValueError(one_of(f"A field of {name}", known, field))
        setattr(self, name, replace(record, **{field: value}))

    def _set_of_estimator(self, name: str, parameter: str, value: Any) -> None:
        if name not in self.estimator:
            raise ValueError(one_of("The name of an estimator", self.estimator, name))
        if parameter:
            self.estimator[name].set_params(**{parameter: value})
        else:
            self.estimator = {**self.estimator, name: value}
