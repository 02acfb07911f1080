"""Tests of updates do not wait for the real disk: what counts is when a sync is asked for."""

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from polydom_runtime.bundles.bundle import Bundle
from tests.runtime.delivery.nodes import bundle_number

MEMORY = Path("/dev/shm")


@pytest.fixture(autouse=True)
def _quick_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """Return a folder in memory, if the machine has such folders."""
    with TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else tmp_path) as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> list[Bundle]:
    """Return bundles that differ."""
    return [bundle_number(tmp_path_factory.mktemp("bundles"), number) for number in range(5)]
