"""A hash of training data, by which a bundle names what it was trained on."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from joblib import hash as content_hash


def data_fingerprint(items: Iterable[Any], labels: Iterable[Any]) -> str:
    """Return the SHA-256 of items and of their labels, in hexadecimal.

    It is equal for equal data in the same order, on any machine, whether they are given as a list or as an array. Items
    may be arrays, numbers, texts, and lists and dictionaries of these; of other objects it also depends on the version
    of their libraries.

    >>> data_fingerprint([1, 2], ["a", "b"]) == data_fingerprint(np.array([1, 2]), np.array(["a", "b"]))
    True
    """
    digest = hashlib.sha256()
    for part in (items, labels):
        _feed(digest.update, list(part))
    return digest.hexdigest()


def _feed(feed: Callable[[bytes], object], value: Any) -> None:
    """Feed a value with its kind and its length, so that different values never give the same bytes."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.dtype.hasobject):
        value = value.tolist()
    if isinstance(value, np.ndarray):
        feed(f"array {value.dtype.str} {value.shape} ".encode())
        feed(value.tobytes())
    elif isinstance(value, list | tuple):
        feed(f"list {len(value)} ".encode())
        for part in value:
            _feed(feed, part)
    elif isinstance(value, Mapping):
        feed(f"map {len(value)} ".encode())
        for pair in value.items():
            _feed(feed, pair)
    elif isinstance(value, bool | int | float | complex | str | bytes | None):
        text = repr(value).encode()
        feed(f"{type(value).__name__} {len(text)} ".encode() + text)
    else:
        _feed(feed, f"object {content_hash(value)}")
