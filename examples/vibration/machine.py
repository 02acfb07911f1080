"""The simulated machine: a shaft of varying speed, a ball bearing that may be damaged, and an accelerometer."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Signal = NDArray[np.float32]

RATE = 25_600  # samples a second
REVOLUTIONS = 8  # of the shaft in one window
SPEEDS = (10.0, 80.0)  # of the shaft, in revolutions a second
CAGE = 0.398  # turns of the cage in one of the shaft
HITS = {"outer": 3.585, "inner": 5.415, "ball": 4.714}  # in one revolution, as in a bearing of type 6205
SOUND = "sound"
STATES = (SOUND, *HITS)
SLIP = 0.01  # the balls slip a little, so hits are not quite regular
RING = np.arange(512) / RATE  # seconds in which the housing rings after a hit


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine of one type; each has other values of these.

    `resonance`, `ringing`: the pitch of the housing in Hz, and the seconds in which its ringing fades. `noise`, `hum`,
    `knocks`: in m/s²: noise of the sensor, hum of the gears, and knocks of the process, which are no fault.
    """

    resonance: float
    ringing: float
    noise: float
    hum: float
    knocks: float

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> "Machine":
        """Return a machine that left the factory at random."""
        return cls(
            resonance=rng.uniform(2_500.0, 9_000.0),
            ringing=rng.uniform(0.0006, 0.002),
            noise=rng.uniform(0.5, 1.0),
            hum=rng.uniform(0.5, 3.0),
            knocks=rng.uniform(0.0, 5.0),
        )

    def window(self, state: str, size: float, rng: np.random.Generator) -> Signal:
        """Return the acceleration over eight revolutions at some speed and load; slow ones have more samples.

        `state`: one of `STATES`. `size`: of the damage, from 0 (none) to 1 (the bearing is about to break).
        """
        speed, load = np.exp(rng.uniform(*np.log(SPEEDS))), rng.uniform(0.6, 1.4)
        n = round(REVOLUTIONS * RATE / speed)
        steady = np.linspace(0.0, REVOLUTIONS, n)
        angle = steady + 0.02 * np.sin(2 * np.pi * steady / REVOLUTIONS + rng.uniform(0, 6))  # in revolutions
        turn = 2 * np.pi * (angle + rng.random())
        smooth = 2.0 * (speed / 40.0) ** 2 * np.sin(turn) + self.hum * load * (np.sin(23 * turn) + np.sin(46 * turn))
        hits = np.zeros(n)
        _strike(hits, rng.uniform(0, n, rng.poisson(2)), self.knocks * rng.exponential())
        if state != SOUND:
            places = _places(HITS[state], rng)
            strength = 40.0 * size * load * (speed / 40.0) ** 0.5
            _strike(hits, np.interp(places, angle, np.arange(n)), strength * _loaded(state, places))
        ring = np.exp(-RING / self.ringing) * np.sin(2 * np.pi * self.resonance * RING)
        vibration = smooth + np.convolve(hits, ring)[:n] + rng.normal(0.0, self.noise, n)
        return np.asarray(vibration, dtype=np.float32)


def _places(hits: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the angles of the hits in revolutions."""
    gaps = (1.0 + SLIP * rng.normal(size=int(hits * REVOLUTIONS))) / hits
    return np.asarray(np.cumsum(gaps) - gaps[0] * rng.random())


def _loaded(state: str, places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how hard each hit is: damage that moves with the shaft or the cage comes out of the load again."""
    turns = {"outer": 0.0, "inner": 1.0, "ball": CAGE}[state]
    return 0.55 + 0.45 * np.cos(2 * np.pi * turns * places)


def _strike(hits: NDArray[np.float64], samples: NDArray[np.float64], strength: NDArray[np.float64] | float) -> None:
    np.add.at(hits, samples.astype(int).clip(0, len(hits) - 1), strength)


def life(machine: Machine, fault: str, windows: int, rng: np.random.Generator) -> Iterator[tuple[Signal, float]]:
    """Yield windows of a machine, with the size of its damage: sound up to the middle of its life, then it grows."""
    onset = windows // 2
    for k in range(windows):
        size = 0.0 if k < onset else 0.04 * 25.0 ** ((k - onset) / (windows - 1 - onset))
        yield machine.window(fault if size else SOUND, size, rng), size


def live() -> Iterator[tuple[Signal, str]]:
    """Yield windows of a machine whose inner race breaks, with its states: for ``polydom-node run --items``."""
    rng = np.random.default_rng(0)
    for window, size in life(Machine.drawn(rng), "inner", 100, rng):
        yield window, "inner" if size else SOUND


def training_windows(machines: int, each: int, seed: int = 0) -> tuple[list[Signal], list[str], list[int]]:
    """Return windows of many machines, their states, and the number of the machine of each window.

    `each`: windows of each machine in each state; damage is of any size from 0.1 to 1. `seed`: other seeds give other
    machines.
    """
    rng = np.random.default_rng([seed, 1])
    items, labels, groups = [], [], []
    for number in range(machines):
        machine = Machine.drawn(rng)
        for state in (SOUND,) * (3 * each) + tuple(HITS) * each:
            items.append(machine.window(state, 0.1 * 10.0 ** rng.random(), rng))
            labels.append(state)
            groups.append(number)
    return items, labels, groups
