"""What a predictor answers, and what all predictors have in common."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, get_args, runtime_checkable

from .bundles.bundle import Bundle, Label
from .costs import format_seconds
from .exceptions import DeadlineError

if TYPE_CHECKING:
    from .stages import Trace

Policy = Literal["anytime", "strict"]

OTHER_FORM = "item of another form"
"""The reason of an answer to an item that is not of the kind of those of the build."""


class Prediction(NamedTuple):
    """An answer.

    Attributes
    ----------
    label : int, str or bool; float from a regressor; None
        None if no answer is given: its confidence is too low and the predictor was asked to abstain then, by the costs
        of errors to abstain is expected to cost least, or no model was in time and the bundle is built to abstain then.
    features : tuple of str
        The feature set of the model that answered, in the order of its columns; empty for the class prior.
    accuracy : float
        Its expected score.
    elapsed_ns : int
        The time from the arrival of the item to the answer.
    deadline_met : bool
    reason : str
        ``planned``; ``planned, larger than measured`` for an item beyond the measured range; ``extended`` if time was
        left for a better set than planned; ``confident`` if a smaller set was sure; or why one answered: ``no time for
        NAME``, ``NAME failed``, ``no time for the model``, ``the model failed``, ``size failed``, ``item of another
        form`` than those of the build: of other dimensions, or no numbers. ``unsure`` if a model answered, but its
        label is withheld, and nothing failed.
    slowdown : float
        How much slower than expected recent items were, at least 1: the time left counted as so much less.
    waited_ns : int
        The part of `elapsed_ns` before the call: the item had arrived already, and nobody worked on it.
    error : str
        What failed first on the item, and how, such as ``mean: ValueError: no sound``; ``the time of arrival: another
        clock`` if the deadline ran from the call for that reason; empty if nothing failed.
    confidence : float or None
        The probability that the label is right, for items like those of the build: as often as that, such answers were
        right on items that their model was not trained on. The prior's is the share of its class. Of a model that
        abstains, it is that of its most probable label. None if the bundle was built without confidences.
    estimator : str or None
        The name of the model's estimator; None if the estimators of the bundle have no names, and for the prior.
    """

    label: Label | float | None
    features: tuple[str, ...]
    accuracy: float
    elapsed_ns: int
    deadline_met: bool
    reason: str
    slowdown: float = 1.0
    waited_ns: int = 0
    error: str = ""
    confidence: float | None = None
    estimator: str | None = None

    @property
    def is_prior(self) -> bool:
        """Whether no model answered: the label is that of the class prior, which knows nothing of the item."""
        return not self.features


class Answering(Protocol):
    """The part of a predictor that a loop asks for; a predictor of one's own needs no more.

    `deadline`: the seconds from the arrival of an item to its answer.
    """

    @property
    def deadline(self) -> float: ...  # noqa: D102
    def warm_up(self, item: Any) -> object:
        """Run on an item everything that may run, so that the first answer does not pay for cold code."""

    def predict_one(self, item: Any, *, arrived_ns: int | None = None) -> Prediction:
        """Return the answer for one item, which arrived at a time of the clock; at the call if none is given."""


@runtime_checkable
class Rehearsing(Answering, Protocol):
    """A predictor that can make its code warm again after a sleep."""

    def rehearse(self) -> None:
        """Answer kept items, right before a new one comes; their answers are not counted anywhere."""


@runtime_checkable
class Learning(Answering, Protocol):
    """A predictor that learns its times in the slack of a loop."""

    def use_slack(self, seconds: float) -> None:
        """Do what can wait, for at most some seconds."""


@runtime_checkable
class AnyPredictor(Rehearsing, Protocol):
    """The attributes and methods that `Predictor` and `SupervisedPredictor` share.

    `trace`: what was done for the last item, and when. `slowdown`: the estimate after the last item, at least 1.
    `margin`: the `polydom_runtime.learning.margin.Margin` that keeps the promised share of late answers.
    `n_oversized`: items that were larger than any measured one. `failures`: failures in a row by feature. `out`: the
    features that are out of the choice because they kept failing. `learning`: what was learned, a
    `polydom_runtime.learning.summary.LearningSummary`.
    """

    def predict_one(self, item: Any, *, arrived_ns: int | None = None, deadline: float | None = None) -> Prediction:
        """Return the answer for one item; see `Predictor.predict_one`."""

    def learning(self) -> Any: ...  # noqa: D102
    @property
    def bundle(self) -> Bundle: ...  # noqa: D102
    @property
    def policy(self) -> Policy: ...  # noqa: D102
    @property
    def trace(self) -> "Trace": ...  # noqa: D102
    @property
    def slowdown(self) -> float: ...  # noqa: D102
    @property
    def margin(self) -> Any: ...  # noqa: D102
    @property
    def n_oversized(self) -> int: ...  # noqa: D102
    @property
    def failures(self) -> Mapping[str, int]: ...  # noqa: D102
    @property
    def out(self) -> frozenset[str]: ...  # noqa: D102


def answer_within(deadline: float, predictor: AnyPredictor, item: Any, waited: int, now: int) -> Prediction:
    """Return the answer to an item that waited before the call `now`, within a deadline of its own, in seconds.

    It is planned as that to an item which waited for longer, by what the deadline of the predictor is longer. One that
    is too short for any answer makes it late.
    """
    if not deadline <= predictor.deadline:
        raise DeadlineError(
            f"The deadline of an answer must be at most that of the predictor, {format_seconds(predictor.deadline)}. "
            f"Got {format_seconds(deadline)}. Make the predictor for the longest one."
        )
    bundle = predictor.bundle
    if deadline < bundle.times.typical.dispatch(bundle.promise.sizes[0]):
        deadline = -1e-9  # late by any plan, as the margin should know
    more_ns = round((predictor.deadline - deadline) * 1e9)
    answer = predictor.predict_one(item, arrived_ns=now - waited - more_ns)
    return answer._replace(elapsed_ns=answer.elapsed_ns - more_ns, waited_ns=waited)


def policy_for(bundle: Bundle, asked: Policy) -> Policy:
    """Return the policy that a bundle allows: the one asked for, unless only strict plans can be made.

    The any-time policy adds up the times of units. A greedy bundle has fixed sequences instead, and a bundle whose
    costs are not sums has times of whole sets.

    Raises `DeadlineError` if there is no such policy.
    """
    if asked not in get_args(Policy):
        from polydom_runtime.codec.near_names import one_of  # only here: it is about an error

        raise DeadlineError(one_of("The policy", get_args(Policy), asked))
    return "strict" if bundle.is_greedy or not bundle.adds_up else asked


def labels_of(bundle: Bundle) -> Mapping[int | float, Label | float | None]:
    """Return the label of each number that a model or the prior may answer with; None for the one that is to abstain.

    For a regressor each finite number is its own label.
    """
    classes, errors = bundle.space.classes, bundle.error_costs
    if not classes:
        return _AsIs()
    abstains = bundle.prior.number == len(classes) or (errors is not None and errors.abstain)
    return dict(enumerate((*classes, None) if abstains else classes))


class _AsIs(dict[int | float, Label | float | None]):
    """Stands for the classes of a regressor."""

    def __missing__(self, number: float) -> float:
        if not math.isfinite(number):
            raise OverflowError(f"it must be finite, got {number}: the features are far from those of the build")
        return number
