"""Results that a build keeps, so that one that was killed goes on: plain data with digests, nothing is unpickled."""

import hashlib
import inspect
import io
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
from joblib import hash as content_hash

from polydom_builder import __version__
from polydom_runtime.files import replace_file

CACHE_VERSION = "2"
"""Changes when results of an earlier version must not be used any more."""

ARRAY_TYPE = 1
"""The msgpack extension for arrays, as .npy files."""

DIGEST_BYTES = 32


@dataclass(frozen=True)
class Cache:
    """Keeps results of functions in a folder; any number of processes may use it at a time."""

    folder: Path | None = None
    """None keeps nothing."""

    def cache(self, function: Callable[..., Any], ignore: Sequence[str] = ()) -> Callable[..., Any]:
        """Return a function that looks up its result before it computes it, by all arguments except those to ignore.

        It must return numbers, texts, bytes, arrays, or lists, tuples and dicts of these; a tuple comes back as a
        list.
        """
        return function if self.folder is None else Cached(self.folder, function, tuple(ignore))


@dataclass(frozen=True)
class Cached:
    """A function with a cache; see `Cache.cache`."""

    folder: Path
    function: Callable[..., Any]
    ignore: tuple[str, ...]

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Return the result for some arguments."""
        bound = inspect.signature(self.function).bind(*arguments, **named).arguments
        key = {name: value for name, value in bound.items() if name not in self.ignore}
        file = file_of(self.folder, self.function.__name__.strip("_"), self._code, key)
        with suppress(OSError, ValueError):  # not there, cut off or damaged: computed again
            return read(file)
        result = self.function(*arguments, **named)
        try:
            write(file, result)
        except OSError as e:  # such as a full disk
            warnings.warn(f"{self.folder} must be writable, to keep results. {e}. They are not kept.", stacklevel=2)
        return result

    @cached_property
    def _code(self) -> str:
        return inspect.getsource(self.function)


def file_of(folder: Path, name: str, *key: Any) -> Path:
    """Return the file of a result with this name that depends on nothing but `key`."""
    digest = hashlib.sha256(content_hash((CACHE_VERSION, __version__, key)).encode()).hexdigest()
    return folder / "polydom" / name / digest[:2] / digest


def read(file: Path) -> Any:
    """Read a result; `ValueError` if the file is damaged."""
    data = file.read_bytes()
    if hashlib.sha256(data[DIGEST_BYTES:]).digest() != data[:DIGEST_BYTES]:
        raise ValueError(f"{file} must begin with the SHA-256 of its rest.")
    return msgpack.unpackb(data[DIGEST_BYTES:], strict_map_key=False, ext_hook=_array)


def write(file: Path, value: Any) -> None:
    """Write a result; whoever reads the file meanwhile finds the whole result or none."""
    content = msgpack.packb(value, default=_extension)
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_file(file, hashlib.sha256(content).digest() + content, sync=False)


def _extension(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if not isinstance(value, np.ndarray):
        raise TypeError(f"A result must be plain data. Got {type(value).__name__}.")
    stream = io.BytesIO()
    np.save(stream, value, allow_pickle=False)
    return msgpack.ExtType(ARRAY_TYPE, stream.getvalue())


def _array(code: int, data: bytes) -> Any:
    if code != ARRAY_TYPE:
        raise ValueError(f"extension type {code}")
    return np.load(io.BytesIO(data), allow_pickle=False)
