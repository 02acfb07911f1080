"""Windows of real bearings: the recordings of Case Western Reserve University.

``cwru_bearing/cwru_de.npz`` has the accelerometer at the drive end of a motor: the arrays signal (16-bit, all
recordings end to end), offset, scale (g a count), label, load_hp, rpm and rate.  Those at 12 kHz have the three faults
at four loads.  The one recording of a sound bearing has another rate and no load, so there is nothing sound to test.
"""

from pathlib import Path

import numpy as np

from examples.deadlines.arrays import read_arrays, split_signal
from polydom_runtime.exceptions import ItemError

from .machine import REVOLUTIONS, Signal

FAULTS = {"OR": "outer", "IR": "inner", "B": "ball"}
RATE, TESTED_LOAD, GRAVITY = 12_000, 3, 9.81  # Hz, hp, m/s²


def recorded_windows(
    data: Path, windows: int, *, tested: bool, seed: int = 0
) -> tuple[list[Signal], list[str], list[int]]:
    """Return windows of eight revolutions, their faults, and the load of the motor in each.

    `data`: holds ``cwru_bearing/cwru_de.npz``. `windows`: the recordings take turns. `tested`: whether to return those
    at the highest load, or those at all others.
    """
    file = data / "cwru_bearing" / "cwru_de.npz"
    arrays = read_arrays(file, "signal", "offset", "scale", "label", "load_hp", "rpm", "rate")
    kinds = arrays["label"].tolist()
    right = (arrays["rate"] == RATE) & ((arrays["load_hp"] == TESTED_LOAD) == tested)
    usable = [i for i in np.flatnonzero(right).tolist() if kinds[i] in FAULTS]
    if not usable:
        raise ItemError(f"{file} must have faults at {RATE} Hz, at {TESTED_LOAD} hp and at lower loads. It has none.")
    signals, rng = split_signal(arrays), np.random.default_rng([seed, tested])
    items, labels, loads = [], [], []
    for k in range(windows):
        i = usable[k % len(usable)]
        n = round(REVOLUTIONS * RATE * 60 / float(arrays["rpm"][i]))
        start = int(rng.integers(len(signals[i]) - n + 1))
        items.append((signals[i][start : start + n] * (GRAVITY * arrays["scale"][i])).astype(np.float32))
        labels.append(FAULTS[kinds[i]])
        loads.append(int(arrays["load_hp"][i]))
    return items, labels, loads
