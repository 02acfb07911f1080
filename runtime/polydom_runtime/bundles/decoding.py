"""Decoding of ``index.msgpack``, in the current format version or an older one; the inverse of `encoding`.

A document of an older version is first changed into one of the current version, one version at a time (`UPGRADES`).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from polydom_runtime.costs import HUGE, CostFunction
from polydom_runtime.features import MAX_FEATURES
from polydom_runtime.items.kinds import ItemKind

from . import confidence, error_costs, estimates, estimators, identity, references, schema, shipping
from .assumption import Assumption
from .bundle import Bundle, BundleSpace, Label, Prior, Promise, StoredIndex
from .bundle_times import UNKNOWN_CALM
from .decoding_times import MAX_SECONDS, Document, costs, decoded_times
from .encoding import FORMAT, VERSION
from .engines import ENGINES, Engine
from .identity import Identity
from .index import Interval
from .index_check import check_index
from .limits import check_limits
from .model_entry import ModelEntry
from .scores import check_scores

MAX_MODELS, MAX_MODEL_BYTES, MAX_CLASSES = 10_000, 1 << 30, 100_000


def decode(data: bytes, path: Path | None = None) -> Bundle:
    """Return the bundle that the bytes of an ``index.msgpack`` describe; the inverse of `encode`.

    Raises `BundleFormatError` if they are not well-formed, of a newer version, or inconsistent.
    """
    d = schema.unpack(data)
    if d.get("format") != FORMAT:
        raise schema.bad(f"The index must have format {FORMAT!r}", d.get("format"))
    version = schema.count(d, "version", 1, 1 << 30)
    if version > VERSION:
        raise schema.bad(f"The bundle version must be at most {VERSION}", version, "Upgrade polydom-runtime.")
    for older in range(version, VERSION):
        d = UPGRADES[older](d)
    return _bundle(d, path)


def _from_version_1(d: Document) -> Document:
    """Add the origin of the costs, which is not known."""
    return {**d, "origin": ["", False, [], {}]}


def _from_version_2(d: Document) -> Document:
    """Add greedy sequences and costs that are not sums. There must be classes, since there were no regressors yet."""
    schema.in_range("The number of classes", len(schema.field(d, "classes", list)), 2, MAX_CLASSES)
    return {**d, "set_costs": b"", "sequences": [], "median_size": 0.0}


def _from_version_3(d: Document) -> Document:
    """Add planned, guarded and typical times, the slow-down and early stops."""
    times: Document = {name: [] for name in ("expected", "alone", "typical")}
    quantiles = {"planning_quantile": 0.0, "guard_quantile": 0.0, "reference_seconds": 0.0}
    return {**d, **times, **quantiles, "slowdown": 1.0, "stops": b"", "stop_loss": 0.0}


def _from_version_4(d: Document) -> Document:
    """Add choices by deadline, the calm estimate of the slow-down, the outlook, and regimes: nothing of it is known."""
    return {**d, "choices": [], "calm": UNKNOWN_CALM, "outlook": [], "regimes": [], "more_times": []}


def _from_version_5(d: Document) -> Document:
    """Let onnxruntime run all models."""
    return {**d, "engines": [0] * len(schema.field(d, "models", list))}


def _from_version_6(d: Document) -> Document:
    """Give all deadlines of a regime the same calm estimate."""

    def spread(there: Document) -> Document:
        rows = [schema.row(row, 3) for row in schema.field(there, "choices", list)]
        return {**there, "choices": [[*row, there.get("calm")] for row in rows]}

    regimes = schema.field(d, "regimes", list)
    return {**spread(d), "regimes": [spread(r) if type(r) is dict else r for r in regimes]}


def _from_version_7(d: Document) -> Document:
    """Add reference items: there are none. Columns of models are in the order of computation."""
    return {**d, "references": [], "rising": False}


def _from_version_8(d: Document) -> Document:
    """Add the scoring, the state of the assumption and the kind of the items: none is known."""
    return {**d, "scoring": "", "assumption": [], "item_kind": []}


def _from_version_9(d: Document) -> Document:
    """Add the identity, which is not known."""
    return {**d, "identity": identity.encoded(Identity())}


def _from_version_10(d: Document) -> Document:
    """Add what is known of scores, estimators, confidence, limits and the costs of errors: nothing."""
    empty: Document = {"margin": [], "error_costs": [], "shipping": {}, "estimators": [], "confidence": {}}
    return {**d, **empty, **estimates.encoded([])}


UPGRADES: Mapping[int, Callable[[Document], Document]] = {
    1: _from_version_1,
    2: _from_version_2,
    3: _from_version_3,
    4: _from_version_4,
    5: _from_version_5,
    6: _from_version_6,
    7: _from_version_7,
    8: _from_version_8,
    9: _from_version_9,
    10: _from_version_10,
}
"""For each older version, the function that changes its document into one of the next version."""


def _bundle(d: Document, path: Path | None) -> Bundle:
    space = _space(d)
    f = len(space.names)
    models = _models(d, f)
    sure, calibrations = confidence.decoded(d, len(models), len(space.classes))
    models = tuple(replace(m, calibration=c) for m, c in zip(models, calibrations, strict=True))
    errors = error_costs.decoded(d, len(space.classes))
    n_answers = len(space.classes) + (errors is not None and errors.abstain)
    prior = Prior(_prior(d, n_answers), schema.number(d, "prior_accuracy", -HUGE, HUGE))
    times, regimes = decoded_times(d, space.names, len(models))
    bundle = Bundle(
        space=space,
        times=times,
        promise=_promise(d),
        prior=prior,
        models=models,
        stored=_stored(d, models),
        path=path,
        regimes=regimes,
        references=references.decoded(d, sum(space.widths)),
        identity=identity.decoded(d),
        error_costs=errors,
        shipping=shipping.decoded(d, f),
        confidence=sure,
    )
    check_limits(bundle)
    check_scores(bundle)
    check_index(bundle)
    return bundle


def _space(d: Document) -> BundleSpace:
    names = tuple(schema.printable_text("A feature name", n) for n in schema.field(d, "names", list))
    f = schema.in_range("The number of features", len(names), 1, MAX_FEATURES)
    widths = tuple(schema.in_range("A width", w, 1, 1 << 24) for w in schema.field(d, "widths", list))
    if len(widths) != f or len(set(names)) != f:
        raise schema.bad("There must be one width for each of the different feature names", (names, widths))
    return BundleSpace(names, widths, _classes(d), _item_kind(d))


def _promise(d: Document) -> Promise:
    sizes = schema.ordered("sizes", schema.floats(d, "sizes", (2,)), 0.0)
    if not 1.0 / HUGE < sizes[1] < HUGE:  # its smallest parts must not become 0
        raise schema.bad("Field 'sizes' must be finite, and the largest positive and not tiny", sizes)
    budgets = schema.ordered("budgets", schema.floats(d, "budgets", (2,)), 0.0)
    if not 0.0 < budgets[1] < MAX_SECONDS and budgets[1] != math.inf:  # of a bundle for any budget
        raise schema.bad(f"The longest budget must be positive and less than {MAX_SECONDS:g} seconds", budgets)
    scoring, tolerance = schema.field(d, "scoring", str), schema.number(d, "tolerance", 0.0)
    return Promise(
        sizes=sizes,
        budgets=budgets,
        alpha=schema.number(d, "alpha", 1.0),
        tolerance=tolerance,
        slowdown=schema.number(d, "slowdown", 1.0, HUGE),
        stop_loss=schema.number(d, "stop_loss", 0.0, 1.0),
        scoring=scoring and schema.printable_text("The scoring", scoring),
        assumption=_assumption(d, tolerance),
        margin=_margin(d),
    )


def _margin(d: Document) -> float | None:
    if not (row := schema.field(d, "margin", list)):
        return None
    (margin,) = schema.row(row, 1)
    return schema.number({"margin": margin}, "margin", 0.0, HUGE)


def _assumption(d: Document, tolerance: float) -> Assumption | None:
    if not (row := schema.field(d, "assumption", list)):
        return None
    n_pairs, n_broken, worst = schema.row(row, 3)
    n_pairs = schema.in_range("The number of pairs", n_pairs, 0, 1 << 30)
    n_broken = schema.in_range("The number of pairs that break the tolerance", n_broken, 0, n_pairs)
    return Assumption(tolerance, n_pairs, n_broken, schema.number({"worst": worst}, "worst", 0.0, HUGE))


def _item_kind(d: Document) -> ItemKind | None:
    if not (row := schema.field(d, "item_kind", list)):
        return None
    ndim, is_complex = schema.row(row, 2)
    return ItemKind(
        schema.in_range("The number of dimensions", ndim, 0, 64), schema.field({"complex": is_complex}, "complex", bool)
    )


def _stored(d: Document, models: Sequence[ModelEntry]) -> StoredIndex:
    numbers = schema.field(d, "shipped", list)
    shipped = tuple(schema.in_range("A model number", s, 0, len(models) - 1) for s in numbers)
    return StoredIndex(
        shipped,
        _intervals(d, len(shipped) + 1),
        _sequences(d, {model.order for model in models}, len(models)),
        schema.number(d, "median_size", 0.0, HUGE),
    )


def _models(d: Document, n_features: int) -> tuple[ModelEntry, ...]:
    rows = schema.field(d, "models", list)
    schema.in_range("The number of models", len(rows), 0, MAX_MODELS)
    numbers = schema.floats(d, "model_numbers", (len(rows), 2)).tolist()
    stated = estimates.decoded(d, [accuracy for accuracy, _ in numbers])
    costs, stops, engines = _set_costs(d, len(rows)), _stops(d, len(rows)), _engines(d, len(rows))
    names, rising = estimators.decoded(d, len(rows)), schema.field(d, "rising", bool)
    models, known = [], set()
    for k, ((order, size, digest), (accuracy, seconds)) in enumerate(
        zip((schema.row(r, 3) for r in rows), numbers, strict=True)
    ):
        if type(order) is not list or not order or type(digest) is not bytes or len(digest) != 32:
            raise schema.bad("A model must have an order of features and a SHA-256", (order, digest))
        features = tuple(schema.in_range("A feature number", i, 0, n_features - 1) for i in order)
        if len(set(features)) != len(features) or (features, names[k]) in known:
            raise schema.bad("A model must have different features, in an order that its estimator has once", order)
        if not (0.0 <= seconds <= MAX_SECONDS and math.isfinite(accuracy)):
            raise schema.bad("A model must have a finite accuracy and time", (accuracy, seconds))
        known.add((features, names[k]))
        size = schema.in_range("A model's size", size, 1, MAX_MODEL_BYTES)
        extras = costs[k], stops[k], engines[k], rising, stated[k], names[k]
        models.append(ModelEntry(features, accuracy, seconds, size, digest, *extras))
    orders = {order for order, _ in known}
    for model in models:
        if len(model.order) > 1 and model.order[:-1] not in orders:
            raise schema.bad("Every prefix of a model's order must have a model", model.order)
    return tuple(models)


def _classes(d: Document) -> tuple[Label, ...]:
    """Return the labels; an empty tuple if the models are regressors."""
    classes = schema.field(d, "classes", list)
    if not classes:
        return ()
    schema.in_range("The number of classes", len(classes), 2, MAX_CLASSES)
    kinds = {type(c) for c in classes}
    if not (len(kinds) == 1 and kinds <= {int, str, bool} and len(set(classes)) == len(classes)):
        raise schema.bad("The classes must be different integers, strings or booleans, all of one type", classes)
    if kinds == {str} and (wrong := [c for c in classes if not schema.is_plain(c)]):
        raise schema.bad(f"A class must have at most {schema.MAX_PLAIN} characters, no control characters", wrong[0])
    return tuple(classes)


def _prior(d: Document, n_answers: int) -> int | float:
    return schema.count(d, "prior", 0, n_answers - 1) if n_answers else schema.number(d, "prior", -HUGE, HUGE)


def _sequences(d: Document, orders: set[tuple[int, ...]], most: int) -> tuple[tuple[int, ...], ...]:
    rows = schema.field(d, "sequences", list)
    schema.in_range("The number of sequences", len(rows), 0, most)
    for row in rows:
        if type(row) is not list or any(type(i) is not int for i in row) or tuple(row) not in orders:
            raise schema.bad("A sequence must be the order of a model", row)
    if len(sequences := dict.fromkeys(map(tuple, rows))) != len(rows):
        raise schema.bad("The sequences must be different", rows)
    return tuple(sequences)


def _intervals(d: Document, n_candidates: int) -> tuple[Interval, ...]:
    numbers = schema.field(d, "intervals", list)
    ends = schema.floats(d, "interval_ends", (len(numbers), 2))
    return tuple(
        Interval(schema.in_range("A candidate number", c, 0, n_candidates - 1), *schema.ordered("interval", pair, 0.0))
        for c, pair in zip(numbers, ends, strict=True)
    )


def _set_costs(d: Document, n_models: int) -> Sequence[CostFunction | None]:
    return costs(d, "set_costs", n_models) if schema.field(d, "set_costs", bytes) else [None] * n_models


def _engines(d: Document, n_models: int) -> Sequence[Engine]:
    numbers = schema.field(d, "engines", list)
    if len(numbers) != n_models:
        raise schema.bad("Each model must have an engine", f"{len(numbers)} engines for {n_models} models")
    return [ENGINES[schema.in_range("An engine", number, 0, len(ENGINES) - 1)] for number in numbers]


def _stops(d: Document, n_models: int) -> Sequence[float | None]:
    if not schema.field(d, "stops", bytes):
        return [None] * n_models
    stops: list[float] = schema.floats(d, "stops", (n_models,)).tolist()
    if any(stop < 0.0 for stop in stops):
        raise schema.bad("Field 'stops' must hold confidences", stops)
    return stops
