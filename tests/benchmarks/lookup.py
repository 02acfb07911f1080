"""Looking a candidate up: the staircase against bisect, the index against scans."""

from bisect import bisect_left
from functools import partial
from itertools import cycle
from timeit import Timer

import numpy as np

from polydom_builder.index.envelope import build_index
from polydom_builder.sets.region import QueryRegion
from polydom_runtime.bundles.index import Candidate, PolyDomIndex
from polydom_runtime.costs import CostFunction, basis_terms

from .side_by_side import medians, report


def skyline(count: int) -> PolyDomIndex:
    """Return an index of about `count` candidates, all on the skyline somewhere."""
    rng = np.random.default_rng(0)
    candidates = [Candidate(0, (), 0.0, CostFunction.of(1.0))]
    for k in range(1, count):
        share = rng.random()
        cost = CostFunction.of(constant=1 + 100 * k * share, linear=k * (1 - share), square=1e-3 * k * rng.random())
        candidates.append(Candidate(k, ("f",), k / count, cost))
    return build_index(candidates, QueryRegion((1.0, 500.0)))


def compare(index: PolyDomIndex) -> None:
    """Print the ratios for one index."""
    candidates = index.candidates
    rng = np.random.default_rng(1)
    sizes = cycle(rng.uniform(1, 500, 1000).tolist())
    budgets = cycle(np.exp(rng.uniform(0, np.log(5e4), 1000)).tolist())
    weights = np.array([c.cost.weights for c in candidates])
    scores = np.array([c.accuracy for c in candidates])

    def lookup() -> Candidate:
        return index.best(next(sizes), next(budgets))

    def numpy_scan() -> Candidate:
        fits = weights @ basis_terms(next(sizes)) <= next(budgets)
        return candidates[int(np.where(fits, scores, -1.0).argmax())]

    def plain_scan() -> Candidate:
        n, budget = next(sizes), next(budgets)
        return max((c for c in candidates if c.cost(n) <= budget), key=lambda c: c.accuracy, default=index.empty)

    rows = sum(len(row) for _, row in index.ranges)
    print(f"{len(candidates)} candidates on the skyline, {len(index.ranges)} ranges, {rows} entries")
    ours, vectorised, plain = medians([lookup, numpy_scan, plain_scan], rounds=200, calls=20)
    report(f"index.best against a numpy scan, {len(candidates)} candidates", ours, vectorised, "<= 1")
    report(f"index.best against a plain scan, {len(candidates)} candidates", ours, plain, "<= 0.1 at 500")

    stairs = index.at_deadline(2000.0)
    ends = [end for end, _ in stairs.steps[:-1]]
    names = {"best": stairs.best, "bisect_left": bisect_left, "ends": ends, "n": 123.4}
    timers = [Timer(statement, globals=names) for statement in ("best(n)", "bisect_left(ends, n)")]
    ours, bisect = medians([partial(timer.timeit, 1000) for timer in timers], rounds=300)
    report(f"staircase.best against bisect, {len(ends)} steps", ours / 1000, bisect / 1000, "<= 3")


def main() -> None:
    """Compare at about 50 and 500 candidates."""
    for count in (50, 1000):
        compare(skyline(count))
