"""Rules between the parts of a bundle, such as that models name features that there are."""

from collections.abc import Sequence
from functools import reduce
from operator import or_

from polydom_runtime.codec.unsound import Unsound
from polydom_runtime.costs import HUGE

from .bundle import Bundle
from .model_entry import MAX_ESTIMATORS


def check_parts(bundle: Bundle) -> None:
    """Check that the parts of a bundle fit together.

    Raises `Unsound` if they do not.
    """
    _check_times(bundle)
    _check_models(bundle)
    _check_answers(bundle)
    _check_stored(bundle)


def _check_times(bundle: Bundle) -> None:
    names, worst, f = bundle.names, bundle.times.worst, len(bundle.names)
    if worst.names[:f] != names or len(worst.names) != f + len(worst.users):
        raise Unsound("be of the features, then of the steps", worst.names).within("times", "worst", "names")
    covered = reduce(or_, worst.users, 0)
    if len({*worst.names}) != len(worst.names) or sum(worst.users) != covered or covered >> f:
        got = worst.names[f:], worst.users
        raise Unsound("have steps with names of their own, and a feature may use one at most", got).within("times")
    for name, there in bundle.regimes.items():
        units = there.times.worst.names, there.times.worst.users
        if name == "hot" or len(there.models) != len(bundle.models) or units != (worst.names, worst.users):
            must = "be rehearsed or cold, with a time of each model, and times of the same units"
            raise Unsound(must, (*units, f"{len(there.models)} models")).within("regimes", name)
    for times in (bundle.times, *(there.times for there in bundle.regimes.values())):
        for outlook in times.outlook:
            if not {*outlook.features} <= {*names} or len({*outlook.features}) != len(outlook.features):
                raise Unsound("have outlooks of different features of the bundle", outlook.features)


def _check_models(bundle: Bundle) -> None:
    models, f = bundle.models, len(bundle.names)
    orders = {model.order for model in models}
    for k, model in enumerate(models):
        if max(model.order) >= f:
            raise Unsound(f"have feature numbers from 0 to {f - 1}", model.order).within("models", k, "order")
        if len(model.order) > 1 and model.order[:-1] not in orders:
            raise Unsound("have a model for every prefix of the order of a model", model.order).within("models")
    if len({(model.order, model.estimator) for model in models}) != len(models):
        raise Unsound("have different features, in an order that its estimator has once", "others").within("models")
    names = {model.estimator for model in models}
    if len(names) > MAX_ESTIMATORS or ("" in names and len(names) > 1):
        raise Unsound(f"name 1 to {MAX_ESTIMATORS} estimators, one for each model, or none", names).within("models")
    calibrated = {model.calibration is not None for model in models}
    if calibrated - {bundle.confidence is not None} or (bundle.confidence and not bundle.space.classes):
        raise Unsound("go with classes, and a calibration of each model", "one without").within("confidence")


def _check_answers(bundle: Bundle) -> None:
    n, number, errors = len(bundle.space.classes), bundle.prior.number, bundle.error_costs
    if errors and len(errors.costs) != n:
        raise Unsound(f"have a row for each of the {n} classes", len(errors.costs)).within("error_costs", "costs")
    n += bool(errors and errors.abstain)
    if type(number) is not (int if n else float) or not (0 <= number < n if n else -HUGE <= number <= HUGE):
        must = f"be an integer from 0 to {n - 1}" if n else "be a finite float"
        raise Unsound(must, number).within("prior", "number")
    if bundle.references.items and len(bundle.references.limits) != (width := sum(bundle.space.widths)):
        raise Unsound(f"be of {width} columns", len(bundle.references.limits)).within("references", "limits")
    if any(left.mask >> len(bundle.names) for left in bundle.shipping.left_out):
        raise Unsound("be sets of features of the bundle", "others").within("shipping", "left_out")


def _check_stored(bundle: Bundle) -> None:
    stored, n = bundle.stored, len(bundle.models)
    _check_numbers(stored.shipped, n, "shipped")
    _check_numbers([interval.candidate for interval in stored.intervals], len(stored.shipped) + 1, "intervals")
    if not {*stored.sequences} <= {model.order for model in bundle.models}:
        raise Unsound("be orders of models", stored.sequences).within("stored", "sequences")
    if len({*stored.sequences}) != len(stored.sequences):
        raise Unsound("be different", stored.sequences).within("stored", "sequences")


def _check_numbers(numbers: Sequence[int], end: int, what: str) -> None:
    if numbers and max(numbers) >= end:
        raise Unsound(f"have numbers from 0 to {end - 1}", max(numbers)).within("stored", what)
