"""An evaluation of the task's bundle: planned, timed by a stand-in, here, and on a node."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polydom_builder import PolyDomSearch
from polydom_builder.__main__ import main
from polydom_builder.commands.evaluation_tables import print_evaluation
from polydom_builder.evaluation import Labelled, evaluate, here
from polydom_builder.evaluation.baselines import shipped, trained
from polydom_builder.evaluation.evaluate import size_bands
from polydom_builder.evaluation.labelled import check_labels
from polydom_builder.evaluation.predictions import Node, planned_answers
from polydom_builder.exceptions import ExportError
from polydom_runtime import Predictor, Seams, load_bundle
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.exceptions import ItemError
from polydom_runtime.items.packing import write_packed
from polydom_runtime.prediction import Prediction
from polydom_runtime.tables import percent
from polydom_runtime.testing import ManualClock
from tests.builder import task
from tests.bundle_parts import changed
from tests.runtime.commands.test_node_command import node_python

US = task.US
ITEMS, LABELS = task.items(80, seed=5)


@pytest.fixture(scope="module")
def bundle(folder: Path) -> Bundle:
    return load_bundle(folder)


@pytest.fixture(scope="module")
def unseen() -> Labelled:
    return Labelled.of(task.space, ITEMS, LABELS)


def test_strict_plan_follows_the_staircase(bundle: Bundle, unseen: Labelled) -> None:
    stairs = bundle.index.at_deadline(100 * US)

    answers = planned_answers(bundle, unseen, 100 * US, "strict")
    best = [stairs.best(n).features for n in unseen.sizes]
    same = sum(answer.features == features for answer, features in zip(answers, best, strict=True))
    assert same >= 75  # of 80: near a step, the cell of a size may reach over it
    assert len(set(best)) > 1


def test_planned_answers_are_those_of_the_real_features_and_models(bundle: Bundle, unseen: Labelled) -> None:
    at_once = Predictor(bundle, task.space, deadline=400 * US, seams=Seams(clock=ManualClock()))

    planned = planned_answers(bundle, unseen, 400 * US, "anytime")
    in_no_time = [at_once.predict_one(item) for item in ITEMS]
    same = [(a.label, b.label) for a, b in zip(planned, in_no_time, strict=True) if a.features == b.features]
    assert len(same) > 40
    assert all(a == b for a, b in same)
    assert len(set(same)) == 3


def test_evaluation_without_a_run_has_no_times(bundle: Bundle, unseen: Labelled) -> None:
    found = evaluate(bundle, unseen, [60 * US, 400 * US], n_bands=3)

    short, long = (at.whole for at in found.deadlines)
    assert short.timing is None
    assert list(short.systems) == ["planned", "single", "cheap_first"]
    assert short.systems["planned"].score < long.systems["planned"].score  # type: ignore[operator]
    assert sum(map(sum, long.confusion)) == long.items == 80
    assert sum(long.sets.values()) == 80
    bands = found.deadlines[0].bands
    assert [band.items for band in bands] == [len(band) for band in size_bands(unseen.sizes, 3)]
    assert bands[0].sizes[1] < bands[1].sizes[0] < bands[2].sizes[1]
    assert json.loads(json.dumps(found.to_json(), allow_nan=False))["deadlines"][0]["whole"]["items"] == 80


def answers(count: int = 80) -> list[Prediction]:
    """Return right answers by turns in time and, the last two, late."""
    late = {count - 2: 1.3, count - 1: 12.0}
    return [
        Prediction(label, ("level",), 0.8, round(late.get(k, 0.5) * 100_000), k not in late, "planned")
        for k, label in enumerate(LABELS[:count])
    ]


def test_late_answers_count_as_wrong(bundle: Bundle, unseen: Labelled) -> None:
    found = evaluate(bundle, unseen, [100 * US], answering=lambda deadline: answers())

    whole = found.deadlines[0].whole
    assert whole.timing is not None
    assert whole.systems["node"].score == whole.systems["node"].right == pytest.approx(78 / 80)
    assert whole.timing.late == 2
    assert whole.timing.late_by == {"up to 1.5": 1, "more than 10": 1}
    assert whole.timing.elapsed["p50"] == pytest.approx(50 * US)
    assert whole.timing.elapsed_share["max"] == pytest.approx(12.0)
    assert whole.sets == {"level": 80}
    assert sum(band.timing.late for band in found.deadlines[0].bands if band.timing) == 2


def test_calibration_error_and_withheld_answers_are_printed(
    bundle: Bundle, unseen: Labelled, capsys: pytest.CaptureFixture[str]
) -> None:
    """76 right answers are 80 % sure, and four are withheld."""
    sure = [a._replace(label=None if k < 4 else a.label, confidence=0.8) for k, a in enumerate(answers())]

    found = evaluate(bundle, unseen, [100 * US], answering=lambda deadline: sure)
    print_evaluation(found)

    assert found.deadlines[0].whole.calibration_error == pytest.approx(0.2)
    printed = capsys.readouterr().out
    assert "Confidences\ndeadline  calibration error  withheld\n  100 µs              0.200         4\n" in printed
    assert "Calibration error: " in printed
    assert "At 100 µs, items back to back: The promise was " in printed
    assert ": 2 of 80 answers were late, 2.5 %; promised is at most 0.1 %." in printed


def test_node_that_answers_other_items_is_refused(bundle: Bundle, unseen: Labelled) -> None:
    with pytest.raises(ExportError, match="all 80 items"):
        evaluate(bundle, unseen, [100 * US], answering=lambda deadline: answers(79))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1] * 40, r"such as 'calm' \(str\)\. None is\. Got 0 \(int\) for item 0"),
        ([["calm"]] * 80, r"None is\. Got \['calm'\] \(list\) for item 0"),
        (["Calm", "Loud"] * 40, r"None is\. Got 'Calm' \(str\) for item 0"),
    ],
    ids=["numbers", "lists", "other texts"],
)
def test_labels_of_another_kind_are_refused(bundle: Bundle, labels: list[Any], message: str) -> None:
    """All answers would be wrong."""
    with pytest.raises(ItemError, match=message):
        evaluate(bundle, Labelled.of(task.space, ITEMS, labels), [400 * US])


@pytest.mark.parametrize("label", ["1.5", None, float("nan"), True])
def test_labels_of_a_regression_must_be_numbers(bundle: Bundle, label: Any) -> None:
    with pytest.raises(ItemError, match=r"labels must be finite numbers\. Item 1 has "):
        check_labels(changed(bundle, classes=()), [1.0, label])


@pytest.mark.parametrize(("n_training", "share"), [(0, 0.0), (20, 0.25), (80, 1.0)])
def test_training_items_among_test_items_are_told(
    n_training: int, share: float, bundle: Bundle, capsys: pytest.CaptureFixture[str]
) -> None:
    """Such as those of the file that the bundle was built from."""
    items = [*task.items()[0][:n_training], *ITEMS[n_training:]]
    labels = [*task.items()[1][:n_training], *LABELS[n_training:]]

    found = evaluate(bundle, Labelled.of(task.space, items, labels), [400 * US], n_bands=1)
    print_evaluation(found)

    assert share == found.seen == found.to_json()["seen"]
    told = f"{percent(share)} of the labelled items are items that the bundle was built with"
    assert bool(share) == (told in capsys.readouterr().out)


def test_predictor_in_this_process_answers_every_item(bundle: Bundle, unseen: Labelled) -> None:
    found = here(bundle, task.space, ITEMS)(400 * US)

    assert len(found) == 80
    assert all(answer.elapsed_ns > 0 for answer in found)


@pytest.mark.parametrize("kind", ["trained", "shipped"])
def test_baselines_answer_within_planned_times(
    kind: str, fitted: PolyDomSearch, bundle: Bundle, unseen: Labelled
) -> None:
    found = trained(fitted, unseen) if kind == "trained" else shipped(bundle, unseen)
    largest = max(unseen.sizes)

    for deadline in (60 * US, 150 * US, 400 * US):
        order = found.best_single(deadline)
        assert not order or found.cost(sum(1 << i for i in order), largest) <= deadline
        assert found.single(deadline) == list(found.answers(order))
        assert set(found.cheap_first(deadline)) <= set(bundle.space.classes)
    at_most = [share_right(found.cheap_first(deadline)) for deadline in (1 * US, 400 * US)]
    assert at_most[0] < at_most[1]


def share_right(told: Sequence[Any]) -> float:
    return float(np.mean([a == b for a, b in zip(told, LABELS, strict=True)]))


def test_bands_hold_every_item_once_and_like_sizes_together() -> None:
    sizes = [5.0, 1.0, 5.0, 9.0, 1.0, 5.0, 7.0]

    bands = [band.tolist() for band in size_bands(sizes, 3)]
    assert Counter(k for band in bands for k in band) == dict.fromkeys(range(7), 1)
    assert bands == [[1, 4], [0, 2, 3, 5, 6]]
    assert size_bands([4.0] * 5, 3) == []


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    write_packed(tmp_path / "test.npz", ITEMS, LABELS, [k // 4 for k in range(80)])
    return tmp_path / "test.npz"


def test_command_prints_tables_of_planned_answers(
    folder: Path, packed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["evaluate", str(folder), "tests.builder.task:space", "--items", str(packed), "--planned"]
    assert main([*command, "--deadline", "100us", "400us", "--bands", "2"]) == 0

    printed = capsys.readouterr().out
    assert re.search(r"^deadline  items  planned +interval  stated  single  cheap-first  prior$", printed, re.M)
    assert re.search(r"^  400 µs     80    0\.\d{3}  0\.\d{3} to [01]\.\d{3}", printed, re.M)
    assert "By size, at 100 µs" in printed
    assert "late" not in printed.splitlines()[3]
    assert "alibration error" not in printed


def test_command_evaluates_on_a_node(folder: Path, packed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["evaluate", str(folder), "tests.builder.task:space", "--items", str(packed), "--json"]
    assert main([*command, "--deadline", "400us", "--node", node_python()]) == 0

    (at,) = json.loads(capsys.readouterr().out)["result"]["deadlines"]
    assert list(at["whole"]["systems"]) == ["node", "planned", "single", "cheap_first"]
    assert sum(at["whole"]["sets"].values()) == 80
    assert 0.0 < at["whole"]["timing"]["elapsed"]["p50"] <= at["whole"]["timing"]["elapsed"]["max"]
    assert len(at["bands"]) == 4


def test_items_without_labels_are_refused(tmp_path: Path) -> None:
    write_packed(tmp_path / "test.npz", ITEMS)

    with pytest.raises(ItemError, match="Item 0 has none"):
        Labelled.read(task.space, str(tmp_path / "test.npz"))
    with pytest.raises(ItemError, match="Got -"):
        Labelled.read(task.space, "-")


def test_python_that_does_not_exist_is_an_error_of_one_line(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="must be a Python"):
        Node(str(tmp_path / "python"), tmp_path, tmp_path, "a:b").run("x.npz", 0.01)
