"""Tests of the builder measure shortly: none of them says how long something takes."""

import pytest


@pytest.fixture(autouse=True)
def short_measurements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polydom_builder.costs.measuring.SECONDS", 1.0)
