"""What confidences are worth: risk against coverage, and calibration."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from polydom_builder.drawing.risk_curves import draw_reliability, draw_risks
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.confidence import Risk
from polydom_runtime.costs import format_seconds

from .figures import figure, percent
from .page import Picture, Section, Table

MOST_LINES = 4
COVERAGES = (1.0, 0.9, 0.8, 0.5)


def confidence_section(bundle: Bundle) -> Section:
    """Return the section on the confidences that a bundle states; a sentence if it states none."""
    title = "Confidence"
    if bundle.confidence is None:
        why = "regressors have none" if not bundle.space.classes else "it was built without"
        return Section(title, f"The answers of this bundle state no confidence: {why}.", [])
    blocks: list[Picture | Table] = []
    hot = [risk for risk in bundle.confidence.risks if risk.regime == "hot"]
    if hot:
        some = hot[:: -(-len(hot) // MOST_LINES)]
        last = some[-1]
        found = (
            f"At {format_seconds(last.deadline)}, {percent(_risk_at(last, 1.0))} of all answers are wrong, "
            f"and {percent(_risk_at(last, 0.8))} of the surest 80 %"
        )
        note = "Held-out items, back to back. Less sure items get no answer."
        blocks.append(Picture(found, note, lambda: _risks(some)))
    best = max(bundle.models, key=lambda model: model.accuracy, default=None)
    if best is not None and best.calibration is not None and len(best.calibration.scores) > 1:
        pairs = list(zip(best.calibration.scores, best.calibration.confidences, strict=True))
        note = f"The model of {' + '.join(bundle.names[i] for i in best.order)}, on held-out items."
        blocks.append(Picture("What the scores of the best model mean", note, lambda: _calibration(pairs)))
    if bundle.confidence.risks:
        columns = ["regime", "#deadline", *(f"#{percent(c)} answered" for c in COVERAGES), "#error"]
        rows = [
            (
                *(risk.regime, format_seconds(risk.deadline)),
                *(percent(_risk_at(risk, coverage)) for coverage in COVERAGES),
                f"{risk.error:.3f}",
            )
            for risk in bundle.confidence.risks
        ]
        note = (
            "The share of wrong answers, if only the surest share of the items gets one. Error: the mean distance of "
            "confidences from shares of right answers."
        )
        blocks.append(Table("Wrong answers", columns, rows, note, "wide table"))
    return Section(title, "" if blocks else "Confidences are stated; how often they are right is not.", blocks)


def _risk_at(risk: Risk, coverage: float) -> float:
    """Return the risk at the point next to a coverage."""
    return min(risk.points, key=lambda point: abs(point.coverage - coverage)).risk


def _risks(risks: Sequence[Risk]) -> Figure:
    made, axes = figure()
    draw_risks(axes, {format_seconds(r.deadline): [(p.coverage, p.risk) for p in r.points] for r in risks})
    return made


def _calibration(pairs: Sequence[tuple[float, float]]) -> Figure:
    made, axes = figure()
    draw_reliability(axes, [(score, right, 0.1) for score, right in pairs])
    axes.set_xlabel("score that the model gives")
    return made
