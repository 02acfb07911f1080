"""Items of another form than those of the build: other dimensions, no numbers, or numbers of another type."""

import io
import json
from array import array
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polydom_runtime import Feature, FeatureSpace, Predictor, Seams
from polydom_runtime.__main__ import main
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.number_types import common_type, retyped
from polydom_runtime.bundles.references import References, restored, stored
from polydom_runtime.diagnosis.software_findings import check_features, check_item
from polydom_runtime.exceptions import ItemError
from polydom_runtime.features import ItemKind
from polydom_runtime.items.json_lines import json_lines
from polydom_runtime.items.packing import write_packed
from polydom_runtime.items.sources import UNREADABLE
from polydom_runtime.prediction import OTHER_FORM
from polydom_runtime.supervision.supervisor import SupervisedPredictor
from tests.bundle_parts import changed

from .conftest import US, World, make_bundle, write

GOOD = np.arange(10.0)


def formed(dtype: str = "<f8", ndim: int = 1) -> Bundle:
    """Return a bundle that was built with arrays of numbers of a type."""
    return changed(make_bundle()[0], item_kind=ItemKind(ndim, False), references=References(number_type=dtype))


def predictor_of(world: World, bundle: Bundle) -> Predictor:
    return Predictor(bundle, world.space, deadline=200 * US, seams=Seams(clock=world.clock, run_of=lambda n: lambda: 1))


OTHERS = {
    "two channels": np.ones((10, 2)),
    "a column": np.ones((10, 1)),
    "a row": np.ones((1, 10)),
    "a scalar": np.float64(3.0),
    "complex": np.ones(10, complex),
    "objects": np.array([1.0] * 10, dtype=object),
    "texts": np.array(["1"] * 10),
    "booleans": np.ones(10, bool),
    "empty": np.zeros(0),
    "a text": "1234567890",
    "bytes": b"1234567890",
    "a list of texts": ["1"] * 10,
    "a nested list": [[1.0, 2.0]] * 5,
    "no entries": [],
    "None": None,
    "a path": Path("x"),
    "a dictionary": {"x": 1.0},
    "a number": 3.5,
}


@pytest.mark.parametrize("item", OTHERS.values(), ids=OTHERS)
def test_item_of_another_form_gets_the_prior_and_a_reason_of_its_own(world: World, item: Any) -> None:
    predictor = predictor_of(world, formed())
    assert predictor.predict_one(GOOD).reason == "planned"
    world.calls.clear()

    answer = predictor.predict_one(item)

    assert (answer.features, answer.label, answer.reason) == ((), "no", OTHER_FORM)
    assert answer.error.startswith("form: The item must ")
    assert world.calls == []
    assert (predictor.causes.counts, predictor.predict_one(GOOD).reason) == ({"form": 1}, "planned")


@pytest.mark.parametrize("item", [*OTHERS.values()], ids=[*OTHERS])
def test_the_first_item_is_checked_as_all_others(world: World, item: Any) -> None:
    predictor = predictor_of(world, formed())
    predictor.warm_up(item)

    assert predictor.predict_one(item).reason == OTHER_FORM


@pytest.mark.parametrize(
    "item",
    [GOOD.astype(np.float32), GOOD.astype(">f8"), GOOD[::2], [1, 2.0], (1.0, 2.0), array("d", [1.0, 2.0])],
    ids=repr,
)
def test_numbers_in_other_memory_are_of_the_same_form(world: World, item: Any) -> None:
    world.results = {"half": lambda x: np.asarray(x)}
    predictor = predictor_of(world, formed())
    for each in (GOOD, item, GOOD):
        assert predictor.predict_one(each).reason == "planned"


@pytest.mark.parametrize("channels", [[[], [1.0]], [np.zeros(0), GOOD], [[1.0], []], ([], [], [1.0])], ids=repr)
def test_a_channel_may_be_empty(world: World, channels: Any) -> None:
    assert predictor_of(world, formed(ndim=2)).predict_one(channels).reason != OTHER_FORM


@pytest.mark.parametrize(("item", "is_other"), [([0.0, 1j], False), ([1j], False), (GOOD, True)])
def test_a_list_of_complex_numbers_may_begin_with_a_real_one(world: World, item: Any, is_other: bool) -> None:
    bundle = changed(formed(""), item_kind=ItemKind(1, True))

    assert (predictor_of(world, bundle).predict_one(item).reason == OTHER_FORM) is is_other


def test_booleans_are_items_where_the_build_had_them(world: World) -> None:
    predictor = predictor_of(world, formed("|b1"))

    assert predictor.predict_one(np.ones(10, bool)).reason == "planned"


def test_nothing_is_known_of_items_of_no_kind(world: World) -> None:
    predictor = predictor_of(world, make_bundle()[0])

    assert predictor.predict_one(np.ones((10, 2))).reason != OTHER_FORM


def test_a_worker_tells_another_form_from_a_failure(tmp_path: Path) -> None:
    bundle, models = make_bundle()
    folder = write(tmp_path / "b", changed(bundle, item_kind=ItemKind(1, False), budgets=(0.001, 30.0)), models)
    with SupervisedPredictor(folder, "tests.runtime.node_space:space", deadline=30.0) as predictor:
        reasons = [predictor.predict_one(item).reason for item in (GOOD, np.ones((10, 2)), None, GOOD)]

    assert reasons == ["planned", OTHER_FORM, OTHER_FORM, "planned"]


LINES = {
    b"[true, false, true]": "array of bool",
    b"[1, true]": "",
    b'["1", "2"]': "",
    b'[[1], ["2"]]': "",
}


@pytest.mark.parametrize("line", LINES)
def test_booleans_and_texts_in_a_line_are_no_numbers(line: bytes) -> None:
    (item,) = json_lines(io.BytesIO(line))

    assert item is UNREADABLE or item.dtype == bool


@pytest.mark.parametrize("line", ["[[1, 2], [3, 4]]", '"text"', "[true, false]"])
def test_lines_of_another_form_are_told_in_the_summary(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write(tmp_path / "b", formed(), make_bundle()[1])
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(f"[1, 2, 3]\n{line}\n[4, 5]\n".encode())))
    with pytest.warns(UserWarning, match="deadlines"):
        main(["run", str(folder), "tests.runtime.node_space:space", "--items", "-", "--deadline", "3600s"])

    summary = json.loads(capsys.readouterr().out.splitlines()[-1])["summary"]
    assert summary["reasons"] == {"planned": 2, OTHER_FORM: 1}


def power(x: np.ndarray[Any, Any]) -> list[float]:
    return [float((x * x).mean())]


WRAPS = FeatureSpace([Feature("power", power), Feature("first", lambda x: [float(x[0])])], size=len)
LOUD = np.array([100, 200, 30], np.uint8)


def built_on(item: np.ndarray[Any, Any], *, kept: bool = True) -> Bundle:
    """Return a bundle of `WRAPS` that was built with such items; `kept`: whether it has one of them."""
    row = tuple(WRAPS.extract_all(item).tolist())
    reference = stored(item)
    assert reference is not None
    items = ((reference,), (row,), (0.0, 0.0)) if kept else ()
    bundle = changed(make_bundle()[0], names=("power", "first"), widths=(1, 1), steps=(), costs=(make_cost(),) * 2)
    references = References(*items)._replace(number_type=common_type([item]))
    return changed(bundle, models=(), shipped=(), intervals=(), item_kind=ItemKind(1, False), references=references)


def make_cost() -> Any:
    return make_bundle()[0].times.worst.features[0]


@pytest.mark.parametrize(
    ("built", "given"),
    [
        (LOUD, LOUD.astype(np.float64)),
        (LOUD, LOUD.astype(np.int64)),
        (np.array([300.0, -200.0], np.float32), np.array([300, -200], np.int16)),
    ],
    ids=["lines of JSON", "wider integers", "integers for floats"],
)
@pytest.mark.parametrize("kept", [True, False])
def test_feature_that_wraps_is_named_with_both_numbers(built: Any, given: Any, kept: bool) -> None:
    bundle = built_on(built, kept=kept)
    numbers = {f"{WRAPS.extract_all(item)[0]:.6g}" for item in (built, given)}
    assert len(numbers) == 2

    with pytest.raises(ItemError, match=f"Feature 'power' gives .* for numbers of {given.dtype}; ") as raised:
        bundle.check_type(WRAPS, given)
    assert all(number in str(raised.value) for number in numbers)
    with pytest.warns(UserWarning, match="'power'"):
        Predictor(bundle, WRAPS).warm_up(given)
    assert check_item(bundle, WRAPS, given).level == "problem"


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.uint16, np.int32])
def test_a_quiet_first_item_does_not_hide_what_wraps(dtype: Any) -> None:
    bundle, quiet = built_on(np.array([1.5, -0.5, 2.0])), np.zeros(100, dtype)
    bundle.check_type(WRAPS, quiet)

    with pytest.warns(UserWarning, match="Not with this item, but with larger ones: .*'power' gives"):
        Predictor(bundle, WRAPS).warm_up(quiet)
    assert check_item(bundle, WRAPS, quiet).level == "warning"


@pytest.mark.filterwarnings("ignore:The bundle was built for deadlines")
@pytest.mark.filterwarnings("ignore:Features must give the same for numbers of float64")
@pytest.mark.parametrize(("more", "code"), [([], 2), (["--no-compare"], 0), (["--supervised"], 0)])
def test_lines_of_json_for_features_that_wrap_are_refused_or_told(
    more: list[str], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Under supervision no feature is computed in the process that must not hang: workers warn when they warm up."""
    folder = write(tmp_path / "b", built_on(LOUD), [])
    lines = json.dumps(LOUD.tolist()) + "\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines.encode() * 12)))
    command = ["run", str(folder), "tests.runtime.test_item_forms:WRAPS", "--items", "-", "--deadline", "3600s"]
    assert main([*command, *more]) == code

    said = capfd.readouterr().err
    assert ("'power' gives 16966.7" in said) == ("--no-compare" not in more)


def test_doctor_compares_the_first_item(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write(tmp_path / "b", built_on(LOUD), [])
    write_packed(tmp_path / "items.npz", [LOUD.astype(np.int32)])
    space = ["--space", "tests.runtime.test_item_forms:WRAPS"]

    assert main(["doctor", "--bundle", str(folder), *space, "--items", str(tmp_path / "items.npz")]) == 1
    assert "'power' gives 16966.7 for numbers of int32" in " ".join(capsys.readouterr().out.split())
    assert main(["doctor", "--bundle", str(folder), "--items", str(tmp_path / "items.npz")]) == 2


@pytest.mark.parametrize("given", [LOUD, LOUD[:1].astype(np.float64) * 0.0, [1, 2], "text"], ids=repr)
def test_types_that_give_the_same_are_not_refused(given: Any) -> None:
    built_on(np.zeros(3, np.uint8)).check_type(WRAPS, given)


def test_a_new_type_of_numbers_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    predictor = Predictor(built_on(LOUD), WRAPS)
    for item in (LOUD, LOUD.astype(np.int64), LOUD, LOUD.astype(np.int64)):
        assert predictor.predict_one(item).reason == "planned"

    (said,) = caplog.messages
    assert said.startswith("Items of int64 come, and those of the build were of uint8")


def test_doctor_tells_features_that_lines_of_json_would_change() -> None:
    found = check_features(built_on(LOUD), WRAPS)

    assert (found.level, "'power' gives" in found.found) == ("warning", True)
    assert check_features(built_on(LOUD.astype(np.float32)), WRAPS).level == "ok"
    assert check_item(built_on(LOUD), WRAPS, LOUD).level == "ok"
    assert check_item(built_on(LOUD), WRAPS, [[1.0]]).level == "problem"


@pytest.mark.parametrize("item", [np.array([1.5]), np.array([-1.0]), np.array([256.0]), np.array([np.nan])], ids=repr)
def test_numbers_that_a_type_does_not_have_are_not_compared(item: Any) -> None:
    assert retyped(item, "|u1") is None


def test_items_of_several_types_have_none_in_common() -> None:
    assert (common_type([LOUD, LOUD]), common_type([LOUD, GOOD]), common_type([[1, 2]])) == ("|u1", "", "")
    assert restored(stored(LOUD) or ()).dtype == LOUD.dtype
