"""Tests of the builder measure and replay shortly: none of them says how long something takes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from polydom_builder import PolyDomSearch
from polydom_builder.costs import host_measurement
from polydom_builder.simulation import recorded
from tests.builder.board import write_costs
from tests.builder.searches import fit, search


@pytest.fixture(autouse=True)
def short_measurements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_measurement, "SECONDS", 0.5)


@pytest.fixture(autouse=True, scope="package")
def few_replays() -> Iterator[None]:
    """An export chooses times by few replayed answers, unless a test is about that."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recorded, "N_TRIALS", 300)
        yield


@pytest.fixture(scope="session")
def fitted() -> PolyDomSearch:
    """A search of the task, fitted once; no test alters it."""
    return fit(search(alpha=1.0))


@pytest.fixture(scope="session")
def every_score(fitted: PolyDomSearch) -> list[float]:
    """The scores of all 32 sets, by mask."""
    scores: list[float] = fitted.trainer_.scores(range(32))
    return scores


@pytest.fixture(scope="session")
def folder(fitted: PolyDomSearch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its bundle, exported once; no test alters it."""
    folder = tmp_path_factory.mktemp("built") / "task.bundle"
    fitted.export(folder)
    return folder


@pytest.fixture(scope="session")
def board_costs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of costs, for what is not about measuring."""
    return write_costs(tmp_path_factory.mktemp("measured") / "board.costs")
