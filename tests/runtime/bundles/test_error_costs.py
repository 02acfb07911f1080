"""The costs of errors of a bundle: in the file, and in words."""

import math
from dataclasses import replace
from typing import Any

import msgpack
import pytest

from polydom_runtime.bundles.bundle import Prior
from polydom_runtime.bundles.decoding import decode
from polydom_runtime.bundles.encoding import encode
from polydom_runtime.bundles.error_costs import ErrorCosts
from polydom_runtime.bundles.schema import pack_floats
from polydom_runtime.describing.promise_text import score_text
from polydom_runtime.exceptions import BundleFormatError
from tests.bundle_parts import changed
from tests.runtime.conftest import make_bundle

COSTS = ErrorCosts(((0.0, 1.0), (10.0, 0.0)), 0.5)
PACKED = pack_floats(COSTS.costs)
NO_ANSWER = ErrorCosts(((0.0, 1.0, 0.3), (10.0, 0.0, 0.3)), 0.3)


@pytest.mark.parametrize(("costs", "prior"), [(COSTS, 1), (NO_ANSWER, 2)])
def test_costs_of_errors_survive_the_file(costs: ErrorCosts, prior: int) -> None:
    bundle = replace(make_bundle()[0], error_costs=costs, prior=Prior(prior, 0.0))

    assert bundle == decode(encode(bundle))
    assert decode(encode(make_bundle()[0])).error_costs is None


@pytest.mark.parametrize(
    "fault",
    [
        None,
        {},
        [PACKED],
        [PACKED, 0.5, 0.5],
        [[0.0, 1.0, 10.0, 0.0], 0.5],
        [PACKED[:24], 0.5],
        [PACKED * 2, 0.5],
        [b"", 0.5],
        [PACKED, 1],
        [PACKED, 0.0],
        [PACKED, -0.5],
        [PACKED, 10.5],
        [pack_floats([0.0, 1.0, -0.3, 10.0, 0.0, 0.3]), 0.3],
        [pack_floats([0.0, 1.0, 10.0, 0.0, 0.3]), 0.3],
        [PACKED, math.nan],
        [PACKED, math.inf],
        *([pack_floats([0.0, x, 10.0, 0.0]), 0.5] for x in (-1.0, math.nan, math.inf, 1e300)),
        [pack_floats([1.0, 1.0, 10.0, 0.0]), 0.5],
        [bytes(32), 0.5],
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(fault: Any) -> None:
    document = msgpack.unpackb(encode(make_bundle()[0])) | {"error_costs": fault}

    with pytest.raises(BundleFormatError, match="Export the bundle again"):
        decode(bytes(msgpack.packb(document)))


def test_prior_abstains_only_where_that_has_a_cost() -> None:
    with pytest.raises(BundleFormatError, match="prior must be an integer from 0 to 1"):
        decode(encode(replace(make_bundle()[0], error_costs=COSTS, prior=Prior(2, 0.0))))


@pytest.mark.parametrize("field", [[b"", 0.5], [PACKED, 0.5]])
def test_models_of_numbers_have_no_costs_of_errors(field: Any) -> None:
    regression = changed(make_bundle()[0], classes=(), prior=(0.5, 0.5))
    document = msgpack.unpackb(encode(regression)) | {"error_costs": field}

    with pytest.raises(BundleFormatError, match=r"[Cc]osts"):
        decode(bytes(msgpack.packb(document)))


@pytest.mark.parametrize(
    ("costs", "words"),
    [
        (((0.0, 1.0), (10.0, 0.0)), "to say 'ok' for 'fault' costs 10 times as much as to say 'fault' for 'ok'"),
        (((0.0, 3.0), (1.0, 0.0)), "to say 'fault' for 'ok' costs 3 times as much as to say 'ok' for 'fault'"),
        (((0.0, 3.0), (3.0, 0.0)), "all errors cost the same"),
        (((0.0, 3.0, 0.6), (3.0, 0.0, 0.6)), "all errors cost the same; no answer costs 20 % of the highest cost"),
        (
            ((0.0, 3.0, 1.0), (3.0, 0.0, 0.3)),
            "all errors cost the same; no answer costs 10 to 33.3 % of the highest cost",
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
