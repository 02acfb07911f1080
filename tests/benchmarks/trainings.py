"""Sets trained by the searches on the paper's synthetic lattices, beside earlier figures for the same set-ups."""

import numpy as np

from examples.paper.algorithms.layers import expand_layers
from polydom_builder.lattice.best_first import expand_best_first
from polydom_builder.sets.region import QueryRegion
from tests.synthetic import SIZES, costs, scores

from .ratios import note

SEEDS = 8
EARLIER = {
    ("cf1", 1.2): (37, 10, 5),
    ("cf1", 1.02): (126, 23, 9),
    ("cfinf", 1.2): (162, 41, 20),
    ("cfinf", 1.02): (900, 233, 115),
    ("saturating", 1.2): (61, 14, 8),
    ("saturating", 1.02): (719, 123, 53),
}


def main() -> None:
    """Print means over seeds: 12 features, sizes 1 to 500, c0 = 3e3 and 1e5."""
    print(f"{'scores':<12}{'alpha':>6}{'layered':>16}{'best-first':>16}{'c0 fixed':>16}   ({SEEDS} seeds, earlier)")
    for (kind, alpha), earlier in EARLIER.items():
        counts: list[list[int]] = [[], [], []]
        for seed in range(SEEDS):
            rng = np.random.default_rng(seed)
            cost, table = costs(12, rng), scores(kind, 12, rng)
            counts[0].append(len(expand_layers(12, table.take, alpha=alpha)))
            counts[1].append(len(expand_best_first(cost, QueryRegion(SIZES), table.take, alpha=alpha)))
            for c0 in (3e3, 1e5):
                counts[2].append(len(expand_best_first(cost, QueryRegion(SIZES, (c0, c0)), table.take, alpha=alpha)))
        for search, found, before in zip(("layered", "best-first", "c0 fixed"), counts, earlier, strict=True):
            note(f"sets trained, {kind}, alpha {alpha}, {search}, against earlier", float(np.mean(found)) / before)
        cells = "".join(f"{np.mean(c):>9.1f} ({e:>4})" for c, e in zip(counts, earlier, strict=True))
        print(f"{kind:<12}{alpha:>6}{cells}")
