"""What confidences are worth: risk against coverage, and calibration."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from polydom_builder.drawing.curves import draw_reliability, draw_risks
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.confidence import Risk
from polydom_runtime.costs import format_seconds
from polydom_runtime.describing.description import Description, risk_at
from polydom_runtime.describing.outlook_table import set_text
from polydom_runtime.tables import TextTable

from .page import Picture, Section, percent

MOST_LINES = 4


def confidence_section(bundle: Bundle, said: Description) -> Section:
    """Return the section on the confidences that a bundle states; a sentence if it states none."""
    title = "Confidence"
    if bundle.confidence is None:
        why = "regressors have none" if not bundle.space.classes else "it was built without"
        return Section(title, f"The answers of this bundle state no confidence: {why}.", [])
    blocks: list[Picture | TextTable] = []
    if hot := [risk for risk in bundle.confidence.risks if risk.regime == "hot"]:
        blocks.append(_risks(hot[:: -(-len(hot) // MOST_LINES)]))
    best = max(bundle.models, key=lambda model: model.accuracy, default=None)
    if best is not None and best.calibration is not None and len(best.calibration.scores) > 1:
        points = [(*pair, 0.1) for pair in zip(best.calibration.scores, best.calibration.confidences, strict=True)]

        def draw(axes: Axes) -> None:
            draw_reliability(axes, points)
            axes.set_xlabel("score that the model gives")

        features = set_text([bundle.names[i] for i in best.order], plus=" + ")
        note = f"The model of {features}, on held-out items."
        blocks.append(Picture("What the scores of the best model mean", note, draw))
    if said.risks.rows:
        note = (
            "The share of wrong answers, if only the surest share of the items gets one. Error: the mean distance of "
            "confidences from shares of right answers."
        )
        blocks.append(said.risks._replace(title="Wrong answers", notes=[note], is_wide=True))
    return Section(title, "" if blocks else "Confidences are stated; how often they are right is not.", blocks)


def _risks(risks: Sequence[Risk]) -> Picture:
    last = risks[-1]
    found = (
        f"At {format_seconds(last.deadline)}, {percent(risk_at(last, 1.0))} of all answers are wrong, "
        f"and {percent(risk_at(last, 0.8))} of the surest 80 %"
    )
    curves = {format_seconds(risk.deadline): [(p.coverage, p.risk) for p in risk.points] for risk in risks}
    note = "Held-out items, back to back. Less sure items get no answer."
    return Picture(found, note, lambda axes: draw_risks(axes, curves))
