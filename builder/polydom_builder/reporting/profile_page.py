"""The report on a device profile: what is known of a device before anything was measured on it."""

from collections.abc import Callable, Sequence
from typing import Any

from matplotlib.figure import Figure

from polydom_builder.drawing.unit_bars import UnitBar, draw_units
from polydom_runtime.costs import format_seconds
from polydom_runtime.device.device_profile import DeviceProfile, OnnxLimits, Quantity, System

from .figures import figure, rows_high
from .page import Page, Picture, Section, Table

UNITS: dict[str, Callable[[Any], str]] = {
    "clock_hz": lambda value: f"{value / 1e9:.3g} GHz",
    "memory_bytes": lambda value: f"{value / 2**30:.3g} GiB",
    "timer_tick_seconds": format_seconds,
    "idle_watts": lambda value: f"{value:g} W",
    "busy_watts": lambda value: f"{value:g} W",
}


def profile_page(profile: DeviceProfile) -> Page:
    """Return the report on a profile."""
    kernels = profile.calibration
    measured = sum(kernel.provenance == "measured" for kernel in kernels.values())
    bars = [UnitBar(name, k.seconds, k.seconds * k.uncertainty) for name, k in kernels.items()]
    system = profile.system
    doubt = max(kernel.uncertainty for kernel in kernels.values())
    warnings = (
        []
        if measured == len(kernels)
        else [f"Estimated: {len(kernels) - measured} of {len(kernels)} calibration figures were not measured there."]
    )
    columns = ["what", "#value", "provenance", "source"]
    times = [
        (name, format_seconds(k.seconds), f"× {k.uncertainty:g}", k.provenance, k.source) for name, k in kernels.items()
    ]
    return Page(
        "device",
        profile.name,
        f"{system.soc.value}, {system.cores.value} × {system.core.value}",
        [
            (text, name.replace("_", " "))
            for name, text in _known(system)
            if name in ("cores", "clock_hz", "memory_bytes")
        ],
        [f"Times that are carried over to this device may be wrong by a factor of up to {doubt:g}."],
        warnings,
        [
            Section(
                "Calibration",
                "Costs measured on another machine are converted by the ratio of these times, term by term.",
                [
                    Picture(
                        "The time of one run of each calibration kernel",
                        "Point: the figure; bar: the figure times its uncertainty.",
                        lambda: _draw(bars),
                    ),
                    Table(
                        "Calibration kernels",
                        ["kernel", "#time", "#uncertainty", *columns[2:]],
                        times,
                        "",
                        "wide table",
                    ),
                ],
            ),
            Section("Device", "", [Table("System", columns, _rows(system), "", "wide table")]),
            Section(
                "ONNX", "", [Table("The newest versions that load", columns, _rows(profile.onnx), "", "wide table")]
            ),
        ],
    )


def _quantities(of: System | OnnxLimits) -> list[tuple[str, Quantity[Any]]]:
    return [(name, getattr(of, name)) for name in of.__dataclass_fields__ if getattr(of, name) is not None]


def _known(of: System | OnnxLimits) -> list[tuple[str, str]]:
    return [(name, UNITS.get(name, str)(quantity.value)) for name, quantity in _quantities(of)]


def _rows(of: System | OnnxLimits) -> list[tuple[str, ...]]:
    texts = dict(_known(of))
    return [(name.replace("_", " "), texts[name], q.provenance, q.source) for name, q in _quantities(of)]


def _draw(bars: Sequence[UnitBar]) -> Figure:
    made, axes = figure(rows_high(len(bars)))
    draw_units(axes, bars)
    return made
