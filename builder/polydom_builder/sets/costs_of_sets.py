"""From the times of units to the cost function of any set, which the lattice needs."""

from collections.abc import Mapping

from polydom_runtime.costs import CostFunction, total
from polydom_runtime.unit_times import UnitTimes

from .combined_costs import Combine, CombinedCosts
from .set_costs import SetCosts


def costs_of_sets(times: UnitTimes, model_seconds: float, combine: Combine | None = None) -> SetCosts | CombinedCosts:
    """Return the cost of any set: its features, their steps, dispatch, and a model run unless it is empty.

    `times`: the worst case of each unit. `model_seconds`: the time of a model run. `combine`: the rule for the cost of
    features together (see `Combine`); their sum if not given. Steps, dispatch and model run are added to it.

    Raises `LatticeError` if `combine` fails on a set, or lets a weight fall when a feature is added.
    """
    names, features = times.names[: times.n_features], times.features
    everyone = (1 << len(features)) - 1
    model = CostFunction.of(model_seconds)
    if combine is None:
        shared = [(step.cost, step.users) for step in times.steps]
        return SetCosts(features, [*shared, (model, everyone)], times.dispatch)
    bit = {name: 1 << i for i, name in enumerate(names)}

    def whole(parts: Mapping[str, CostFunction]) -> CostFunction:
        mask = sum(bit[name] for name in parts)
        steps = [step.cost for step in times.steps if step.users & mask]
        return total([combine(parts), *steps, *([model] if mask else []), times.dispatch])

    return CombinedCosts(features, whole, names)
