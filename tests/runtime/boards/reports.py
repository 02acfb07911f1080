"""Made-up reports: of a board that is fit to be a profile, until a test changes it."""

from dataclasses import replace
from typing import Any

from polydom_runtime.boards.kernel_session import KernelSession, KernelTimes
from polydom_runtime.boards.report import BoardFacts, BoardReport, Versions
from polydom_runtime.device.board import BoardState
from polydom_runtime.device.device_profile import DeviceProfile
from polydom_runtime.findings import finding

COOL = BoardState(clock_hz=1.8e9, celsius=45.0, throttled=0)
PI_4 = DeviceProfile.named("raspberry_pi_4b")

FACTS = BoardFacts(
    device="Raspberry Pi 4 Model B Rev 1.4",
    revision="c03114",
    cpu="Cortex-A72",
    cores=4,
    machine="aarch64",
    process_bits=64,
    kernel="6.12.25",
    python="3.11.2",
    numpy="2.4.6",
    onnxruntime="1.28.0",
    governors=("performance",),
    memory_bytes=4_000_000_000,
    available_bytes=3_500_000_000,
    timer_tick_ns=18,
    timer_reading_ns=60,
    began="2026-12-01T10:00:00Z",
)


def a_session(slower: float = 1.0, **changes: Any) -> KernelSession:
    """Return a session in which each kernel takes as long as the shipped profile says, times a factor."""
    kernels = {
        name: KernelTimes(slower * t.seconds, 1.2 * slower * t.seconds, 1000) for name, t in PI_4.calibration.items()
    }
    session = KernelSession(
        began="2026-12-01T10:00:10Z",
        stopped="time was up after 1000 rounds",
        kernels=kernels,
        hot=kernels,
        cold=kernels,
        cold_seconds=5e-5 * slower,
        cold_uncertainty=3.0,
        processor_share=0.98,
        before=COOL,
        after=COOL,
        warnings=(),
    )
    return replace(session, **changes)


def a_report(**changes: Any) -> BoardReport:
    """Return a report that is fit, with changes of its fields."""
    report = BoardReport(
        polydom="0.1.0",
        facts=FACTS,
        before=COOL,
        after=COOL,
        findings=(finding("swap", "warning", "1 GB", "slow", "swapoff -a"), finding("numpy", "ok", "2.4.6", "")),
        onnx=Versions(13, 22, 4),
        sessions=(a_session(), a_session(1.05), a_session(0.98)),
        answers={},
        missing=("How late answers are is missing.",),
        watts=4.2,
        note="official power supply",
    )
    return replace(report, **changes)
