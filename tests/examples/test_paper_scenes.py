"""Scene recognition of the paper, on made-up pictures; the photographs of the paper are not part of the project."""

import csv
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from examples.paper import scene_images, scene_lattice
from examples.paper.scene_features import Vocabularies, grid_means, scene_space
from examples.paper.scene_images import SIDES, read_photos, split, squares
from examples.paper.scene_lattice import WORDS, Plan, SceneLattice, lattice_of_scenes
from polydom_runtime import FeatureSpace
from polydom_runtime.exceptions import ItemError

CLASSES = ("across", "down", "noise")
PHOTOS = 8  # of each class
PLAN = Plan(photos=6, features=("tiny", "grey_histogram", "hog_fine", "lbp"), passes=2)


def picture(label: str, rng: np.random.Generator) -> NDArray[np.uint8]:
    noise = rng.normal(0, 20, (90, 110))
    stripes = 60 * np.sin(np.arange(110) * rng.uniform(0.3, 0.6))
    wave = {"across": stripes, "down": stripes[:90, None], "noise": 0.0}[label]
    return np.asarray(np.clip(128 + wave + noise, 0, 255), dtype=np.uint8)


def write_index(
    folder: Path, rows: Sequence[Sequence[str]], columns: str = "path,split,label,width,height,dup_of"
) -> None:
    with (folder / "index.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([columns.split(","), *rows])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like the real one: 8 pictures of each of 3 classes, and a copy of the first of each class."""
    folder, rng = tmp_path_factory.mktemp("scenes"), np.random.default_rng(0)
    rows = []
    for label in CLASSES:
        (folder / "train" / label).mkdir(parents=True)
        names = [f"train/{label}/image_{i:04d}.png" for i in range(PHOTOS + 1)]
        for name in names[:-1]:
            Image.fromarray(picture(label, rng)).save(folder / name)
        (folder / names[-1]).write_bytes((folder / names[0]).read_bytes())
        rows += [[name, "train", label, "110", "90", ""] for name in names[:-1]]
        rows.append([names[-1], "train", label, "110", "90", names[0]])
    write_index(folder, rows)
    return folder


@pytest.fixture(scope="module")
def space() -> FeatureSpace:
    rng = np.random.default_rng(1)
    return scene_space(Vocabularies(*(rng.random((WORDS, width), dtype=np.float32) for width in (128, 128, 10))))


@pytest.fixture(scope="module")
def trained(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder with everything of the plan."""
    folder = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scene_lattice, "SETS_IN_CHUNK", 4)
        patch.setattr(scene_lattice, "PHOTOS_FOR_WORDS", 3)
        lattice_of_scenes(data, folder, PLAN)
    return folder


@pytest.fixture
def cache(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "cache"))


def test_copies_of_earlier_photos_are_dropped(data: Path) -> None:
    photos = read_photos(data)

    assert len(photos) == PHOTOS * len(CLASSES)
    assert not any(photo.path.name == f"image_{PHOTOS:04d}.png" for photo in photos)


def test_every_photo_is_in_one_part_and_every_part_has_every_class(data: Path) -> None:
    parts = split(read_photos(data), 6)

    paths = [photo.path for part in (parts.fitting, parts.held_out, parts.test) for photo in part]
    assert len(set(paths)) == len(paths) == 6 * len(CLASSES)
    assert [len(parts.fitting), len(parts.held_out), len(parts.test)] == [9, 3, 6]
    assert all({p.label for p in part} == set(CLASSES) for part in (parts.fitting, parts.held_out, parts.test))


def test_the_seed_decides_the_split(data: Path) -> None:
    photos = read_photos(data)

    assert split(photos, 6, seed=1) == split(photos, 6, seed=1) != split(photos, 6, seed=2)


def test_a_photo_becomes_four_square_grey_images(data: Path) -> None:
    images = list(squares(read_photos(data)[0]))

    assert [(side, side) for side in SIDES] == [image.shape for image in images]
    assert all(image.dtype == np.uint8 and image.std() > 0 for image in images)


def test_too_few_photos_are_one_clear_error(data: Path) -> None:
    with pytest.raises(ItemError, match=r"1500.*500.*Got 24 photos.*Use more photos"):
        split(read_photos(data))


def test_a_missing_folder_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ItemError, match=r"must hold index.csv.*Got .*nowhere.*Pass the folder"):
        lattice_of_scenes(tmp_path / "nowhere", tmp_path / "cache")


def test_an_index_without_a_column_is_one_clear_error(tmp_path: Path) -> None:
    write_index(tmp_path, [["a.png", "x"]], columns="path,label")

    with pytest.raises(ItemError, match="Add dup_of"):
        read_photos(tmp_path)


def test_a_missing_photo_is_named(tmp_path: Path) -> None:
    write_index(tmp_path, [["lost.png", "train", "x", "1", "1", ""]])

    with pytest.raises(ItemError, match=r"1 missing of 1.*lost\.png"):
        read_photos(tmp_path)


def test_a_file_that_is_no_picture_is_named(tmp_path: Path) -> None:
    (tmp_path / "text.png").write_text("not a picture")

    with pytest.raises(ItemError, match=r"must be a picture.*text\.png"):
        list(squares(scene_images.Photo(tmp_path / "text.png", "x")))


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("kind", ["picture", "black", "white", "floats"])
def test_features_are_finite_and_as_wide_as_declared(space: FeatureSpace, side: int, kind: str) -> None:
    rng = np.random.default_rng(side)
    image: NDArray[Any] = rng.integers(0, 256, (side, side)).astype(np.uint8)
    if kind in ("black", "white"):
        image = np.full_like(image, 255 * (kind == "white"))
    elif kind == "floats":
        image = rng.uniform(0, 255, (side, side))

    assert space.extract_all(image).shape == (sum(space.widths),)  # it raises on other widths and on nan


def test_there_are_thirteen_features_of_modest_width(space: FeatureSpace) -> None:
    assert len(space) == 13
    assert all(8 <= width <= 96 for width in space.widths)


def test_lbp_fourier_does_not_see_a_quarter_turn(space: FeatureSpace) -> None:
    image = picture("across", np.random.default_rng(0))[:65, :65]
    columns = space.column_slices()[space.names.index("lbp_fourier")]

    same, turned = space.extract_all(image)[columns], space.extract_all(np.rot90(image))[columns]
    np.testing.assert_allclose(same, turned, atol=0.02)


def test_grid_means_of_cells_that_do_not_divide_the_side() -> None:
    values = np.arange(35.0).reshape(5, 7)

    expected = [[values[:2, :2].mean(), values[:2, 2:4].mean(), values[:2, 4:].mean()]]
    np.testing.assert_allclose(grid_means(values, 2, 3)[:1], expected)


def test_the_lattice_has_all_sets_and_learns(data: Path, cache: Path) -> None:
    lattice = lattice_of_scenes(data, cache, PLAN)

    assert lattice.estimated.shape == (16,)
    assert lattice.tested.shape == (16, 4)
    assert list(lattice.names) == list(PLAN.features or ())
    assert [side**2 for side in SIDES] == lattice.sizes.tolist()
    np.testing.assert_allclose([lattice.estimated[0], *lattice.tested[0]], 1 / 3)
    assert lattice.tested[15].mean() > 0.7


def test_a_killed_run_trains_only_what_is_missing(data: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scene_lattice, "SETS_IN_CHUNK", 4)
    (result,) = cache.glob("lattice-*.npz")
    (chunks,) = cache.glob("sets-*")
    whole = SceneLattice.load(result)
    result.unlink()
    (chunks / "000004.npy").rename(chunks / "000004.npy.1.part")
    (chunks / "000012.npy").unlink()
    masks_trained: list[int] = []
    train_sets = scene_lattice.train_sets

    def spy(masks: Sequence[int], **options: Any) -> NDArray[np.float64]:
        masks_trained.extend(masks)
        return train_sets(masks, **options)

    monkeypatch.setattr(scene_lattice, "train_sets", spy)
    again = lattice_of_scenes(data, cache, PLAN)
    lattice_of_scenes(data, cache, PLAN)

    assert masks_trained == [4, 5, 6, 7, 12, 13, 14, 15]
    np.testing.assert_array_equal(whole.estimated, again.estimated)
    np.testing.assert_array_equal(whole.tested, again.tested)


def test_another_plan_has_its_own_results_from_the_same_rows(data: Path, cache: Path) -> None:
    lattice_of_scenes(data, cache, Plan(photos=6, features=PLAN.features, passes=1))

    assert len(list(cache.glob("lattice-*.npz"))) == len(list(cache.glob("sets-*"))) == 2
    assert len(list(cache.glob("rows-*"))) == 1


def test_a_lattice_is_loaded_as_it_was_saved(tmp_path: Path) -> None:
    lattice = SceneLattice(np.arange(2.0), np.ones((2, 4)), np.array(["tiny"]), np.square(SIDES))

    lattice.save(tmp_path / "lattice.npz")
    loaded = SceneLattice.load(tmp_path / "lattice.npz")

    assert loaded.names.tolist() == ["tiny"]
    np.testing.assert_array_equal(lattice.estimated, loaded.estimated)


@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\x03\x04 cut off", None])
def test_a_damaged_lattice_is_one_clear_error(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "lattice.npz"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(ItemError, match=r"must be the \.npz file of a scene lattice"):
        SceneLattice.load(path)
