"""The source of items and the output of answers for a loop on the command line."""

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal, TypeGuard

import numpy as np

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.exceptions import ItemError, PolyDomError
from polydom_runtime.features import FeatureSpace, check_kind, described
from polydom_runtime.items.sources import UNLABELLED, UNREADABLE, LabelledItems, bare
from polydom_runtime.loop.stop import Stop
from polydom_runtime.measuring.item_sizes import checked_size
from polydom_runtime.policy.deadline import ANOTHER_CLOCK

from .terminal import say

if TYPE_CHECKING:
    from polydom_runtime.delivery.following_predictor import FollowingPredictor
    from polydom_runtime.prediction import AnyPredictor, Prediction
    from polydom_runtime.publishing.publisher import MqttPublisher

    from .recording import Records
    from .tally import Tally


FIRST = 10
"""So many first items must not all be unusable: fewer may be what a sensor gives when it starts."""


def follows(predictor: "AnyPredictor") -> "TypeGuard[FollowingPredictor]":
    """Tell whether a predictor takes over new bundles."""
    return hasattr(predictor, "on_slack")


class LabelledSource:
    """The items of (item, label) pairs, for a loop; None in place of an unreadable one.

    `check` is called with the first items that have values, until one is usable. If all of `FIRST` are unusable, or
    all that there are, the error of the first one is `refused`, and the loop is to stop.
    """

    def __init__(
        self, name: str, pairs: LabelledItems, tally: "Tally", stop: Stop, check: Callable[[Any], object]
    ) -> None:
        self.name = name
        self.label: Any = UNLABELLED
        self.refused: ItemError | None = None
        self._pairs, self._tally, self._stop, self._check = pairs, tally, stop, check
        self._is_new, self._error = True, ""
        self._unusable: list[str] = []

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        try:
            item, self.label = next(self._pairs)
        except StopIteration:
            self._refuse(1)
            raise
        if item is UNREADABLE:
            self._tally.unreadable += 1
            return None
        if self._is_new and item is not None and has_values(values := bare(item)):
            try:
                self._error = ""
                self._check(values)
            except ItemError as e:
                self._error = str(e)
        return item

    def judge(self, item: Any, prediction: "Prediction") -> None:
        """Judge by its answer whether one of the first items is usable."""
        if not self._is_new or not has_values(item):
            return
        error = self._error
        if not error and not prediction.features and prediction.error not in ("", ANOTHER_CLOCK):
            error = _unlike(self.name, item, prediction.error)
        if not error:
            self._is_new = False
            return
        if not self._unusable:
            say(f"{error} If the first {FIRST} items are such, or all, the run ends.")
        self._unusable.append(error)
        self._refuse(FIRST)

    def _refuse(self, at_least: int) -> None:
        """Refuse all items if none was usable, of a number that tells that."""
        if self._is_new and len(self._unusable) >= at_least:
            self.refused, self._stop.requested = ItemError(self._unusable[0]), True

    def close(self) -> None:
        """Close the source."""
        self._pairs.close()


class Answers:
    """Counts, records, publishes and prints the answers; `on_answer` is one of `Monitor`.

    Answers are printed one by one, at the end, or not at all; `more` returns further fields of each.
    """

    def __init__(
        self,
        predictor: "AnyPredictor",
        source: LabelledSource,
        tally: "Tally",
        records: "Records",
        stop: Stop,
        publisher: "MqttPublisher | None",
        shown: Literal["each", "held", "none"],
        more: Callable[[], dict[str, Any]],
    ) -> None:
        self.source, self.records, self.stop, self.publisher = source, records, stop, publisher
        self.is_read = True
        self._predictor, self._tally, self._is_shown, self._more = predictor, tally, shown == "each", more
        self._held: list[tuple[int, Prediction, dict[str, Any]]] | None = [] if shown == "held" else None

    def on_answer(self, number: int, item: Any, prediction: "Prediction") -> None:
        """Count, record and print one answer."""
        self._tally.add(prediction, self.source.label, self._predictor.margin.paused)
        if self.source.label is not UNLABELLED:
            self._tally.look(item)
        self.records.add(prediction, self._predictor.trace, number)
        self.source.judge(item, prediction)
        answer = number, prediction, self._more()
        if self._held is not None:
            self._held.append(answer)
        is_printed = self._is_shown and self.is_read
        if not is_printed and self.publisher is None:
            return
        line = json.dumps(_as_dict(*answer))
        if self.publisher is not None:
            self.publisher.add(line, prediction)
        if is_printed:
            self._print(line)

    @property
    def held(self) -> list[dict[str, Any]] | None:
        """The answers that were held back, as they are printed; None if none are to be."""
        return None if self._held is None else [_as_dict(*answer) for answer in self._held]

    def release(self) -> None:
        """Print the answers that were held back."""
        for answer in self.held or ():
            if self.is_read:
                self._print(json.dumps(answer))

    def _print(self, line: str) -> None:
        try:
            self.records.lines.write(f"{line}\n")
        except BrokenPipeError:
            self.is_read, self.stop.requested = False, True


def _as_dict(number: int, prediction: "Prediction", more: dict[str, Any]) -> dict[str, Any]:
    return {"item": number, **prediction._asdict(), **more}


def has_values(item: Any) -> bool:
    """Tell whether an item has no number that is not finite: a sensor may begin with readings that are none."""
    return not (isinstance(item, np.ndarray) and item.dtype.kind in "fc" and not np.isfinite(item).all())


def check_first(space: FeatureSpace | None, bundle: Bundle, compare: bool, source: str, item: Any) -> None:
    """Check that an item is of the kind of the build's, and that all features of `space`, if given, work on it.

    `compare`: whether to compare them with those of an item of the build's type of numbers.
    """
    kind = bundle.space.item_kind
    check_kind(item, kind, f"The first item of {source}", "those that the bundle was built with are")
    if space is None:
        return
    try:
        checked_size(space, item)
        if (steady := bundle.references.steady(space)[0]) is not None:
            steady.extract_all(item)
        if compare:
            bundle.check_type(space, item)
    except PolyDomError as e:
        raise ItemError(_unlike(source, item, str(e))) from e


def _unlike(source: str, item: Any, why: str) -> str:
    return f"The first item of {source} must be like those that the bundle was built with. Got {described(item)}. {why}"
