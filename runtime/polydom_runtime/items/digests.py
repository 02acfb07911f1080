"""Digests of items, by which items that a bundle was built with are known again."""

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np

FEWEST_NUMBERS = 4
"""An item of fewer numbers, or a text of fewer bytes than these have, may be equal to another one by chance."""

TOLD = 0.01
"""The share of test items that were training items from which on people are told."""

MAX_KEPT, N_BYTES = 1024, 8
"""The most digests that are kept of all items, and the bytes of each."""


def item_digest(item: Any) -> bytes | None:
    """Return a digest that is the same for the same numbers or text; None for other items, short and constant ones.

    They are the same if they are in float32: JSON turns integers into floats, and a file may hold either. A sensor that
    rests gives the same item again.

    >>> item_digest([1, 2, 3, 4]) == item_digest(np.arange(1, 5, dtype=np.uint8))
    True
    """
    if isinstance(item, str | bytes):
        data = item.encode(errors="surrogatepass") if isinstance(item, str) else item
        return _digest(data, b"text") if len(data) >= 8 * FEWEST_NUMBERS else None
    try:
        array = np.asarray(item)
        if array.dtype.kind not in "biufc" or array.size < FEWEST_NUMBERS:
            return None
        with np.errstate(all="ignore"):
            numbers = np.ascontiguousarray(array, dtype=np.complex64 if array.dtype.kind == "c" else np.float32)
    except Exception:  # of whatever is an item for the user
        return None
    return None if (numbers == numbers.flat[0]).all() else _digest(numbers, repr(array.shape).encode())


def _digest(data: Any, key: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=N_BYTES, key=key[: hashlib.blake2b.MAX_KEY_SIZE]).digest()


def kept_digests(digests: Iterable[bytes | None]) -> bytes:
    """Return the smallest digests of some items, in order: all of them, or those below some limit."""
    return b"".join(sorted({digest for digest in digests if digest is not None})[:MAX_KEPT])


class SeenItems:
    """Counts which of some items a bundle was built with, by the digests that it keeps.

    >>> training = [np.arange(4) * k for k in range(5000)]
    >>> seen = SeenItems(kept_digests(map(item_digest, training)))
    >>> for item in (*training[:2500], *(np.arange(4) * -k for k in range(1, 2501))):
    ...     seen.add(item)
    >>> 0.45 < seen.share < 0.55
    True
    """

    def __init__(self, digests: bytes) -> None:
        self._known = {digests[k : k + N_BYTES] for k in range(0, len(digests), N_BYTES)}
        is_part = len(self._known) == MAX_KEPT
        self._last = max(self._known) if is_part else b"\xff" * N_BYTES
        self.n_asked = self.n_seen = 0

    def add(self, item: Any) -> None:
        """Count an item, unless its digest is one of those that are not kept."""
        if self._known and (digest := item_digest(item)) is not None and digest <= self._last:
            self.n_asked += 1
            self.n_seen += digest in self._known

    @property
    def share(self) -> float:
        """The share of the items that the bundle was built with, as far as is known."""
        return self.n_seen / self.n_asked if self.n_asked else 0.0

    @property
    def text(self) -> str:
        """The share in words; empty if it is small."""
        return seen_text(self.share)


def seen_text(share: float) -> str:
    """Return a sentence about a share of test items that a bundle was built with; empty if it is small."""
    from polydom_runtime.tables import percent  # only here: a node needs it at its end

    what = f"{percent(share)} of the labelled items are items that the bundle was built with"
    return f"{what}: scores on these are too high for new items. Give others." if share >= TOLD else ""
