"""What ``polydom-node run`` says of labelled items that do not fit a bundle: other labels, and training items."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polydom_runtime.__main__ import main
from polydom_runtime.bundles.bundle import Bundle, Label
from polydom_runtime.commands.tally import Tally
from polydom_runtime.items.digests import item_digest, kept_digests
from polydom_runtime.items.packing import write_packed
from polydom_runtime.prediction import Prediction
from polydom_runtime.tables import percent
from tests.bundle_parts import changed
from tests.runtime.conftest import make_bundle, write

ITEMS = [np.arange(n, dtype=np.float32) for n in (5, 6, 7, 8)]
BUNDLE, MODELS = make_bundle()

pytestmark = pytest.mark.filterwarnings("ignore:The bundle was built for deadlines")


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Return a function that answers labelled items, and returns the summary and what was said."""

    def answer(bundle: Bundle, labels: list[Any] | None, *more: str) -> tuple[dict[str, Any], str]:
        write_packed(tmp_path / "items.npz", ITEMS, labels)
        path = write(tmp_path / "labelled.bundle", bundle, MODELS)
        command = ["run", str(path), "tests.runtime.node_space:space", "--items", str(tmp_path / "items.npz")]
        assert main([*command, "--deadline", "200ms" if "--period" in more else "3600s", "--json", *more]) == 0
        said = capsys.readouterr()
        return json.loads(said.out)["result"]["summary"], said.err

    return answer


@pytest.mark.parametrize(
    ("classes", "labels", "said"),
    [
        ((0, 1), ["1"] * 4, "4 labels, such as '1' (str), are no classes of the bundle, 0, 1 (int)"),
        (("0", "1"), [1, 0, 1, 0], "4 labels, such as 0 (int), are no classes of the bundle, '0', '1' (str)"),
        (("no", "yes"), ["yes", "yes", "no", "maybe"], "1 labels, such as 'maybe' (str), are no classes"),
        ((0, 1), [True, False, True, True], ""),
        ((0, 1), [1.0, 0.0, 1.0, 1.0], ""),
        ((0, 1), None, ""),
    ],
    ids=["texts", "numbers", "another class", "booleans", "floats", "none"],
)
@pytest.mark.parametrize("more", [(), ("--supervised",)], ids=["plain", "supervised"])
def test_labels_of_another_kind_are_said(
    classes: tuple[Label, ...], labels: list[Any] | None, said: str, more: tuple[str, ...], run: Any
) -> None:
    summary, found = run(changed(BUNDLE, classes=classes), labels, *more)

    assert said in found
    assert bool(said) == bool(summary["strange_labels"])
    assert bool(said) == ("labels, such as" in found)


@pytest.mark.parametrize(("n_known", "share"), [(4, 1.0), (1, 0.25), (0, 0.0)])
@pytest.mark.parametrize("more", [(), ("--supervised",), ("--period", "200ms")], ids=["plain", "supervised", "period"])
def test_training_items_among_labelled_ones_are_said(n_known: int, share: float, more: Any, run: Any) -> None:
    digests = kept_digests(map(item_digest, [*ITEMS[:n_known], np.arange(90.0)]))

    summary, found = run(replace(BUNDLE, references=BUNDLE.references._replace(seen=digests)), ["yes"] * 4, *more)

    assert share == summary["seen"]
    assert bool(n_known) == (f"{percent(share)} of the labelled items are items that the bundle was built" in found)


def test_items_without_labels_are_not_looked_at(run: Any) -> None:
    digests = kept_digests(map(item_digest, ITEMS))

    summary, found = run(replace(BUNDLE, references=BUNDLE.references._replace(seen=digests)), None)

    assert summary["seen"] is None
    assert "was built with" not in found


def test_labels_of_a_regression_that_are_no_numbers_are_said() -> None:
    tally, answer = Tally(1e-3, changed(BUNDLE, classes=())), Prediction(1.5, (), 0.5, 1000, True, "planned")
    for label in ("1.5", float("nan"), 1.5):
        tally.add(answer, label, 0)

    assert tally.summary()["strange_labels"] == 2
    assert "2 labels, such as nan (float), are no finite numbers: they count in no score." in tally.said


def test_late_answers_count_as_wrong_and_as_the_prior_of_a_regression() -> None:
    late = Prediction("yes", ("mean",), 0.9, 2_000_000, False, "planned")
    tally = Tally(1e-3, BUNDLE)
    for answer in (late, late._replace(elapsed_ns=1000, deadline_met=True)):
        tally.add(answer, "yes", 0)
    assert tally.summary()["accuracy"] == 0.5

    numbers = Tally(1e-3, changed(BUNDLE, classes=(), prior=(1.5, 0.0)))
    numbers.add(late._replace(label=7.0), 2.0, 0)
    assert numbers.summary()["mean_absolute_error"] == 0.5
