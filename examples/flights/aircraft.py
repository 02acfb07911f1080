"""The simulated aircraft: a small jet whose sensors, engine or elevator may fail during a flight."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Channel = NDArray[np.float64]
Telemetry = dict[str, NDArray[np.float32]]
"""For each group of channels an array of shape (n_samples, n_channels)."""


class Group(NamedTuple):
    """Channels that are sampled together.

    `rate`: samples a second. `channels`: the step of each sensor: its readings are multiples of it.
    """

    rate: int
    channels: Mapping[str, float]


GROUPS = {
    "motion": Group(100, {"pitch": 0.01, "pitch_rate": 0.01, "load": 0.005, "elevator": 0.01, "command": 0.01}),
    "engine": Group(20, {"throttle": 0.002, "n1": 0.05, "egt": 0.5, "fuel": 0.2}),
    "air": Group(10, {"altitude": 0.2, "climb": 0.05, "airspeed": 0.1, "ground_speed": 0.05}),
}
RATE = GROUPS["motion"].rate  # of the simulation
SOUND = "sound"
STATES = (SOUND, "stuck", "drift", "icing", "surge", "flame-out", "jam")
SECONDS, ONSET = 90.0, 40.0  # of a flight, and the latest second at which something fails
WINDOW = (3.0, 40.0)  # seconds


def fly(state: str, rng: np.random.Generator) -> tuple[Telemetry, float]:
    """Return the telemetry of a flight, and the second at which something fails.

    `state`: one of `STATES`.
    """
    t = np.arange(round(SECONDS * RATE)) / RATE
    onset = rng.uniform(0.5 * ONSET, ONSET)
    since = np.maximum(t - onset, 0.0)  # seconds for which it has been failing
    failing = since > 0.0

    throttle = _steps(t, 0.5, 0.95, rng)
    n1 = 30.0 + 70.0 * _lagged(throttle, 1.5)
    fuel = 10.0 + 90.0 * _lagged(throttle, 0.3) ** 2
    if state == "flame-out":
        n1 = np.where(failing, 20.0 + (n1 - 20.0) * np.exp(-since / rng.uniform(4.0, 12.0)), n1)
    beat = np.sin(2 * np.pi * rng.uniform(1.5, 4.0) * since) * (state == "surge") * rng.uniform(1.0, 3.0)
    heat = 350.0 + 3.0 * fuel * (1.0 - np.exp(-np.maximum(n1 - 20.0, 0.0) / 10.0))
    egt = _lagged(heat + 10.0 * np.abs(beat) * failing, 0.5)
    n1 = n1 + beat

    command = 8.0 * _wander(len(t), 1.5, rng)
    elevator = _lagged(command, 0.06)
    if state == "jam":
        elevator = np.where(failing, elevator[np.argmax(failing)], elevator)
    gusts = _wander(len(t), 0.4, rng)
    pitch_rate = _lagged(1.2 * elevator + 2.0 * gusts, 0.4)
    pitch = 2.0 + _lagged(4.0 * pitch_rate, 4.0)
    airspeed = 40.0 + _lagged(0.6 * (n1 - 70.0) - 0.8 * pitch, 5.0) + 0.6 * gusts
    climb = airspeed * np.sin(np.radians(pitch - 1.0))
    altitude = 1500.0 + np.cumsum(climb) / RATE
    ground_speed = airspeed - 0.6 * gusts + rng.uniform(-8.0, 8.0) + 1.0 * _wander(len(t), 30.0, rng)
    load = 1.0 + 0.05 * pitch_rate + 0.03 * gusts + 0.05 * beat

    values = {
        **{"pitch": pitch, "pitch_rate": pitch_rate, "load": load, "elevator": elevator, "command": command},
        **{"throttle": throttle, "n1": n1, "egt": egt, "fuel": fuel},
        **{"altitude": altitude, "climb": climb, "airspeed": airspeed, "ground_speed": ground_speed},
    }
    _mislead(values, state, since, rng)
    return {name: _sampled(values, group, rng) for name, group in GROUPS.items()}, onset


def _mislead(values: dict[str, Channel], state: str, since: Channel, rng: np.random.Generator) -> None:
    """Let a sensor fail, if the state is one of a sensor."""
    first = int(np.argmax(since > 0.0))
    failing = since > 0.0
    if state == "stuck":
        name = rng.choice(["pitch", "n1", "egt", "altitude", "airspeed"])
        values[name] = np.where(failing, np.inf, values[name])  # see _sampled
    elif state == "drift":
        name, slope = {0: ("egt", 2.0), 1: ("airspeed", 0.3), 2: ("altitude", 1.0)}[int(rng.integers(3))]
        values[name] = values[name] + rng.choice([-1.0, 1.0]) * rng.uniform(1.5, 4.0) * slope * since
    elif state == "icing":  # a blocked pitot tube makes an altimeter of the airspeed indicator
        frozen = values["airspeed"][first] + 0.15 * (values["altitude"] - values["altitude"][first])
        values["airspeed"] = np.where(failing, frozen, values["airspeed"])


def _sampled(values: Mapping[str, Channel], group: Group, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return the readings of a group: noisy, in steps, and the last one over and over where a sensor is stuck."""
    columns = []
    for name, step in group.channels.items():
        true = values[name][:: RATE // group.rate]
        read = np.round(true / step + rng.normal(0.0, 1.5, len(true))) * step
        stuck = np.isinf(true)
        columns.append(np.where(stuck, read[max(int(np.argmax(stuck)) - 1, 0)], read))
    return np.stack(columns, axis=1).astype(np.float32)


def _lagged(x: Channel, seconds: float) -> Channel:
    """Return the answer of a system of first order, which follows x with a delay and is settled at the begin."""
    fall = np.exp(-np.arange(round(6.0 * seconds * RATE)) / (seconds * RATE))
    before = np.full(len(fall), x[0])
    return np.asarray(np.convolve(np.concatenate([before, x]), fall / fall.sum())[len(fall) : len(fall) + len(x)])


def _wander(n: int, seconds: float, rng: np.random.Generator) -> Channel:
    """Return a random course of deviation 1 that changes within some seconds."""
    course = _lagged(_lagged(rng.normal(size=n), 0.3 * seconds), 0.3 * seconds)
    return np.asarray((course - course.mean()) / course.std())


def _steps(t: Channel, low: float, high: float, rng: np.random.Generator) -> Channel:
    """Return a lever that is moved now and then."""
    moves = np.sort(rng.uniform(0.0, SECONDS, 5))
    return np.asarray(_lagged(rng.uniform(low, high, 6)[np.searchsorted(moves, t)], 0.5))


def cut(flight: Telemetry, begin: float, end: float) -> Telemetry:
    """Return the telemetry between two seconds."""
    return {name: flight[name][round(begin * group.rate) : round(end * group.rate)] for name, group in GROUPS.items()}


def windows(flights: int, each: int, seed: int = 0) -> Iterator[tuple[Telemetry, str, int]]:
    """Yield windows of varied length with the state of the aircraft, and the number of the flight as the group.

    `flights`: in each state. `each`: windows of each flight; something fails in all of their seconds. `seed`: other
    seeds give other flights.
    """
    rng = np.random.default_rng([seed, 3])
    for number in range(flights * len(STATES)):
        state = STATES[number % len(STATES)]
        flight, onset = fly(state, rng)
        for _ in range(each):
            seconds = np.exp(rng.uniform(*np.log(WINDOW)))
            begin = rng.uniform(onset, min(onset + 10.0, SECONDS - seconds))
            yield cut(flight, begin, begin + seconds), state, number
