"""Estimators of all kinds that have kernels, fitted on few items and exported."""

import warnings
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification, make_regression
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    Perceptron,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from polydom_builder.training.onnx import to_onnx

WIDTH = 6

CLASSIFIERS: Mapping[str, Any] = {
    "logistic regression": LogisticRegression(),
    "scaler, logistic regression": make_pipeline(StandardScaler(), LogisticRegression()),
    "minmax scaler, logistic regression": make_pipeline(MinMaxScaler(), LogisticRegression()),
    "normalizer, logistic regression": make_pipeline(Normalizer(), LogisticRegression()),
    "ridge": RidgeClassifier(),
    "linear SVC": LinearSVC(random_state=0),
    "stochastic gradient": SGDClassifier(random_state=0),
    "perceptron": Perceptron(random_state=0),
    "SVC": make_pipeline(StandardScaler(), SVC()),
    "polynomial SVC": SVC(kernel="poly", gamma=0.1),
    "polynomial SVC of degree 5": SVC(kernel="poly", degree=5, coef0=1.0, gamma=0.05),
    "sigmoid SVC": SVC(kernel="sigmoid"),
    "SVC without a kernel": SVC(kernel="linear"),
    "naive Bayes": GaussianNB(),
    "neighbours": KNeighborsClassifier(),
    "scaler, neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier(3)),
    "one neighbour": KNeighborsClassifier(1),
    "network": make_pipeline(StandardScaler(), MLPClassifier((16, 8), solver="lbfgs", max_iter=30, random_state=0)),
    "tanh network": MLPClassifier((8,), activation="tanh", solver="lbfgs", max_iter=30, random_state=0),
    "logistic network": MLPClassifier((8,), activation="logistic", solver="lbfgs", max_iter=30, random_state=0),
    "linear discriminant": LinearDiscriminantAnalysis(),
    "quadratic discriminant": QuadraticDiscriminantAnalysis(reg_param=0.1),
    "tree": DecisionTreeClassifier(max_depth=6, random_state=0),
    "forest": RandomForestClassifier(15, max_depth=6, random_state=0),
    "extra trees": ExtraTreesClassifier(15, max_depth=6, random_state=0),
    "gradient boosting": GradientBoostingClassifier(n_estimators=10, random_state=0),
    "histogram boosting": HistGradientBoostingClassifier(max_iter=10, random_state=0),
    "adaboost": AdaBoostClassifier(n_estimators=3, random_state=0),
    "bagging": BaggingClassifier(n_estimators=3, random_state=0),
    "calibrated linear SVC": CalibratedClassifierCV(LinearSVC(random_state=0), ensemble=False, cv=2),
}

REGRESSORS: Mapping[str, Any] = {
    "linear": LinearRegression(),
    "scaler, ridge": make_pipeline(StandardScaler(), Ridge()),
    "SVR": SVR(),
    "neighbours": KNeighborsRegressor(),
    "network": MLPRegressor(hidden_layer_sizes=(8,), solver="lbfgs", max_iter=30, random_state=0),
    "tree": DecisionTreeRegressor(max_depth=6, random_state=0),
    "forest": RandomForestRegressor(15, max_depth=6, random_state=0),
    "gradient boosting": GradientBoostingRegressor(n_estimators=10, random_state=0),
    "histogram boosting": HistGradientBoostingRegressor(max_iter=10, random_state=0),
}


@cache
def items(n_classes: int) -> tuple[NDArray[np.float32], NDArray[Any]]:
    """Return training rows, and their classes, or numbers if there are no classes."""
    if not n_classes:
        rows, answers = make_regression(150, WIDTH, random_state=0)
        return rows.astype(np.float32), answers / 100.0
    rows, answers = make_classification(
        150, WIDTH, n_informative=4, n_redundant=1, n_classes=n_classes, class_sep=0.6, random_state=0
    )
    return rows.astype(np.float32), answers


@cache
def exported(name: str, n_classes: int) -> bytes:
    """Return an estimator, fitted for so many classes (0: a regressor), as ONNX."""
    model = (CLASSIFIERS if n_classes else REGRESSORS)[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(*items(n_classes))
    return to_onnx(model, WIDTH)
