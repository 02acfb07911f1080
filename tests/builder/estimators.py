"""Every kind of estimator, from the labels to answers on the node: it works, or it is refused before the search.

``python -m tests.builder.estimators`` writes docs/estimators.md.
"""

import importlib.metadata
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.feature_selection import SelectKBest
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import all_estimators

from polydom_builder import PolyDomSearch
from polydom_runtime import Feature, FeatureSpace, ManualClock, Predictor, Seams
from polydom_runtime.bundles.unit_times import UnitTimes
from polydom_runtime.costs import CostFunction
from polydom_runtime.exceptions import PolyDomError

N_TRAINED, N_UNSEEN = 120, 2000
LABELS: Mapping[str, Any] = {"numbers": [3, -1, 7], "strings": ["calm", "loud", "für"], "booleans": [False, True]}

LOGISTIC, BAYES = LogisticRegression(), GaussianNB()
PAIR = [("a", LOGISTIC), ("b", BAYES)]
OTHERS: Mapping[str, Any] = {
    "StandardScaler, LogisticRegression": make_pipeline(StandardScaler(), LOGISTIC),
    "MinMaxScaler, LogisticRegression": make_pipeline(MinMaxScaler(), LOGISTIC),
    "MaxAbsScaler, LogisticRegression": make_pipeline(MaxAbsScaler(), LOGISTIC),
    "RobustScaler, LogisticRegression": make_pipeline(RobustScaler(), LOGISTIC),
    "Normalizer, LogisticRegression": make_pipeline(Normalizer(), LOGISTIC),
    "PolynomialFeatures, LogisticRegression": make_pipeline(PolynomialFeatures(), LOGISTIC),
    "SplineTransformer, LogisticRegression": make_pipeline(SplineTransformer(), LOGISTIC),
    "KBinsDiscretizer, LogisticRegression": make_pipeline(
        KBinsDiscretizer(quantile_method="averaged_inverted_cdf"), LOGISTIC
    ),
    "PowerTransformer, LogisticRegression": make_pipeline(PowerTransformer(), LOGISTIC),
    "QuantileTransformer, LogisticRegression": make_pipeline(QuantileTransformer(n_quantiles=20), LOGISTIC),
    "PCA(1), LogisticRegression": make_pipeline(PCA(1), LOGISTIC),
    "PCA(2), LogisticRegression": make_pipeline(PCA(2), LOGISTIC),
    "SelectKBest(1), LogisticRegression": make_pipeline(SelectKBest(k=1), LOGISTIC),
    "StandardScaler, SVC": make_pipeline(StandardScaler(), SVC()),
    "StandardScaler, DecisionTreeClassifier": make_pipeline(StandardScaler(), DecisionTreeClassifier(random_state=0)),
    "StandardScaler, MLPClassifier": make_pipeline(StandardScaler(), MLPClassifier((9,), random_state=0, max_iter=50)),
    "KNeighborsClassifier by distance": KNeighborsClassifier(weights="distance"),
    "KNeighborsRegressor by distance": KNeighborsRegressor(weights="distance"),
    "SVC with class weights": SVC(class_weight="balanced"),
    "VotingClassifier": VotingClassifier(PAIR),
    "VotingClassifier, not flattened": VotingClassifier(PAIR, flatten_transform=False),
    "VotingClassifier, soft": VotingClassifier(PAIR, voting="soft", flatten_transform=False),
    "StackingClassifier": StackingClassifier(PAIR, cv=2),
    "BaggingClassifier of SVC": BaggingClassifier(SVC(), n_estimators=3, random_state=0),
    "AdaBoostClassifier": AdaBoostClassifier(n_estimators=3, random_state=0),
    "CalibratedClassifierCV, sigmoid": CalibratedClassifierCV(BAYES, cv=2),
    "CalibratedClassifierCV, isotonic": CalibratedClassifierCV(BAYES, cv=2, method="isotonic"),
    "OneVsRestClassifier": OneVsRestClassifier(LinearSVC(random_state=0)),
    "OneVsOneClassifier": OneVsOneClassifier(LinearSVC(random_state=0)),
    "OutputCodeClassifier": OutputCodeClassifier(LOGISTIC, random_state=0),
    "GridSearchCV": GridSearchCV(LOGISTIC, {"C": [0.1, 1.0]}, cv=2),
    "FixedThresholdClassifier": FixedThresholdClassifier(LOGISTIC, threshold=0.3),
    "TunedThresholdClassifierCV": TunedThresholdClassifierCV(LOGISTIC, cv=2, random_state=0),
    "GaussianProcessClassifier": GaussianProcessClassifier(),
    "VotingRegressor": VotingRegressor([("a", Ridge()), ("b", KNeighborsRegressor())]),
    "StackingRegressor": StackingRegressor([("a", Ridge()), ("b", KNeighborsRegressor())], cv=2),
    "BaggingRegressor": BaggingRegressor(n_estimators=3, random_state=0),
    "TransformedTargetRegressor": TransformedTargetRegressor(Ridge()),
}

OF_MANY_TARGETS = ("Multi", "ClassifierChain", "RegressorChain", "CCA", "PLS", "Isotonic", "Dummy")
"""Parts of the names of estimators that do not train on one label and several columns."""


class Case(NamedTuple):
    """An estimator with one kind of labels.

    Attributes
    ----------
    name : str
    kind : str
        The kind of its labels: one of `LABELS`, or ``values`` for a regressor.
    """

    name: str
    kind: str


class Result(NamedTuple):
    """What became of a case.

    Attributes
    ----------
    stage : str
        ``works``, ``refused`` before the search, ``late`` if refused later, or ``differs``.
    said : str
        The error, or how many answers differ.
    """

    stage: str
    said: str


@cache
def estimators() -> dict[str, Any]:
    """Return estimators by name: all of scikit-learn with their defaults, and more of all kinds."""
    found: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # some are deprecated
        for name, make in (pair for kind in ("classifier", "regressor") for pair in all_estimators(type_filter=kind)):
            if not any(part in name for part in OF_MANY_TARGETS):
                with suppress(TypeError, AttributeError):  # of one that needs others, see OTHERS
                    estimator = _made(make)
                    is_classifier(estimator)
                    found[name] = estimator
    return found | dict(OTHERS)


def _made(make: Callable[..., Any]) -> Any:
    estimator = make()
    known = estimator.get_params()
    quick = {"random_state": 0, "n_estimators": 5, "max_iter": known.get("max_iter") or 100, "cv": 2}
    return estimator.set_params(**{name: value for name, value in quick.items() if name in known})


def cases() -> Iterator[Case]:
    """Yield all estimators with all kinds of labels that they take."""
    for name, estimator in estimators().items():
        for kind in LABELS if is_classifier(estimator) else ("values",):
            yield Case(name, kind)


SPACE = FeatureSpace([Feature("both", lambda x: x[:2], width=2), Feature("third", lambda x: x[2])], size=len)
COSTS = UnitTimes.given(
    {"both": CostFunction.of(2e-6), "third": CostFunction.of(1e-6)}, dispatch=CostFunction.of(1e-6), model=1e-6
)


def tried(case: Case) -> Result:
    """Build with an estimator, and compare the node's answers on unseen items with scikit-learn's."""
    rng = np.random.default_rng(0)
    items = rng.gamma(2.0, size=(N_TRAINED + N_UNSEEN, 3))
    signal = items[:, 0] - items[:, 1] + 0.5 * items[:, 2] + 0.3 * rng.normal(size=len(items))
    labels = _labels(case.kind, signal)
    search = PolyDomSearch(estimators()[case.name], SPACE, deadline=1.0, cv=3)
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        try:
            search.fit([*items[:N_TRAINED]], labels[:N_TRAINED], costs=COSTS)
        except PolyDomError as e:
            return Result("late" if hasattr(search, "trainer_") else "refused", str(e))
        try:
            search.export(Path(folder) / "x.bundle")
        except PolyDomError as e:
            return Result("late", str(e))
        predictor = Predictor.load(Path(folder) / "x.bundle", SPACE, seams=Seams(clock=ManualClock()))
        unseen = items[N_TRAINED:]
        answers = [predictor.predict_one(item) for item in unseen]
        return _compared(search, unseen, answers)


def _labels(kind: str, signal: NDArray[np.float64]) -> list[Any]:
    if kind == "values":
        return [2.0 + float(x - signal.min()) for x in signal]  # positive, as some losses need it
    names = LABELS[kind]
    edges = np.quantile(signal, np.linspace(0.0, 1.0, len(names) + 1)[1:-1])
    return [names[k] for k in np.searchsorted(edges, signal).tolist()]


def _compared(search: PolyDomSearch, unseen: NDArray[np.float64], answers: list[Any]) -> Result:
    rows = np.stack([SPACE.extract_all(item) for item in unseen])
    used = {answer.features for answer in answers}
    (features,) = used
    order = tuple(SPACE.names.index(name) for name in features)
    if not order:
        return Result("works", "no set scores more than the prior")
    columns = np.concatenate([np.arange(s.start, s.stop) for s in (SPACE.column_slices()[i] for i in sorted(order))])
    expected = np.asarray(search.trainer_.fit(order).predict(rows[:, columns])).reshape(-1).tolist()
    if search.trainer_.by_number:
        expected = search.trainer_.table.classes[expected].tolist()
    given = [answer.label for answer in answers]
    if isinstance(expected[0], float):
        wrong = ~np.isclose(given, expected, rtol=1e-3, atol=1e-3 * float(np.ptp(expected)))
    else:
        wrong = np.array([a != b for a, b in zip(given, expected, strict=True)])
    return Result("differs" if wrong.sum() > 2 else "works", f"{int(wrong.sum())} of {len(given)} differ")


def as_markdown(results: Mapping[Case, Result]) -> str:
    """Return the page: a table with a line for each estimator, and the reasons why some are refused."""
    kinds = (*LABELS, "values")
    counts = Counter(result.stage for result in results.values())
    lines = [PAGE.format(cases=len(results), works=counts["works"], refused=counts["refused"], **versions())]
    lines += ["| estimator | " + " | ".join(kinds) + " |", "| --- " * (1 + len(kinds)) + "|"]
    reasons: dict[str, list[str]] = {}
    for name in dict.fromkeys(case.name for case in results):
        cells = [results.get(Case(name, kind), Result("", "")) for kind in kinds]
        lines.append(f"| {name} | " + " | ".join(cell.stage for cell in cells) + " |")
        for cell in cells:
            if cell.stage not in ("", "works"):
                reasons.setdefault(" ".join(cell.said.split())[:240].replace("|", "/"), []).append(name)
    lines += ["", "## Why", ""]
    lines += [f"- {', '.join(dict.fromkeys(names))}: {reason}" for reason, names in reasons.items()]
    return "\n".join(lines) + "\n"


def versions() -> dict[str, str]:
    """Return the versions of the libraries that decide which estimators work."""
    return {name: importlib.metadata.version(package) for name, package in PACKAGES.items()}


PACKAGES = {"sklearn": "scikit-learn", "skl2onnx": "skl2onnx", "onnxruntime": "onnxruntime"}

PAGE = """# Which estimators work

Each estimator of scikit-learn that learns one label from several columns, with its default parameters, and more
pipelines and meta-estimators: searched with 120 items, exported, loaded by the node, and compared with scikit-learn's
own answers on 2,000 items that it has not seen. *numbers*, *strings* and *booleans* are kinds of labels (three classes,
two for booleans), *values* are for regressors. *works*: at most two answers differ, where rounding decides, and none
in most cases. *refused*: before the search, with the reason below. None fails after
the search has begun, and none gives other answers without a word.

Of {cases} cases {works} work and {refused} are refused, with scikit-learn {sklearn}, skl2onnx {skl2onnx} and
onnxruntime {onnxruntime}. `make test-all` runs them all; `python -m tests.builder.estimators` writes this page. Other
parameters may change the result; it takes a second to find out, since a model is tried before anything else.
BernoulliNB scores no more than the most frequent class here, so the node always gives that one.

XGBoost's and LightGBM's classifiers and regressors work too, with all kinds of labels (tried by hand, with xgboost 3.2
and lightgbm 4.7), once a converter of onnxmltools is registered:

```python
from onnxmltools.convert.xgboost.operator_converters.XGBoost import convert_xgboost
from skl2onnx import update_registered_converter
from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes
from xgboost import XGBClassifier

options = {{"nocl": [True, False], "zipmap": [True, False, "columns"]}}
update_registered_converter(
    XGBClassifier, "XGBClassifier", calculate_linear_classifier_output_shapes, convert_xgboost, options=options
)
```

With several workers (`n_jobs`), put this into a module of your own, register a subclass of the estimator that the
module defines, and use this subclass: then each worker imports the module.

## Equal except for rounding

Each exported model is compared with scikit-learn's on all training items and between them, and a model that runs in
numpy with onnxruntime. Their answers must be equal, unless the rounding of float32 decides: then another processor,
another version of a library and another engine may each give another of the tied answers, and none of them is wrong.
Such ties are

- items at the same distance from an item: nearest neighbours may take any of them;
- labels of the same score, such as two labels with half of the votes of a forest each;
- scores of linear models, support vectors and networks that differ by less than their sums are exact.

An answer counts as tied if the model gives it once all numbers that it adds up (the item, the training items or
coefficients in the model, the votes of leaves) have moved at random by at most 4 millionths of their value.
Comparisons of trees are exact, so an item that lies on a threshold is no tie, and a scaler in front of trees that moves
items to another leaf is a fault.

## Names of columns

An estimator may say something about single columns by the names of features: the columns of a `ColumnTransformer` are
lists of names, `monotonic_cst` is a dictionary by name, and `interaction_cst` has lists of names. In each feature set
they become the positions of the columns there, and names that are not in the set are left out. This works in the
estimator itself, or in the first step of a pipeline after scalers. A feature that a `ColumnTransformer` does not name
needs `remainder="passthrough"`. Positions are refused, since each set has other features there. So is
`categorical_features`: skl2onnx converts such models as if there were no categories. Give a category as a feature with
one column of 0 or 1 for each of its values. An encoder inside the estimator is refused as well, since scikit-learn and
the converted model disagree on values between categories.

## All of them

"""


def main() -> None:
    """Try all cases and write docs/estimators.md."""
    results: dict[Case, Result] = {}
    for case in cases():
        results[case] = tried(case)
        print(f"{case.name:45}{case.kind:10}{results[case].stage:9}{results[case].said[:120]}", flush=True)
    (Path(__file__).parents[2] / "docs" / "estimators.md").write_text(as_markdown(results), encoding="utf-8")


if __name__ == "__main__":
    main()
