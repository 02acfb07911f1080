"""Risk against coverage of a bundle, as text for people."""

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.confidence import Risk
from polydom_runtime.costs import format_seconds

COVERAGES = (1.0, 0.9, 0.8, 0.5)


def risk_table(bundle: Bundle) -> str:
    """Return a table: for each deadline the shares of wrong answers, if the least sure items get none.

    The result: lines without an end of line at the last one; a single one if the bundle was built without confidences.
    """
    if bundle.confidence is None:
        return "answers state no confidence: built without"
    if not bundle.confidence.risks:
        return "answers state their confidence; which share of them is wrong is not stated"
    given = "".join(f"{100 * coverage:6.0f} %" for coverage in COVERAGES)
    lines = (
        f"  {r.regime:>9}  {format_seconds(r.deadline):>8}{_risks(r)}  {r.error:.3f}" for r in bundle.confidence.risks
    )
    head = "wrong answers if only the surest share of items is answered, and the mean error of confidences:"
    return "\n".join((head, f"     regime  deadline{given}  error", *lines, *_abstentions(bundle)))


def _abstentions(bundle: Bundle) -> list[str]:
    """Return what is to be said of a bundle whose models abstain by the costs of errors."""
    if bundle.error_costs is None or not bundle.error_costs.abstain or bundle.confidence is None:
        return []
    most = max(1.0 - risk.points[0].coverage for risk in bundle.confidence.risks)
    return [f"  there is no answer, since that costs least, to at most {100 * most:.1f} % of the items at a deadline"]


def _risks(risk: Risk) -> str:
    """Return the risk at each of some coverages, from the point next to it."""
    nearest = (min(risk.points, key=lambda point: abs(point.coverage - coverage)) for coverage in COVERAGES)
    return "".join(f"{100 * point.risk:6.1f} %" for point in nearest)
