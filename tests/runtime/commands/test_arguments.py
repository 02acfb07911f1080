"""Numbers with units on the command line: all ways to write one, and clear errors for what is none."""

import argparse

import pytest

from polydom_runtime.__main__ import main
from polydom_runtime.commands.arguments import duration, joules, positive, runs
from polydom_runtime.commands.measure import sizes


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1us", 1e-6),
        ("1 us", 1e-6),
        ("1\u00b5s", 1e-6),
        ("1\u03bcs", 1e-6),
        (" 0.5ms ", 5e-4),
        ("2s", 2.0),
        ("10ns", 1e-8),
        ("0s", 0.0),
    ],
)
def test_duration_may_be_written_in_these_ways(text: str, seconds: float) -> None:
    assert pytest.approx(seconds) == duration(text)


@pytest.mark.parametrize("text", ["3uJ", "3 \u00b5J", "3\u03bcJ", "0.003mJ"])
def test_energy_may_be_written_in_these_ways(text: str) -> None:
    assert pytest.approx(3e-6) == joules(text)


@pytest.mark.parametrize("text", ["nanms", "infms", "1e400ms", "-5ms", "-inf ms"])
def test_duration_that_is_none_is_refused_in_its_unit(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=f"must be finite, and not below 0ms. Got {text}"):
        duration(text)


@pytest.mark.parametrize("text", ["5", "ms", "1m s", "five ms", ""])
def test_duration_without_number_or_unit_is_refused(text: str) -> None:
    said = r"a time with a unit, such as 2ms\. Got .*The units are ms, us, ns, s"
    with pytest.raises(argparse.ArgumentTypeError, match=said):
        duration(text)


@pytest.mark.parametrize("text", ["nan", "inf", "1e400", "-1", "0"])
def test_number_that_is_not_positive_and_finite_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="must be a positive, finite number"):
        positive(text)


def test_size_must_be_finite() -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="LOW:HIGH"):
        sizes("1:1e400")


@pytest.mark.parametrize(("text", "promise"), [("1/20", (1, 20)), ("0/1", (0, 1)), (" 3 / 1000", (3, 1000))])
def test_late_answers_in_a_row_are_told_as_a_fraction(text: str, promise: tuple[int, int]) -> None:
    assert runs(text) == promise


@pytest.mark.parametrize("text", ["20/20", "21/20", "-1/20", "1", "1/2/3", "0.5/20", "1/x", "", "/", "1/2000000"])
def test_late_answers_that_are_no_promise_are_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"must be m/K, such as 1/20, whole numbers with 0 <= m < K"):
        runs(text)


@pytest.mark.parametrize("words", [["--deadline", "-5ms"], ["--deadline=-5ms"], ["--deadline", "-.5ms"]])
def test_negative_duration_is_a_value_and_no_option(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["run", "x.bundle", "x:space", "--items", "-", *words])

    assert "--deadline must be finite, and not below 0ms. Got -" in capsys.readouterr().err
