"""The models of a bundle: their scores, times, engines and sizes."""

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.estimates import CONFIDENCE
from polydom_runtime.bundles.model_entry import ModelEntry
from polydom_runtime.costs import format_seconds

from .figures import megabytes, percent
from .page import Facts, Section, Table

MOST_MODELS = 300


def model_section(bundle: Bundle) -> Section:
    """Return the section on models, the best first."""
    models = sorted(bundle.models, key=lambda model: -model.accuracy)
    size = megabytes(sum(model.size_bytes for model in models))
    several = any(model.estimator for model in models)
    columns = [
        "features, in order",
        *(["estimator"] * several),
        "#score",
        f"#{percent(CONFIDENCE)} interval",
        "#measured",
    ]
    facts = [("models", f"{len(models)}, {size}"), ("limits", str(bundle.shipping))]
    blocks: list[Facts | Table] = [
        Facts("All models", facts),
        Table(
            "Models",
            [*columns, "#time of a run", "engine", "#size"],
            [_row(bundle, model, several) for model in models[:MOST_MODELS]],
            f"At most the {MOST_MODELS} best. Score: corrected for the luck of a model that was chosen by it. "
            "Measured: without this correction.",
            "wide table",
        ),
    ]
    if bundle.shipping.curve:
        curve = [(f"{a.models}", megabytes(a.size_bytes), f"{a.score:.4f}") for a in bundle.shipping.curve]
        note = "Mean score over sizes and deadlines, if the models are chosen well."
        blocks.insert(1, Table("Fewer models", ["#models", "#size", "#score"], curve, note))
    return Section("Models", "", blocks)


def _row(bundle: Bundle, model: ModelEntry, several: bool) -> tuple[str, ...]:
    estimate = model.estimate
    return (
        " + ".join(bundle.names[i] for i in model.order),
        *([model.estimator] * several),
        f"{model.accuracy:.3f}",
        *((str(estimate), f"{estimate.measured:.3f}") if estimate else ("–", "–")),
        *(format_seconds(model.seconds), model.engine, megabytes(model.size_bytes)),
    )
