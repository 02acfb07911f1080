"""The cache of a build: what is read is what was written, or it is computed again; nothing is unpickled."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from joblib import Parallel, delayed

from polydom_builder.training.cache import Cache, read

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
