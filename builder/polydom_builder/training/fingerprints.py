"""What scores and bundles depend on, as hashes: the code of estimator and scorer, libraries, and the training data."""

import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from joblib import hash as content_hash

from polydom_runtime.measuring.fingerprint import code_fingerprint, module_of

LIBRARIES = ("sklearn", "numpy", "scipy", "skl2onnx")


def training_code(estimator: Any, scoring: Any) -> tuple[str, tuple[str, ...]]:
    """Return a hash of the user's code in an estimator and a scorer, and the versions of their libraries."""
    parts = [*_parts(estimator), *_parts(scoring)]
    modules = {module.__name__.partition(".")[0] for part in parts if (module := module_of(part))}
    named = sorted({*LIBRARIES, *modules} - {"builtins", "__main__"})
    versions = ((name, getattr(sys.modules.get(name), "__version__", None)) for name in named)
    return code_fingerprint(parts), tuple(f"{name} {version}" for name, version in versions if version)


def _parts(value: Any) -> Iterator[Any]:
    """Yield the classes and functions of a value: of an estimator, of its parameters, of a scorer."""
    waiting, seen = [value], dict[int, Any]()
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen[id(part)] = part
        if isinstance(part, Mapping):
            waiting += part.values()
        elif isinstance(part, list | tuple | set):
            waiting += part
        elif isinstance(part, type) or (callable(part) and hasattr(part, "__code__")):
            yield part
        elif hasattr(part, "__dict__"):
            yield type(part)
            waiting += vars(part).values()


def data_fingerprint(items: Iterable[Any], labels: Iterable[Any]) -> str:
    """Return the SHA-256 of items and of their labels, in hexadecimal; equal for equal data on any machine.

    Of objects that are no arrays, numbers, texts, lists or dictionaries it depends on the version of their libraries.

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
