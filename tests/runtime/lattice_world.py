"""A world in which every set of features has a model, and everything takes the time that a test tells it to."""

from collections.abc import Callable, Sequence
from typing import Any

from polydom_runtime import CostFunction, Feature, FeatureSpace, Predictor, Seams, Step
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.model_entry import ModelEntry
from polydom_runtime.bundles.unit_times import StepTime
from polydom_runtime.features import members
from polydom_runtime.measuring.cost_samples import AFTER, AROUND, BEFORE, WAKING
from polydom_runtime.testing import ManualClock
from tests.bundle_parts import bundle_of

US = 1e-6
NAMES = ("a", "b", "c", "d", "e")
STEP = "shared"


def microseconds(constant: float, linear: float = 0.0) -> CostFunction:
    return CostFunction.of(constant * US, linear=linear * US)


def lattice_bundle(
    accuracies: Sequence[float],
    costs: Sequence[CostFunction],
    *,
    models: Sequence[float] | float = 5 * US,
    dispatch: CostFunction | None = None,
    step: tuple[int, CostFunction] | None = None,
    **others: Any,
) -> Bundle:
    """Return a bundle that ships a model for every set; ``accuracies[0]`` is the prior's.

    Dispatch takes 2 µs if not given. The label of each answer is the set that its model reads, as a bit mask.
    """
    n = len(costs)
    seconds = [models] * (1 << n) if isinstance(models, float) else [0.0, *models]
    entries = tuple(
        ModelEntry(tuple(members(mask)), accuracies[mask], seconds[mask], 1, bytes(32)) for mask in range(1, 1 << n)
    )
    bundle: dict[str, Any] = {
        "names": NAMES[:n],
        "widths": (1,) * n,
        "classes": tuple(range(1 << n)),
        "sizes": (1.0, 100.0),
        "budgets": (0.0, float("inf")),
        "costs": tuple(costs),
        "steps": () if step is None else (StepTime(STEP, *step),),
        "dispatch": microseconds(2.0) if dispatch is None else dispatch,
        "prior": (0, accuracies[0]),
        "models": entries,
        "shipped": tuple(range(len(entries))),
    }
    return bundle_of(**bundle | others)


class LatticeWorld:
    """Units that take `taken[name]` nanoseconds, and models; an item is its own size.

    All take their worst case at size 1 at first. What a feature gives is in `results`: a value, or what it raises.
    """

    def __init__(self, bundle: Bundle) -> None:
        self.bundle, self.clock = bundle, ManualClock()
        self.calls: list[str] = []
        self.results: dict[str, Any] = {}
        worst = bundle.times.worst
        costs = zip((*AROUND, *worst.names), (*worst.around, *worst.terms), strict=True)
        self.taken = {name: worst_ns(cost) for name, cost in costs}
        self._asleep_ns, self._is_open = 0, False
        self.models = [int(model.seconds * 1e9 + 1e-3) for model in bundle.models]
        shared = {s.name: (s.users, Step(s.name, self._unit(s.name, 1.0))) for s in worst.steps}
        self.space = FeatureSpace(
            [
                Feature(name, self._unit(name, [1.0]), step=next((s for u, s in shared.values() if u >> i & 1), None))
                for i, name in enumerate(bundle.names)
            ],
            self._size,
        )

    def predictor(self, deadline: float, **options: Any) -> Predictor:
        """Return a predictor in this world, its deadline in seconds; options may be of its seams."""
        own = {name: options.pop(name) for name in Seams._fields if name in options}
        seams = {"clock": self.clock, "keep_memory": False, "run_of": self._model, **own}
        return Predictor(
            self.bundle,
            self.space,
            deadline=deadline,
            seams=Seams(**seams),
            **options,
        )

    def slow_down(self, factor: float) -> None:
        """Let everything take `factor` times as long from now on."""
        self.taken = {name: round(ns * factor) for name, ns in self.taken.items()}
        self.models = [round(ns * factor) for ns in self.models]

    def _size(self, item: Any) -> Any:
        self.clock.now_ns += self.taken[BEFORE]
        self._asleep_ns, self._is_open = self.taken[WAKING], True
        return item

    def _unit(self, name: str, value: object) -> Callable[[Any], Any]:
        def run(source: Any) -> Any:
            self.calls.append(name)
            self.clock.now_ns += self.taken[name] + self._asleep_ns
            self._asleep_ns = 0
            result = self.results.get(name, value)
            if isinstance(result, Exception):
                raise result
            return result

        return run

    def _model(self, number: int) -> Callable[[], int]:
        def run() -> int:
            self.clock.now_ns += self.models[number] + (self.taken[AFTER] if self._is_open else 0)
            self._is_open = False
            return self.bundle.models[number].mask

        return run


def worst_ns(cost: CostFunction, n: float = 1.0) -> int:
    """Return whole nanoseconds within a cost."""
    return int(cost(n) * 1e9 + 1e-3)
