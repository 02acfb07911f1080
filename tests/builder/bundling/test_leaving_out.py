"""What a bundle ships if not all models that are best somewhere fit its limits."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polydom_builder import PolyDomSearch
from polydom_builder.bundling.export import with_prefixes
from polydom_builder.bundling.leaving_out import only_prior_text, within_limits
from polydom_builder.training.trainer import Trainer
from polydom_builder.verification.verify import verify_bundle
from polydom_runtime import CostFunction, Feature, FeatureSpace, UnitTimes
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.bundles.promise import Amount, Limits, Shipping
from polydom_runtime.exceptions import PolyDomError
from tests.builder import task
from tests.builder.bundling.shipped_scores import mean_score_of
from tests.builder.searches import fit, made, search
from tests.runtime.conftest import make_bundle

US = task.US


def exported(folder: Path, **changes: Any) -> Bundle:
    return fit(search(**{"alpha": None} | changes)).export(folder / "small.bundle")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    exported(folder)
    return folder / "small.bundle"


def test_without_limits_nothing_is_left_out(folder: Path) -> None:
    stated = load_bundle(folder).shipping

    assert (stated.n_left_out, stated.n_models, stated.left_out) == (0, 7, ())
    assert [stated.score, stated.bound] == pytest.approx([stated.whole] * 2, rel=1e-12)
    assert Limits() == stated.limits


def test_the_curve_rises_to_all_models(folder: Path) -> None:
    bundle = load_bundle(folder)
    curve = bundle.shipping.curve

    assert [amount.models for amount in curve] == [1, 2, 4, 7]
    assert sorted({amount.score for amount in curve}) == [amount.score for amount in curve]
    assert sum(model.size_bytes for model in bundle.models) == curve[-1][1]
    assert bundle.shipping.whole == pytest.approx(curve[-1][2], rel=1e-12)


@pytest.mark.parametrize("limit", [{"max_models": 3}, {"max_memory": 1800}, {"max_models": 4, "max_memory": 2000}])
def test_the_models_that_are_shipped_lose_least_within_the_limits(
    limit: dict[str, int], folder: Path, tmp_path: Path
) -> None:
    """Compared with all choices of the models of the whole bundle that keep the limits."""
    whole, bundle = load_bundle(folder), exported(tmp_path, **limit)
    stated, files = bundle.shipping, {model.order: model.size_bytes for model in whole.models}

    allowed = [
        set(chosen)
        for count in range(1, 5)
        for chosen in combinations(files, count)
        if set(with_prefixes(chosen)) == set(chosen)
        and count <= limit.get("max_models", 9)
        and sum(files[order] for order in chosen) <= limit.get("max_memory", 10**6)
    ]
    mean_score = mean_score_of(whole, stated.sizes, stated.deadlines)
    best = max(mean_score(whole.model_of_order[order] for order in orders) for orders in allowed)
    shipped = {model.order for model in bundle.models}
    assert shipped in allowed
    reached = mean_score_of(bundle, stated.sizes, stated.deadlines)(range(len(bundle.models)))
    assert [best] * 3 == pytest.approx([stated.score, stated.bound, reached])
    assert whole.shipping.whole == pytest.approx(stated.whole)


@pytest.mark.parametrize("max_models", [1, 2, 5])
def test_a_bundle_with_models_left_out_verifies(max_models: int, tmp_path: Path) -> None:
    bundle = exported(tmp_path, max_models=max_models)

    report = verify_bundle(tmp_path / "small.bundle")

    assert report.ok, report
    assert len(bundle.models) == max_models
    assert f"{7 - max_models} of 7 models were left out to keep {max_models} model" in str(report)


def test_of_all_trained_sets_some_may_be_best_for_few_models(tmp_path: Path) -> None:
    """Alone, the first feature of a good set may be worth less than another one that no index needs."""
    found = fit(search(alpha=1.0, tolerance=0.5, max_models=1))
    single = [1 << feature for feature in range(5)]

    bundle = found.export(tmp_path / "single.bundle")

    grid = bundle.shipping.sizes, bundle.shipping.deadlines
    scores = {
        mask: np.mean(
            [
                max(found.expanded_[0], found.expanded_[mask] if found.set_costs_(mask)(n) <= c else 0.0)
                for n in grid[0]
                for c in grid[1]
            ]
        )
        for mask in single
    }
    assert max(scores, key=lambda mask: scores[mask]) == bundle.models[0].mask


def test_models_that_cannot_be_shipped_are_not_converted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    converted: list[tuple[int, ...]] = []
    honest = PolyDomSearch._promising

    def noted(*arguments: Any) -> Any:
        orders = honest(*arguments)
        converted.extend(order for order, _ in orders)
        return orders

    monkeypatch.setattr(PolyDomSearch, "_promising", noted)

    bundle = exported(tmp_path, max_models=2, alpha=1.0, tolerance=0.5)

    assert max(map(len, converted)) == 2
    assert {3} == {left.mask.bit_count() for left in bundle.shipping.left_out if left.mask.bit_count() > 2}


def test_sizes_that_are_expected_choose_the_models(tmp_path: Path) -> None:
    """Small items leave time for more than large ones."""
    chosen = [
        {model.mask for model in exported(tmp_path, max_models=1, deadline=100 * US, sizes=[size] * 3).models}
        for size in (10.0, 1900.0)
    ]

    assert chosen[0] != chosen[1]


def too_early(*arguments: Any) -> None:
    raise AssertionError("trained too early")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_models": 0}, "max_models must be an integer of at least 1, or None. Got 0"),
        ({"max_models": 2.5}, "max_models must be an integer"),
        ({"max_models": True}, "max_models must be an integer"),
        ({"max_memory": "20 parsecs"}, "max_memory must be a size such as '20MB'.*Got '20 parsecs'"),
        ({"max_memory": "20"}, "max_memory must be a size"),
        ({"max_memory": "-2MB"}, "max_memory must be a size"),
        ({"max_memory": 0}, "max_memory must be a size"),
        ({"max_memory": float("nan")}, "max_memory must be a size"),
        ({"max_memory": True}, "max_memory must be a size"),
        ({"sizes": [50.0, 1e6]}, "sizes must be a list of item sizes from 8 to 1990.*Got 1000000.0"),
        ({"sizes": [float("nan")]}, "sizes must be a list of item sizes"),
        ({"sizes": []}, "sizes must be a list of item sizes"),
        ({"sizes": 100.0}, "sizes must be a list of item sizes"),
        ({"sizes": "wide"}, "sizes must be a list of item sizes.*Got 'wide'"),
        ({"sizes": [[100.0]]}, "sizes must be a list of item sizes"),
    ],
)
def test_limits_and_sizes_that_make_no_sense_are_refused_before_the_training(
    changes: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Trainer, "fit", too_early)

    with pytest.raises(PolyDomError, match=message):
        fit(search(**changes))


def test_a_memory_that_holds_no_model_is_refused_before_the_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PolyDomSearch, "_explore", too_early)

    with pytest.raises(PolyDomError, match=r"At least one model must fit 0.1 kB\. The smallest of 5 has a file of"):
        fit(search(max_memory=100))


def test_a_set_whose_exported_model_is_worth_nothing_is_not_left_out(fitted: PolyDomSearch, folder: Path) -> None:
    """What is left out is so by a limit. No index needs this set."""
    bundle = load_bundle(folder)
    searched = {(bundle.models[n].order, ""): bundle.candidate(n) for n in bundle.stored.shipped}
    last = bundle.stored.shipped[-1]
    models = tuple(m._replace(accuracy=0.1) if n == last else m for n, m in enumerate(bundle.models))

    made = within_limits(replace(bundle, models=models), fitted.region_, Limits(), fitted.sizes_, searched)

    assert bundle.models[last].order not in made.model_of_order
    assert (0, len(made.models), ()) == (made.shipping.n_left_out, made.shipping.n_models, made.shipping.left_out)


def test_huge_limits_are_none(tmp_path: Path) -> None:
    bundle = exported(tmp_path, max_models=10**30, max_memory=f"{10**30}GB")

    assert bundle.shipping.n_left_out == 0


def test_limits_that_no_useful_model_fits_give_a_bundle_without_models_and_a_warning(tmp_path: Path) -> None:
    """The model of the other feature fits, so this is known only after the training."""
    half = Feature("half", lambda x: [len(x) % 2])
    wide = FeatureSpace([half, Feature("wide", lambda x: np.resize(x, 200), width=200)], size=len)
    costs = UnitTimes.given(dict.fromkeys(wide.names, CostFunction.of(10 * US)), model=20 * US)
    items = [np.full(8 + k // 2 % 4, k % 2, dtype=np.float64) for k in range(80)]
    found = made(PolyDomSearch, space=wide, deadline=400 * US, cv=2, max_memory=2000)

    with pytest.warns(
        UserWarning, match=r"no useful model fits 2 kB, .* is 0\.500 instead of 1\.000\. A good choice of 1"
    ):
        bundle = found.fit(items, ["ab"[k % 2] for k in range(80)], costs=costs).export(tmp_path / "b")

    assert (bundle.models, bundle.shipping.n_left_out) == ((), 1)


def test_limits_that_no_useful_model_fits_are_told_with_what_would_fit() -> None:
    bundle, _ = make_bundle()
    curve = Amount(1, 900, 0.5), Amount(2, 4_000, 0.7), Amount(3, 9_000, 0.9)
    left_out = Shipping(Limits(max_bytes=1_000), 3, 3, 0.5, 0.9, 0.5, curve=curve)

    assert only_prior_text(replace(bundle, shipping=left_out)) == ""
    assert only_prior_text(replace(bundle, models=(), shipping=left_out)) == (
        "no useful model fits 1 kB, so the bundle has no model, and every answer is the prior: the mean score is "
        "0.500 instead of 0.900. A good choice of 2 models has files of 4 kB. Allow more, or choose a smaller "
        "estimator."
    )
