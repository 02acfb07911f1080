"""A small task: items are signals of any length, classes differ in level, spread and roughness."""

from typing import Any

import numpy as np

from polydom_runtime import CostFunction, Feature, FeatureSpace, Step, UnitTimes

US = 1e-6

difference = Step("difference", np.diff)


def level(x: np.ndarray) -> list[float]:
    return [float(x.mean())]


def spread(x: np.ndarray) -> list[float]:
    return [float(x.std()), float(np.abs(x).max())]


def roughness(d: np.ndarray) -> list[float]:
    return [float(np.abs(d).mean()), float(d.std())]


def turns(d: np.ndarray) -> list[float]:
    return [float((d[1:] * d[:-1] < 0).mean())]


def noise(x: np.ndarray) -> list[float]:
    return [float(x[0] - x[-1])]


space = FeatureSpace(
    [
        Feature("level", level),
        Feature("spread", spread, width=2),
        Feature("roughness", roughness, width=2, step=difference),
        Feature("turns", turns, step=difference),
        Feature("noise", noise),
    ],
    size=len,
)

costs = UnitTimes.given(
    {
        "level": CostFunction.of(5 * US, linear=0.01 * US),
        "spread": CostFunction.of(10 * US, linear=0.05 * US),
        "roughness": CostFunction.of(10 * US, linear=0.1 * US),
        "turns": CostFunction.of(20 * US, linear=0.1 * US),
        "noise": CostFunction.of(2 * US),
    },
    {"difference": (("roughness", "turns"), CostFunction.of(3 * US, linear=0.02 * US))},
    dispatch=CostFunction.of(5 * US),
    model=20 * US,
)


def items(count: int = 240, seed: int = 0) -> tuple[list[np.ndarray], list[Any]]:
    rng = np.random.default_rng(seed)
    signals, labels = [], []
    for k in range(count):
        n = int(np.exp(rng.uniform(np.log(8), np.log(2000))))
        kind = k % 3
        x = rng.normal(size=n) * (1.0 if kind == 0 else 1.4)
        if kind == 2:
            x = np.cumsum(x) / np.sqrt(n)
        signals.append(x + 0.3 * (kind == 1))
        labels.append(("calm", "loud", "slow")[kind])
    return signals, labels


def pairs() -> list[tuple[np.ndarray, Any]]:
    return list(zip(*items(120), strict=True))
