"""The identity of a new bundle: what the user says, the data, the code, the libraries, and a time that can be fixed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn

from polydom_builder import ExportError, GreedySearch, PolyDomSearch, __version__
from polydom_builder.__main__ import main
from polydom_builder.bundling.given_identity import EPOCH, given_identity
from polydom_builder.training.fingerprints import data_fingerprint
from polydom_runtime import load_bundle
from polydom_runtime.measuring.fingerprint import source_fingerprint
from tests.builder import task
from tests.builder.searches import FEW, US, made
from tests.builder.shared_memory import shared_memory

WORDS = {"name": "bats", "version": "1.2", "built_by": "Ada <ada@example.org>"}


@pytest.mark.parametrize("kind", [PolyDomSearch, GreedySearch])
def test_a_bundle_says_what_it_was_built_from(kind: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(EPOCH, "86399")
    items, labels = task.items(60)
    found = made(kind, deadline=400 * US, cv=2, memory=shared_memory(), **FEW[kind])
    found.fit(items, labels, costs=task.costs).export(tmp_path / "b", **WORDS)

    identity = load_bundle(tmp_path / "b").identity

    assert (identity.name, identity.version, identity.builder) == ("bats", "1.2", "Ada <ada@example.org>")
    assert identity.built == "1970-01-01T23:59:59Z"
    assert identity.data == data_fingerprint(items, labels)
    assert identity.code == source_fingerprint(task.space)
    assert {*identity.libraries} == {"polydom-builder", "scikit-learn", "skl2onnx", "numpy", "onnxruntime"}
    known = {"polydom-builder": __version__, "scikit-learn": sklearn.__version__, "numpy": np.__version__}
    assert known.items() <= identity.libraries.items()


def test_digest_of_the_data_is_of_labels_that_come_one_by_one() -> None:
    items, labels = task.items(60)
    found = made(PolyDomSearch, deadline=400 * US, cv=2, memory=shared_memory(), **FEW[PolyDomSearch])

    found.fit(items, iter(labels), costs=task.costs)  # type: ignore[arg-type]

    assert found.data_sha256_ == data_fingerprint(items, labels)


@pytest.mark.parametrize(("name", "value"), [("name", "a\x1b[2J"), ("version", "1" * 201), ("built_by", 3)])
def test_words_of_a_bundle_are_short_and_printable(name: str, value: Any) -> None:
    with pytest.raises(ExportError, match=f"The {name} of a bundle must be a text of at most 200 printable characters"):
        given_identity(**(WORDS | {name: value}))


@pytest.mark.parametrize("value", ["", " ", "soon", "-1", "1.5", "²", "9" * 12])
def test_a_fixed_time_is_whole_seconds(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(EPOCH, value)

    with pytest.raises(ExportError, match="SOURCE_DATE_EPOCH must be whole seconds since 1970"):
        given_identity("", "", "")


@pytest.mark.parametrize("value", ["", "soon", "-1"])
def test_search_checks_the_time_before_it_trains(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(EPOCH, value)

    with pytest.raises(ExportError, match="SOURCE_DATE_EPOCH must be whole seconds since 1970"):
        made(PolyDomSearch, deadline=400 * US).fit([], [])


def test_build_checks_the_words_before_it_trains(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    command = ["build", "tests.builder.task:space", "--items", "there.is:none", "--deadline", "1s"]

    assert main([*command, "--out", str(tmp_path / "b"), "--bundle-version", "1\n2"]) == 2
    assert "The version of a bundle must be" in capsys.readouterr().err
