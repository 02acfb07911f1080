"""What a bundle says of the models that it ships: only what is consistent is read."""

import math
import re
from dataclasses import replace
from typing import Any

import msgpack
import pytest

from polydom_runtime.bundles.index_file import decode, encode
from polydom_runtime.bundles.promise import Amount, LeftOut, Limits, Shipping
from polydom_runtime.costs import CostFunction
from polydom_runtime.describing.promise_text import promise_text
from polydom_runtime.exceptions import BundleFormatError
from tests.bundle_parts import changed, document_of, floats, index_of
from tests.runtime.conftest import make_bundle

SHIPPING = Shipping(
    limits=Limits(3, 20_000_000, 512_000_000),
    n_left_out=2,
    n_models=5,
    score=0.75,
    whole=0.8125,
    bound=0.75,
    left_out=(LeftOut(6, 0.95, CostFunction.of(1e-4, linear=1e-6)),),
    curve=(Amount(1, 400, 0.625), Amount(3, 1000, 0.75), Amount(5, 2000, 0.8125)),
    sizes=(5.0, 50.0),
    deadlines=(0.001, 0.002, 0.004),
)


def test_what_is_shipped_survives_the_file() -> None:
    bundle = replace(make_bundle()[0], shipping=SHIPPING)

    assert decode(encode(bundle)).shipping == SHIPPING


@pytest.mark.parametrize(
    "fault",
    [
        {"limits": Limits(3, 4, -1)},
        {"limits": Limits(3, 4, 1 << 60)},
        {"limits": Limits(0, 0, 0)},
        {"n_left_out": 6},
        {"n_left_out": 0},
        {"score": 0.8, "bound": 0.75, "whole": 0.9},
        {"score": 0.8, "bound": 0.85, "whole": 0.8},
        {"score": 0.8, "bound": 0.85, "whole": math.inf},
        {"score": math.nan, "bound": 0.85, "whole": 0.9},
        *({"left_out": (LeftOut(mask, 0.95, CostFunction.of(1e-4)),)} for mask in (0, 8)),
        {"left_out": SHIPPING.left_out * 3},
        {"left_out": SHIPPING.left_out * 10_001},
        {"left_out": (LeftOut(6, -math.inf, CostFunction.of(1e-4)),)},
        {"left_out": (LeftOut(6, 1e300, CostFunction.of(1e-4)),)},
        {"left_out": (LeftOut(6, 0.9, CostFunction.of(1e-4)), LeftOut(5, 0.9, CostFunction.of(1e-4), "trees"))},
        {"curve": ()},
        {"curve": (Amount(1, 400, 0.5), Amount(3, 1000, 0.6), Amount(3, 2000, 0.7))},
        {"curve": tuple(Amount(k, k, 0.5) for k in range(101))},
        {"curve": (Amount(1, 400, 0.7), Amount(3, 1000, 0.6), Amount(5, 2000, 0.8))},
        {"sizes": ()},
        {"sizes": (50.0, 5.0)},
        {"sizes": (-1.0,)},
        {"sizes": (1.0,) * 1001},
        {"deadlines": (math.inf,)},
        {"deadlines": (math.nan,)},
    ],
    ids=lambda fault: str(fault)[:50],
)
def test_what_does_not_fit_is_refused(fault: dict[str, Any]) -> None:
    with pytest.raises(BundleFormatError, match=r"^shipping.* Export the bundle again"):
        decode(encode(replace(make_bundle()[0], shipping=SHIPPING._replace(**fault))))


SHIPPED = replace(make_bundle()[0], shipping=SHIPPING)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("limits", []),
        ("limits", [3, 4, 5]),
        ("limits__max_models", 3.0),
        ("n_left_out", True),
        ("left_out__1__mask", [1.0]),
        ("left_out__1__accuracy", b""),
        ("left_out__1__cost__weights", floats(*[1.0] * 5)),
        ("left_out__1__estimator", [1]),
        ("curve__1__size_bytes", [400, 1000, 1.5]),
        ("curve__1__score", floats(0.7, 0.8)),
        ("sizes", [1, bytes(7)]),
        ("deadlines", [0.001]),
    ],
)
def test_what_has_another_form_is_refused(place: str, value: Any) -> None:
    with pytest.raises(BundleFormatError, match=r"^shipping.* Export the bundle again"):
        decode(index_of(SHIPPED, **{f"shipping__{place}": value}))


def named() -> Shipping:
    return SHIPPING._replace(left_out=tuple(left._replace(estimator="trees") for left in SHIPPING.left_out))


def test_estimators_of_sets_that_are_left_out_survive_the_file() -> None:
    assert decode(encode(replace(make_bundle()[0], shipping=named()))).shipping == named()


@pytest.mark.parametrize("part", document_of(SHIPPED)["shipping"])
def test_a_missing_part_is_refused(part: str) -> None:
    document = document_of(SHIPPED)
    del document["shipping"][part]

    with pytest.raises(BundleFormatError, match=f"without '{part}'"):
        decode(bytes(msgpack.packb(document)))


@pytest.mark.parametrize(
    "impossible",
    [
        {"whole": 1.5},
        {"left_out": (LeftOut(6, 1.1, CostFunction.of(1e-4)),)},
        {"curve": (Amount(5, 2000, 1.25),)},
    ],
    ids=lambda fault: next(iter(fault)),
)
def test_scores_that_the_scoring_cannot_give_are_refused(impossible: dict[str, Any]) -> None:
    bundle = replace(changed(make_bundle()[0], scoring="accuracy"), shipping=SHIPPING._replace(**impossible))

    with pytest.raises(BundleFormatError, match="A score by accuracy"):
        decode(encode(bundle))


def test_bundles_need_not_say_what_they_ship() -> None:
    assert str(Shipping()) == "it is not stated whether models were left out"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"limits": Limits(3)},
            "2 of 5 models were left out to keep 3 models: the mean score over sizes and deadlines is 0.75 instead of "
            "0.8125, and no other choice of these models scores more",
        ),
        (
            {"bound": 0.77},
            "3 models and 20 MB and the device's memory of 512 MB: .*no choice of these models scores more than 0.77",
        ),
        ({"n_left_out": 0, "left_out": ()}, "no model was left out"),
    ],
)
def test_the_price_is_told_in_words(changes: dict[str, Any], words: str) -> None:
    assert re.search(words, str(SHIPPING._replace(**changes)))


def test_the_promise_names_what_was_left_out() -> None:
    bundle = make_bundle()[0]

    assert f"{promise_text(bundle)}; except that {SHIPPING}" == promise_text(replace(bundle, shipping=SHIPPING))
    assert promise_text(bundle) == promise_text(replace(bundle, shipping=SHIPPING._replace(n_left_out=0, left_out=())))
