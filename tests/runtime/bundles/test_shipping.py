"""What a bundle says of the models that it ships: only what is consistent is read."""

import re
from dataclasses import replace
from typing import Any

import msgpack
import pytest

from polydom_runtime.bundles.decoding import decode
from polydom_runtime.bundles.encoding import encode
from polydom_runtime.bundles.schema import pack_floats
from polydom_runtime.bundles.shipping import Amount, LeftOut, Limits, Shipping, encoded
from polydom_runtime.costs import CostFunction
from polydom_runtime.describing.promise_text import promise_text
from polydom_runtime.exceptions import BundleFormatError
from tests.bundle_parts import changed
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
        {"limits": []},
        {"limits": [3, 4]},
        {"limits": [3, 4, -1]},
        {"limits": [3, 4, 1 << 60]},
        {"limits": [3.0, 4, 5]},
        {"limits": [0, 0, 0]},
        {"counts": [6, 5]},
        {"counts": [0, 5]},
        {"counts": [True, 5]},
        {"scores": pack_floats([0.8, 0.75, 0.9])},
        {"scores": pack_floats([0.8, 0.85, 0.8])},
        {"scores": pack_floats([0.8, 0.85, float("inf")])},
        {"scores": pack_floats([float("nan"), 0.85, 0.9])},
        {"scores": pack_floats([0.8, 0.85])},
        {"left_out": []},
        {"left_out": [0]},
        {"left_out": [8]},
        {"left_out": [1, 2]},
        {"left_out": [1.0]},
        {"left_out": [6] * 10_001},
        {"left_scores": pack_floats([float("-inf")])},
        {"left_scores": pack_floats([1e300])},
        {"left_scores": b""},
        {"left_costs": pack_floats([-1.0] * 6)},
        {"left_costs": pack_floats([1.0] * 5)},
        {"curve": []},
        {"curve": [[1, 400], [3, 1000], [3, 2000]]},
        {"curve": [[1, 400], [3, 1000], [5]]},
        {"curve": [[1, 400], [3, 1000], [5, 1.5]]},
        {"curve": [[k, k] for k in range(101)]},
        {"curve_scores": pack_floats([0.7, 0.6, 0.8])},
        {"curve_scores": pack_floats([0.7, 0.8])},
        {"sizes": b""},
        {"sizes": bytes(7)},
        {"sizes": pack_floats([50.0, 5.0])},
        {"sizes": pack_floats([-1.0])},
        {"sizes": pack_floats([1.0] * 1001)},
        {"deadlines": pack_floats([float("inf")])},
        {"deadlines": pack_floats([float("nan")])},
        {"deadlines": [0.001]},
    ],
    ids=lambda fault: str(fault)[:50],
)
def test_what_does_not_fit_is_refused(fault: dict[str, Any]) -> None:
    document = msgpack.unpackb(encode(make_bundle()[0]))
    document["shipping"] = encoded(SHIPPING) | fault

    with pytest.raises(BundleFormatError, match="Export the bundle again"):
        decode(bytes(msgpack.packb(document)))


def named() -> Shipping:
    return replace(SHIPPING, left_out=tuple(left._replace(estimator="trees") for left in SHIPPING.left_out))


def test_estimators_of_sets_that_are_left_out_survive_the_file() -> None:
    assert decode(encode(replace(make_bundle()[0], shipping=named()))).shipping == named()


@pytest.mark.parametrize("names", [["lines"] * 2, [""], "lines", [1], None])
def test_estimators_that_are_not_one_for_each_set_are_refused(names: Any) -> None:
    document = msgpack.unpackb(encode(replace(make_bundle()[0], shipping=named())))
    assert document["shipping"]["left_estimators"] == ["trees"]
    document["shipping"]["left_estimators"] = names

    with pytest.raises(BundleFormatError):
        decode(bytes(msgpack.packb(document)))


@pytest.mark.parametrize("part", encoded(SHIPPING))
def test_a_missing_part_is_refused(part: str) -> None:
    document = msgpack.unpackb(encode(make_bundle()[0]))
    document["shipping"] = {name: value for name, value in encoded(SHIPPING).items() if name != part}

    with pytest.raises(BundleFormatError):
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
    bundle = replace(changed(make_bundle()[0], scoring="accuracy"), shipping=replace(SHIPPING, **impossible))

    with pytest.raises(BundleFormatError, match="A score by accuracy"):
        decode(encode(bundle))


def test_older_bundles_do_not_say_what_they_ship() -> None:
    document = msgpack.unpackb(encode(make_bundle()[0]))
    del document["shipping"]

    old = decode(bytes(msgpack.packb({**document, "version": 10})))

    assert Shipping() == old.shipping
    assert str(old.shipping) == "it is not stated whether models were left out"


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
    assert re.search(words, str(replace(SHIPPING, **changes)))


def test_the_promise_names_what_was_left_out() -> None:
    bundle = make_bundle()[0]

    assert f"{promise_text(bundle)}; except that {SHIPPING}" == promise_text(replace(bundle, shipping=SHIPPING))
    assert promise_text(bundle) == promise_text(replace(bundle, shipping=replace(SHIPPING, n_left_out=0, left_out=())))
