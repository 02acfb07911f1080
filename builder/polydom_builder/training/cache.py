"""Results that a build keeps, so that one that was killed goes on: plain data with digests, nothing is unpickled."""

import hashlib
import inspect
import io
import os
import stat
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import msgpack
import numpy as np
from joblib import hash as content_hash

from polydom_builder import __version__
from polydom_runtime.files import replace_file, without_waiting

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
        with suppress(Exception):  # not there, cut off, damaged or of another kind: computed again
            if is_of(found := read(file), self._kind):
                return found
        result = self.function(*arguments, **named)
        try:
            write(file, result)
        except OSError as e:  # such as a full disk
            warnings.warn(f"{self.folder} must be writable, to keep results. {e}. They are not kept.", stacklevel=2)
        return result

    @cached_property
    def _kind(self) -> Any:
        return get_type_hints(self.function).get("return", Any)

    @cached_property
    def _code(self) -> str:
        return inspect.getsource(self.function)


def file_of(folder: Path, name: str, *key: Any) -> Path:
    """Return the file of a result with this name that depends on nothing but `key`."""
    digest = hashlib.sha256(content_hash((CACHE_VERSION, __version__, key)).encode()).hexdigest()
    return folder / "polydom" / name / digest[:2] / digest


def is_of(value: Any, kind: Any) -> bool:
    """Tell whether a value that was read is of the kind that a function states for its result."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is tuple:
        return isinstance(value, list) and len(value) == len(inner) and all(map(is_of, value, inner))
    if origin is list:
        return isinstance(value, list) and all(is_of(each, inner[0]) for each in value)
    if origin is dict:
        return isinstance(value, dict) and all(is_of(k, inner[0]) and is_of(v, inner[1]) for k, v in value.items())
    if origin is np.ndarray:
        numbers = get_args(inner[1])[0]
        return isinstance(value, np.ndarray) and (numbers is Any or np.issubdtype(value.dtype, numbers))
    return kind is Any or not isinstance(kind, type) or isinstance(value, int | float if kind is float else kind)


def read(file: Path) -> Any:
    """Read a result; an exception of any kind if it is not one that `write` wrote, or any user may write to it."""
    with open(file, "rb", opener=lambda name, flags: without_waiting(name, flags | os.O_NOFOLLOW)) as stream:
        mode = os.fstat(stream.fileno()).st_mode
        if not stat.S_ISREG(mode) or mode & stat.S_IWOTH:
            raise ValueError(f"{file} must be a file to which not every user may write.")
        data = stream.read()
    if hashlib.sha256(data[DIGEST_BYTES:]).digest() != data[:DIGEST_BYTES]:
        raise ValueError(f"{file} must begin with the SHA-256 of its rest.")
    return msgpack.unpackb(data[DIGEST_BYTES:], strict_map_key=False, ext_hook=_array)


def write(file: Path, value: Any) -> None:
    """Write a result; whoever reads the file meanwhile finds the whole result or none."""
    content = msgpack.packb(value, default=_extension)
    make_folder(file.parent)
    replace_file(file, hashlib.sha256(content).digest() + content, sync=False)


def make_folder(folder: Path) -> None:
    """Make a folder of a cache, and those above it, in which other users may not write, whatever the umask says."""
    for path in (*reversed(folder.parents), folder):
        if not path.exists():
            path.mkdir(mode=0o775, exist_ok=True)


def check_folder(folder: Path) -> None:
    """Check that not every user may write to a cache, which would be a way to choose its results.

    Raises `PermissionError` that names the folder.
    """
    kept = folder / "polydom"
    for path in (folder, kept, *kept.glob("*/"), *kept.glob("*/*/")):
        if path.is_dir() and path.stat().st_mode & stat.S_IWOTH:
            raise PermissionError(f"Any user may write to {path}")


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
    return np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
