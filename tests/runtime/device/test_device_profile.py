import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from polydom_runtime.device import device_profile
from polydom_runtime.device.calibration import KERNELS
from polydom_runtime.device.device_profile import (
    Calibrated,
    DeviceProfile,
    OnnxLimits,
    Quantity,
    System,
    UncertainQuantity,
    dump,
)
from polydom_runtime.exceptions import ProfileError
from polydom_runtime.kernels.graph import NEWEST

SHIPPED = sorted(file.stem for file in device_profile.PROFILES.glob("*.toml"))


def a_profile(source: str = "a stopwatch") -> DeviceProfile:
    def measured(value: Any) -> Quantity[Any]:
        return Quantity(value, "measured", source)

    system = System(
        soc=measured("S1"),
        core=measured("C1"),
        cores=measured(4),
        clock_hz=measured(1.5e9),
        memory_bytes=measured(2**30),
        os=measured("Linux"),
        timer_tick_seconds=measured(1 / 54e6),
        idle_watts=measured(2.0),
        busy_watts=measured(5),
    )
    calibration = {name: Calibrated(1e-6 * (k + 1 / 3), 1.5, "derived", source) for k, name in enumerate(KERNELS)}
    cold = UncertainQuantity(3e-5, "measured", source, 2.5)
    return DeviceProfile("Board", system, calibration, OnnxLimits(measured(13), measured(26), measured(5)), cold)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    dump(a_profile(), tmp_path / "board.toml")
    return tmp_path / "board.toml"


def test_profiles_are_shipped() -> None:
    assert {"raspberry_pi_zero_2w", "raspberry_pi_4b", "raspberry_pi_5", "generic_x86_64"} <= {*SHIPPED}


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_profile_loads_and_round_trips(name: str, tmp_path: Path) -> None:
    profile = DeviceProfile.named(name)

    dump(profile, tmp_path / "copy.toml")

    assert list(KERNELS) == list(profile.calibration)
    assert profile == DeviceProfile.load(tmp_path / "copy.toml")


@pytest.mark.parametrize("name", [n for n in SHIPPED if n.startswith("raspberry")])
def test_what_nobody_measured_is_not_called_measured(name: str) -> None:
    profile = DeviceProfile.named(name)

    assert "measured" not in {c.provenance for c in profile.calibration.values()}
    assert all(c.uncertainty >= 1.4 for c in profile.calibration.values())


def test_any_text_round_trips(file: Path) -> None:
    """Quotes, backslashes, control characters and characters outside the BMP survive."""
    profile = a_profile('"""\\ \t\r\n\x00\x1f\x7f\x85 µs \U0001f353 # ]')

    dump(profile, file)

    assert profile == DeviceProfile.load(file)


def test_a_path_is_a_name(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)

    assert a_profile() == DeviceProfile.named(str(file)) == DeviceProfile.named("board.toml")


def test_package_data_is_found(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_profile, "PROFILES", file.parent)

    assert a_profile() == DeviceProfile.named("board")


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ProfileError, match=r"generic_x86_64, .*raspberry_pi_5, .*Got raspberry_pi_6"):
        DeviceProfile.named("raspberry_pi_6")


INF, NAN = float("inf"), float("nan")
IMPOSSIBLE: dict[str, tuple[object, ...]] = {
    "format": (0, 2, 1.0, True, "1"),
    "name": ("", " ", 1),
    "system": (1, []),
    "system.soc": ("BCM2711",),
    "system.soc.value": ("", 7),
    "system.soc.source": ("", " \n", 7),
    "system.soc.provenance": ("guessed", "", 1, ["measured"]),
    "system.cores.value": (0, -1, 4.0, True, "4"),
    "system.clock_hz.value": (9e5, 1.1e11, 0, True, 10**400),
    "system.memory_bytes.value": (2**26 - 1, 2**45 + 1, 1e9),
    "system.timer_tick_seconds.value": (9e-13, 2e-3, 0, NAN),
    "system.idle_watts.value": (0.009, 10_001, -1, INF),
    "system.busy_watts.value": (1.9,),
    "calibration.sort": (1e-6, []),
    "calibration.sort.value": (0, 0.0, -1e-6, NAN, INF, True, "1e-6", 9e-10, 1.1),
    "calibration.sort.uncertainty": (0.5, 0, -2, NAN, INF, True, "2"),
    "onnx.ir_version.value": (2, 51, True, 13.0),
    "onnx.opset.value": (6, 101),
    "onnx.ml_opset.value": (0, 51),
    "cold": (1e-5, {}),
    "cold.seconds.value": (-1e-9, 1.1, NAN, INF, True, "1e-5"),
    "cold.seconds.uncertainty": (0.5, 1001, NAN),
    "cold.seconds.provenance": ("guessed",),
}
UNKNOWN = ("colour", "system.colour", "system.soc.colour", "calibration.colour", "onnx.colour", "cold.colour")
NEEDED = (
    *("name", "system", "calibration", "onnx", "system.os", "calibration.fft", "onnx.opset"),
    *("system.os.value", "system.os.source", "system.os.provenance", "calibration.fft.uncertainty"),
    *("cold.seconds", "cold.seconds.uncertainty", "cold.seconds.source"),
)


def change(file: Path, key: str, *value: object) -> None:
    """Set a key of a profile, such as onnx.opset.value, or remove it if no value is given."""
    document = table = tomllib.loads(file.read_text())
    *tables, last = key.split(".")
    for name in tables:
        table = table[name]
    table.pop(last, None)
    table.update((last, v) for v in value)
    file.write_text("\n".join(f"{name} = {as_toml(v)}" for name, v in document.items()))


def as_toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {as_toml(v)}" for key, v in value.items()) + "}"
    return json.dumps(value) if isinstance(value, str | bool) else repr(value)


def refusal(file: Path) -> str:
    with pytest.raises(ProfileError) as error:
        DeviceProfile.load(file)
    return str(error.value)


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in IMPOSSIBLE.items() for value in values])
def test_an_impossible_value_is_refused_by_name(key: str, value: object, file: Path) -> None:
    change(file, key, value)

    assert f"{file}: {key} must be " in refusal(file)


@pytest.mark.parametrize("key", UNKNOWN)
def test_an_unknown_key_is_refused_by_name(key: str, file: Path) -> None:
    change(file, key, 1)

    table, _, last = key.rpartition(".")

    assert re.search(rf": {table or 'the profile'} must be .* Got one with '{last}'\.|{key} must be", refusal(file))


@pytest.mark.parametrize("key", NEEDED)
def test_a_missing_key_is_refused_by_name(key: str, file: Path) -> None:
    change(file, key)

    table, _, last = key.rpartition(".")

    assert re.search(rf": {table or 'the profile'} must be .* Got one without '{last}'\.", refusal(file))


def test_a_profile_of_old_has_no_cold_constant(file: Path) -> None:
    change(file, "cold")

    assert DeviceProfile.load(file) == replace(a_profile(), cold_seconds=None)


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_profile_has_an_uncertain_cold_constant(name: str) -> None:
    cold = DeviceProfile.named(name).cold_seconds

    assert cold is not None
    assert 1e-6 < cold.value < 1e-3
    assert cold.uncertainty >= 2.0
    assert cold.provenance == ("measured" if name == "generic_x86_64" else "derived")


def test_a_missing_format_is_refused(file: Path) -> None:
    change(file, "format")

    assert (
        f"{file}: the profile must be a map of format, name, system, calibration, onnx, cold. Got one without 'format'."
        in refusal(file)
    )


@pytest.mark.parametrize("content", [b"", b"format = ", b"\xff", b"a = " + b"[" * 20_000, b"a = " + b"9" * 9_000])
def test_what_is_no_profile_is_refused(content: bytes, file: Path) -> None:
    file.write_bytes(content)

    with pytest.raises(ProfileError, match=r"board\.toml.* must be"):
        DeviceProfile.load(file)


def test_a_large_file_is_refused(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b"#" * 1_000_000)

    with pytest.raises(ProfileError, match="at most 1000000 bytes"):
        DeviceProfile.load(file)


@pytest.mark.parametrize("name", ["missing.toml", ".", "no\0name"])
def test_what_cannot_be_read_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="must be a device profile"):
        DeviceProfile.load(tmp_path / name)


def test_a_failed_dump_leaves_the_old_profile(file: Path) -> None:
    with pytest.raises(ProfileError, match=r"system\.soc\.source"):
        dump(a_profile(source=" "), file)

    assert a_profile() == DeviceProfile.load(file)
    assert [file] == list(file.parent.iterdir())


@pytest.mark.parametrize("name", ["nowhere/board.toml", "board.toml/board.toml", "."])
def test_a_place_that_cannot_be_written_is_refused(name: str, file: Path) -> None:
    with pytest.raises(ProfileError, match="can be written"):
        dump(a_profile(), file.parent / name)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_profile_has_no_newer_onnx_than_a_node_lets_in(name: str) -> None:
    onnx = DeviceProfile.named(name).onnx

    assert (onnx.opset.value, onnx.ml_opset.value) == (NEWEST[""], NEWEST["ai.onnx.ml"])


@pytest.mark.parametrize("name", SHIPPED)
def test_what_a_shipped_profile_calls_measured_was_measured_on_its_device(name: str) -> None:
    """A profile for many machines names the one that was at hand; all others are measured on what they are about."""
    profile = tomllib.loads((device_profile.PROFILES / f"{name}.toml").read_text())
    machine = "2-core AMD EPYC virtual machine" if name == "generic_x86_64" else profile["name"]
    sources = {
        f"{table}.{key}": entry["source"]
        for table in ("system", "calibration", "onnx", "cold")
        for key, entry in profile.get(table, {}).items()
        if entry["provenance"] == "measured"
    }

    assert {key for key, source in sources.items() if machine not in source} == set()
