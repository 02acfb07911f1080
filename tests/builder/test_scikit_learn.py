"""Both searches are estimators of scikit-learn, of items that are no arrays."""

import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sklearn
from joblib import parallel_config
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks

from polydom_builder import GreedySearch, PolyDomSearch, ProvenPromise, SearchLimits
from polydom_builder.exceptions import TrainingError
from polydom_builder.training.cache import Cache
from polydom_builder.training.trainer import Trainer
from tests.builder import task
from tests.builder.searches import LOGISTIC, search

US = task.US
ITEMS, LABELS = task.items(60)
GROUPS = np.arange(60) // 2
WEIGHTS = 1.0 + np.arange(60) % 3
DEADLINES = np.geomspace(50 * US, 400 * US, 60)
GIVEN: dict[str, Any] = {"costs": task.costs, "groups": GROUPS, "sample_weight": WEIGHTS}

CHECKS = (
    *("estimator_cloneable", "estimator_repr", "estimator_tags_renamed", "valid_tag_types", "mixin_order"),
    *("no_attributes_set_in_init", "do_not_raise_errors_in_init_or_set_params", "parameters_default_constructible"),
    *("get_params_invariance", "set_params", "estimators_unfitted", "get_feature_names_out_error"),
)

OTHERS = {
    "They fit or answer arrays, or demand errors about arrays: shapes, types, NaN, sparse or read-only ones.": (
        *("estimators_overwrite_params", "dont_overwrite_parameters", "estimators_fit_returns_self", "fit_idempotent"),
        *("readonly_memmap_input", "positive_only_tag_during_fit", "estimators_dtypes", "dtype_object", "complex_data"),
        *("estimators_empty_data_messages", "pipeline_consistency", "estimators_nan_inf", "estimators_pickle"),
        *("estimator_sparse_tag", "estimator_sparse_array", "estimator_sparse_matrix", "f_contiguous_array_estimator"),
        *("classifier_data_not_an_array", "classifiers_one_label", "classifiers_regression_target", "dict_unchanged"),
        *("classifiers_classes", "classifiers_train", "regressors_train", "regressor_data_not_an_array", "fit1d"),
        *("regressors_int", "supervised_y_2d", "supervised_y_no_nan", "methods_sample_order_invariance"),
        *("methods_subset_invariance", "fit2d_1sample", "fit2d_1feature", "fit2d_predict1d", "fit_check_is_fitted"),
        *("requires_y_none", "array_api_input", "array_api_mixed_inputs", "array_api_same_namespace"),
        *("class_weight_classifiers", "class_weight_balanced_linear_classifier", "decision_proba_consistency"),
        *("non_transformer_estimators_n_iter", "regressors_no_decision_function", "sparsify_coefficients"),
        "regressor_multioutput",
    ),
    "They fit arrays; tests/builder/training/test_weights.py has what is said of weights.": (
        *("sample_weights_pandas_series", "sample_weights_not_an_array", "sample_weights_list"),
        *("all_zero_sample_weights_error", "sample_weights_shape", "sample_weights_not_overwritten"),
        *("sample_weight_equivalence_on_dense_data", "sample_weight_equivalence_on_sparse_data"),
        "classifiers_one_label_sample_weights",
    ),
    "Items have no columns.": ("n_features_in", "n_features_in_after_fitting", "estimators_partial_fit_n_features"),
    "It demands arguments that are named X and y; ours are items and labels.": ("fit_score_takes_y",),
}
"""The checks of scikit-learn that do not apply, by reason."""


def quick(**changes: Any) -> PolyDomSearch:
    return search(**{"cv": 2, "max_trainings": 4, "alpha": None, "estimator": LogisticRegression()} | changes)


def greedy() -> GreedySearch:
    given: dict[str, Any] = {"deadline": (50 * US, 400 * US), "cv": 2, "lambdas": (0.0,)}
    return GreedySearch(LOGISTIC, task.space, limits=SearchLimits(max_trainings=7), **given)


both = pytest.mark.parametrize("make", [quick, greedy])


@both
@pytest.mark.parametrize("check", CHECKS)
def test_search_passes_the_check_of_scikit_learn(make: Callable[[], Any], check: str) -> None:
    getattr(estimator_checks, f"check_{check}")(make.__name__, make())


@both
def test_clone_and_pickle_give_an_equal_search(make: Callable[[], Any]) -> None:
    """The features of a space do not compare as equal, so texts are compared."""
    unfitted = make()
    fitted = make().fit(ITEMS, LABELS, costs=task.costs)

    assert repr(clone(fitted)) == repr(pickle.loads(pickle.dumps(unfitted))) == repr(unfitted)
    assert not hasattr(clone(fitted), "index_")
    assert pickle.loads(pickle.dumps(fitted)).predict(ITEMS).tolist() == fitted.predict(ITEMS).tolist()


@both
def test_search_is_shown_as_html(make: Callable[[], Any]) -> None:
    unfitted = make()
    fitted = make().fit(ITEMS, LABELS, costs=task.costs)

    assert "Not fitted" in unfitted._repr_html_()
    assert "Not fitted" not in fitted._repr_html_()
    assert type(fitted).__name__ in fitted._repr_html_()


def test_search_is_what_its_estimator_is() -> None:
    assert is_classifier(quick())
    assert is_regressor(quick(estimator=Ridge()))
    assert not is_classifier(quick(estimator="none"))


@both
def test_search_has_no_number_of_features(make: Callable[[], Any]) -> None:
    assert not hasattr(make().fit(ITEMS, LABELS, costs=task.costs), "n_features_in_")


@both
def test_whole_searches_are_cross_validated(make: Callable[[], Any]) -> None:
    found = cross_validate(
        make(), ITEMS, LABELS, cv=2, params={"costs": task.costs}, return_estimator=True, error_score="raise"
    )

    assert len(found["test_score"]) == 2
    assert all(0.4 < score <= 1.0 for score in found["test_score"])
    assert all(len(fitted.trainer_.table.rows) == 30 for fitted in found["estimator"])


def test_groups_and_weights_go_to_each_fit_of_a_cross_validation() -> None:
    found = cross_validate(
        quick(), ITEMS, LABELS, cv=2, params=GIVEN, return_estimator=True, return_indices=True, error_score="raise"
    )

    for fitted, train in zip(found["estimator"], found["indices"]["train"], strict=True):
        assert fitted.trainer_.weights.tolist() == WEIGHTS[train].tolist()
        for a, b in fitted.trainer_.splits:
            assert not {*GROUPS[train][a]} & {*GROUPS[train][b]}


def test_grid_search_over_a_parameter_of_the_search() -> None:
    grid = {"limits__max_trainings": [2, 4], "promise__alpha": [1.1]}
    found = GridSearchCV(quick(), grid, cv=2).fit(ITEMS, LABELS, costs=task.costs)

    assert found.best_params_["limits__max_trainings"] in (2, 4)
    assert found.best_estimator_.promise == ProvenPromise(alpha=1.1)
    assert found.predict(ITEMS).tolist() == found.best_estimator_.predict(ITEMS).tolist()


def test_fields_of_records_are_parameters_of_the_search() -> None:
    given = SearchLimits(max_trainings=3)
    changed = clone(PolyDomSearch(LOGISTIC, task.space, limits=given)).set_params(limits__max_models=5, cv=2)

    assert changed.limits == SearchLimits(max_trainings=3, max_models=5)
    assert given == SearchLimits(max_trainings=3)
    parameters = changed.get_params()
    assert (parameters["limits__max_models"], parameters["node__slowdown"], parameters["promise"]) == (5, 2.0, None)
    assert greedy().set_params(limits__max_seconds=9).limits == SearchLimits(max_trainings=7, max_seconds=9)


@pytest.mark.parametrize("name", ["limits__max_model", "limits__", "max_models", "estimators__C"])
def test_unknown_parameters_and_fields_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"must be one of '?max_trainings|Invalid parameter"):
        quick().set_params(**{name: 5})


@pytest.mark.parametrize("name", ["noise__correction", "promise__alpha", "node__slowdown"])
def test_a_greedy_search_has_not_all_records(name: str) -> None:
    with pytest.raises(ValueError, match="Invalid parameter"):
        greedy().set_params(**{name: None})


def test_a_record_must_be_of_its_kind() -> None:
    with pytest.raises(TrainingError, match=r"limits must be a SearchLimits\. Got 5\. Write limits="):
        PolyDomSearch(LOGISTIC, task.space, limits=5).fit(ITEMS, LABELS)  # type: ignore[arg-type]


@both
def test_a_search_has_few_parameters(make: Callable[[], Any]) -> None:
    assert len(make().get_params(deep=False)) <= 16


def test_metadata_is_routed_to_fit_and_score() -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        asking = quick().set_fit_request(costs=True, groups=True, sample_weight=True)
        asking.set_score_request(sample_weight=True, deadline=True)
        found = cross_validate(
            asking,
            ITEMS,
            LABELS,
            cv=GroupKFold(2),
            params=GIVEN | {"deadline": DEADLINES},
            error_score="raise",
            return_estimator=True,
            return_indices=True,
        )

    for fitted, score, test in zip(found["estimator"], found["test_score"], found["indices"]["test"], strict=True):
        few = [ITEMS[k] for k in test], [LABELS[k] for k in test]
        assert score == fitted.score(*few, DEADLINES[test], WEIGHTS[test])
        assert score != fitted.score(*few)


def test_metadata_without_a_request_is_refused_by_scikit_learn() -> None:
    with (
        sklearn.config_context(enable_metadata_routing=True),
        pytest.raises(UnsetMetadataPassedError, match=r"\[groups, costs, sample_weight\] are passed"),
    ):
        cross_validate(quick(), ITEMS, LABELS, cv=2, params=GIVEN, error_score="raise")


def test_only_what_is_no_data_can_be_requested() -> None:
    requests = quick().get_metadata_routing()

    assert [*requests.fit.requests] == ["groups", "costs", "sample_weight"]
    assert [*requests.score.requests] == ["deadline", "sample_weight"]
    assert [*requests.predict.requests] == [*requests.predict_proba.requests] == ["deadline"]


@pytest.fixture
def routed_trainer(fitted: PolyDomSearch) -> Callable[..., Trainer]:
    """Make a trainer whose weights are routed; a thread has settings of its own, as a worker has."""

    def make(of_scaler: bool, n_jobs: int | None = None) -> Trainer:
        scaler = StandardScaler().set_fit_request(sample_weight=of_scaler)
        pipeline = make_pipeline(scaler, LogisticRegression(C=0.1).set_fit_request(sample_weight=True))
        table, splits = fitted.trainer_.table, fitted.trainer_.splits
        return Trainer(pipeline, table, splits, "neg_log_loss", n_jobs, Cache(), weights=np.arange(240.0) ** 2)

    return make


def test_weights_are_routed_to_the_steps_of_a_pipeline_that_request_them(
    routed_trainer: Callable[..., Trainer],
) -> None:
    with sklearn.config_context(enable_metadata_routing=True), parallel_config("threading"):
        here, unscaled = (routed_trainer(of_scaler).scores([31])[0] for of_scaler in (True, False))
        in_workers = routed_trainer(of_scaler=True, n_jobs=2).scores([31])[0]

    assert here == pytest.approx(in_workers)
    assert here != pytest.approx(unscaled)


def test_cached_scores_with_and_without_routing_differ(fitted: PolyDomSearch) -> None:
    routed = replace(fitted.trainer_, routed=True)

    assert routed.key != fitted.trainer_.key
