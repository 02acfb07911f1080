"""The stated time of a model against its real time, for eight estimators: as for another device, here, and tuned."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from examples.paper.results import Row, save_rows
from polydom_builder.costs.model_placing import placed_seconds
from polydom_builder.preparation.settings import ProvenPromise, SearchLimits
from polydom_builder.search import PolyDomSearch
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.clock import collector_off
from polydom_runtime.costs import format_seconds
from polydom_runtime.learning.learned_file import Recalled
from polydom_runtime.learning.learned_times import LearnedTimes
from polydom_runtime.measuring.cost_samples import CostSamples
from polydom_runtime.measuring.tuning import tune_bundle
from polydom_runtime.predictor import Predictor

from . import patches
from .markdown import markdown_table
from .measuring import QUANTILE, measured_costs
from .task import Task

FEATURES = ("level", "quantiles", "histogram", "gradients")
ESTIMATORS: dict[str, ClassifierMixin] = {
    "logistic regression": LogisticRegression(max_iter=1000),
    "decision tree": DecisionTreeClassifier(max_depth=8),
    "forest of 50": RandomForestClassifier(50, random_state=0),
    "extra trees, 200": ExtraTreesClassifier(200, max_depth=8, random_state=0),
    "gradient boosting": GradientBoostingClassifier(n_estimators=30, random_state=0),
    "network 64-64": MLPClassifier((64, 64), max_iter=200, tol=1e-3, random_state=0),
    "support vectors": SVC(),
    "nearest neighbours": KNeighborsClassifier(),
}
"""Each after a scaler."""

DEADLINE = 0.2
"""Seconds; enough for all features and every model."""

MEASURE_SECONDS, TUNE_SECONDS = 10.0, 10.0
MOST_MISMATCHES = 0.03
HEAD = ("estimator", "real, 0.9 quantile", "stated for another device", "stated for this one", "after tune")
COLUMNS = ("placed", "stated", "tuned")


def run_models(out: Path, names: Sequence[str] = ()) -> None:
    """Build a bundle with each estimator, time its best model in real answers, and write ``models.csv`` and ``.md``."""
    out.mkdir(parents=True, exist_ok=True)
    whole = patches.load()
    task = replace(whole, name="models", space=whole.space.part(FEATURES))
    samples = measured_costs(task, out, MEASURE_SECONDS)
    rows: list[Row] = []
    for name in names or ESTIMATORS:
        rows.append({"estimator": name, **model_row(task, samples, ESTIMATORS[name], out)})
        save_rows(rows, out / "models.csv")
        (out / "models.md").write_text(model_table(rows) + "\n", encoding="utf-8")
        print(f"{name}: timed; see {out / 'models.md'}", flush=True)


def model_row(task: Task, samples: CostSamples, estimator: Any, out: Path, tune_seconds: float = TUNE_SECONDS) -> Row:
    """Return the seconds of the model that answers most: real, placed, stated and tuned."""
    search = PolyDomSearch(
        make_pipeline(StandardScaler(), estimator),
        task.space,
        deadline=DEADLINE,
        promise=ProvenPromise(alpha=1.2),
        quantile=QUANTILE,
        memory=out / "cache",
        limits=SearchLimits(max_mismatches=math.ceil(MOST_MISMATCHES * len(task.items))),
        random_state=0,
    ).fit(task.items, task.labels, task.groups, samples)
    place = out / "models.bundle"
    search.export(place)
    bundle = load_bundle(place)
    number, real = real_seconds(task, bundle)
    entry = bundle.models[number]
    rows = search.trainer_.table.rows_of(entry.order)[:: max(len(task.items) // 256, 1)]
    model, there = bundle.model_bytes(number), search.target_.models
    placed = placed_seconds(model, rows, len(bundle.space.classes), there, entry.engine)
    learned = tune_bundle(bundle, task.space, task.items, deadline=DEADLINE, seconds=tune_seconds)
    tuned = Recalled(learned, bundle, LearnedTimes(bundle, DEADLINE)).at("hot").models[number].seconds
    return {"real": real, "placed": placed, "stated": entry.seconds, "tuned": tuned}


def real_seconds(task: Task, bundle: Bundle) -> tuple[int, float]:
    """Return the number of the model that answers most test items, and the 0.9 quantile of its time in real answers.

    It is the time from the end of the last feature to the end of the answer, so it holds the end too.
    """
    predictor = Predictor(bundle, task.space, deadline=DEADLINE)
    predictor.warm_up(task.test_items[0])
    seconds: dict[int, list[float]] = {}
    with collector_off():
        for item in task.test_items:
            answer = predictor.predict_one(item)
            mask = sum(1 << bundle.names.index(name) for name in answer.features)
            seconds.setdefault(mask, []).append((predictor.trace.marks[-1] - predictor.trace.marks[-2]) * 1e-9)
    most = max(seconds, key=lambda mask: len(seconds[mask]))
    (number,) = (k for k, entry in enumerate(bundle.models) if entry.mask == most)
    return number, float(np.quantile(seconds[most], 0.9))


def model_table(rows: Sequence[Row]) -> str:
    """Return the rows as Markdown: stated times as multiples of the real one."""
    return markdown_table(
        HEAD,
        [
            (
                row["estimator"],
                format_seconds(float(row["real"])),
                *(f"× {float(row[c]) / float(row['real']):.2f}" for c in COLUMNS),
            )
            for row in rows
        ],
    )
