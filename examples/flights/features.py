"""The features: each looks at one group of channels or at all, from newest readings to a law of motion.

Host and node import this file; it needs numpy only.
"""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polydom_runtime import Feature, FeatureSpace, Step

from .aircraft import GROUPS, Telemetry

Numbers = NDArray[Any]

TINY = 1e-6
WIDTHS = {name: len(group.channels) for name, group in GROUPS.items()}
PITCHES = np.array([0.0, 0.4, 0.8, 1.5, 2.5, 4.0, 7.0])  # Hz, where bands begin


def size(item: Telemetry) -> int:
    """Return the number of samples of the motion, with which all others grow."""
    return len(item["motion"])


def newest(item: Telemetry) -> Numbers:
    """Mean of the last ten readings of every channel; constant."""
    return np.concatenate([item[name][-10:].mean(axis=0) for name in GROUPS])


def spreads(item: Telemetry) -> Numbers:
    """Deviation of every channel, as logarithms; linear, some passes."""
    return np.log(np.concatenate([item[name].std(axis=0) for name in GROUPS]) + TINY)


def stillness(item: Telemetry, *, group: str) -> Numbers:
    """Share of readings that repeat the one before, for every channel of a group; linear."""
    readings = item[group]
    return np.asarray((readings[1:] == readings[:-1]).mean(axis=0))


def trends(item: Telemetry) -> Numbers:
    """Change a second of the channels of engine and air; linear."""
    return np.concatenate([slopes(item[name]) * GROUPS[name].rate for name in ("engine", "air")])


def slopes(readings: Numbers) -> Numbers:
    """Return the change from sample to sample of every channel: of the straight line that is nearest to it."""
    time = np.arange(len(readings)) - (len(readings) - 1) / 2
    return np.asarray(time @ readings / (time @ time))


def control(item: Telemetry) -> Numbers:
    """How far the elevator is from its command; linear."""
    elevator, command = item["motion"][:, 3], item["motion"][:, 4]
    return doubts((elevator - command)[:, None], "motion")


def engine_doubts(item: Telemetry) -> Numbers:
    """How far speed and throttle, temperature and fuel of the engine disagree; linear."""
    throttle, n1, egt, fuel = item["engine"].T
    return doubts(np.stack([n1 - 70.0 * throttle, egt - 3.0 * fuel], axis=1), "engine")


def air_doubts(item: Telemetry) -> Numbers:
    """How far climb and change of altitude, airspeed and ground speed disagree; linear."""
    altitude, climb, airspeed, ground_speed = item["air"].T
    climbed = np.diff(altitude, prepend=altitude[0]) * GROUPS["air"].rate
    return doubts(np.stack([climbed - climb, airspeed - ground_speed], axis=1), "air")


def doubts(differences: Numbers, group: str) -> Numbers:
    """Return mean, deviation and growth of differences; up or down is alike."""
    mean, growth = np.abs(differences.mean(axis=0)), np.abs(slopes(differences) * GROUPS[group].rate)
    return np.concatenate([mean, np.log(differences.std(axis=0) + TINY), growth])


def spectra(item: Telemetry) -> tuple[Numbers, Numbers]:
    """Power of pitch rate, load and elevator, and of the speed of the engine; n log n."""
    return power(item["motion"][:, 1:4]), power(item["engine"][:, 1:2])


def power(x: Numbers) -> Numbers:
    """Return the power of each frequency; the end is left out, for a length that is transformed fast."""
    shift = max(len(x).bit_length() - 5, 0)
    kept = x[: len(x) >> shift << shift]
    fading = np.hanning(len(kept))[:, None]  # at both ends, where a step would drown the rest
    transform = np.fft.rfft((kept - kept.mean(axis=0)) * fading, axis=0)
    return np.asarray((transform.real**2 + transform.imag**2) / len(kept))


def bands(powers: tuple[Numbers, Numbers]) -> Numbers:
    """Power in seven bands, as logarithms; n log n with its step."""
    values = []
    for part, group in zip(powers, ("motion", "engine"), strict=True):
        places = np.minimum((PITCHES / (GROUPS[group].rate / 2) * len(part)).astype(int), len(part) - 1)
        widths = np.maximum(np.diff(places, append=len(part)), 1)
        values.append((np.add.reduceat(part, places, axis=0) / widths[:, None]).ravel())
    return np.asarray(np.log(np.concatenate(values) + TINY))


def law(item: Telemetry) -> Numbers:
    """A linear law for pitch rate, load and elevator by earlier ones and commands, and its errors; linear, dear."""
    motion = item["motion"].astype(np.float64)
    ones = np.ones((len(motion) - 9, 1))
    past = np.concatenate([motion[8:-1], motion[7:-2], motion[4:-5], motion[:-9], ones], axis=1)
    future = motion[9:, 1:4]
    weights = np.linalg.solve(past.T @ past + 1e-3 * len(past) * np.eye(len(past.T)), past.T @ future)
    errors = np.log(((future - past @ weights) ** 2).mean(axis=0) + TINY)
    return np.concatenate([weights[[3, 4, 18, 19]].ravel(), errors])


_spectra = Step("spectra", spectra)

space = FeatureSpace(
    [
        Feature("newest", newest, width=sum(WIDTHS.values())),
        Feature("spreads", spreads, width=sum(WIDTHS.values())),
        *(Feature(f"still_{name}", partial(stillness, group=name), width=n) for name, n in WIDTHS.items()),
        Feature("trends", trends, width=WIDTHS["engine"] + WIDTHS["air"]),
        Feature("control", control, width=3),
        Feature("engine_doubts", engine_doubts, width=6),
        Feature("air_doubts", air_doubts, width=6),
        Feature("bands", bands, width=4 * len(PITCHES), step=_spectra),
        Feature("law", law, width=15),
    ],
    size=size,
)
