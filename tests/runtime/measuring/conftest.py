"""A machine for measurements whose clock is moved by hand: what it is takes no time to find out."""

import gc
import os
from pathlib import Path

import pytest

from polydom_runtime.device.board import Board


@pytest.fixture
def bare_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out kernels, facts about this machine, the fingerprint of the code, collections of garbage, and the disk.

    They take longer than all else; the command's tests have them.
    """
    measuring = "polydom_runtime.measuring"
    monkeypatch.setattr(gc, "collect", lambda generation=2: 0)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    monkeypatch.setattr(f"{measuring}.unit_bench.kernels", dict)
    monkeypatch.setattr(f"{measuring}.measure.Board", lambda: Board(Path("/nowhere")))
    monkeypatch.setattr(f"{measuring}.measure.source_fingerprint", lambda space: "")
