"""The device profile that follows from a report, and the reasons why none may."""

from collections.abc import Iterator
from dataclasses import asdict, replace

from polydom_runtime.causes import printable
from polydom_runtime.costs import format_seconds
from polydom_runtime.device.calibration import KERNELS
from polydom_runtime.device.device_profile import PROFILES, Calibrated, DeviceProfile, UncertainQuantity
from polydom_runtime.diagnosis.machine_findings import HOTTEST_CELSIUS
from polydom_runtime.exceptions import ProfileError
from polydom_runtime.measuring.cost_samples import BUSY_SHARE
from polydom_runtime.measuring.own_profile import MIN_UNCERTAINTY, measured_profile, source_of
from polydom_runtime.tables import percent

from .report import BoardReport

MOST_SPREAD = 1.25
"""The factor by which sessions may differ: above it the board changed its clock, or other work came and went."""

LEAST_RUNS = 100
"""With fewer runs of a kernel, its median is not known to some percent."""

MOST_OFF = 2.0
"""An estimate may be wrong by its uncertainty. A board that differs by this many times as much is another board."""


def refusals(report: BoardReport) -> list[str]:
    """Return the reasons why a report is not fit to be a profile, as sentences; none if it is fit."""
    return [*_conditions(report), *_times(report)]


def _conditions(report: BoardReport) -> Iterator[str]:
    if report.onnx is None or not report.facts.has_onnxruntime:
        yield (
            "A profile needs the times of onnxruntime and its newest ONNX versions. It is missing on this board, or "
            "does not work. The report is of use all the same."
        )
    states = [s for one in report.sessions for s in (one.before, one.after)]
    flags = [state.throttled or 0 for state in (report.before, *states, report.after)]
    warnings = [text for one in report.sessions for text in one.warnings]
    if not any(flags) and any("throttled" in text or "clock fell" in text for text in warnings):
        yield f"The clock fell while the kernels ran: {printable(warnings[0])}. Cool the board, and measure again."
    if (known := report.facts.governors) and set(known) != {"performance"}:
        yield f"The governor must be performance. It was {printable(', '.join(known))}. Set it, and measure again."
    if report.facts.cores is None or (report.facts.memory_bytes or 0) <= 0 or report.facts.timer_tick_ns <= 0:
        yield "A profile needs the number of cores, the memory and the tick of the timer. The report lacks one."
    if any(flags):  # those since the start too: whether it happens again is not seen then
        yield (
            "The board was throttled: it lowered its clock to save itself. Give it a better power supply or cooling, "
            "restart it, and measure again."
        )
    heats = [state.celsius for state in (report.before, *states, report.after) if state.celsius is not None]
    if heats and max(heats) >= HOTTEST_CELSIUS:
        yield (
            f"The board was at the limit of its temperature: {max(heats):.0f} °C, and below {HOTTEST_CELSIUS:g} °C is "
            "needed. Cool it, and measure again."
        )
    if (share := report.processor_share) < BUSY_SHARE:
        yield (
            f"The board had other work: a session got {percent(share)} of a processor, and {percent(BUSY_SHARE)} "
            "is needed. Stop other programs, and measure again."
        )


def _times(report: BoardReport) -> Iterator[str]:
    if (runs := min(times.runs for s in report.sessions for times in s.kernels.values())) < LEAST_RUNS:
        yield (
            f"Each session must run each kernel {LEAST_RUNS} times or more. One ran one {runs} times. Measure again, "
            "with a longer --seconds."
        )
    spreads = report.spreads
    if spreads[kernel := max(spreads, key=spreads.__getitem__)] > MOST_SPREAD:
        yield (
            f"The sessions must agree within a factor of {MOST_SPREAD:g}. For {kernel} they differ by "
            f"{spreads[kernel]:.2f}: the clock changed, or other work came and went. Set the governor to performance, "
            "stop other programs, and measure again."
        )
    if (shipped := shipped_profile(report.facts.device)) is None:
        return
    off = {name: _ratio(report.seconds(name), known) for name, known in shipped.calibration.items() if name in spreads}
    if off[kernel := max(off, key=off.__getitem__)] > MOST_OFF:
        known = shipped.calibration[kernel]
        yield (
            f"{kernel} took {format_seconds(report.seconds(kernel))}. The shipped profile of {shipped.name} says "
            f"{format_seconds(known.seconds)}, and a factor of {MOST_OFF * known.uncertainty:g} is the most that is "
            "believed. Is this such a board, and not an emulated one?"
        )


def _ratio(seconds: float, known: Calibrated) -> float:
    """Return by how many times its uncertainty a time differs from a known one."""
    return max(seconds / known.seconds, known.seconds / seconds) / known.uncertainty


def shipped_profile(device: str) -> DeviceProfile | None:
    """Return the shipped profile whose name a device's name begins with; None if there is none."""
    profiles = [DeviceProfile.load(file) for file in sorted(PROFILES.glob("*.toml"))]
    name = device.replace(" Plus", "+")  # the 3 B+ calls itself "3 Model B Plus"
    return next((profile for profile in profiles if name.startswith(profile.name)), None)


def profile_of(report: BoardReport) -> DeviceProfile:
    """Return the profile that follows from a report; `ProfileError` if it is not fit."""
    facts = report.facts
    if reasons := refusals(report):
        raise ProfileError(f"A profile needs a report that is fit for it. This one is not. {' '.join(reasons)}")
    assert report.onnx is not None
    source = f"{source_of(asdict(facts))}, the median of {len(report.sessions)} sessions"
    calibration = {
        name: Calibrated(report.seconds(name), max(report.spreads[name], MIN_UNCERTAINTY), "measured", source)
        for name in KERNELS
    }
    cold = UncertainQuantity(report.cold.cold_seconds, "measured", source, report.cold.cold_uncertainty)
    machine = asdict(facts) | {"clock_hz_before": report.before.clock_hz}
    made, shipped = (
        measured_profile(machine, report.onnx._asdict(), source, calibration, cold),
        shipped_profile(facts.device),
    )
    return (
        replace(made, name=shipped.name) if shipped else made
    )  # without the revision, by which boards of a kind differ
