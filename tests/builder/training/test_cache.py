"""The cache of a build: what is read is what was written, or it is computed again; nothing is unpickled."""

import hashlib
import io
import os
import pickle
import stat
import warnings
import zipfile
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
from joblib import Parallel, delayed
from numpy.typing import NDArray

from polydom_builder.exceptions import TrainingError
from polydom_builder.preparation.parameters import checked_memory
from polydom_builder.training.cache import ARRAY_TYPE, Cache, read, write

CALLS: list[Any] = []


def twice(number: Any, shown: str = "") -> Any:
    CALLS.append(number)
    return 2 * number


def parts(number: int) -> dict[str, Any]:
    return {"bytes": b"\0\xff", "text": "für", "numbers": (0.1, 1 << 60), "array": np.arange(number, dtype=np.float32)}


@pytest.fixture(autouse=True)
def calls() -> None:
    CALLS.clear()


def files(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file()]


def test_result_is_computed_once(tmp_path: Path) -> None:
    cached = Cache(tmp_path).cache(twice, ignore=["shown"])

    assert [cached(2, "a"), cached(2, shown="b"), cached(number=2), cached(3)] == [4, 4, 4, 6]
    assert CALLS == [2, 3]
    assert cached(0.1) == 0.2


def test_without_a_folder_nothing_is_kept() -> None:
    assert Cache().cache(twice) is twice


def test_data_of_all_kinds_come_back(tmp_path: Path) -> None:
    cached = Cache(tmp_path).cache(parts)
    first, second = cached(3), cached(3)

    np.testing.assert_array_equal(second.pop("array"), first.pop("array"))
    assert second == {**first, "numbers": [0.1, 1 << 60]}


@pytest.mark.parametrize("harm", ["cut", "flipped", "empty", "pickled"])
def test_damaged_result_is_computed_again(harm: str, tmp_path: Path) -> None:
    cached = Cache(tmp_path).cache(twice)
    cached(2)
    (file,) = files(tmp_path)
    data = file.read_bytes()
    file.write_bytes(
        {
            "cut": data[:-1],
            "flipped": data[:-1] + bytes([data[-1] ^ 1]),
            "empty": b"",
            "pickled": pickle.dumps(5),
        }[harm]
    )

    assert cached(2) == 4
    assert CALLS == [2, 2]
    assert read(file) == 4


def kinds() -> dict[str, tuple[float, NDArray[np.float32], list[bytes]]]:
    CALLS.append(0)
    return {"a": (0.5, np.ones(3, np.float32), [b"1"])}


def array_file(data: bytes) -> bytes:
    return bytes(msgpack.packb(msgpack.ExtType(ARRAY_TYPE, data)))


def huge_header() -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": (1 << 44,)})
    return stream.getvalue()


def zipped(data: bytes = b"x") -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a.npy", data)
    return stream.getvalue()


WRONG: dict[str, bytes] = {
    "no array": array_file(b""),
    "half a zip file": array_file(zipped()[:30]),
    "zip file": array_file(zipped()),
    "128 TiB": array_file(huge_header()),
    "none": msgpack.packb(None),
    "deep": b"\x91" * 5000,
    "a list as a key": b"\x81\x91\x01\x01",
    "another kind": msgpack.packb({"a": [0.5, 1.0, [b"1"]]}),
    "two numbers": msgpack.packb({"a": [0.5, 0.5]}),
    "texts": msgpack.packb({"a": ["0.5", None, ["1"]]}),
}


@pytest.mark.parametrize("content", WRONG.values(), ids=WRONG)
def test_wrong_content_with_its_right_digest_is_computed_again(content: bytes, tmp_path: Path) -> None:
    """It ended the build: EOFError, BadZipFile, MemoryError, or later by its kind."""
    cached = Cache(tmp_path).cache(kinds)
    cached()
    (file,) = files(tmp_path)
    file.write_bytes(hashlib.sha256(content).digest() + content)

    for _ in range(2):
        score, array, (text,) = cached()["a"]
        assert (score, array.sum(), text) == (0.5, 3.0, b"1")
    assert CALLS == [0, 0]


@pytest.mark.parametrize("kind", ["pipe", "link", "of everybody"])
def test_entry_that_anybody_may_have_put_there_is_computed_again(kind: str, tmp_path: Path) -> None:
    """A pipe was waited for."""
    cached = Cache(tmp_path / "cache").cache(twice)
    cached(2)
    (file,) = files(tmp_path)
    if kind == "of everybody":
        write(file, 5)
        file.chmod(0o646)
    else:
        file.unlink()
        write(tmp_path / "other", 5)
        os.mkfifo(file) if kind == "pipe" else file.symlink_to(tmp_path / "other")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert cached(2) == 4


def test_nobody_else_may_write_to_the_folders_of_a_cache(tmp_path: Path) -> None:
    """Not even without an umask."""
    before = os.umask(0)
    try:
        Cache(tmp_path / "a" / "b").cache(twice)(2)
    finally:
        os.umask(before)

    assert [path for path in tmp_path.rglob("*") if path.stat().st_mode & stat.S_IWOTH] == []


@pytest.mark.parametrize("inner", ["", "polydom", "polydom/twice", "polydom/twice/x"])
def test_folder_to_which_all_may_write_is_no_cache(inner: str, tmp_path: Path) -> None:
    (tmp_path / "polydom" / "twice" / "x").mkdir(parents=True)
    checked_memory(tmp_path)
    (tmp_path / inner).chmod(0o777)

    with pytest.raises(TrainingError, match=rf"Any user may write to {tmp_path / inner}\..*chmod -R o-w"):
        checked_memory(tmp_path)


def test_full_disk_ends_no_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: Any, **named: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("polydom_builder.training.cache.replace_file", full)
    with pytest.warns(UserWarning, match="No space left on device. They are not kept"):
        assert Cache(tmp_path).cache(twice)(2) == 4


def test_array_of_objects_is_not_unpickled(tmp_path: Path) -> None:
    def objects() -> Any:
        return np.array([{}], dtype=object)

    with pytest.raises(ValueError, match="pickle"):
        Cache(tmp_path).cache(objects)()


def test_many_processes_use_it_at_once(tmp_path: Path) -> None:
    cached = Cache(tmp_path).cache(twice)
    found = Parallel(n_jobs=4)(delayed(cached)(k % 3) for k in range(60))

    assert found == [2 * (k % 3) for k in range(60)]
    assert len(files(tmp_path)) == 3
