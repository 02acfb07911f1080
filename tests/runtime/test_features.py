"""The feature space and the stages that compute it."""

from typing import Any

import numpy as np
import pytest

from polydom_runtime import Feature, FeatureSpace, Step
from polydom_runtime.exceptions import FeatureError
from polydom_runtime.stages import stage_of


def test_masks_and_names_are_inverse() -> None:
    space = FeatureSpace([Feature(name, len) for name in "abc"], size=len)

    assert [space.mask_of(space.names_of(mask)) for mask in range(8)] == list(range(8))


def test_stages_fill_the_row_in_their_order() -> None:
    calls: list[str] = []

    def double(x: float) -> float:
        calls.append("double")
        return 2 * x

    step = Step("double", double)
    space = FeatureSpace(
        [
            Feature("a", lambda x: [x, x + 1], width=2, step=step),
            Feature("b", lambda x: x),
            Feature("c", abs, step=step),
        ],
        size=float,
    )
    row = np.zeros(4, dtype=np.float32)
    shared = [None]
    for feature, start in ((1, 0), (2, 1), (0, 2)):
        stage_of(space, feature, row, start).run(-3.0, shared)

    assert row.tolist() == [-3.0, 6.0, -6.0, -5.0]
    assert calls == ["double"]
    assert space.extract_all(-3.0).tolist() == [-6.0, -5.0, -3.0, 6.0]


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ([], "1 to 10000 features"),
        ([Feature(str(i), len) for i in range(10_001)], "1 to 10000 features"),
        ([Feature("a", len), Feature("a", len)], "different names of printable"),
        ([Feature("", len)], "different names of printable"),
        ([Feature("a\x1b[2J", len)], "different names of printable"),
        ([Feature("a\n", len)], "different names of printable"),
        ([Feature("a", len, step=Step("a", len))], "different names of printable"),
        ([Feature("a", len, width=0)], "positive integer"),
    ],
)
def test_impossible_space_is_refused(features: list[Feature], message: str) -> None:
    with pytest.raises(FeatureError, match=message):
        FeatureSpace(features, size=len)


def test_unknown_name_is_refused() -> None:
    with pytest.raises(FeatureError, match="must be one of a"):
        FeatureSpace([Feature("a", len)], size=len).mask_of(["b"])


@pytest.mark.parametrize("result", [[1.0], [1.0, float("nan")], RuntimeError("no")], ids=["width", "nan", "raises"])
def test_extracting_names_the_feature_that_failed(result: object) -> None:
    def extract(_: object) -> object:
        if isinstance(result, Exception):
            raise result
        return result

    with pytest.raises(FeatureError, match="'pair'"):
        FeatureSpace([Feature("pair", extract, width=2)], size=len).extract_all("item")


@pytest.mark.parametrize(
    "value",
    [
        [1.0, 2.0j],
        np.array([[1.0], [2.0]]),
        [[1.0, 2.0], [3.0, 4.0]],
        ["1.5", "2.5"],
        [1.0, None],
        np.array([1.0, 2.0, 3.0]),
        3.0,
    ],
)
def test_what_is_no_row_of_real_numbers_is_refused(value: Any) -> None:
    space = FeatureSpace([Feature("pair", lambda x: value, width=2)], size=len)
    with pytest.raises(
        FeatureError, match=r"'pair' must return 2 real numbers in one row\. Got .*, an array of .*shape"
    ):
        space.extract_all([1.0])


@pytest.mark.parametrize("value", [[1, 2], (True, 2.0), np.array([[1.0, 2.0]]), np.array([1, 2], dtype=np.float16)])
def test_a_row_of_real_numbers_is_taken(value: Any) -> None:
    space = FeatureSpace([Feature("pair", lambda x: value, width=2)], size=len)
    assert space.extract_all([1.0]).tolist() == [1.0, 2.0]
