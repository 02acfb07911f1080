"""What failed is told in words, at once and not too often."""

import json
import logging
import sys
from typing import Any

import pytest

from polydom_runtime.causes import MAX_CHARS, Causes, error_text, raised
from tests.runtime.lattice_world import US, LatticeWorld, lattice_bundle, microseconds


class Odd(Exception):
    def __str__(self) -> str:
        raise RuntimeError

    __repr__ = __str__


def read_wrongly() -> None:
    json.loads("{", object_hook=None)


@pytest.fixture
def world() -> LatticeWorld:
    return LatticeWorld(lattice_bundle([0.3 + 0.1 * mask for mask in range(4)], [microseconds(10.0)] * 2))


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no sound"), "ValueError: no sound"),
        (KeyError("two\nlines\x1b[2J"), r"KeyError: 'two\nlines\x1b[2J'"),
        (OSError("two\nlines\x1b[2J \ud800"), "OSError: two lines?[2J ?"),
        (ValueError("x" * 10**6), "ValueError: " + "x" * (MAX_CHARS - 12)),
        (Odd(), "Odd"),
    ],
    ids=["usual", "key", "control", "long", "odd"],
)
def test_error_is_one_short_line(error: Exception, text: str) -> None:
    assert error_text(error) == text


def test_place_is_the_last_line_of_the_user_s_own_code() -> None:
    with pytest.raises(ValueError, match="Expecting") as caught:
        read_wrongly()

    assert raised(caught.value).endswith(f"({__file__}, line {read_wrongly.__code__.co_firstlineno + 1}).")


def test_first_tenth_and_hundredth_failure_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    causes = Causes()
    for _ in range(150):
        causes.add("mean", "Its values must be finite numbers.")

    assert [message.split(". ")[0] for message in caplog.messages] == [
        "mean failed",
        "mean failed for the 10th time",
        "mean failed for the 100th time",
    ]
    assert {record.name for record in caplog.records} == {"polydom_runtime"}


def test_program_without_logging_is_told_on_standard_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "logging")
    Causes().add("mean", ValueError("no sound"))

    assert capsys.readouterr().err == "polydom: mean failed. It raised ValueError('no sound').\n"


def test_error_that_cannot_be_printed_is_survived(caplog: pytest.LogCaptureFixture) -> None:
    Causes().add("mean", Odd())

    assert caplog.messages == []


@pytest.mark.parametrize(
    ("results", "error"),
    [
        ({}, ""),
        ({"b": RuntimeError("gone")}, "b: RuntimeError: gone"),
        ({"b": [float("nan")]}, "b: Its values must be finite numbers."),
        ({"a": KeyError(1), "b": RuntimeError("gone")}, "b: RuntimeError: gone"),
    ],
)
def test_answer_states_what_failed_first(world: LatticeWorld, results: dict[str, Any], error: str) -> None:
    world.results |= results
    predictor = world.predictor(500 * US)

    assert predictor.predict_one(1.0).error == error
    world.results.clear()
    assert predictor.predict_one(1.0).error == ""


def test_item_without_a_size_states_why(world: LatticeWorld) -> None:
    assert world.predictor(500 * US).predict_one(-1.0).error.startswith("size: ValueError: ")


def test_rehearsals_and_warm_ups_tell_nothing(world: LatticeWorld, caplog: pytest.LogCaptureFixture) -> None:
    world.results |= {"a": RuntimeError("gone"), "b": RuntimeError("gone")}
    predictor = world.predictor(500 * US)
    predictor.warm_up(1.0)
    predictor.rehearse_with(1.0)
    assert (caplog.messages, predictor.causes.counts) == ([], {})

    with caplog.at_level(logging.WARNING):
        predictor.predict_one(1.0)
    assert predictor.causes.counts == {"a": 1, "b": 1}
    assert len(caplog.messages) == 2
