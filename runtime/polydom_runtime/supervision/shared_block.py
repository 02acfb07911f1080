"""Memory that the supervisor and its workers share: one place for the item, and a slot for each worker's progress.

A killed worker may still write for a moment, so its slot is given away only after its process has ended.
"""

import fcntl
import mmap
import os
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.exceptions import ItemError
from polydom_runtime.features import Feature, FeatureSpace, Step, read_only
from polydom_runtime.policy.loaded_models import Run, RunOf

SLOTS = 8
"""More slots than workers at a time, since workers that are being killed keep their slots."""

PROGRESS, STAGE, SINCE, MODEL, ALIVE_UNTIL = 0, 1, 2, 3, 4
NO_STAGE = -1
VALUES_AT = 64
ARRAY, TRANSPOSED, PICKLED = 0, 1, 2
PLAIN = "biufcmMSU"
"""The kinds of arrays that are fully described by their bytes, shape and type."""

ItemHeader = Sequence[Any]
"""How an item is stored in its place: its kind, its size in bytes, and the type and shape if it is an array."""


@dataclass(frozen=True, slots=True)
class Slot:
    """What one worker publishes while it works on an item."""

    words: NDArray[np.int64]
    """Shape (8,). At `PROGRESS` the mask of the features that are computed. At `STAGE` the position of the feature
    or shared step that was begun last, where steps come after all features. At `SINCE` the clock reading when the
    worker got the item, 0 if it has none. At `MODEL` the number of the model that was begun last, plus 1; 0 once it
    is done. At `ALIVE_UNTIL`, in the nursery's slot, the clock reading by which it will have written another one."""
    values: NDArray[np.float32]
    """Shape (sum of widths,). The row of features."""

    @classmethod
    def over(cls, memory: Any, width: int) -> "Slot":
        """Lay a slot over memory."""
        return cls(np.frombuffer(memory, np.int64, 8), np.frombuffer(memory, np.float32, width, VALUES_AT))


class SharedBlock:
    """An anonymous file in memory, new or by its descriptor; only pages that were written to take up memory."""

    def __init__(self, width: int, item_bytes: int, descriptor: int | None = None) -> None:
        self.width = width
        self.slot_bytes = rounded(VALUES_AT + 4 * width)
        self.item_bytes = rounded(item_bytes)
        if descriptor is None:
            descriptor = new_memory(SLOTS * self.slot_bytes + self.item_bytes)
        self.descriptor = descriptor
        self.item = map_shared(descriptor, self.item_bytes, SLOTS * self.slot_bytes)

    def slot(self, number: int) -> Slot:
        """Map one worker's slot."""
        return Slot.over(map_shared(self.descriptor, self.slot_bytes, number * self.slot_bytes), self.width)

    def close(self) -> None:
        """Close the file; the memory is freed with the last array over it."""
        self.item = np.zeros(0, np.uint8)  # a mapping holds a descriptor of its own
        os.close(self.descriptor)


def new_memory(size_bytes: int) -> int:
    """Return the descriptor of an anonymous file that cannot be cut: that would end all who have it mapped."""
    descriptor = os.memfd_create("polydom", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, size_bytes)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    return descriptor


def map_shared(descriptor: int, length: int, offset: int = 0) -> NDArray[np.uint8]:
    """Map a part of a shared file; it is unmapped with the last array over it."""
    return np.frombuffer(mmap.mmap(descriptor, length, offset=offset), np.uint8)


def rounded(size_bytes: int) -> int:
    """Return the size as whole pages, of which a mapping must consist."""
    return -(-max(size_bytes, 1) // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY


def write_item(item: Any, place: NDArray[np.uint8]) -> ItemHeader:
    """Put an item into its place, an array as it is, else pickled; `ItemError` if it does not fit or cannot be."""
    if type(item) is np.ndarray and item.dtype.kind in PLAIN:
        if item.nbytes > len(place):
            raise ItemError(f"the item is larger than {len(place)} bytes")
        transposed = item.flags.f_contiguous and not item.flags.c_contiguous
        laid_out = item.T if transposed else item
        np.ndarray(laid_out.shape, item.dtype, place.data)[...] = laid_out
        return TRANSPOSED if transposed else ARRAY, item.nbytes, item.dtype.str, laid_out.shape
    try:
        data = pickle.dumps(item, pickle.HIGHEST_PROTOCOL)
    except Exception as e:  # whatever the item's own code raises
        raise ItemError("the item can be neither shared nor pickled") from e
    if len(data) > len(place):
        raise ItemError(f"the item is larger than {len(place)} bytes")
    place[: len(data)] = np.frombuffer(data, np.uint8)
    return PICKLED, len(data), "", ()


def read_item(header: ItemHeader, place: NDArray[np.uint8]) -> Any:
    """Return the item that `write_item` put into a place; an array is not copied.

    Pickles are read, since only the supervisor, which started this process, writes there: any exception may come of
    one whose class cannot be imported here.
    """
    kind, size_bytes, dtype, shape = header
    if kind == PICKLED:
        return pickle.loads(place[:size_bytes].data)
    item = read_only(np.ndarray(shape, dtype, place.data))
    return item.T if kind == TRANSPOSED else item


def announced(space: FeatureSpace, words: memoryview) -> FeatureSpace:
    """Return the space with functions that write their own position before they run; see `Slot.words`."""

    def announce(function: Callable[[Any], Any], position: int) -> Callable[[Any], Any]:
        def run(source: Any) -> Any:
            words[STAGE] = position
            return function(source)

        return run

    steps: dict[Step | None, Step | None] = {None: None}
    for position, step in enumerate(space.steps, len(space)):
        steps[step] = Step(step.name, announce(step.compute, position))
    features: list[Feature] = [
        replace(feature, extract=announce(feature.extract, position), step=steps[feature.step])
        for position, feature in enumerate(space.features)
    ]
    return FeatureSpace(features, space.size)


def announced_models(words: memoryview) -> Callable[[RunOf], RunOf]:
    """Return a function that lets models write their own number before they are loaded and run; see `Slot.words`.

    Only loading writes that it is done. After a run the worker does, once for each item.
    """

    def announce(run_of: RunOf) -> RunOf:
        def load(number: int) -> Run:
            word = words[MODEL] = number + 1
            run = run_of(number)
            words[MODEL] = 0

            def announced_run() -> int | float:
                words[MODEL] = word
                return run()

            if hasattr(run, "confidence"):
                vars(announced_run)["confidence"] = run.confidence
            return announced_run

        return load

    return announce
