"""The source of items and the output of answers for a loop on the command line."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from polydom_runtime.items.json_lines import UNREADABLE
from polydom_runtime.items.sources import UNLABELLED

if TYPE_CHECKING:
    from polydom_runtime.prediction import Prediction

    from .tally import Tally


class LabelledSource:
    """The items of (item, label) pairs, for a `Monitor`. In place of an unreadable one there is no item yet.

    Parameters
    ----------
    pairs : iterable
    tally : Tally
        Counts the unreadable ones.

    Attributes
    ----------
    label
        The label of the item taken last.
    """

    def __init__(self, pairs: Iterable[tuple[Any, Any]], tally: "Tally") -> None:
        self.label: Any = UNLABELLED
        self._pairs, self._tally = iter(pairs), tally

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        item, self.label = next(self._pairs)
        if item is UNREADABLE:
            self._tally.unreadable += 1
            return None
        return item


class Answers:
    """Counts the answers and prints a line for each; `on_answer` is one of `Monitor`.

    Parameters
    ----------
    tally : Tally
    source : LabelledSource
    quiet : bool
        Whether answers are counted and not printed.

    Attributes
    ----------
    on_closed : callable
        Called when the reader of the lines has gone; then `is_read` is False.
    """

    def __init__(self, tally: "Tally", source: LabelledSource, quiet: bool = False) -> None:
        self._tally, self._source, self._quiet = tally, source, quiet
        self.on_closed: Callable[[], object] = lambda: None
        self.is_read = True

    def on_answer(self, number: int, item: Any, prediction: "Prediction") -> None:
        """Count and print one answer."""
        self._tally.add(prediction, self._source.label)
        if self._quiet or not self.is_read:
            return
        try:
            print(json.dumps({"item": number, **prediction._asdict()}), flush=True)
        except BrokenPipeError:
            self.is_read = False
            self.on_closed()
