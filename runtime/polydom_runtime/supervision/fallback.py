"""What the supervisor answers when the worker does not: the best model over the features that are finished."""

from polydom_runtime.bundles.bundle import Bundle, Label
from polydom_runtime.clock import hardware_clock
from polydom_runtime.features import FeatureSpace
from polydom_runtime.policy.loaded_models import LoadedModel, LoadedModels
from polydom_runtime.prediction import labels_of

from .shared_block import NO_STAGE
from .worker import Link

MIN_MARGIN_NS = 50_000
"""What it takes to put an answer together."""


class Fallback:
    """The models of a bundle, all of them loaded, over a copy of the worker's row of features.

    Parameters
    ----------
    bundle : Bundle

    Attributes
    ----------
    prior : LoadedModel
    labels : mapping
        The label of each class number.
    """

    def __init__(self, bundle: Bundle) -> None:
        self.labels = labels_of(bundle.space)
        self._table = LoadedModels(bundle)
        for number in range(len(bundle.models)):
            self._table.load(number)
        self.prior = self._table.prior

    def prepare(self, link: Link, deadline: int) -> tuple[LoadedModel, Label | float]:
        """Return the best answer from what a worker has finished so far, and the label that its model gives.

        The prior if there is no time left for the model.
        """
        table, mask = self._table, link.done
        answer = table.best_loaded(mask)
        # Weakly ordered processors may show the mask before the row; looking for the model has taken longer than that.
        table.values[:] = link.slot.values
        mask &= ~table.not_finite(mask)
        answer = answer if answer.mask & ~mask == 0 else table.best_loaded(mask)
        if hardware_clock() + answer.model_ns + MIN_MARGIN_NS <= deadline:
            try:
                return answer, self.labels[answer.run()]
            except Exception:  # whatever onnxruntime raises, or a class that does not exist
                pass
        return self.prior, self.labels[self.prior.run()]


class StageNames:
    """Names what a worker is busy with.

    Parameters
    ----------
    space : FeatureSpace
    """

    def __init__(self, space: FeatureSpace) -> None:
        self.space = space
        self._names = (*space.names, *(step.name for step in space.steps))

    def features(self, stage: int) -> tuple[str, ...]:
        """Return the features that a stage is of: one, all those of a shared step, or none if it is not known."""
        if stage < len(self.space):
            return self._names[stage : stage + 1] if stage != NO_STAGE else ()
        step = self.space.steps[stage - len(self.space)]
        return tuple(feature.name for feature in self.space.features if feature.step == step)

    def name(self, stage: int) -> str:
        """Return what was not done."""
        return "the worker" if stage == NO_STAGE else self._names[stage]

    def within(self, stage: int) -> str:
        """Return where that was, as the end of a sentence."""
        return "" if stage == NO_STAGE else f" in {self._names[stage]}"
