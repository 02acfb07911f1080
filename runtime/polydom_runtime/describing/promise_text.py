"""The promise of a bundle, its score and its regimes, in words."""

import math

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import REGIMES
from polydom_runtime.bundles.promise import Promise
from polydom_runtime.costs import format_seconds

MONOTONE = "as far as no set scores more than one that contains it"


def promise_text(bundle: Bundle) -> str:
    """Return the promise about the score, and what it rests on; or that there is none, and what would make one."""
    if bundle.is_greedy:
        return "none about the score, since the search was a greedy one"
    margin, factor, gained = _useful(bundle)
    if margin is not None:
        text = _estimated(margin, factor)
    else:
        text = _nothing(bundle.promise, gained) if factor is None else _proven(bundle.promise, factor)
    return f"{text}; except that {bundle.shipping}" if bundle.shipping.n_left_out else text


def promises_score(bundle: Bundle) -> bool:
    """Return whether the promise about the score is of use: one that the prior alone would keep, too, is not."""
    return not bundle.is_greedy and _useful(bundle)[:2] != (None, None)


def _useful(bundle: Bundle) -> tuple[float | None, float | None, float]:
    """Return the margin and the factor, each None if the prior alone would keep it, and what the best set gains."""
    margin, factor, prior = bundle.promise.margin, bundle.promise.alpha, bundle.prior.accuracy
    best = max([prior, *(m.accuracy for m in bundle.models), *(left.accuracy for left in bundle.shipping.left_out)])
    has_factor = factor == 1.0 or factor < (best / prior if prior > 0.0 else math.inf)
    has_margin = margin == 0.0 or (margin is not None and margin < best - prior)
    return margin if has_margin else None, factor if has_factor else None, best - prior


def _nothing(promise: Promise, gained: float) -> str:
    if promise.margin is not None:
        open_still = f"be better than the chosen one by {promise.margin:.2g}"
    elif promise.alpha < math.inf:
        open_still = f"score {promise.alpha:.3g} times as much as the chosen one"
    else:
        return "none about the score, since nothing is proven and no margin could be told"
    return (
        f"nothing useful about the score yet: another set may {open_still}, and the best set gains only {gained:.2g} "
        "on the prior; with more items scores are more certain, and with more trainings fewer sets are left open"
    )


def _proven(promise: Promise, factor: float) -> str:
    text = f"no set that fits scores more than {'' if factor == 1.0 else f'{factor:.4g} times '}the one chosen"
    if promise.margin is not None:  # of a search that uses no tolerance
        return f"{text}, {MONOTONE}; no useful margin could be told"
    held = promise.assumption or f"it is not stated whether the tolerance of {promise.tolerance:g} does"
    return f"{text}, as far as the tolerance holds; {held}"


def _estimated(margin: float, factor: float | None) -> str:
    proven = "nothing useful is proven" if factor is None else f"proven is a factor of at most {factor:.3g}, {MONOTONE}"
    return (
        f"with 95 % certainty, no set that fits is better than the chosen one by more than {margin:.2g} at any size "
        f"and deadline, if sets that were not trained are like those that were; {proven}"
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
