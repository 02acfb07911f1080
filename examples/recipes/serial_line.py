"""Items from a serial line, such as those of a microcontroller that sends one number a line. Needs pyserial.

    polydom-node run my.bundle my_module:space --items serial_line:items --period 20ms --overrun latest

It never waits: while a window is not full, it gives None. The variable SERIAL_PORT names the port.
"""

import os
from collections.abc import Generator

import numpy as np
import serial

WINDOW = 256


def items(port: str = "", window: int = WINDOW) -> Generator[np.ndarray | None, None, None]:
    """Yield each window of numbers when it is full, and None before; broken lines are left out."""
    with serial.Serial(port or os.environ.get("SERIAL_PORT", "/dev/ttyUSB0"), 115_200, timeout=0) as line:
        rest, numbers = b"", list[float]()
        while True:
            *lines, rest = (rest + line.read(4096)).split(b"\n")
            rest = rest[-100:]  # noise without a line end
            for text in lines:
                try:
                    numbers.append(float(text))
                except ValueError:
                    continue
            if len(numbers) < window:
                yield None
                continue
            yield np.array(numbers[:window])
            del numbers[:window]
