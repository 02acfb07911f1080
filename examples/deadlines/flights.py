"""Whether a propeller of a quadcopter is damaged or loaded, and how, from a stretch of its flight.

CrazyPAD (Masalimov and others, Data 2024, MIT licence), packed as ``crazypad/controller.npz``: flights of a Crazyflie
at 101 Hz with the arrays signal (eight channels, all flights end to end), offset, label and condition.  The conditions
are the kinds of damage in detail.  An item is a window of 0.5 to 8.5 s in the air.  Windows to test come from other
conditions than those to build with, except for the sound propellers: these have one condition and are split by flight.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polydom_runtime import Feature, FeatureSpace, Step
from polydom_runtime.exceptions import ItemError

from .arrays import read_arrays, split_signal
from .spectra import TINY, Numbers, band_means, log_edges, power_spectrum
from .task import Task
from .windows import cut, varied_lengths

Signal = NDArray[np.float32]

MIN_LENGTH, MAX_LENGTH = 48, 864  # samples
CHANNELS, THRUST = 8, 4
"""Three rates of rotation and the vertical acceleration, then the controller's commands: thrust, roll, pitch, yaw."""

UNITS = np.array([1.0, 1.0, 1.0, 1.0, 1e4, 1e4, 1e4, 1e4], dtype=np.float32)
WINDOWS = 12
"""Number of windows from each flight."""

FOLDS = 4
SPECTRAL_EDGES = log_edges(6, 0.05)


def glance(x: Signal) -> Numbers:
    """Means of sixteen moments of the window; constant."""
    return np.asarray(x[:: len(x) // 16][:16].mean(axis=0))


def trim(x: Signal) -> Numbers:
    """Mean of every channel: how the controller leans against a damaged propeller; linear."""
    return np.asarray(x.mean(axis=0))


def deviations(x: Signal) -> Numbers:
    """Standard deviation of every channel, as logarithms; linear, some passes."""
    return np.asarray(np.log(x.std(axis=0) + TINY))


def extremes(x: Signal) -> Numbers:
    """Fifth and ninety-fifth centile of every channel; n log n (a sort)."""
    ordered = np.sort(x, axis=0)
    low, high = int(0.05 * (len(x) - 1)), int(0.95 * (len(x) - 1))
    return ordered[[low, high]].ravel()


def slopes(x: Signal) -> Numbers:
    """Strength of the changes from sample to sample, and from every second one, as logarithms; linear."""
    strengths = [(np.diff(x[::stride], axis=0) ** 2).mean(axis=0) for stride in (1, 2)]
    return np.log(np.concatenate(strengths) + TINY)


def standardise(x: Signal) -> Signal:
    """Every channel less its mean, in units of its deviation; linear, some passes."""
    centred = x - x.mean(axis=0)
    return np.asarray(centred / (centred.std(axis=0) + np.float32(1e-6)), dtype=np.float32)


def correlations(z: Signal) -> Numbers:
    """Correlation of each two channels; linear with its step."""
    return np.asarray((z.T @ z / len(z))[np.triu_indices(CHANNELS, 1)])


def answers(z: Signal) -> Numbers:
    """Correlation of the four movements with the four commands 2, 4 and 8 samples before; linear with its step."""
    lagged = [z[lag:, :4].T @ z[:-lag, 4:] / (len(z) - lag) for lag in (2, 4, 8)]
    return np.concatenate([part.ravel() for part in lagged])


def crossings(z: Signal) -> Numbers:
    """Share of neighbours on different sides of the mean, for every channel; linear with its step."""
    above = z > 0.0
    return np.asarray((above[1:] != above[:-1]).mean(axis=0))


def bands(power: Numbers) -> Numbers:
    """Power of every channel in six bands of pitch, as logarithms; n log n with its transform."""
    return np.log(band_means(power, SPECTRAL_EDGES) + TINY).ravel()


def peaks(power: Numbers) -> Numbers:
    """Strongest frequency of every channel and its share of the power; n log n with its transform."""
    shares = power.max(axis=0) / (power.sum(axis=0) + TINY)
    return np.concatenate([power.argmax(axis=0) / len(power), shares])


def dynamics(x: Signal) -> Numbers:
    """A linear law that predicts movements from earlier ones and commands, and its errors; linear, expensive."""
    past = np.concatenate([x[1:-1], x[:-2, :4], np.ones((len(x) - 2, 1), dtype=np.float32)], axis=1).astype(np.float64)
    future = x[2:, :4].astype(np.float64)
    squares = past.T @ past
    squares[np.diag_indices(len(squares))] += 1e-3 * len(past)
    law = np.linalg.solve(squares, past.T @ future)
    left = np.log(((future - past @ law) ** 2).mean(axis=0) + TINY)
    return np.concatenate([law.ravel(), left])


def recurrence(z: Signal) -> list[float]:
    """How often two moments are alike within four distances; quadratic."""
    squares = (z * z).sum(axis=1)
    distances = squares[:, None] + squares - 2.0 * z @ z.T
    return [float(np.count_nonzero(distances < reach)) / distances.size for reach in (2.0, 6.0, 12.0, 24.0)]


_standard = Step("standardise", standardise)
_spectrum = Step("spectrum", power_spectrum)

space = FeatureSpace(
    [
        Feature("glance", glance, 8),
        Feature("trim", trim, 8),
        Feature("deviations", deviations, 8),
        Feature("extremes", extremes, 16),
        Feature("slopes", slopes, 16),
        Feature("correlations", correlations, 28, _standard),
        Feature("answers", answers, 48, _standard),
        Feature("crossings", crossings, 8, _standard),
        Feature("bands", bands, 48, _spectrum),
        Feature("peaks", peaks, 16, _spectrum),
        Feature("dynamics", dynamics, 56),
        Feature("recurrence", recurrence, 4, _standard),
    ],
    size=len,
)


def load(data: Path, windows: int = WINDOWS, seed: int = 0) -> Task:
    """Return windows of the flights: half of each class's conditions to test, the others to build with.

    `data`: holds ``crazypad/controller.npz``. `windows`: of each flight.
    """
    file = data / "crazypad" / "controller.npz"
    arrays = read_arrays(file, "signal", "offset", "label", "condition")
    flights = [np.asarray(part / UNITS, dtype=np.float32) for part in split_signal(arrays)]
    labels, conditions = arrays["label"].tolist(), arrays["condition"].tolist()
    tested = _tested(file, labels, conditions, seed)
    rng = np.random.default_rng(seed)
    cuts = [_windows(flight, windows, rng) for flight in flights]
    built = [i for i in range(len(flights)) if i not in tested]
    groups = dict(zip(built, _groups([labels[i] for i in built], [conditions[i] for i in built]), strict=True))
    return Task(
        "flights",
        space,
        [window for i in built for window in cuts[i]],
        [labels[i] for i in built for _ in cuts[i]],
        [groups[i] for i in built for _ in cuts[i]],
        [window for i in sorted(tested) for window in cuts[i]],
        [labels[i] for i in sorted(tested) for _ in cuts[i]],
        scoring="balanced_accuracy",
        folds=FOLDS,
    )


def _tested(file: Path, labels: Sequence[str], conditions: Sequence[str], seed: int) -> set[int]:
    """Return the flights to test: of each class half of the conditions; of one condition half of the flights."""
    kinds: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for i, (label, condition) in enumerate(zip(labels, conditions, strict=True)):
        kinds[label][condition].append(i)
    rng = np.random.default_rng(seed)
    chosen: set[int] = set()
    for label, by_condition in sorted(kinds.items()):
        parts = [flights for _, flights in sorted(by_condition.items())]
        if len(parts) == 1:
            parts = [[i] for i in parts[0]]
        if len(parts) < 2:
            raise ItemError(f"{file} must have two flights of each class. Got one of {label!r}.")
        for k in rng.permutation(len(parts))[: len(parts) // 2].tolist():
            chosen.update(parts[k])
    return chosen


def _groups(labels: Sequence[str], conditions: Sequence[str]) -> list[str]:
    """Return the group of each flight: its condition, or itself where its class has fewer conditions than folds."""
    pairs = Counter(label for label, _ in set(zip(labels, conditions, strict=True)))
    return [
        condition if pairs[label] >= FOLDS else f"flight {i}"
        for i, (label, condition) in enumerate(zip(labels, conditions, strict=True))
    ]


def _windows(flight: Signal, count: int, rng: np.random.Generator) -> list[Signal]:
    """Return windows of a flight between take-off and landing, where the rotors run all the time."""
    airborne = np.flatnonzero(np.diff(flight[:, THRUST] > 0.0, prepend=False, append=False))
    stretches = [flight[a:b] for a, b in airborne.reshape(-1, 2).tolist()]
    cuts = []
    for length in varied_lengths(count, MIN_LENGTH, MAX_LENGTH, rng):
        fitting = [part for part in stretches if len(part) >= length]
        if fitting:
            cuts.append(cut(fitting[int(rng.integers(len(fitting)))], length, rng))
    return cuts
