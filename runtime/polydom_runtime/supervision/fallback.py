"""The answers of the supervisor itself, when the worker has none: the best model over the finished features."""

from collections.abc import Iterable

from polydom_runtime.bundles.bundle import Bundle, Label
from polydom_runtime.clock import hardware_clock
from polydom_runtime.features import FeatureSpace
from polydom_runtime.policy.loaded_models import NO_NUMBER, LoadedModel, LoadedModels
from polydom_runtime.prediction import labels_of

from .model_failures import name_of_model
from .shared_block import NO_STAGE
from .worker import Link

MIN_MARGIN_NS = 50_000
"""The time that the supervisor needs to put an answer together, in nanoseconds."""


class Fallback:
    """The models of the workers over a copy of their row of features, with the times of the regime ``cold``."""

    def __init__(self, bundle: Bundle, numbers: Iterable[int]) -> None:
        self.labels = labels_of(bundle)
        self._n_features = len(bundle.names)
        self._models = LoadedModels(bundle)
        self._models.load_only(numbers)
        self.prior = self._models.prior

    def prepare(
        self, link: Link, deadline: int, failing: Iterable[int], slowdown: float
    ) -> tuple[LoadedModel, Label | float | None]:
        """Return the best model that is in time over the features that a worker has finished, and its label.

        A quicker model, or the prior, answers if the deadline, a clock reading, leaves no time for the best one; the
        time left counts as divided by `slowdown`.
        Neither `failing` models run here nor the one that the worker is in: this process cannot be replaced.
        """
        models, mask = self._models, link.done
        if mask >> self._n_features:  # a broken worker may write anything there
            mask = 0
        models.out = {link.model, *failing}
        left_ns = (deadline - MIN_MARGIN_NS - hardware_clock()) / slowdown
        model = models.best_loaded(mask, left_ns)
        # On weakly ordered processors the mask may be visible before the row is. The search for the model has taken
        # longer than that.
        models.values[:] = link.slot.values
        mask &= ~models.not_finite(mask)
        model = model if model.mask & ~mask == 0 else models.best_loaded(mask, left_ns)
        if hardware_clock() + model.model_ns * slowdown + MIN_MARGIN_NS <= deadline:
            try:
                return model, self.labels[model.run()]
            except Exception:  # whatever onnxruntime raises, or a class that does not exist
                pass
        return self.prior, self.labels[self.prior.run()]


UNKNOWN = "the worker"


class StageNames:
    """The names of what a worker may be busy with: features, shared steps and models."""

    def __init__(self, space: FeatureSpace) -> None:
        self.space = space
        self._names = (*space.names, *(step.name for step in space.steps))

    def features(self, link: Link) -> tuple[str, ...]:
        """Return the features that a worker is busy with: one, all that share a step, or none if that is not known."""
        stage = self._stage(link)
        if stage < len(self.space):
            return self._names[stage : stage + 1] if stage != NO_STAGE else ()
        step = self.space.steps[stage - len(self.space)]
        return tuple(feature.name for feature in self.space.features if feature.step == step)

    def name(self, link: Link) -> str:
        """Return the name of what a worker is busy with; "the worker" if it is not known."""
        if (model := link.model) != NO_NUMBER:
            return name_of_model(model)
        stage = self._stage(link)
        return UNKNOWN if stage == NO_STAGE else self._names[stage]

    def within(self, link: Link) -> str:
        """Return the end of a sentence that says in what something happened; empty if it is not known."""
        return "" if (name := self.name(link)) == UNKNOWN else f" in {name}"

    def _stage(self, link: Link) -> int:
        """Return the stage of a worker; `NO_STAGE` also for a number that a broken one has written there."""
        return stage if 0 <= (stage := link.stage) < len(self._names) else NO_STAGE
