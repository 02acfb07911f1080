"""Models that workers hung or crashed in: they are left out of the choice, and tried again ever more rarely."""

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.model_entry import model_file
from polydom_runtime.features import members
from polydom_runtime.policy.failures import FailureBook
from polydom_runtime.prediction import Prediction


class ModelFailures:
    """Counts the workers in a row that each model has ended, by the rules for features that hang."""

    def __init__(self, bundle: Bundle) -> None:
        # Models of one set have different scores, or the better one is never asked.
        names = [tuple(bundle.names[f] for f in m.order) for m in bundle.models]
        self._numbers = {(of_it, m.accuracy): n for n, (of_it, m) in enumerate(zip(names, bundle.models, strict=True))}
        self._book = FailureBook(len(bundle.models))

    @property
    def failing(self) -> list[int]:
        """The numbers of the models that ended a worker and have not worked in one since."""
        return [number for number, streak in enumerate(self._book.streaks) if streak] if self._book.any else []

    @property
    def failures(self) -> dict[str, int]:
        """Failures in a row by model, where there are any."""
        return {name_of_model(number): self._book.streaks[number] for number in self.failing}

    @property
    def out(self) -> frozenset[str]:
        """The models that are out of the choice."""
        return frozenset(map(name_of_model, members(self._book.out)))

    def banned(self, item: int) -> list[int]:
        """Return the numbers of the models that workers must do without for an item."""
        return list(members(self._book.banned(item))) if self._book.any else []

    def ended(self, number: int, item: int) -> None:
        """Count that a model has ended the worker that had an item."""
        self._book.hung(number, item)

    def worked(self, answer: Prediction, item: int) -> None:
        """Note that a worker answered an item, by a model or by the prior."""
        if self._book.any and answer.features:
            self._book.judge(1 << self._numbers[answer.features, answer.accuracy], item)


def name_of_model(number: int) -> str:
    """Return the name of a model for messages."""
    return f"the model {model_file(number)}"
