"""A bundle is complete, the same every time, and replaced as a whole."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from polydom_builder import PolyDomSearch
from polydom_builder.exceptions import ExportError
from polydom_runtime.bundles.index_file import INDEX_FILE, load_bundle
from tests.builder import task
from tests.builder.searches import fit, search

ITEMS, LABELS = task.items(60)


def test_every_prefix_of_a_plan_has_a_model(folder: Path) -> None:
    bundle = load_bundle(folder)

    assert bundle.stored.shipped
    for number in bundle.stored.shipped:
        order = bundle.models[number].order
        assert all(order[:k] in bundle.model_of_order for k in range(1, len(order) + 1))


def test_score_in_the_bundle_is_measured_through_onnx(fitted: PolyDomSearch, folder: Path) -> None:
    from polydom_builder.training.onnx import OnnxModel, to_onnx

    entry = load_bundle(folder).models[-1]
    width, classes = sum(task.space.widths[i] for i in entry.order), fitted.trainer_.seen_classes
    expected = fitted.trainer_.score(entry.order, lambda fold: OnnxModel(to_onnx(fold, width, classes=classes)))

    assert entry.estimate is not None
    assert expected == entry.estimate.measured


def test_export_is_the_same_every_time(fitted: PolyDomSearch, folder: Path, tmp_path: Path) -> None:
    fitted.export(tmp_path / "again.bundle")

    for file in folder.rglob("*"):
        if file.is_file():
            assert file.read_bytes() == (tmp_path / "again.bundle" / file.relative_to(folder)).read_bytes()


def test_old_bundle_is_replaced_and_a_stranger_is_not(fitted: PolyDomSearch, folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "task.bundle"
    fitted.export(target)
    (target / INDEX_FILE).write_bytes(b"old")
    fitted.export(target)

    assert load_bundle(target).stored.shipped
    assert [p.name for p in tmp_path.iterdir()] == ["task.bundle"]
    (tmp_path / "mine").mkdir()
    with pytest.raises(ExportError, match="neither"):
        fitted.export(tmp_path / "mine")


def test_link_to_a_bundle_stays_a_link(fitted: PolyDomSearch, tmp_path: Path) -> None:
    place, link = tmp_path / "releases" / "first", tmp_path / "current"
    link.symlink_to(place)
    for _ in range(2):
        fitted.export(link)

        assert link.is_symlink()
        assert (place / "index.msgpack").is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["current", "releases"]


def test_model_whose_export_differs_stops_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from polydom_builder.training import conversion
    from polydom_builder.training import onnx as onnx_models

    honest: Callable[..., bytes] = onnx_models.to_onnx

    def wrong(model: Any, width: int, versions: Any = None, classes: Any = ()) -> bytes:
        other = LogisticRegression().fit(np.random.default_rng(0).normal(size=(90, width)), np.arange(90) % 3)
        return honest(other, width)

    fitted = search().fit(ITEMS, LABELS, costs=task.costs)
    monkeypatch.setattr(conversion, "to_onnx", wrong)
    with pytest.raises(ExportError, match=r"exported model of [a-z+]+ must give the answers"):
        fitted.export(tmp_path / "wrong.bundle")
    assert list(tmp_path.iterdir()) == []


def test_refused_proof_does_not_hide_an_unwritable_folder() -> None:
    with pytest.raises(ExportError, match="writable"):
        fit(search()).export("/proc/nowhere/b")
