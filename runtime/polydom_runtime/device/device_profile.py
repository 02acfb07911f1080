"""Device profiles: the figures of a device, where each comes from, and how uncertain it is."""

import json
import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Generic, TypeVar

from polydom_runtime.exceptions import ProfileError
from polydom_runtime.files import replace_file

from .calibration import KERNELS

FORMAT = 1
PROVENANCES = ("measured", "published", "derived")
MAX_FILE_BYTES = 1_000_000
PROFILES = Path(__file__).parent / "profiles"
"""The folder of the named profiles: package data; in a clone, a link to the folder at the top of the repository."""

T = TypeVar("T", str, int, float)


@dataclass(frozen=True, slots=True)
class Quantity(Generic[T]):
    """A figure and where it comes from: its provenance, one of `PROVENANCES`, and its source in words."""

    value: T
    provenance: str
    source: str


@dataclass(frozen=True, slots=True)
class UncertainQuantity(Quantity[T]):
    """A figure with a factor: the true one lies from value / uncertainty to value * uncertainty."""

    uncertainty: float


@dataclass(frozen=True, slots=True)
class Calibrated:
    """The time of one run of a kernel."""

    seconds: float
    uncertainty: float
    """A factor: the true time lies from seconds / uncertainty to seconds * uncertainty."""
    provenance: str
    """One of `PROVENANCES`."""
    source: str
    """Where the figure comes from, in words."""


@dataclass(frozen=True, slots=True)
class System:
    """The machine and its operating system."""

    soc: Quantity[str]
    core: Quantity[str]
    """Names of the system on chip and of its processor cores."""
    cores: Quantity[int]
    """The number of cores."""
    clock_hz: Quantity[float] | None
    """The clock of the fastest core; None if the device cannot read it."""
    memory_bytes: Quantity[int]
    os: Quantity[str]
    timer_tick_seconds: Quantity[float]
    """The resolution of the timer."""
    idle_watts: Quantity[float] | None
    busy_watts: Quantity[float] | None
    """Power draw; None if it was not measured."""


@dataclass(frozen=True, slots=True)
class OnnxLimits:
    """The newest ONNX versions that onnxruntime on the device loads."""

    ir_version: Quantity[int]
    opset: Quantity[int]
    ml_opset: Quantity[int]


@dataclass(frozen=True, slots=True)
class DeviceProfile:
    """The profile of a device.

    Parameters
    ----------
    name : str
    system : System
    calibration : mapping of str to Calibrated
        The time of each of `polydom_runtime.device.calibration.KERNELS`.
    onnx : OnnxLimits
    cold_seconds : UncertainQuantity, optional
        How much longer a feature, a step, dispatch or a model takes after a sleep, about; None if it is not known.
    """

    name: str
    system: System
    calibration: Mapping[str, Calibrated]
    onnx: OnnxLimits
    cold_seconds: UncertainQuantity[float] | None = None

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
            raise ProfileError(
                f"A device must be one of {', '.join(sorted(files)) or '(none found)'}, or the path of a .toml file. "
                f"Got {name!r}. Write a profile of your device, or choose a known one."
            )
        return cls.load(files[name])


def dump(profile: DeviceProfile, file: str | Path) -> None:
    """Write a profile to a file, whole or not at all.

    Raises `ProfileError` if `DeviceProfile.load` would refuse the profile, or the file cannot be written.
    """
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


@dataclass(frozen=True, slots=True)
class _Rule:
    """The rule for a value: text, a whole number or a number; numbers within limits."""

    kind: type
    low: float = 0.0
    high: float = 0.0

    def __str__(self) -> str:
        if self.kind is str:
            return "text that is not empty"
        return f"a {'whole ' if self.kind is int else ''}number from {self.low:g} to {self.high:g}"

    def allows(self, value: Any) -> bool:
        if self.kind is str:
            return isinstance(value, str) and bool(value.strip())
        number = isinstance(value, (int, self.kind)) and not isinstance(value, bool)
        return number and bool(self.low <= value <= self.high)


TEXT, WATTS = _Rule(str), _Rule(float, 0.01, 10_000)
SYSTEM = {
    "soc": TEXT,
    "core": TEXT,
    "cores": _Rule(int, 1, 4096),
    "clock_hz": _Rule(float, 1e6, 1e11),
    "memory_bytes": _Rule(int, 2**26, 2**45),
    "os": TEXT,
    "timer_tick_seconds": _Rule(float, 1e-12, 1e-3),
    "idle_watts": WATTS,
    "busy_watts": WATTS,
}
OPTIONAL = ("clock_hz", "idle_watts", "busy_watts", "cold")
ONNX = {"ir_version": _Rule(int, 3, 50), "opset": _Rule(int, 7, 100), "ml_opset": _Rule(int, 1, 50)}
CALIBRATED = {"value": _Rule(float, 1e-9, 1.0), "uncertainty": _Rule(float, 1.0, 1000.0)}
COLD = {"value": _Rule(float, 0.0, 1.0), "uncertainty": CALIBRATED["uncertainty"]}


def _parse(content: bytes, file: str) -> DeviceProfile:
    if len(content) > MAX_FILE_BYTES:
        raise ProfileError(f"{file} must have at most {MAX_FILE_BYTES} bytes. Got more. Is it a device profile?")
    try:
        document = tomllib.loads(content.decode())
    except (ValueError, RecursionError) as e:
        raise ProfileError(f"{file} must be TOML in UTF-8. Got {e!s:.200}. Correct the profile.") from e
    return _Reader(file).profile(document)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Checks one document; every error names the file and the key."""

    file: str

    def profile(self, document: dict[str, Any]) -> DeviceProfile:
        if not _Rule(int, FORMAT, FORMAT).allows(document.get("format")):
            raise self.error("format", FORMAT, repr(document.get("format")))
        self.table(document, "the profile", ("format", "name", "system", "calibration", "onnx", "cold"))
        if not TEXT.allows(document["name"]):
            raise self.error("name", TEXT, repr(document["name"]))
        system = System(**self.quantities(document, "system", SYSTEM))
        idle, busy = system.idle_watts, system.busy_watts
        if idle and busy and busy.value < idle.value:
            raise self.error(
                "system.busy_watts.value", f"at least system.idle_watts.value, {idle.value:g}", repr(busy.value)
            )
        times = self.table(document["calibration"], "calibration", KERNELS)
        calibration = {k: Calibrated(*self.entry(times[k], f"calibration.{k}", CALIBRATED)) for k in KERNELS}
        onnx = OnnxLimits(**self.quantities(document, "onnx", ONNX))
        return DeviceProfile(document["name"], system, calibration, onnx, self.cold(document))

    def cold(self, document: dict[str, Any]) -> UncertainQuantity[float] | None:
        if "cold" not in document:
            return None
        entry = self.table(document["cold"], "cold", ("seconds",))["seconds"]
        value, uncertainty, provenance, source = self.entry(entry, "cold.seconds", COLD)
        return UncertainQuantity(value, provenance, source, uncertainty)

    def quantities(self, document: dict[str, Any], key: str, rules: Mapping[str, _Rule]) -> dict[str, Any]:
        table = self.table(document[key], key, rules)
        return {
            name: Quantity(*self.entry(table[name], f"{key}.{name}", {"value": rule})) if name in table else None
            for name, rule in rules.items()
        }

    def entry(self, value: object, key: str, rules: Mapping[str, _Rule]) -> list[Any]:
        """Return the values of an entry in the order of `rules`, then its provenance and source."""
        entry = self.table(value, key, (*rules, "provenance", "source"))
        for name, rule in {**rules, "source": TEXT}.items():
            if not rule.allows(entry[name]):
                raise self.error(f"{key}.{name}", rule, repr(entry[name]))
        if entry["provenance"] not in PROVENANCES:
            raise self.error(f"{key}.provenance", f"one of {', '.join(PROVENANCES)}", repr(entry["provenance"]))
        return [*(rule.kind(entry[name]) for name, rule in rules.items()), entry["provenance"], entry["source"]]

    def table(self, value: object, key: str, names: Iterable[str]) -> dict[str, Any]:
        """Return a table that has exactly these keys."""
        expected = f"a table with exactly the keys {', '.join(names)}"
        if not isinstance(value, dict):
            raise self.error(key, expected, repr(value))
        if wrong := ({*names} ^ value.keys()) - ({*OPTIONAL} & {*names}):
            name = min(wrong)
            raise self.error(key, expected, f"one {'with' if name in value else 'without'} {name}")
        return value

    def error(self, key: str, must: object, got: str) -> ProfileError:
        return ProfileError(f"{self.file}: {key} must be {must}. Got {got:.80}. Correct the profile.")


def _values(data: System | OnnxLimits | Quantity[Any] | Calibrated) -> dict[str, Any]:
    values = {field.name: getattr(data, field.name) for field in fields(data)}
    return {name: value for name, value in values.items() if value is not None}


def _toml(value: object) -> str:
    if isinstance(value, str):  # a JSON string is a TOML string, except that JSON does not escape DEL
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return float.__repr__(value) if isinstance(value, float) else repr(value)
