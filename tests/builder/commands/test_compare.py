"""The command polydom compare: what it prints, and the exit code by which a pipeline decides."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from polydom_builder.__main__ import main
from polydom_builder.comparison import ChangeLimits, compare_files
from polydom_runtime import Bundle
from tests.bundle_parts import changed
from tests.runtime.conftest import US, make_bundle, write

OLD, MODELS = make_bundle()

NEW = {
    "the same": OLD,
    "worse": replace(OLD, models=(*OLD.models[:2], OLD.models[2]._replace(accuracy=0.85))),
    "slower": replace(OLD, models=tuple(model._replace(seconds=8 * US) for model in OLD.models)),
    "of another score": changed(OLD, scoring="f1"),
}


@pytest.fixture
def old(tmp_path: Path) -> str:
    return str(write(tmp_path / "old.bundle", OLD, MODELS))


def written(tmp_path: Path, bundle: Bundle) -> str:
    return str(write(tmp_path / "new.bundle", bundle, MODELS))


@pytest.mark.parametrize(
    ("new", "limit", "line"),
    [
        ("the same", ("--max-score-loss", "0"), None),
        ("the same", ("--max-time-growth", "1"), None),
        ("the same", ("--max-size-growth", "1"), None),
        ("worse", ("--max-score-loss", "0.06"), None),
        (
            "worse",
            ("--max-score-loss", "0.01"),
            "exceeded: the score at 100 µs and size 1 falls by 0.05, more than 0.01",
        ),
        ("slower", ("--max-time-growth", "1.2"), None),
        (
            "slower",
            ("--max-time-growth", "1.1"),
            "exceeded: the worst case time of answer by mean at size 1 grows to 1.17 times, more than 1.1",
        ),
        (
            "the same",
            ("--max-size-growth", "0.9"),
            "exceeded: the bytes of all models grow to 1 times, more than 0.9",
        ),
        ("of another score", ("--max-time-growth", "1"), None),
    ],
)
def test_exit_code_is_1_if_a_limit_is_exceeded(
    new: str, limit: tuple[str, str], line: str | None, old: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["compare", old, written(tmp_path, NEW[new]), *limit])

    said = [found for found in capsys.readouterr().out.splitlines() if found.startswith("exceeded")]
    assert (int(line is not None), [line] if line else []) == (code, said[:1])


def test_json_has_the_excesses_and_the_greatest_loss_too(
    old: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The numbers are those of the library."""
    new = written(tmp_path, NEW["worse"])

    assert main(["compare", old, new, "--json", "--max-score-loss", "0.01"]) == 1

    document, found = json.loads(capsys.readouterr().out)["result"], compare_files(old, new)
    assert ("bundles", ChangeLimits(0.01).exceeded(found)) == (document["kind"], document["exceeded"])
    assert document["answers"][0]["score"] == document["worst"]["score"] == {"before": 0.9, "after": 0.85}
    assert found.worst is not None
    assert found.worst.loss == document["worst"]["loss"]
    assert [row.loss for row in found.replays] == [row["loss"] for row in document["replays"]]


def test_costs_files_are_compared(board_costs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(board_costs), str(board_costs), "--max-time-growth", "1.1"]) == 0
    assert "times: 80 of 80 are the same\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["OLD", "COSTS"], "Both must be bundle folders, or both costs files. Got a bundle folder and a file."),
        (["OLD", "nowhere"], "nowhere must be a bundle folder or a costs file. Nothing is there."),
        (["OLD", "FOLDER"], "must be a bundle folder"),
        (["COSTS", "TEXT"], "be a file of cost samples"),
        (["COSTS", "COSTS", "--max-size-growth", "2"], "Limits of costs files must be --max-time-growth only."),
        (["COSTS", "COSTS", "--max-score-loss", "0"], "Limits of costs files must be --max-time-growth only."),
        (["OLD", "NEW", "--max-score-loss", "0"], "both bundles must have the same scoring. Got none and f1."),
    ],
)
def test_what_cannot_be_compared_is_exit_code_2(
    words: list[str], message: str, old: str, board_costs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "x.costs"
    text.write_text("no times")
    new = written(tmp_path, NEW["of another score"])
    paths = {"OLD": old, "NEW": new, "COSTS": str(board_costs), "TEXT": str(text), "FOLDER": str(tmp_path)}

    assert main(["compare", *(paths.get(word, word) for word in words)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("value", ["-0.1", "nan", "inf", "much"])
def test_a_limit_is_a_sound_number(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    for limit in ("--max-score-loss", "--max-time-growth", "--max-size-growth"):
        with pytest.raises(SystemExit):
            main(["compare", "a", "b", f"{limit}={value}"])
        assert f"{limit} must be" in capsys.readouterr().err
