"""The facts about the machine that a measurement is stamped with, and their check when they come from a file."""

from collections.abc import Callable, Mapping
from typing import Any

IDENTITY = ("device", "cpu", "python", "numpy", "onnxruntime", "threads", "governors")
"""The facts that must be equal for times to be comparable."""

MAX_TEXT_CHARS, MAX_WARNINGS, MAX_NUMBER = 500, 20, 1 << 62
THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_TEXT_CHARS and value.isprintable()


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MAX_NUMBER


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= MAX_WARNINGS and all(map(_is_text, value))


def _are_limits(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    return all(_is_text(v) if k == "failed" else _is_count(v) for k, v in value.items())


def _are_variables(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(v, str) for v in (*value, *value.values()))


def _is_amount(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= MAX_NUMBER


CHECKS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("device", "cpu", "machine", "kernel", "python", "numpy", "onnxruntime", "began"), _is_text),
    **dict.fromkeys(
        ("cores", "timer_tick_ns", "timer_reading_ns", "involuntary_switches", "throttled_periods"), _is_count
    ),
    **dict.fromkeys(("processor_share", "stolen_seconds"), _is_amount),
    **dict.fromkeys(("memory_bytes", "available_bytes"), lambda value: value is None or _is_count(value)),
    **dict.fromkeys(("governors", "warnings"), _is_texts),
    "onnx": _are_limits,
    "threads": _are_variables,
}


def stamp_fault(machine: Mapping[str, Any]) -> str | None:
    """Return the first fact with an impossible value, as text; None if all are possible. Facts may be missing."""
    for name, is_sound in CHECKS.items():
        if name in machine and not is_sound(machine[name]):
            return f"{name} = {machine[name]!r:.80}"
    return None
