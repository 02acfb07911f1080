"""The pages of the examples show code that is in their files, and code for a sensor that works."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from examples.flights.aircraft import GROUPS, cut, fly
from examples.flights.features import space as space_of_flights
from examples.vibration.features import space as space_of_vibration
from examples.vibration.machine import REVOLUTIONS

EXAMPLES = Path(__file__).parents[2] / "examples"
SENSOR = "# sensor.py\n"


def blocks(example: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (EXAMPLES / example / "README.md").read_text(), flags=re.DOTALL)


def without_layout(code: str) -> str:
    """Return code with a single space for all white space: a formatter moves excerpts to the left."""
    return " ".join(code.split())


def sensor(example: str) -> SimpleNamespace:
    """Run the code for a sensor; return its names."""
    (code,) = [block for block in blocks(example) if block.startswith(SENSOR)]
    names: dict[str, Any] = {}
    exec(code, names)
    return SimpleNamespace(**names)


@pytest.mark.parametrize("example", ["vibration", "flights"])
def test_excerpts_stand_in_the_files(example: str) -> None:
    files = [without_layout(file.read_text()) for file in (EXAMPLES / example).glob("*.py")]
    excerpts = [without_layout(block) for block in blocks(example) if not block.startswith(SENSOR)]

    assert len(excerpts) >= 4
    assert [excerpt for excerpt in excerpts if not any(excerpt in text for text in files)] == []


@pytest.mark.parametrize("example", ["vibration", "flights"])
def test_the_page_names_every_file(example: str) -> None:
    page = (EXAMPLES / example / "README.md").read_text()

    files = {file.name for file in (EXAMPLES / example).glob("*.py")} - {"__init__.py", "__main__.py"}
    assert {name for name in files if f"`{name}`" not in page} == set()


def test_windows_of_an_own_sensor_have_features() -> None:
    samples = np.random.default_rng(0).normal(size=9000)
    window = sensor("vibration").newest_window(samples, [500 * k for k in range(REVOLUTIONS + 3)])

    assert np.array_equal(window, samples[1000:5000].astype(np.float32))
    assert np.isfinite(space_of_vibration.extract_all(window)).all()
    assert sensor("vibration").newest_window(samples, [0, 500]) is None


def test_items_of_own_telemetry_have_features_and_lack_silent_groups() -> None:
    flight, _ = fly("sound", np.random.default_rng(0))

    item = sensor("flights").newest_item(flight, 5.0)
    without = sensor("flights").newest_item({**flight, "air": []}, 5.0)

    expected = cut(flight, 85.0, 90.0)
    assert all(np.array_equal(item[name], expected[name]) for name in GROUPS)
    assert np.isfinite(space_of_flights.extract_all(item)).all()
    assert set(without) == {"motion", "engine"}
