"""Limits of models with several estimators: what is shipped loses least, and prefixes have quick models."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from polydom_builder import PolyDomSearch, verify_bundle
from polydom_builder.exceptions import ExportError
from polydom_builder.preparation.fitting_families import fitting_families
from polydom_runtime import Predictor, Seams
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.promise import Limits
from polydom_runtime.device.board import memory_need
from polydom_runtime.testing import ManualClock
from tests.builder import task
from tests.builder.bundling.shipped_scores import mean_score_of
from tests.builder.test_several_estimators import US, fit


@pytest.fixture(scope="module")
def mixed() -> PolyDomSearch:
    return fit()


@pytest.fixture(scope="module")
def whole(mixed: PolyDomSearch, tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return mixed.export(tmp_path_factory.mktemp("whole") / "whole.bundle")


@contextmanager
def limited(found: PolyDomSearch, **limits: int) -> Iterator[PolyDomSearch]:
    before, found.limits_ = found.limits_, Limits(**limits)
    try:
        yield found
    finally:
        found.limits_ = before


def test_shipped_models_of_all_estimators_lose_least_within_the_limit(
    mixed: PolyDomSearch, whole: Bundle, tmp_path: Path
) -> None:
    """Compared with all choices of the models of the whole bundle that have quick models of their prefixes."""
    quick = {m.order: number for number, m in enumerate(whole.models) if m.estimator == "lines"}

    with limited(mixed, max_models=3) as found:
        bundle = found.export(tmp_path / "few.bundle")

    stated = bundle.shipping
    numbers = range(len(whole.models))
    allowed = [
        chosen
        for count in (1, 2, 3)
        for chosen in combinations(numbers, count)
        if all(len(m.order) == 1 or quick[m.order[:-1]] in chosen for m in (whole.models[k] for k in chosen))
    ]
    best = max(map(mean_score_of(whole, stated.sizes, stated.deadlines), allowed))
    reached = mean_score_of(bundle, stated.sizes, stated.deadlines)(range(len(bundle.models)))
    assert len(bundle.models) <= 3
    assert stated.score >= best - 1e-9
    assert stated.score == pytest.approx(reached)
    assert stated.score <= stated.bound <= stated.whole
    assert verify_bundle(tmp_path / "few.bundle").ok
    assert {left.estimator for left in stated.left_out} <= {"lines", "trees"}
    assert stated.n_left_out > 0


def test_models_of_all_estimators_compete_for_the_bytes(mixed: PolyDomSearch, whole: Bundle, tmp_path: Path) -> None:
    """A model of trees has more bytes than all those of lines; it stays if it is the only one that does not fit."""
    sizes, found = {m.estimator: m.size_bytes for m in whole.models}, []
    for most in (sizes["trees"] - 1, sum(m.size_bytes for m in whole.models) - 1):
        with limited(mixed, max_bytes=most) as search:
            bundle = search.export(tmp_path / "small.bundle")
        orders = {model.order for model in bundle.models}
        node = Predictor.load(tmp_path / "small.bundle", task.space, seams=Seams(clock=ManualClock()))
        found.append({node.predict_one(item).estimator for item in task.items(20)[0]})

        assert sum(model.size_bytes for model in bundle.models) <= most
        assert all(order[:k] in orders for order in orders for k in range(1, len(order)))
        assert verify_bundle(tmp_path / "small.bundle").ok

    assert found[0] == {"lines"}
    assert "trees" in found[1]


def test_memory_of_the_device_leaves_models_out(mixed: PolyDomSearch, whole: Bundle, tmp_path: Path) -> None:
    sizes = [model.size_bytes for model in whole.models]
    most = memory_need(sizes) - 1

    with limited(mixed, memory_bytes=most) as found:
        bundle = found.export(tmp_path / "small.bundle")

    assert memory_need(model.size_bytes for model in bundle.models) <= most
    assert 0 < bundle.shipping.n_left_out < len(sizes)
    assert verify_bundle(tmp_path / "small.bundle").ok


def test_estimator_of_which_no_model_fits_takes_no_part(mixed: PolyDomSearch) -> None:
    with pytest.warns(UserWarning, match=r"No model of trees fits 3 kB, so it takes no part"):
        found = fitting_families(Limits(max_bytes=3000), mixed.families_, mixed.target_, 0)

    assert [family.name for family in found] == ["lines"]
    assert fitting_families(Limits(max_models=1), mixed.families_, mixed.target_, 0) == mixed.families_
    with pytest.raises(ExportError, match=r"At least one model must fit 0.1 kB. The smallest of"):
        fitting_families(Limits(max_bytes=100), mixed.families_, mixed.target_, 0)


def test_models_that_are_left_out_do_not_answer_on_the_host(tmp_path: Path) -> None:
    """Before an export and after it, by strict plans; labels are those of the node."""
    found, signals = fit(max_models=2), task.items(30, seed=1)[0]
    before = [found.predict(signals, deadline).tolist() for deadline in (100 * US, 700 * US)]
    used = {features for deadline in (100 * US, 700 * US) for features in found.features_used(signals, deadline)}
    names = found.get_feature_names_out().tolist()

    bundle = found.export(tmp_path / "small.bundle")

    shipped = {tuple(bundle.names[i] for i in model.order) for model in bundle.models}
    assert bundle.shipping.n_left_out > 0
    assert used - {()} <= shipped
    assert set(names) == {name for features in shipped for name in features}
    for labels, deadline in zip(before, (100 * US, 700 * US), strict=True):
        node = Predictor.load(
            tmp_path / "small.bundle", task.space, deadline=deadline, policy="strict", seams=Seams(clock=ManualClock())
        )
        assert labels == found.predict(signals, deadline).tolist()
        same = [
            k for k, x in enumerate(signals) if node.predict_one(x).features == found.features_used([x], deadline)[0]
        ]
        assert len(same) > 20
        assert [node.predict_one(signals[k]).label for k in same] == [labels[k] for k in same]


def test_without_a_limit_that_may_leave_something_out_the_host_exports_nothing(
    mixed: PolyDomSearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exported(*_: Any) -> None:
        raise AssertionError("exported")

    monkeypatch.setattr(PolyDomSearch, "_made", exported)
    monkeypatch.setattr(mixed, "_within", None)
    items = task.items(5)[0]

    with limited(mixed, max_models=1000, max_bytes=10**9, memory_bytes=10**10):
        assert mixed.predict(items).tolist() == [mixed.predict([x])[0] for x in items]
    monkeypatch.setattr(mixed, "_within", None)
    with limited(mixed, max_models=1), pytest.raises(AssertionError, match="exported"):
        mixed.predict(items)
