"""The content of the frames of a costs file, checked before it is used."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.regimes import REGIMES, Regime
from polydom_runtime.causes import uncontrolled
from polydom_runtime.exceptions import MeasurementError

from .cost_samples import MAX_PAUSES, MAX_SECONDS, Pauses
from .disturbances import Disturbances
from .measurement import Measurement, SamplesHeader

MAX_UNITS, MAX_SIZES, MAX_LOOPS, MAX_SWITCHES = 1000, 10_000, 1_000_000, 1 << 62


def unsound(path: Path, must: str, got: object, remedy: str = "Measure again") -> MeasurementError:
    """Return the error that a file is not as it must be."""
    return MeasurementError(f"{path} must {must}. Got {uncontrolled(str(got)[:120])}. {remedy}.")


def decoded_header(path: Path, document: Mapping[str, Any]) -> SamplesHeader:
    """Return the header from the content of its frame; `path` is for messages.

    Raises `MeasurementError` if a field is missing or impossible.
    """
    units = _texts(path, document, "units", MAX_UNITS)
    kernels = _texts(path, document, "kernels", MAX_UNITS)
    models = _texts(path, document, "models", MAX_UNITS) if document.get("models") else ()
    sizes: Any = document.get("sizes")
    loops: Any = document.get("loops")
    asleep: Any = document.get("asleep", 0.0)
    if not _is_list(sizes, float, MAX_SIZES):
        raise unsound(path, "hold a list of sizes", sizes)
    if (
        not _is_list(loops, int, MAX_UNITS * MAX_SIZES)
        or len(loops) != len(units) * len(sizes)
        or not 1 <= min(loops) <= max(loops) <= MAX_LOOPS
    ):
        raise unsound(path, "hold a number of calls for each unit and size", loops)
    if not _is_number(asleep, MAX_SECONDS):
        raise unsound(path, "say how long it slept before an answer", asleep)
    fingerprint, machine = document.get("fingerprint"), document.get("machine")
    if not isinstance(fingerprint, str) or not isinstance(machine, dict):
        raise unsound(path, "name its features and its machine", (fingerprint, machine))
    return SamplesHeader(units, tuple(sizes), tuple(loops), kernels, fingerprint, machine, models, asleep)


def add_frame(path: Path, document: Mapping[str, Any], measurement: Measurement) -> None:
    """Add the content of a frame after the header to a measurement; `path` is for messages.

    Raises `MeasurementError` if the frame does not hold whole rounds or whole answers, or something impossible.
    """
    header = measurement.header
    if "enough" in document:
        measurement.enough = uncontrolled(str(document["enough"]))
    elif "answers" in document:
        regime = _regime(path, document)
        measurement.answers[regime].append(_table(path, document.get("answers"), header.n_answer_columns))
        _check_order(path, measurement.answers_in(regime)[:, 0])
    else:
        measurement.rounds.append(_table(path, document.get("rounds"), header.n_columns))
    measurement.seen = measurement.seen.plus(_disturbances(path, document))
    warnings: Any = document.get("warnings", [])
    if type(warnings) is not list or not all(type(warning) is str for warning in warnings):
        raise unsound(path, "hold its warnings as texts", warnings)
    measurement.warnings = tuple(map(uncontrolled, document.get("warnings", measurement.warnings)))


def _regime(path: Path, document: Mapping[str, Any]) -> Regime:
    for regime in REGIMES:
        if document.get("regime") == regime:
            return regime
    raise unsound(path, f"hold answers in one of the regimes {', '.join(REGIMES)}", document.get("regime"))


def _table(path: Path, raw: object, n_columns: int) -> Floats:
    if not isinstance(raw, bytes) or not raw or len(raw) % (8 * n_columns):
        raise unsound(path, f"hold rows of {n_columns} times", type(raw).__name__)
    return np.frombuffer(raw, dtype="<f8").reshape(-1, n_columns).astype(np.float64)


def _check_order(path: Path, positions: Floats) -> None:
    n_items = len(np.unique(positions))
    if not np.array_equal(positions, np.resize(positions[:n_items], len(positions))):
        raise unsound(path, "hold answers to the same items in the same order in every round", positions[: n_items + 1])


def _disturbances(path: Path, document: Mapping[str, Any]) -> Disturbances:
    watched, stolen = (document.get(name, 0) for name in ("watched", "stolen"))
    counts = switches, throttled = [document.get(name, 0) for name in ("switches", "throttled")]
    raw = document.get("pauses", b"")
    lengths = np.frombuffer(raw, dtype="<f8") if isinstance(raw, bytes) and len(raw) % 8 == 0 else np.array([np.nan])
    if (
        not _is_number(watched, MAX_SECONDS)
        or not _is_number(stolen, MAX_SECONDS)
        or not all(type(count) is int and 0 <= count <= MAX_SWITCHES for count in counts)
        or len(lengths) > MAX_PAUSES
        or not ((lengths > 0.0) & (lengths <= MAX_SECONDS)).all()
    ):
        raise unsound(path, "hold possible pauses", (watched, counts, stolen, lengths[:3]))
    return Disturbances(Pauses.of(float(watched), lengths.tolist()), switches, float(stolen), throttled)


def _is_number(value: object, most: float) -> bool:
    return type(value) in (int, float) and 0.0 <= value <= most  # type: ignore[operator]


def _texts(path: Path, document: Mapping[str, Any], name: str, most: int) -> tuple[str, ...]:
    texts: Any = document.get(name)
    if not _is_list(texts, str, most) or len(set(texts)) != len(texts) or not all(map(str.isprintable, texts)):
        raise unsound(path, f"hold different {name}, of printable characters", texts)
    return tuple(texts)


def _is_list(value: Any, kind: type, most: int) -> bool:
    return type(value) is list and 0 < len(value) <= most and all(type(v) is kind for v in value)
