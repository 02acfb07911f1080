"""The report on a bundle: its sections, and those in words."""

from collections.abc import Mapping, Sequence

from polydom_builder.bundling.leaving_out import only_prior_text
from polydom_builder.displays.index_view import IndexView
from polydom_builder.simulation.expected import own_deadlines, with_outlook_of
from polydom_builder.simulation.recorded import Recorded
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.model_entry import CONFIDENCE, ModelEntry
from polydom_runtime.costs import format_seconds
from polydom_runtime.describing.description import Description, amounts, describe
from polydom_runtime.describing.knee import knees
from polydom_runtime.describing.outlook_table import set_text, shortcomings, times_of_regimes
from polydom_runtime.describing.promise_text import promises_score
from polydom_runtime.exceptions import DeadlineError
from polydom_runtime.measuring.cost_samples import CostSamples
from polydom_runtime.policy.deadline import too_short
from polydom_runtime.tables import TextTable, format_bytes

from .confidence_section import confidence_section
from .cost_section import cost_section
from .index_sections import feature_section, set_section
from .page import Page, Section, percent
from .replayed import Replayed, replayed, stated
from .score_section import gain_text, score_section

MOST_MODELS = 300


def bundle_page(
    bundle: Bundle,
    samples: CostSamples | None = None,
    *,
    deadlines: Sequence[float] = (),
    quantile: float = 0.999,
    more: Sequence[Section] = (),
) -> Page:
    """Return the report on a bundle.

    `samples`: measured times, which are replayed; without them, the page has the table that the bundle states.
    `deadlines`: the deadlines to replay, in seconds; those of this table if there are none. `quantile`: the promised
    share of answers in time, for fits of the samples. `more`: further sections, which come after those on scores.

    Raises `DeadlineError` if all deadlines are too short. Raises `FitError`, `MeasurementError` if the samples are not
    those of the bundle's features, or are not sound.
    """
    view, said = IndexView.of_bundle(bundle), describe(bundle)
    shown = bundle
    if samples is None and bundle.times.outlook:
        rows = stated(bundle)
    else:
        asked = sorted(deadlines) or own_deadlines(bundle)
        shown = bundle if samples is None else with_outlook_of(bundle, samples, deadlines)
        recorded = Recorded.typical(bundle, view.sizes) if samples is None else Recorded.of(bundle, samples)
        if not (rows := replayed(bundle, recorded, asked)):
            raise DeadlineError(too_short(bundle, max(asked)))
    features, worth = feature_section(view)
    promised = [row for row in rows if view.promises(row.deadline)] or rows
    identity, warnings = bundle.identity, _warnings(shown)
    if deadlines and len(promised) < len(rows):
        warnings.append("For some of these deadlines the bundle may lack the best models: it was built for others.")
    dated = ", ".join(filter(None, (identity.version and f"version {identity.version}", identity.built)))
    n_models, _, size = said.facts["models"].partition(", ")
    return Page(
        "bundle",
        identity.name or (bundle.path.name if bundle.path else "bundle"),
        dated or "no version or date is stated",
        [
            (said.facts["deadlines"], "deadlines"),
            *_scores(view, [promised[0], promised[-1]][: len(promised)]),
            (str(len(bundle.names)), "features" if len(bundle.names) > 1 else "feature"),
            (n_models, f"models, {size}"),
        ],
        [*map(str, knees(shown).values()), f"{gain_text(promised)}.", f"{worth}."],
        warnings,
        [
            score_section(bundle, said, view, rows, samples is not None),
            *more,
            set_section(view),
            features,
            cost_section(view, samples, quantile),
            confidence_section(bundle, said),
            _models(bundle, said.facts),
            _words(said),
        ],
    )


def _scores(view: IndexView, rows: Sequence[Replayed]) -> list[tuple[str, str]]:
    """Return the score of each row, and what it is."""
    return [
        (f"{row.scores[row.policy]:.3f}", f"expected {view.score} within {format_seconds(row.deadline)}")
        for row in rows
    ]


def _models(bundle: Bundle, facts: Mapping[str, str]) -> Section:
    """Return the section on scores, times, engines and sizes of the models, the best first."""
    models = sorted(bundle.models, key=lambda model: -model.accuracy)
    several = ["estimator"] * any(model.estimator for model in models)
    columns = ["features, in order", *several, "#score", f"#{percent(CONFIDENCE)} interval", "#measured"]
    table = TextTable(
        "Models",
        [*columns, "#time of a run", "engine", "#size"],
        [_model(bundle, model, bool(several)) for model in models[:MOST_MODELS]],
        [
            f"At most the {MOST_MODELS} best. Score: corrected for the luck of a model that was chosen by it. "
            "Measured: without this correction."
        ],
        is_wide=True,
    )
    blocks = [TextTable("All models", (), [(what, facts[what]) for what in ("models", "limits")]), table]
    if bundle.shipping.curve:
        note = "Mean score over sizes and deadlines, if the models are chosen well."
        blocks.insert(1, amounts(bundle)._replace(title="Fewer models", notes=[note]))
    return Section("Models", "", blocks)


def _model(bundle: Bundle, model: ModelEntry, is_named: bool) -> tuple[str, ...]:
    estimate = model.estimate
    return (
        set_text([bundle.names[i] for i in model.order], plus=" + "),
        *([model.estimator] * is_named),
        f"{model.accuracy:.3f}",
        *((str(estimate), f"{estimate.measured:.3f}") if estimate else ("–", "–")),
        *(format_seconds(model.seconds), model.engine, format_bytes(model.size_bytes)),
    )


def _words(said: Description) -> Section:
    """Return the section with what a bundle states about itself in words."""
    of_promise = ("score", "promise", "deadlines", "item sizes", "slow-down")
    limits = ("shortest deadline for more than the prior", "longest step", "classes")
    parts = {
        "Promise": [(what, said.facts[what]) for what in (*of_promise, *limits)],
        "Device": [(what, said.facts[what] or "not stated") for what in ("costs", "times measured", "versions")],
        "Origin": [*said.identity.items(), ("signature", said.facts["signature"])],
    }
    return Section("Promise, device and origin", "", [TextTable(title, (), rows) for title, rows in parts.items()])


def _warnings(bundle: Bundle) -> list[str]:
    """Return all reasons to doubt what a bundle states, as sentences."""
    origin = bundle.times.origin
    found = ["The costs are estimated, not measured."] if origin.estimated else []
    found += [_sentence(note) for note in origin.notes]
    if not bundle.is_greedy and not promises_score(bundle):
        found.append("Nothing useful is promised about the score.")
    for regime, times in times_of_regimes(bundle).items():
        found += [_sentence(text) for text in shortcomings(regime, times.outlook, bundle.promise)]
    if text := only_prior_text(bundle):
        found.append(_sentence(text))
    elif bundle.shipping.n_left_out:
        found.append(f"{bundle.shipping.n_left_out} models were left out to keep the limits.")
    if any(model.estimate is None for model in bundle.models):
        found.append("Scores are as measured, with the luck of models that were chosen by them; no interval is stated.")
    return found


def _sentence(note: str) -> str:
    return f"{note[:1].upper()}{note[1:].rstrip('.')}."
