"""Examining a machine for causes of late or impossible answers, before it is used."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index_file import loaded
from polydom_runtime.clock import Clock, hardware_clock
from polydom_runtime.device.board import Board
from polydom_runtime.device.jitter import Jitter, Permissions, permissions, wake_up_jitter
from polydom_runtime.device.probe import Probe, probe
from polydom_runtime.exceptions import BundleFormatError
from polydom_runtime.findings import Finding, finding
from polydom_runtime.measuring.cost_samples import Pauses
from polydom_runtime.measuring.stopwatch import Timers, pauses_now

from .machine_findings import (
    check_busy,
    check_free_memory,
    check_governor,
    check_jitter,
    check_kernel,
    check_processors,
    check_realtime,
    check_swap,
    check_temperature,
    check_throttling,
    check_timer,
)
from .software_findings import check_bundle, check_costs, check_software, check_threads

if TYPE_CHECKING:
    from polydom_runtime.trust.trust import Trust


def examine(
    board: Board | None = None,
    found: Probe | str | None = None,
    environment: Mapping[str, str] = os.environ,
    bundle: Bundle | str | os.PathLike[str] | None = None,
    clock: Clock = hardware_clock,
    jitter: Jitter | None = None,
    allowed: Permissions | None = None,
    pauses: Pauses | None = None,
    trust: "Trust | None" = None,
) -> list[Finding]:
    """Examine everything on a machine that affects deadlines, and return all findings, good and bad.

    What is not given is found out now: whether onnxruntime works in a child process (`found`), half a second of
    jitter, and the pauses in a quarter of a second of work. Of a bundle, every model is opened and run.
    """
    board = Board() if board is None else board
    found = probe() if found is None else found
    findings = [
        *check_software(found),
        check_threads(found, environment),
        check_timer(clock),
        check_jitter(wake_up_jitter() if jitter is None else jitter),
        check_processors(board),
        check_busy(pauses_now(Timers()) if pauses is None else pauses, board),
        check_governor(board),
        check_throttling(board),
        check_temperature(board),
        check_swap(board),
        check_realtime(permissions() if allowed is None else allowed),
        check_kernel(board),
    ]
    if bundle is not None:
        try:
            bundle = loaded(bundle, trust)
        except BundleFormatError as e:
            findings.append(finding("bundle", "problem", str(e), "no model can answer", "copy, sign or build it again"))
            bundle = None
    if bundle is not None:
        findings += [check_bundle(bundle, found), check_costs(bundle, board, found)]
    sizes = () if bundle is None else [m.size_bytes for m in bundle.models]
    return [*findings, check_free_memory(board, sizes)]
