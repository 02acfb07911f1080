"""The report on a bundle."""

from collections.abc import Sequence

from polydom_builder.displays.index_view import IndexView
from polydom_builder.simulation.report import trials_of
from polydom_builder.simulation.trials import Trials
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.costs import format_seconds
from polydom_runtime.exceptions import DeadlineError
from polydom_runtime.measuring.cost_samples import CostSamples
from polydom_runtime.policy.deadline import too_short

from .confidence_section import confidence_section
from .cost_section import cost_section
from .facts_section import deadlines_text, facts_section, warnings_of
from .feature_section import feature_section
from .figures import megabytes
from .model_section import model_section
from .page import Page, Section
from .replayed import Replayed, replayed
from .score_section import finding, score_section
from .set_section import set_section

N_DEADLINES, MANY_MODELS = 12, 100
"""Deadlines that are replayed; with more models than these, half as many, since each takes up to a second."""

N_TRIALS = 1000


def bundle_page(
    bundle: Bundle,
    samples: CostSamples | None = None,
    *,
    deadlines: Sequence[float] = (),
    quantile: float = 0.999,
    more: Sequence[Section] = (),
) -> Page:
    """Return the report on a bundle.

    `samples`: measured times, which are replayed; without them, every unit takes its typical time. `deadlines`: those
    to replay, in seconds; spread over the range of the bundle if there are none. `quantile`: the promised share of
    answers in time, for fits of the samples. `more`: further sections, which come after those on scores.

    Raises `DeadlineError` if all deadlines are too short. Raises `FitError`, `MeasurementError` if the samples are not
    those of the bundle's features, or are not sound.
    """
    view = IndexView.of_bundle(bundle)
    trials = Trials.typical(bundle, view.sizes) if samples is None else trials_of(bundle, samples, N_TRIALS, 1)
    asked = sorted(deadlines) or view.deadlines(N_DEADLINES if len(bundle.models) <= MANY_MODELS else N_DEADLINES // 2)
    rows = replayed(bundle, trials, asked)
    if not rows:
        raise DeadlineError(too_short(bundle, max(asked)))
    features, worth = feature_section(view)
    promised = [row for row in rows if view.promises(row.deadline)] or rows
    identity, warnings = bundle.identity, warnings_of(bundle)
    if deadlines and len(promised) < len(rows):
        warnings.append("For some of these deadlines the bundle may lack the best models: it was built for others.")
    size = megabytes(sum(model.size_bytes for model in bundle.models))
    return Page(
        "bundle",
        identity.name or (bundle.path.name if bundle.path else "bundle"),
        ", ".join(filter(None, (identity.version and f"version {identity.version}", identity.built)))
        or "no version or date is stated",
        [
            (deadlines_text(bundle), "deadlines"),
            *_score(view, promised[:1]),
            *_score(view, promised[-1:] if len(promised) > 1 else []),
            (str(len(bundle.names)), "features" if len(bundle.names) > 1 else "feature"),
            (str(len(bundle.models)), f"models, {size}"),
        ],
        [f"{finding(promised)}.", f"{worth}."],
        warnings,
        [
            score_section(bundle, view, rows, samples is not None),
            *more,
            set_section(view),
            features,
            cost_section(view, samples, quantile),
            confidence_section(bundle),
            model_section(bundle),
            facts_section(bundle),
        ],
    )


def _score(view: IndexView, rows: Sequence[Replayed]) -> list[tuple[str, str]]:
    """Return the score of each row, and what it is."""
    return [
        (f"{row.scores[row.policy]:.3f}", f"expected {view.score} within {format_seconds(row.deadline)}")
        for row in rows
    ]
