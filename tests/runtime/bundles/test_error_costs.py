"""The costs of errors of a bundle: in the file, and in words."""

import math
from dataclasses import replace
from typing import Any

import pytest

from polydom_runtime.bundles.bundle import Prior
from polydom_runtime.bundles.confidence import ErrorCosts
from polydom_runtime.bundles.index_file import decode, encode
from polydom_runtime.describing.promise_text import score_text
from polydom_runtime.exceptions import BundleFormatError
from polydom_runtime.prediction import labels_of
from tests.bundle_parts import changed, index_of
from tests.runtime.conftest import make_bundle

COSTS = ErrorCosts(((0.0, 1.0), (10.0, 0.0)), 0.5)
NO_ANSWER = ErrorCosts(((0.0, 1.0, 0.3), (10.0, 0.0, 0.3)), 0.3)


@pytest.mark.parametrize(("costs", "prior"), [(COSTS, 1), (NO_ANSWER, 2)])
def test_costs_of_errors_survive_the_file(costs: ErrorCosts, prior: int) -> None:
    bundle = replace(make_bundle()[0], error_costs=costs, prior=Prior(prior, 0.0))

    assert bundle == decode(encode(bundle))
    assert decode(encode(make_bundle()[0])).error_costs is None


@pytest.mark.parametrize(
    ("costs", "constant"),
    [
        (((0.0, 1.0), (10.0,)), 0.5),
        (((0.0, 1.0), (10.0, 0.0), (1.0, 1.0)), 0.5),
        (((0.0, 1.0, 10.0, 0.0),), 0.5),
        ((), 0.5),
        (((0.0, 1.0), (10.0, 0.0)), 0.0),
        (((0.0, 1.0), (10.0, 0.0)), -0.5),
        (((0.0, 1.0), (10.0, 0.0)), 10.5),
        (((0.0, 1.0), (10.0, 0.0)), math.nan),
        (((0.0, 1.0), (10.0, 0.0)), math.inf),
        (((0.0, 1.0, -0.3), (10.0, 0.0, 0.3)), 0.3),
        (((0.0, 1.0), (10.0, 0.0, 0.3)), 0.3),
        *((((0.0, x), (10.0, 0.0)), 0.5) for x in (-1.0, math.nan, math.inf, 1e300)),
        (((1.0, 1.0), (10.0, 0.0)), 0.5),
        (((0.0, 0.0), (0.0, 0.0)), 0.5),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(costs: Any, constant: float) -> None:
    with pytest.raises(BundleFormatError, match=r"^error_costs.* Export the bundle again"):
        decode(encode(replace(make_bundle()[0], error_costs=ErrorCosts(costs, constant))))


@pytest.mark.parametrize(
    "fault", [{}, [], {"costs": [2, [[2, bytes(16)], [2, bytes(8)]]], "constant": 0.5}, {"constant": 0.5}]
)
def test_what_has_another_form_is_refused(fault: Any) -> None:
    with pytest.raises(BundleFormatError, match=r"^error_costs.* Export the bundle again"):
        decode(index_of(make_bundle()[0], error_costs=fault))


@pytest.mark.parametrize("costs", [None, COSTS])
def test_prior_is_a_class_or_to_abstain(costs: ErrorCosts | None) -> None:
    for number, wanted in enumerate((*(bundle := make_bundle()[0]).space.classes, None)):
        known = decode(encode(replace(bundle, error_costs=costs, prior=Prior(number, 0.0))))
        assert labels_of(known)[known.prior.number] == wanted

    with pytest.raises(BundleFormatError, match=r"prior\.number must be an integer from 0 to 2"):
        decode(encode(replace(bundle, error_costs=costs, prior=Prior(3, 0.0))))


def test_model_may_not_abstain_where_only_the_prior_does() -> None:
    """Its number would be one of a broken model."""
    bundle = make_bundle()[0]

    assert [*labels_of(bundle)] == [0, 1]
    assert [*labels_of(replace(bundle, error_costs=COSTS))] == [0, 1]


def test_models_of_numbers_have_no_costs_of_errors() -> None:
    regression = changed(make_bundle()[0], classes=(), prior=(0.5, 0.5), error_costs=COSTS)

    with pytest.raises(BundleFormatError, match=r"error_costs\.costs must have a row for each of the 0 classes"):
        decode(encode(regression))


@pytest.mark.parametrize(
    ("costs", "words"),
    [
        (((0.0, 1.0), (10.0, 0.0)), "to say 'ok' for 'fault' costs 10 times as much as to say 'fault' for 'ok'"),
        (((0.0, 3.0), (1.0, 0.0)), "to say 'fault' for 'ok' costs 3 times as much as to say 'ok' for 'fault'"),
        (((0.0, 3.0), (3.0, 0.0)), "all errors cost the same"),
        (((0.0, 3.0, 0.6), (3.0, 0.0, 0.6)), "all errors cost the same; no answer costs 20 % of the highest cost"),
        (
            ((0.0, 3.0, 1.0), (3.0, 0.0, 0.3)),
            "all errors cost the same; no answer costs 10 % to 33.3 % of the highest cost",
        ),
        (((0.0, 0.0), (3.0, 0.0)), "to say 'ok' for 'fault' costs most, to say 'fault' for 'ok' costs nothing"),
    ],
)
def test_dearest_error_is_told_in_words(costs: Any, words: str) -> None:
    bundle = changed(
        make_bundle()[0], classes=("ok", "fault"), scoring="cost_saved", error_costs=ErrorCosts(costs, 0.5)
    )

    assert score_text(bundle) == f"cost_saved; answers have the least expected cost: {words}"
    assert score_text(replace(bundle, error_costs=None)) == "cost_saved"
