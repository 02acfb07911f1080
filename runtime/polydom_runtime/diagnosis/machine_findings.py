"""Findings about the machine: its timer, scheduler, processor clock, temperature, memory, and who may change files."""

import re
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from polydom_runtime.clock import Clock
from polydom_runtime.costs import format_seconds
from polydom_runtime.device.board import Board, memory_need
from polydom_runtime.device.jitter import Jitter, Permissions, reading_ns, step_back_ns, timer_tick_ns
from polydom_runtime.findings import Finding, Level, finding
from polydom_runtime.measuring.cost_samples import Pauses
from polydom_runtime.measuring.stopwatch import QUOTA_CURE
from polydom_runtime.tables import percent

COARSEST_TICK_NS = 10_000
MAX_WAKE_UP_NS = 1_000_000
HOTTEST_CELSIUS = 80.0
THROTTLE_BITS = ("undervoltage", "clock capped", "throttled", "soft temperature limit")
SINCE_START = 16


def check_timer(clock: Clock) -> Finding:
    """Check the timer: its resolution, the cost of a reading, and whether it ever goes backwards."""
    tick, cost, back = timer_tick_ns(clock), reading_ns(clock), step_back_ns(clock)
    figures = f"resolution {_time(tick)}, one reading {_time(cost)}"
    if back:
        text, bad = f"goes back by up to {_time(back)}", True
    elif not tick:
        text, bad = "stands still", True
    else:
        text, bad = figures, tick > COARSEST_TICK_NS
    return finding(
        "timer",
        "problem" if bad else "ok",
        text,
        "it is read before every feature, to see whether the feature still fits",
        "use a kernel with high-resolution timers (CONFIG_HIGH_RES_TIMERS=y) and the processor's own clock source, "
        "named in /sys/devices/system/clocksource/clocksource0/current_clocksource",
    )


def check_jitter(jitter: Jitter) -> Finding:
    """Check how late a sleeping loop is woken."""
    late = f"p50 {_time(jitter.p50_ns)}, p99 {_time(jitter.p99_ns)}, max {_time(jitter.max_ns)}"
    return finding(
        "wake-up jitter",
        "warning" if jitter.p99_ns > MAX_WAKE_UP_NS else "ok",
        f"late by {late}, in {jitter.periods} periods of {_time(jitter.period_ns)}",
        "the causes of late wake-ups also take the processor away from an answer",
        "stop other programs; `chrt -f 50` before the command (SCHED_FIFO); a core of its own by isolcpus=3 in "
        "/boot/firmware/cmdline.txt and `taskset -c 3`; TimerSlackNSec=1 in its systemd unit",
    )


def check_processors(board: Board) -> Finding:
    """Check whether control groups, as of a container, let this process use whole processors."""
    limits, throttled, texts, fixes = board.groups.limits, board.groups.throttled(), [], []
    if allowed := re.search(r"^Cpus_allowed_list:\s*(\S+)$", board.text("proc/self/status") or "", re.MULTILINE):
        texts.append(f"may use {allowed[1]} of {board.text('sys/devices/system/cpu/online') or 'an unknown number'}")
    if quota := limits.quota:
        texts.append(f"a quota of {format_seconds(quota.seconds)} in each {format_seconds(quota.period)}")
        texts += [f"used up {throttled} times so far"] * bool(throttled)
    if limits.weight < 1.0:
        texts.append(f"{percent(limits.weight)} of the usual weight")
        fixes.append("the usual weight: `docker run` without --cpu-shares, CPUWeight=100 in the systemd unit")
    why = "other programs get the processor first if they want it, too"
    if quota and _is_short(board):
        stop = f"for up to {format_seconds(quota.period - quota.seconds)}" if quota.processors < 1.0 else "for a while"
        why = f"once the quota is used up, the kernel stops all threads, {stop}; an answer is late by that"
        fixes = [QUOTA_CURE, *fixes]
    return finding("processors", "warning" if fixes else "ok", "; ".join(texts) or "no limit", why, "; ".join(fixes))


def check_busy(pauses: Pauses, board: Board) -> Finding:
    """Check whether a process that never waits gets a whole processor."""
    longest = f", the longest {format_seconds(pauses.lengths[0])}" if pauses.lengths else ""
    found = f"{len(pauses.lengths)} pauses in {format_seconds(pauses.watched)} of work{longest}"
    return finding(
        "other work",
        "warning" if pauses.is_busy else "ok",
        f"{found}; got {percent(pauses.processor_share)} of a processor",
        "no plan avoids a pause that is longer than the deadline",
        QUOTA_CURE
        if _is_short(board)
        else "stop other programs; `chrt -f 50` before the command (SCHED_FIFO); a core of its own by isolcpus=3 in "
        "/boot/firmware/cmdline.txt and `taskset -c 3`",
    )


def check_governor(board: Board) -> Finding:
    """Check the governor, which sets the clock of the processor."""
    governors = board.governors
    if not governors:
        return finding(
            "governor",
            "warning",
            "cannot be read, so the clock may change",
            "times measured at one clock do not hold at another",
            "measure costs on the device itself; a virtual machine shows no governor, and some kernels do not",
        )
    return finding(
        "governor",
        "ok" if governors == ("performance",) else "warning",
        ", ".join(governors),
        "an item after a pause is computed at a low clock, up to several times slower than measured",
        "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor; for a container, on the "
        "machine that runs it",
    )


def check_throttling(board: Board) -> Finding:
    """Check whether the firmware lowers the clock now, or has lowered it since the start."""
    flags = board.state().throttled
    why = "the firmware lowers the clock below the one that costs were measured at"
    if flags is None and "Raspberry Pi" in board.device:
        return finding("throttling", "warning", "cannot be read", why, "look at `vcgencmd get_throttled`")
    if flags is None:
        return finding("throttling", "ok", "no such flags on this machine", why)
    now, before = _flags(flags), _flags(flags >> SINCE_START)
    texts = [f"now: {', '.join(now)}"] * bool(now) + [f"since the start: {', '.join(before)}"] * bool(before)
    fixes = ["a power supply and cable that hold 5 V under load"] * ("undervoltage" in now + before)
    fixes += ["a heat sink or fan, or a cooler place"] * bool({*now, *before} - {"undervoltage"})
    level: Level = "problem" if now else "warning" if before else "ok"
    return finding("throttling", level, "; ".join(texts) or "none, now or since the start", why, "; ".join(fixes))


def check_temperature(board: Board) -> Finding:
    """Check the temperature of the hottest zone."""
    celsius = board.state().celsius
    return finding(
        "temperature",
        "warning" if celsius is not None and celsius > HOTTEST_CELSIUS else "ok",
        "no sensor tells a plausible one" if celsius is None else f"{celsius:.1f} °C",
        "a Raspberry Pi lowers its clock step by step from 80 °C on",
        "a heat sink or fan, or a cooler place",
    )


def check_swap(board: Board) -> Finding:
    """Check for swap: memory that the system may move to a disk."""
    if not board.groups.limits.may_swap:  # whatever the whole machine has
        return finding("swap", "ok", "none for this process", "")
    total, free = board.memory_bytes("SwapTotal"), board.memory_bytes("SwapFree")
    used = f"{_size(total)}, {_size(total - free)} in use" if total and free is not None else _size(total)
    return finding(
        "swap",
        "ok" if total == 0 else "warning",
        "none" if total == 0 else used,
        "reading a page back from an SD card takes milliseconds, in the middle of an answer",
        "sudo swapoff -a; to stay off after a start, `sudo systemctl disable dphys-swapfile` or Mechanism=none in "
        "/etc/rpi/swap.conf; to keep it for emergencies, `sudo sysctl vm.swappiness=1`; for a container, `docker run` "
        "with an equal --memory and --memory-swap",
    )


def check_realtime(allowed: Permissions) -> Finding:
    """Check whether the node may run with priority over all other programs."""
    lock = "any memory" if allowed.lockable_bytes is None else f"{_size(allowed.lockable_bytes)} of memory"
    return finding(
        "real-time permission",
        "ok" if allowed.realtime else "warning",
        f"SCHED_FIFO is {'allowed' if allowed.realtime else 'refused'}; {lock} may be locked",
        "without it any other program may take the processor away in the middle of an answer",
        "the line `USER - rtprio 50`, with the user's name, in a file in /etc/security/limits.d and a new login, or "
        "LimitRTPRIO=50 or AmbientCapabilities=CAP_SYS_NICE in the systemd unit; `docker run --ulimit rtprio=50`",
    )


def check_kernel(board: Board) -> Finding:
    """Check whether the kernel can be interrupted in its own work."""
    version = board.text("proc/version") or ""
    named = re.search(r"\bPREEMPT\w*", version)
    kind = "PREEMPT_RT" if board.text("sys/kernel/realtime") == "1" else named[0] if named else None
    return finding(
        "kernel",
        "ok" if kind else "warning",
        kind or ("not preemptible" if version else "cannot be read"),
        "an answer waits until the kernel has finished its work for another program",
        "use a kernel built with PREEMPT or PREEMPT_RT, as Raspberry Pi OS has",
    )


def check_free_memory(board: Board, model_bytes: Sequence[int] = ()) -> Finding:
    """Check whether a node with all models of these sizes open fits into the available memory."""
    need = memory_need(model_bytes)
    available = board.available_bytes
    limit = f" below a limit of {_size(most)}" if (most := board.groups.limits.memory_bytes) else ""
    level: Level = "warning" if available is None else "problem" if available < need else "ok"
    return finding(
        "memory",
        level,
        f"{_size(available)} available{limit}, up to {_size(need)} needed with {len(model_bytes)} models",
        "when memory runs out, the system drops pages of code and reads them again, or kills the process",
        "stop other programs, or build the bundle for fewer or smaller models (higher alpha or tolerance)"
        + "; or a higher limit: `docker run --memory=`, MemoryMax= and MemoryHigh= in the systemd unit" * bool(limit),
    )


def check_access(paths: Iterable[Path]) -> Finding:
    """Check that not every user may write to files and folders, or put others in their places; links are followed."""
    found = {path.resolve() for path in paths}
    exposed = {path for path in found if _mode(path) & stat.S_IWOTH}
    # Where the sticky bit is set, as in /tmp, nobody can rename what belongs to others.
    above = {folder for path in found for folder in path.parents}
    exposed |= {folder for folder in above if _mode(folder) & (stat.S_IWOTH | stat.S_ISVTX) == stat.S_IWOTH}
    return finding(
        "access",
        "warning" if exposed else "ok",
        f"any user may write to {', '.join(map(str, sorted(exposed)))}" if exposed else "not for every user",
        "whoever changes the bundle, the keys or the code of the features decides what this node answers",
        "chmod o-w for each of them",
    )


def _is_short(board: Board) -> bool:
    """Tell whether a quota stops one thread that always works, or has stopped this process."""
    quota = board.groups.limits.quota
    return quota is not None and (quota.processors < 1.0 or board.groups.throttled() > 0)


def _flags(bits: int) -> list[str]:
    return [name for i, name in enumerate(THROTTLE_BITS) if bits >> i & 1]


def _time(ns: int) -> str:
    return format_seconds(ns * 1e-9)


def _size(count: int | None) -> str:
    return "an unknown amount" if count is None else f"{count / 1e6:,.0f} MB"


def _mode(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_mode
    return 0
