"""The search and the index build without training time, against stated targets."""

import time
import tracemalloc

import numpy as np

from examples.paper.algorithms.layers import expand_layers
from polydom_builder import SetCosts
from polydom_builder.index.envelope import build_index
from polydom_builder.lattice.best_first import expand_best_first
from polydom_builder.sets.region import QueryRegion
from polydom_runtime import Candidate, CostFunction
from tests.synthetic import SIZES, costs, scores


def main() -> None:
    """Print seconds beside targets."""
    rng = np.random.default_rng(0)
    table = scores("cfinf", 15, rng)
    start = time.perf_counter()
    expanded = expand_layers(15, table.take, alpha=1.0)
    print(
        f"expand_layers, 15 features, cf∞, alpha 1: {len(expanded)} sets in {time.perf_counter() - start:.2f} s"
        "   (target <= 1 s)"
    )

    for n_features, target in ((12, 5), (20, 100)):
        table = scores("cfinf", n_features, rng)
        cost = costs(n_features, rng)
        for name, region in (("any budget", QueryRegion(SIZES)), ("c0 fixed", QueryRegion(SIZES, (1e5, 1e5)))):
            start = time.perf_counter()
            expanded = expand_best_first(cost, region, table.take, alpha=1.1)
            each = (time.perf_counter() - start) / len(expanded)
            print(
                f"expand_best_first, {n_features} features, {name}: {len(expanded)} sets, {each * 1e3:.2f} ms each"
                f"   (target <= {target} ms)"
            )

    weights = rng.exponential(1.0, 40)
    cost = SetCosts([CostFunction.of(1.0, linear=1.0)] * 40)

    def saturating(masks: list[int]) -> list[float]:
        return [0.5 + 0.45 * (1 - np.exp(-sum(w for i, w in enumerate(weights) if m >> i & 1))) for m in masks]

    tracemalloc.start()
    start = time.perf_counter()
    expanded = expand_best_first(cost, QueryRegion((1.0, 50.0), (6.5, 6.5)), saturating, alpha=1.05)
    print(
        f"expand_best_first, 40 features, sets of at most 3 fit: {len(expanded)} sets in "
        f"{time.perf_counter() - start:.1f} s, {tracemalloc.get_traced_memory()[1] / 2**20:.0f} MB at most"
        "   (target <= 1 GB)"
    )
    tracemalloc.stop()

    table = scores("cfinf", 12, rng)
    cost = costs(12, rng)
    candidates = [Candidate(m, ("f",), float(table[m]), cost(m)) for m in range(4096)]
    for m in range(4096, 5000):
        w = rng.exponential(1.0, 6) * (1e3, 1e2, 10.0, 5.0, 1.0, 1e-2)
        candidates.append(Candidate(m, ("f",), float(rng.uniform(0.5, 1.0)), CostFunction(tuple(w.tolist()))))
    start = time.perf_counter()
    index = build_index(candidates, QueryRegion(SIZES))
    print(
        f"build_index, 5000 candidates: {len(index.candidates)} on the skyline in {time.perf_counter() - start:.2f} s"
        "   (target <= 2 s)"
    )
