"""Facts about the machine from the system's files: kind, clock, temperature, memory. Without a file, one is None."""

import os
import platform
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .groups import ControlGroups, text_of

THROTTLED_NOW = 0b1111
"""Bits of the Raspberry Pi's throttle flags about now: undervoltage, capped, throttled, soft temperature limit."""

STEAL_FIELD = 8
"""The place of steal in the first line of /proc/stat: cpu user nice system idle iowait irq softirq steal ..."""

KILOHERTZ, MILLICELSIUS, FLAGS = range(1_000, 100_000_001), range(-55_000, 125_001), range(1 << 32)
"""What can be true of a processor. Sensors that are off or broken tell 0, -273, 255 or 1000 degrees."""

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")

PROCESS_BYTES = 60_000_000
"""Peak memory of a process that imports numpy and onnxruntime and runs one model."""

SESSION_BYTES, BYTES_PER_MODEL_BYTE = 64_000, 6
"""Memory of an opened model: a fixed part, and the bytes that a forest takes for each byte of its file."""


@dataclass(frozen=True, slots=True)
class BoardState:
    """The state of the machine that may change while it works."""

    clock_hz: float | None
    """The clock rate of the fastest core at present."""
    celsius: float | None
    """The temperature of the hottest zone that tells a plausible one, from -55 to 125 and not exactly 0."""
    throttled: int | None
    """The Raspberry Pi's throttle flags: bits 0 to 3 are about now, bits 16 to 19 about the time since the start."""

    @property
    def is_throttled(self) -> bool:
        """Whether the firmware lowers the clock now."""
        return bool((self.throttled or 0) & THROTTLED_NOW)


class Board:
    """Reads the machine's description from /proc and /sys; `root` is another folder in tests."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self.groups = ControlGroups(root)

    def state(self) -> BoardState:
        """Return clock, temperature and throttle flags."""
        clocks = self._numbers("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq", KILOHERTZ)
        heats = [*filter(None, self._numbers("sys/class/thermal/thermal_zone*/temp", MILLICELSIUS))]
        flags = self._numbers("sys/devices/platform/soc*/*firmware*/get_throttled", FLAGS, 16)
        return BoardState(
            clock_hz=max(clocks) * 1e3 if clocks else None,
            celsius=max(heats) / 1e3 if heats else None,
            throttled=flags[0] if flags else None,
        )

    @property
    def device(self) -> str:
        """The name of the board, or of the processor if the board has none."""
        if name := self.text("proc/device-tree/model"):
            return name
        model = re.search(r"^Model\s*:\s*(.+)$", self.text("proc/cpuinfo") or "", re.MULTILINE)
        return model[1] if model else self.cpu  # a container does not see the device tree

    @property
    def revision(self) -> str | None:
        """The revision of a Raspberry Pi, such as c03114, which tells the model, its memory and its maker."""
        found = re.search(r"^Revision\s*:\s*(\w+)$", self.text("proc/cpuinfo") or "", re.MULTILINE)
        return found[1] if found else None

    @property
    def cpu(self) -> str:
        """The name of the processor, or the number of its kind if it has no name."""
        info = self.text("proc/cpuinfo") or ""
        if named := re.search(r"^model name\s*:\s*(.+)$", info, re.MULTILINE):
            return named[1]
        part = re.search(r"^CPU part\s*:\s*(\w+)$", info, re.MULTILINE)
        return f"{platform.machine()}, CPU part {part[1]}" if part else platform.machine()

    @property
    def governors(self) -> tuple[str, ...]:
        """The frequency governors in use; empty where they cannot be read."""
        files = self._root.glob("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor")
        return tuple(sorted({text for f in files if (text := self.text(f))}))

    @property
    def clock_share(self) -> float:
        """The highest clock that is allowed, divided by the highest one of the processor; 1 where that is not known."""
        allowed, highest = (
            self._numbers(f"sys/devices/system/cpu/cpu[0-9]*/cpufreq/{name}_max_freq", KILOHERTZ)
            for name in ("scaling", "cpuinfo")
        )
        return min(max(allowed) / max(highest), 1.0) if allowed and highest else 1.0

    def memory_bytes(self, what: str = "MemTotal") -> int | None:
        """Return an entry of /proc/meminfo in bytes, such as MemTotal, MemAvailable or SwapTotal."""
        found = re.search(rf"^{what}:\s*(\d+) kB$", self.text("proc/meminfo") or "", re.MULTILINE)
        return int(found[1]) * 1024 if found else None

    @property
    def total_bytes(self) -> int | None:
        """The memory of this machine, or the limit of this process if that is less."""
        return _least(self.memory_bytes(), self.groups.limits.memory_bytes)

    @property
    def available_bytes(self) -> int | None:
        """The memory that this process can still get."""
        return _least(self.memory_bytes("MemAvailable"), self.groups.memory_left())

    def stolen_seconds(self) -> float:
        """Return the processor time that a hypervisor gave to others (steal) since the start, of all processors."""
        fields = (self.text("proc/stat") or "").partition("\n")[0].split()
        return int(fields[STEAL_FIELD]) / TICKS_PER_SECOND if len(fields) > STEAL_FIELD else 0.0

    def text(self, path: str | Path) -> str | None:
        """Return the text of a file without white space around it; None if it cannot be read."""
        return text_of(self._root / path)

    def _numbers(self, pattern: str, plausible: range, base: int = 10) -> list[int]:
        found = []
        for file in sorted(self._root.glob(pattern)):
            with suppress(ValueError):
                found.append(int(self.text(file) or "", base))
        return [number for number in found if number in plausible]


def _least(*known: int | None) -> int | None:
    return min((count for count in known if count is not None), default=None)


def memory_need(model_bytes: Iterable[int]) -> int:
    """Return an estimate of the memory, in bytes, of a process that has opened models of these file sizes."""
    return PROCESS_BYTES + sum(SESSION_BYTES + BYTES_PER_MODEL_BYTE * size for size in model_bytes)


def usable_cpus() -> list[int]:
    """Return the processors that this process may run on."""
    return sorted(os.sched_getaffinity(0))
