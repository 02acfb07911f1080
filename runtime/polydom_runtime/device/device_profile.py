"""Device profiles: the figures of a device, where each comes from, and how uncertain it is."""

import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar

from polydom_runtime.codec.codec import Codec
from polydom_runtime.codec.forms import fields_of
from polydom_runtime.codec.marks import FilledText, In, Unsound
from polydom_runtime.exceptions import ProfileError
from polydom_runtime.files import replace_file

from .calibration import KERNELS

FORMAT = 1
Provenance = Literal["measured", "published", "derived"]
MAX_FILE_BYTES = 1_000_000
PROFILES = Path(__file__).parent / "profiles"
"""The folder of the named profiles: package data; in a clone, a link to the folder at the top of the repository."""

T = TypeVar("T", str, int, float)
Watts = Annotated[float, In(0.01, 10_000.0)]


@dataclass(frozen=True, slots=True)
class Quantity(Generic[T]):
    """A figure and where it comes from: its provenance, and its source in words."""

    value: T
    provenance: Provenance
    source: FilledText


@dataclass(frozen=True, slots=True)
class UncertainQuantity(Quantity[T]):
    """A figure with a factor: the true one lies from value / uncertainty to value * uncertainty."""

    uncertainty: Annotated[float, In(1.0, 1000.0)]


@dataclass(frozen=True, slots=True)
class Calibrated:
    """The time of one run of a kernel."""

    seconds: float
    uncertainty: float
    """A factor: the true time lies from seconds / uncertainty to seconds * uncertainty."""
    provenance: Provenance
    source: str


@dataclass(frozen=True, slots=True)
class System:
    """The machine and its operating system."""

    soc: Quantity[FilledText]
    core: Quantity[FilledText]
    """`soc`, `core`: names of the system on chip and of its processor cores."""
    cores: Quantity[Annotated[int, In(1, 4096)]]
    clock_hz: Quantity[Annotated[float, In(1e6, 1e11)]] | None
    """The clock rate of the fastest core; None if the device cannot read it."""
    memory_bytes: Quantity[Annotated[int, In(2**26, 2**45)]]
    os: Quantity[FilledText]
    timer_tick_seconds: Quantity[Annotated[float, In(1e-12, 1e-3)]]
    idle_watts: Quantity[Watts] | None
    busy_watts: Quantity[Watts] | None
    """`idle_watts`, `busy_watts`: power draw; None if it was not measured."""

    def _check(self) -> None:
        idle, busy = self.idle_watts, self.busy_watts
        if idle and busy and busy.value < idle.value:
            must = f"be at least system.idle_watts.value, {idle.value:g}"
            raise Unsound(must, busy.value).within("busy_watts", "value")


@dataclass(frozen=True, slots=True)
class OnnxLimits:
    """The newest ONNX versions that a node loads: its onnxruntime has them, and the runtime knows their operators."""

    ir_version: Quantity[Annotated[int, In(3, 50)]]
    opset: Quantity[Annotated[int, In(7, 100)]]
    ml_opset: Quantity[Annotated[int, In(1, 50)]]


@dataclass(frozen=True, slots=True)
class DeviceProfile:
    """The profile of a device."""

    name: str
    system: System
    calibration: Mapping[str, Calibrated]
    """The time of each of `polydom_runtime.device.calibration.KERNELS`."""
    onnx: OnnxLimits
    cold_seconds: UncertainQuantity[float] | None = None
    """How much longer each unit and model takes after a sleep, about; None if it is not known."""

    @classmethod
    def load(cls, file: str | Path) -> "DeviceProfile":
        """Read a profile from a file.

        Raises
        ------
        ProfileError
            If there is no such file, or an entry in it is missing, unknown or impossible.
        """
        try:
            with open(file, "rb") as stream:
                content = stream.read(MAX_FILE_BYTES + 1)
        except (OSError, ValueError) as e:
            raise ProfileError(f"{file} must be a device profile. Got {e}. Give the path of a TOML file.") from e
        return _parse(content, str(file))

    @classmethod
    def named(cls, name: str) -> "DeviceProfile":
        """Read a profile that comes with Poly-Dom by its name; a path, or a name in .toml, is read as a file.

        Raises
        ------
        ProfileError
            If no profile has this name, or the file cannot be used (see `load`).
        """
        if name.endswith(".toml") or any(separator in name for separator in (os.sep, os.altsep, "/") if separator):
            return cls.load(name)
        files = {file.stem: file for file in PROFILES.glob("*.toml")}
        if name not in files:
            from polydom_runtime.codec.near_names import one_of  # only here: it is about an error

            raise ProfileError(
                f"{one_of('A device', sorted(files), name)} Choose one, or the path of a .toml file of your device."
            )
        return cls.load(files[name])


def dump(profile: DeviceProfile, file: str | Path) -> None:
    """Write a profile, whole or not at all; `ProfileError` if it could not be loaded again, or not be written."""
    lines = [f"format = {FORMAT}", f"name = {_toml(profile.name)}"]
    tables = {"system": _values(profile.system), "calibration": profile.calibration, "onnx": _values(profile.onnx)}
    if profile.cold_seconds:
        tables["cold"] = {"seconds": profile.cold_seconds}
    for table, entries in tables.items():
        for key, entry in entries.items():
            lines += ["", f"[{table}.{key}]"]
            lines += [f"{'value' if n == 'seconds' else n} = {_toml(v)}" for n, v in _values(entry).items()]
    try:
        content = ("\n".join(lines) + "\n").encode()
        _parse(content, str(file))
        replace_file(file, content)
    except (OSError, UnicodeError) as e:
        raise ProfileError(f"{file} must be a file that can be written. Got {e}. Choose another.") from e


class _Cold(NamedTuple):
    seconds: UncertainQuantity[Annotated[float, In(0.0, 1.0)]]


class _File(NamedTuple):
    """A profile as it stands in its file."""

    format: Annotated[int, In(FORMAT, FORMAT)]
    name: FilledText
    system: System
    calibration: Mapping[str, UncertainQuantity[Annotated[float, In(1e-9, 1.0)]]]
    onnx: OnnxLimits
    cold: _Cold | None

    def _check(self) -> None:
        try:
            fields_of(self.calibration, KERNELS)
        except Unsound as e:
            raise e.within("calibration") from e


CODEC = Codec(_File, plain=True, sparse=True)


def _parse(content: bytes, file: str) -> DeviceProfile:
    if len(content) > MAX_FILE_BYTES:
        raise ProfileError(f"{file} must have at most {MAX_FILE_BYTES} bytes. Got more. Is it a device profile?")
    try:
        found = CODEC.read(tomllib.loads(content.decode()))
    except Unsound as e:
        raise ProfileError(f"{e.says(f'{file}: the profile', f'{file}: ')} Correct the profile.") from e
    except (ValueError, RecursionError) as e:
        raise ProfileError(f"{file} must be TOML in UTF-8. Got {e!s:.200}. Correct the profile.") from e
    times = ((kernel, found.calibration[kernel]) for kernel in KERNELS)
    calibration = {kernel: Calibrated(t.value, t.uncertainty, t.provenance, t.source) for kernel, t in times}
    return DeviceProfile(found.name, found.system, calibration, found.onnx, found.cold and found.cold.seconds)


def _values(data: System | OnnxLimits | Quantity[Any] | Calibrated) -> dict[str, Any]:
    values = {field.name: getattr(data, field.name) for field in fields(data)}
    return {name: value for name, value in values.items() if value is not None}


def _toml(value: object) -> str:
    if isinstance(value, str):  # a JSON string is a TOML string, except that JSON does not escape DEL
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return float.__repr__(value) if isinstance(value, float) else repr(value)
