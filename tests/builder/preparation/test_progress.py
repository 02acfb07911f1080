"""What a search says of itself: the best score so far, what may still come, and the time left."""

import io
import math
import re
from functools import partial

import pytest
from tqdm import tqdm

from polydom_builder.lattice.by_gain import SearchStep
from polydom_builder.preparation import progress
from polydom_builder.preparation.progress import SearchProgress, trainings_left
from tests.builder.searches import fit, search


def falling(n: int, factor: float = 0.8, worth: float = 1e-3) -> list[SearchStep]:
    """Return the steps of a search whose gains fall by a factor, from .1 on."""
    return [SearchStep(k + 2, 0.1 * factor**k, 0.05, 0.01, worth) for k in range(n)]


@pytest.mark.parametrize("n", [6, 10, 20])
def test_trainings_left_are_those_until_no_gain_is_worth_one(n: int) -> None:
    until = math.ceil(math.log(1e-3 / 0.1) / math.log(0.8))

    assert trainings_left(falling(n)) == pytest.approx(until - (n - 1), abs=1)


def test_gains_that_jump_are_averaged() -> None:
    steps = [
        SearchStep(s.n_trained, s.gain * (1.5 if s.n_trained % 2 else 1 / 1.5), 0.05, 0.01, s.worth)
        for s in falling(14)
    ]

    assert trainings_left(steps) == pytest.approx(trainings_left(falling(14)), abs=3)


def test_nothing_is_foreseen_from_few_steps_or_gains_that_do_not_fall() -> None:
    assert trainings_left(falling(5)) is None
    assert trainings_left(falling(10, factor=1.0)) is None
    assert trainings_left(falling(10, worth=0.0)) is None


def told(trained: int, seconds: float, steps: list[SearchStep], **limits: float) -> str:
    """Return what is said after some trainings, which took so many seconds."""
    readings = iter([0.0, seconds])
    found = SearchProgress(clock=lambda: next(readings), **limits)  # type: ignore[arg-type]
    found.add([0.7] * (trained - 1) + [0.85])
    found.steps.extend(steps)
    return str(found)


def test_time_left_is_that_of_the_trainings_left() -> None:
    said = told(12, 24.0, falling(10))

    assert said == f"best score 0.850, a set may score 0.050 more, about {2 * trainings_left(falling(10))} s left"  # type: ignore[operator]


@pytest.mark.parametrize(
    ("limits", "left"),
    [
        ({"max_trainings": 16}, "8 s"),
        ({"max_seconds": 30.0}, "6 s"),
        ({"max_trainings": 16, "max_seconds": 30.0}, "6 s"),
    ],
)
def test_limits_end_a_search_sooner(limits: dict[str, float], left: str) -> None:
    assert told(12, 24.0, falling(10), **limits).endswith(f"at most {left} left")


def test_search_that_foresees_nothing_says_the_best_score_only() -> None:
    assert told(3, 5.0, []) == "best score 0.850"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_bar_shows_the_best_score_of_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    shown = partial(tqdm, file=terminal, mininterval=0.0, miniters=1, ncols=200)
    monkeypatch.setattr(progress, "tqdm", shown)

    found = fit(search(alpha=None, verbose=1))
    last = re.findall(r"feature sets trained: .*?best score (\d\.\d{3})", terminal.getvalue())[-1]
    assert float(last) == pytest.approx(max(found.expanded_.values()), abs=1e-3)
    assert "a set may score" in terminal.getvalue()
