"""The report on a device profile: what is known of a device before anything was measured on it."""

import re
from collections.abc import Callable
from typing import Any

from polydom_builder.drawing.bars import UnitBar, draw_units
from polydom_runtime.costs import format_seconds
from polydom_runtime.device.device_profile import DeviceProfile, OnnxLimits, System
from polydom_runtime.tables import TextTable

from .page import Page, Picture, Section, rows_high

FORMATS: dict[str, Callable[[Any], str]] = {
    "clock_hz": lambda value: f"{value / 1e9:.3g} GHz",
    "memory_bytes": lambda value: f"{value / 2**30:.3g} GiB",
    "timer_tick_seconds": format_seconds,
    "idle_watts": lambda value: f"{value:g} W",
    "busy_watts": lambda value: f"{value:g} W",
}


def profile_page(profile: DeviceProfile) -> Page:
    """Return the report on a profile."""
    kernels, system = profile.calibration, profile.system
    estimated = sum(kernel.provenance != "measured" for kernel in kernels.values())
    warning = f"Estimated: {estimated} of {len(kernels)} calibration figures were not measured there."
    bars = [UnitBar(name, k.seconds, k.seconds * k.uncertainty) for name, k in kernels.items()]
    picture = Picture(
        "The time of one run of each calibration kernel",
        "Point: the figure; bar: the figure times its uncertainty.",
        lambda axes: draw_units(axes, bars),
        rows_high(len(bars)),
    )
    columns = ["kernel", "#time", "#uncertainty", "provenance", "source"]
    times = [
        (name, format_seconds(k.seconds), f"× {k.uncertainty:g}", k.provenance, k.source) for name, k in kernels.items()
    ]
    lead = "Costs measured on another machine are converted by the ratio of these times, term by term."
    doubt = max(kernel.uncertainty for kernel in kernels.values())
    return Page(
        "device",
        profile.name,
        f"{system.soc.value}, {system.cores.value} × {system.core.value}",
        [(text, name) for name, text, *_ in _known(system) if name in ("cores", "clock", "memory")],
        [f"Times that are carried over to this device may be wrong by a factor of up to {doubt:g}."],
        [warning] * bool(estimated),
        [
            Section("Calibration", lead, [picture, TextTable("Calibration kernels", columns, times, is_wide=True)]),
            Section("Device", "", [_table("System", system)]),
            Section("ONNX", "", [_table("The newest versions that load", profile.onnx)]),
        ],
    )


def _table(title: str, of: System | OnnxLimits) -> TextTable:
    return TextTable(title, ["what", "value", "provenance", "source"], _known(of), is_wide=True)


def _known(of: System | OnnxLimits) -> list[tuple[str, str, str, str]]:
    """Return the name of each known figure, its value with the unit, and where it comes from."""
    quantities = {name: getattr(of, name) for name in of.__dataclass_fields__}
    return [
        (_words(name), FORMATS.get(name, str)(quantity.value), quantity.provenance, quantity.source)
        for name, quantity in quantities.items()
        if quantity is not None
    ]


def _words(name: str) -> str:
    """Return the name of a figure in words: its unit stands beside the number.

    >>> _words("clock_hz"), _words("ir_version")
    ('clock', 'ir version')
    """
    return re.sub("_(hz|bytes|seconds|watts)$", "", name).replace("_", " ")
