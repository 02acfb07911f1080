"""Abstention: the least confidence of answers that are given, as stated or as found for a wanted accuracy."""

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.confidence import Risk
from polydom_runtime.causes import shown
from polydom_runtime.exceptions import BundleMismatchError, ConfidenceError


def least_confidence(
    bundle: Bundle, deadline: float, abstain_below: float | None, accuracy_wanted: float | None
) -> float:
    """Return the confidence below which no answer is given; 0 if each is.

    `accuracy_wanted`: the share of right answers among those that are given. The bundle's held-out items must have
    reached it in each regime, at the nearest deadline: of those that are not longer, if there are any.
    `ConfidenceError` if both are given, one is not a number above 0 up to 1, or no threshold reaches the wanted
    accuracy; `BundleMismatchError` if the bundle was built without confidences.
    """
    given = {"abstain_below": abstain_below, "accuracy_wanted": accuracy_wanted}
    stated = [(name, value) for name, value in given.items() if value is not None]
    if not stated:
        return 0.0
    if len(stated) == 2:
        raise ConfidenceError("There must be one of abstain_below and accuracy_wanted. Got both. Leave one out.")
    ((name, value),) = stated
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value <= 1.0:
        raise ConfidenceError(f"{name} must be a number above 0, at most 1, such as 0.9. Got {shown(value)}.")
    if bundle.confidence is None:
        raise BundleMismatchError(
            "To abstain a bundle must be built with confidence. This one was built without. Build with confidence=True."
        )
    return float(value) if name == "abstain_below" else _found(bundle, deadline, value)


def _found(bundle: Bundle, deadline: float, wanted: float) -> float:
    """Return the lowest threshold that reaches an accuracy in each regime."""
    thresholds = []
    for risk in _next_to(bundle, deadline):
        reaching = [point.threshold for point in risk.points if 1.0 - point.risk >= wanted]
        if not reaching:
            best = max(1.0 - point.risk for point in risk.points)
            raise ConfidenceError(
                f"accuracy_wanted must be one that some answers reach: at most {best:.3f}, on held-out items of the "
                f"build. Got {wanted:g}. Want less, or allow a longer deadline."
            )
        thresholds.append(min(reaching))
    if not thresholds:
        raise BundleMismatchError(
            "For accuracy_wanted a bundle must state risks. This one states none. Give abstain_below instead."
        )
    return max(thresholds)


def _next_to(bundle: Bundle, deadline: float) -> list[Risk]:
    """Return the risk of each regime at the longest deadline that is not longer than this one, or else the first."""
    found: dict[str, Risk] = {}
    for risk in sorted(bundle.confidence.risks if bundle.confidence else (), key=lambda risk: risk.deadline):
        if risk.regime not in found or risk.deadline <= deadline * (1.0 + 1e-9):
            found[risk.regime] = risk
    return list(found.values())
