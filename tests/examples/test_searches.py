"""The study of what searches find and state, on a made-up task: its parts, its page and its pictures."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from examples.deadlines.systems import planned_costs, spread_deadlines
from examples.deadlines.task import Task
from examples.paper.results import ResultsError, Row, column, load_rows, save_rows
from examples.searches import abstention, confidence, estimators, looked_up, progress, stated, study, trainings
from examples.searches.__main__ import main
from examples.searches.setting import Setting, item_weights
from polydom_runtime.measuring.cost_samples import CostSamples

PAGE = Path(__file__).parents[2] / "docs" / "searches.md"


@pytest.fixture(scope="module")
def setting(made_up_task: Task, made_up_samples: CostSamples, tmp_path_factory: pytest.TempPathFactory) -> Setting:
    out = tmp_path_factory.mktemp("searches")
    return Setting(
        made_up_task, out, made_up_samples, spread_deadlines(made_up_task, planned_costs(made_up_task, made_up_samples))
    )


@pytest.fixture(scope="module")
def sure(setting: Setting) -> list[Row]:
    return confidence.rows(setting)


def test_two_searches_are_compared_on_the_same_test_items(setting: Setting) -> None:
    rows = trainings.rows(setting)

    trained, (ours, exact) = column(rows, "trained"), column(rows, "score")
    assert trained[0] < trained[1] <= 8
    assert min(ours, exact) > 100 / 3
    assert float(rows[0]["difference"]) == pytest.approx(ours - exact, abs=0.011)


def test_the_loss_falls_with_each_training_and_ends_at_zero(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "STAGES", (1, 2, 4, 8))

    for row in progress.rows(setting):
        losses = [float(row[f"after {stage}"]) for stage in progress.STAGES]
        assert losses == sorted(losses, reverse=True)
        assert losses[0] > 0.0
        assert row["in the end"] == 0.0


def test_features_that_are_looked_up_are_those_of_the_items(setting: Setting) -> None:
    task = setting.task
    space = looked_up.looked_up(task, setting.folder)

    assert [step.name for step in space.steps] == [step.name for step in task.space.steps]
    for k in (0, 1, 89):
        assert space.size(k) == task.space.size(task.items[k])
        np.testing.assert_array_equal(space.extract_all(k), task.space.extract_all(task.items[k]))


@pytest.mark.filterwarnings("ignore:Nothing can be told apart")  # on 45 items
def test_each_split_states_a_score_for_each_deadline(setting: Setting) -> None:
    rows = stated.rows(setting, n_splits=2)

    assert len(rows) == 2 * len(setting.deadlines)
    assert all(
        float(row["low"]) <= float(row["stated"]) <= min(float(row["high"]), float(row["measured"])) for row in rows
    )
    assert len({row["tested"] for row in rows}) > 2


def test_stated_scores_are_summed_up_for_each_task() -> None:
    ends: Row = {"task": "t", "measured": 0.9, "stated": 0.85, "low": 0.8, "high": 0.9}
    tested = ((0.81, 0.0), (0.85, 0.0), (0.7, 0.01), (0.92, 0.04))  # each with its standard error
    rows = [ends | {"tested": score, "chance": chance} for score, chance in tested]

    assert stated.in_short(rows) == [
        {"task": "t", "too high before": "+8.0", "after": "+3.0", "within": "75 %", "below": "25 %"}
    ]


def test_confidences_come_for_every_item_and_rise_with_the_deadline(setting: Setting, sure: list[Row]) -> None:
    deadlines = sorted(set(column(sure, "deadline")))

    assert len(sure) == len(deadlines) * len(setting.task.test_items)
    assert all(0.0 <= float(row["confidence"]) <= 1.0 for row in sure)
    curve = confidence.risks(sure)
    assert deadlines[-1] in curve
    assert curve[deadlines[-1]][0][0] == 1.0


def test_right_answers_of_a_known_confidence_lie_on_the_diagonal() -> None:
    rows: list[Row] = [
        {"task": "t", "deadline": 1.0, "confidence": share, "own": 1.0, "right": int(k < 10 * share)}
        for share in (0.6, 0.9)
        for k in range(10)
    ]

    assert np.allclose(confidence.reliability(rows), [(0.6, 0.6, 0.5), (0.9, 0.9, 0.5)])
    (short,) = confidence.in_short(rows)
    assert (short["error of the model"], short["of the confidence"]) == ("25.0", "0.0")


def test_a_wanted_accuracy_is_met_within_two_errors() -> None:
    common: Row = {"task": "t", "wanted": 0.9, "answered": 0.5, "error": 0.02}
    rows: list[Row] = [{"deadline": k, **common, "right": right} for k, right in enumerate((0.95, 0.87, 0.85))]

    (short,) = abstention.in_short(rows)

    assert short["met"] == "2 of 3"
    assert short["right"] == "89.0%"


def test_some_items_keep_their_labels_and_groups(made_up_task: Task) -> None:
    numbers = range(90)
    task = replace(made_up_task, groups=list(numbers))
    part = estimators.some_items(task, 20)

    assert len(part.items) == len(part.labels) == 20
    assert part.groups is not None
    chosen = [k for k in numbers if k in part.groups]
    assert all(item is task.items[k] for item, k in zip(part.items, chosen, strict=True))
    assert part.labels == [task.labels[k] for k in chosen]


def test_balanced_weights_count_classes_alike() -> None:
    assert item_weights(["a", "b", "b"], "balanced_accuracy").tolist() == [0.5, 0.25, 0.25]
    assert item_weights(["a", "b"], "accuracy").tolist() == [0.5, 0.5]


def test_the_page_has_a_place_for_each_part_and_the_pictures(setting: Setting, sure: list[Row], tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE.read_text("utf-8"), "utf-8")
    row: Row = {"task": "t", "split": 0, "deadline": 1.0, "wanted": 0.9, "answered": 1.0, "right": 1.0, "error": 0.1}
    for name in study.PARTS:
        save_rows([row | dict.fromkeys(stated.KEYS, 0.5)], tmp_path / f"{name}.csv")
    save_rows(sure, tmp_path / "confidence.csv")

    study.fill_page(page, tmp_path)
    study.draw(tmp_path)

    for part in study.PARTS.values():
        assert part.WORDS in page.read_text("utf-8")
    for name in study.PICTURES:
        assert f'src="searches/{name}.svg"' in page.read_text("utf-8")
        assert (tmp_path / f"{name}-dark.svg").exists()


def test_what_is_in_the_files_is_not_made_again(
    setting: Setting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Setting] = []

    def rows(setting: Setting) -> list[Row]:
        made.append(setting)
        return [{"task": setting.task.name, "n": 1}]

    monkeypatch.setattr(study, "chosen_loaders", lambda names, quick: [lambda data: setting.task])
    monkeypatch.setattr(Setting, "of", lambda *_: setting)
    monkeypatch.setattr(study, "draw", lambda out: None)
    monkeypatch.setattr(trainings, "rows", rows)

    for _ in range(2):
        study.run_study(None, tmp_path, ["trainings"])

    assert made == [setting]
    assert load_rows(tmp_path / "trainings.csv") == [{"task": "made-up", "n": 1}]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--parts", "nothing"], "A part must be one of trainings"),
        ([], "Got no --data"),
        (["--redraw"], "confidence.csv"),
    ],
)
def test_bad_words_are_refused(words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "--out", str(tmp_path)]) != 0
    assert said in capsys.readouterr().err


def test_a_page_without_places_is_refused(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("nothing", "utf-8")
    save_rows([{"task": "t"}], tmp_path / "trainings.csv")

    with pytest.raises(ResultsError, match="must have the place"):
        study.fill_page(tmp_path / "page.md", tmp_path)


@pytest.mark.end_to_end
def test_a_quick_study_of_patches(tmp_path: Path) -> None:
    assert main(["--tasks", "patches", "--quick", "--parts", "trainings", "confidence", "--out", str(tmp_path)]) == 0

    assert {row["search"] for row in load_rows(tmp_path / "quick" / "trainings.csv")} == {*trainings.SEARCHES}
    assert (tmp_path / "quick" / "reliability.svg").exists()
