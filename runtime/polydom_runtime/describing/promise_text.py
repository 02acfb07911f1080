"""The promise of a bundle, its score and its regimes, in words."""

import math

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import REGIMES
from polydom_runtime.bundles.promise import Promise
from polydom_runtime.costs import format_seconds


def promise_text(bundle: Bundle) -> str:
    """Return the promise about the score, and what it rests on."""
    if bundle.is_greedy:
        return "none about the score, since the search was a greedy one"
    promise = bundle.promise
    text = _proven(promise) if promise.margin is None else _estimated(promise, promise.margin)
    return f"{text}; except that {bundle.shipping}" if bundle.shipping.n_left_out else text


def _proven(promise: Promise) -> str:
    if promise.alpha == math.inf:
        return "none about the score, since nothing is proven and no margin could be told"
    factor = "" if promise.alpha == 1.0 else f"{promise.alpha:g} times "
    held = promise.assumption or f"it is not stated whether the tolerance of {promise.tolerance:g} does"
    return f"no set that fits scores more than {factor}the one chosen, as far as the tolerance holds; {held}"


def _estimated(promise: Promise, margin: float) -> str:
    proven = (
        f"proven is a factor of at most {promise.alpha:.3g}, as far as no set scores more than one that contains it"
    )
    return (
        f"with 95 % certainty, no set that fits is better than the chosen one by more than {margin:.2g} at any size "
        f"and deadline, if sets that were not trained are like those that were; "
        f"{'nothing is proven' if promise.alpha == math.inf else proven}"
    )


def score_text(bundle: Bundle) -> str:
    """Return the name of the score, and what errors cost if the answers are those of least expected cost."""
    costs, scoring = bundle.error_costs, bundle.promise.scoring or "not stated"
    if costs is None:
        return scoring
    return f"{scoring}; answers have the least expected cost: {costs.described(bundle.space.classes)}"


def regimes_text(bundle: Bundle) -> str:
    """Return the regimes that a bundle has times of."""
    origin = bundle.times.origin
    if not bundle.regimes:
        measured = origin.device and not origin.estimated
        return f"hot; cold was never measured{': measure again with this version' if measured else ''}"
    asleep = {name: format_seconds(there.asleep) for name, there in bundle.regimes.items()}
    if len(set(asleep.values())) == 1:
        others = f"{' and '.join(asleep)} after {next(iter(asleep.values()))} asleep"
    else:
        others = ", ".join(f"{name} after {seconds} asleep" for name, seconds in asleep.items())
    missing = [f"{name} was never measured" for name in REGIMES[1:] if name not in asleep]
    return "; ".join(["hot", others, *missing])
