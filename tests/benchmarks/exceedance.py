"""How often fresh samples exceed a worst case, beside what one would do by hand. Takes packed .npz files of signals.

    python -m tests.benchmarks.exceedance FILE.npz ... [--seconds 60]

Each file is measured twice. "same run": fitted on every second round, judged on the others. "next run": fitted on the
first measurement, judged on the second, some minutes later, when the machine may be in another mood.
"""

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polydom_builder.costs.cost_fit import CostFit, choose_basis, fit_cost
from polydom_builder.costs.cost_report import exceed_rate, report_costs
from polydom_runtime.costs import basis_terms
from polydom_runtime.items.packed import read_packed
from polydom_runtime.measuring.cost_samples import CostSamples
from polydom_runtime.measuring.measure import measure

from .signal_space import space, windows

QUANTILE = 0.999


def by_hand(samples: CostSamples, unit: str, sigmas: float) -> NDArray[np.float64]:
    """Return ordinary least squares through the mean, or through median + 3 sigma, at each size."""
    times, sizes = samples.of(unit), samples.sizes
    targets = times.mean(axis=1) if not sigmas else np.median(times, axis=1) + sigmas * times.std(axis=1)
    terms = basis_terms(sizes)[:, list(choose_basis(sizes, targets))]
    weights: NDArray[np.float64] = np.linalg.lstsq(terms, targets, rcond=None)[0]
    return terms @ weights


def rates(fitted: CostSamples, fresh: CostSamples) -> dict[str, NDArray[np.float64]]:
    """Return for each way, per unit: the share of fresh samples above it, and how far it is above their quantile."""
    found: dict[str, list[tuple[float, float]]] = {"worst case": [], "least squares": [], "median + 3 sigma": []}
    for unit in fitted.units:
        times = fresh.of(unit)
        fit: CostFit = fit_cost(fitted.sizes, fitted.of(unit), QUANTILE)
        limits = {
            "worst case": np.array([fit.worst(n) for n in fitted.sizes]),
            "least squares": by_hand(fitted, unit, 0.0),
            "median + 3 sigma": by_hand(fitted, unit, 3.0),
        }
        assert exceed_rate(fit, fitted.sizes, times) == (times > limits["worst case"][:, None]).mean()
        for way, limit in limits.items():
            over = limit / np.quantile(times, QUANTILE, axis=1)
            found[way].append((float((times > limit[:, None]).mean()), float(np.median(over))))
    return {way: np.array(pairs) for way, pairs in found.items()}


def agreement(first: CostSamples, second: CostSamples) -> None:
    """Print how far the costs of two measurements differ, beside what each says of itself."""
    rows = zip(report_costs(first, QUANTILE), report_costs(second, QUANTILE), strict=True)
    n = float(np.sqrt(first.sizes[0] * first.sizes[-1]))
    print(f"{'unit':18} {'typical':>8} {'stated':>7}   {'worst':>8} {'stated':>7}   at size {n:.0f}, second / first")
    for a, b in rows:
        typical, worst = b.fit.typical(n) / a.fit.typical(n), b.fit.worst(n) / a.fit.worst(n)
        stated = (1 + a.typical_error) * (1 + b.typical_error) - 1, (1 + a.worst_error) * (1 + b.worst_error) - 1
        print(f"{a.unit:18} {typical:8.2f} {stated[0]:6.0%}   {worst:8.2f} {stated[1]:6.0%}")


def main() -> None:
    """Measure each file twice and print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--seconds", type=float, default=60.0)
    arguments = parser.parse_args()
    for file in arguments.files:
        items = windows(read_packed(file).items)
        first, second = (measure(space, items, seconds=arguments.seconds, seed=seed) for seed in (0, 1))
        speed = np.median(second.kernels["interpreter"]) / np.median(first.kernels["interpreter"])
        print(
            f"\n{file.name}: {len(first.units)} units, {len(first.sizes)} sizes, "
            f"{first.n_rounds} + {second.n_rounds} rounds"
        )
        print(f"{first.stopped}; {second.stopped}; the second run's interpreter took {speed:.2f} times as long")
        odd, even = first.rounds(slice(0, None, 2)), first.rounds(slice(1, None, 2))
        for title, fitted, fresh in (("same run", odd, even), ("next run", first, second)):
            print(f"{title}: share of fresh samples above, all units / worst unit; limit / fresh {QUANTILE} quantile")
            for way, pairs in rates(fitted, fresh).items():
                exceeded, over = pairs.T
                print(f"  {way:18} {exceeded.mean():8.5f} / {exceeded.max():8.5f}   {np.median(over):5.2f}")
        agreement(first, second)


if __name__ == "__main__":
    main()
