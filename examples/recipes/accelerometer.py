"""Items from an accelerometer on I²C (ADXL345). Needs smbus2 on the Pi.

    polydom-node run my.bundle my_module:space --items accelerometer:items --period 20ms

With ACCELEROMETER=mock in the environment it reads a bus that is only made up, so it runs on any machine.
"""

import os
from collections import deque
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

ADDRESS, POWER, RATE, FIFO_MODE, FIFO_STATUS, DATA = 0x53, 0x2D, 0x2C, 0x38, 0x39, 0x32
MEASURE, AT_1600_HZ, STREAM = 0x08, 0x0E, 0x80
G = 1 / 256
WINDOW = 256


class Bus(Protocol):
    """The part of smbus2 that is used."""

    def write_byte_data(self, address: int, register: int, value: int) -> Any: ...  # noqa: D102
    def read_byte_data(self, address: int, register: int) -> int: ...  # noqa: D102
    def read_i2c_block_data(self, address: int, register: int, length: int) -> list[int]: ...  # noqa: D102


class MockBus:
    """A bus with an accelerometer that shakes; `registers` holds what was written."""

    def __init__(self) -> None:
        self.registers: dict[int, int] = {}
        self.reads = 0

    def write_byte_data(self, address: int, register: int, value: int) -> None:
        """Keep a value."""
        self.registers[register] = value

    def read_byte_data(self, address: int, register: int) -> int:
        """Return that 32 readings wait."""
        return 32

    def read_i2c_block_data(self, address: int, register: int, length: int) -> list[int]:
        """Return the next reading: x and y swing, z is 1 g."""
        self.reads += 1
        x = round(200 * np.sin(self.reads / 5))
        return list(np.array([x, -x, 256], dtype="<i2").tobytes())


def open_bus() -> Bus:
    """Return the bus of this machine, or the one that is made up."""
    if os.environ.get("ACCELEROMETER") == "mock":
        return MockBus()
    from smbus2 import SMBus

    return SMBus(1)  # type: ignore[no-any-return]


def items(bus: Bus | None = None) -> Iterator[np.ndarray]:
    """Yield the newest window of accelerations in g (their length), at each call with the readings that came since."""
    bus = bus or open_bus()
    for register, value in ((RATE, AT_1600_HZ), (FIFO_MODE, STREAM), (POWER, MEASURE)):
        bus.write_byte_data(ADDRESS, register, value)
    window: deque[float] = deque([0.0] * WINDOW, WINDOW)
    while True:
        for _ in range(bus.read_byte_data(ADDRESS, FIFO_STATUS) & 0x3F):
            reading = np.array(bus.read_i2c_block_data(ADDRESS, DATA, 6), dtype=np.uint8).view("<i2")
            window.append(float(np.linalg.norm(reading * G)))
        yield np.array(window)
