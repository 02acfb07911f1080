"""The sizes and budgets that queries may have."""

import numpy as np
import pytest

from polydom_builder.lattice.best_first import expand_best_first
from polydom_builder.sets.region import QueryRegion
from tests import synthetic
from tests.draws import draws
from tests.property.lattice_oracle import score_of


@pytest.mark.parametrize("narrow", [QueryRegion((50, 50)), QueryRegion(synthetic.SIZES, (2e4, 2e4))])
def test_what_is_fixed_at_build_time_saves_trainings_and_changes_no_answer(narrow: QueryRegion) -> None:
    """Prob-n0-Fixed and Prob-c0-Fixed against Prob-General, at the queries that they share."""
    trained = np.zeros(2)
    for seed in range(draws(2, 6)):
        rng = np.random.default_rng(seed)
        costs, scores = synthetic.costs(8, rng), synthetic.scores("cfinf", 8, rng)
        regions = (QueryRegion(synthetic.SIZES), narrow)
        found = [expand_best_first(costs, region, score_of(scores)) for region in regions]
        trained += [len(expanded) for expanded in found]
        for n in np.linspace(*narrow.sizes, 5):
            cost = [costs(mask)(n) for mask in range(256)]
            for c in np.linspace(*narrow.budgets, 5) if narrow.budgets[1] < np.inf else np.geomspace(1e3, 1e6, 40):
                whole, part = (max(a for m, a in e.items() if m == 0 or cost[m] <= c) for e in found)
                assert whole == part

    assert trained[1] < 0.8 * trained[0]
