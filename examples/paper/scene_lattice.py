"""The full lattice of scene recognition: every set of the thirteen features, trained and tested once.

All slow results are kept in a cache folder, a file for each chunk of work, so that a run that was killed can continue.
"""

import ast
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any, Self
from zipfile import BadZipFile

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.cluster import MiniBatchKMeans
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
from tqdm import tqdm

from polydom_runtime import FeatureSpace
from polydom_runtime.exceptions import ItemError
from polydom_runtime.features import members

from . import scene_features, scene_images
from .scene_features import Floats, Vocabularies, dense_descriptors, gradients, sparse_descriptors, texton_responses
from .scene_images import SIDES, Parts, Photo

Work = Callable[[Sequence[Any]], NDArray[Any]]
PHOTOS_IN_CHUNK, SETS_IN_CHUNK = 50, 64
WORDS, PHOTOS_FOR_WORDS, DESCRIPTORS_FOR_WORDS = 40, 300, 100  # of a vocabulary; to learn it; of an image


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a lattice: its photos, its features and the parameters of the training."""

    photos: int | None = None  # of each class, at least 6; all if not given
    features: tuple[str, ...] | None = None  # names; all if not given
    passes: int = 1  # of the gradient descent over the fitting images
    alpha: float = 1e-3  # weight of the L1 penalty
    eta0: float = 0.1  # step t of the gradient descent is eta0 / sqrt(t) long
    seed: int = 0

    def parts(self, data: str | Path) -> Parts:
        """Return the photos of a folder by their use."""
        return scene_images.split(scene_images.read_photos(data), self.photos, self.seed)

    def model(self) -> SGDClassifier:
        """Return the paper's black box: a linear classifier by SGD with hinge loss and L1 penalty."""
        steps = {"learning_rate": "invscaling", "eta0": self.eta0, "max_iter": self.passes, "tol": None}
        return SGDClassifier(loss="hinge", penalty="l1", alpha=self.alpha, random_state=self.seed, **steps)


QUICK = Plan(photos=6, features=("tiny", "grey_histogram", "gist", "hog_fine"), passes=2)
"""A lattice of 16 sets, to check that everything works."""


@dataclass(frozen=True, slots=True)
class SceneLattice:
    """Accuracies of all feature sets; position S is the feature set with the bit mask S.

    Parameters
    ----------
    estimated : array of shape (2^F,), a(S): the accuracies on the held-out photos, all sizes together
    tested : array of shape (2^F, n_sizes), the accuracies on the test photos at each size
    names : array of shape (F,), the features
    sizes : array of shape (n_sizes,), the pixels of the images
    """

    estimated: NDArray[np.float64]
    tested: NDArray[np.float64]
    names: NDArray[np.str_]
    sizes: NDArray[np.int64]

    def save(self, path: str | Path) -> None:
        """Write this as an .npz file, in one step."""
        _replace(Path(path), lambda file: np.savez(file, **asdict(self)))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read an .npz file.

        Raises
        ------
        ItemError
            If it is not a file that `save` wrote.
        """
        try:
            with Path(path).open("rb") as file, np.load(file) as arrays:
                return cls(**{f.name: arrays[f.name] for f in fields(cls)})
        except (OSError, EOFError, ValueError, KeyError, AttributeError, BadZipFile) as e:
            raise ItemError(f"{path} must be the .npz file of a scene lattice. Reading it raised {e!r}.") from e


@dataclass(frozen=True, slots=True)
class SceneTable:
    """Standardised rows of fitting, held-out and test photos, (n_photos, n_sizes, n_columns), and their classes."""

    rows: tuple[Floats, ...]
    codes: tuple[NDArray[np.intp], ...]
    columns: tuple[NDArray[np.intp], ...]


def lattice_of_scenes(data: str | Path, cache: str | Path, plan: Plan | None = None, n_jobs: int = 1) -> SceneLattice:
    """Train every feature set of a plan, or return the lattice of an earlier run.

    Parameters
    ----------
    data : str or Path
        Folder with ``index.csv`` and the photos.
    cache : str or Path
        Folder that keeps descriptors, rows and accuracies.
    plan : Plan, optional
    n_jobs : int
        Number of processes.

    Raises
    ------
    ItemError
        If photos are missing.
    """
    plan, cache = plan or Plan(), Path(cache)
    parts = plan.parts(data)
    key = _key(parts.identity(), plan)
    result = cache / f"lattice-{key}.npz"
    if not result.exists():
        space = learned_space(data, cache, plan)
        table = _table(parts, space, cache / f"rows-{_key(parts.identity(), plan.seed, space.names)}", n_jobs)
        masks = range(1 << len(space))
        train = partial(train_sets, table=table, model=plan.model())
        accuracies = in_chunks(cache / f"sets-{key}", train, masks, SETS_IN_CHUNK, n_jobs, "feature sets")
        SceneLattice(accuracies[:, 0], accuracies[:, 1:], np.array(space.names), np.square(SIDES)).save(result)
    return SceneLattice.load(result)


def learned_space(data: str | Path, cache: str | Path, plan: Plan | None = None) -> FeatureSpace:
    """Return the features of a plan, with vocabularies learned on its fitting photos or kept from before."""
    plan = plan or Plan()
    photos = plan.parts(data).fitting
    path = Path(cache) / f"words-{_key([photo.identity() for photo in photos], plan.seed)}.npz"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        words = learn_words(photos, plan.seed)
        _replace(path, lambda file: np.savez(file, **asdict(words)))
    with np.load(path) as arrays:
        space = scene_features.scene_space(Vocabularies(**arrays))
    mask = space.mask_of(plan.features or space.names)
    return FeatureSpace([space.features[i] for i in members(mask)], size=space.size)


def learn_words(photos: Sequence[Photo], seed: int = 0) -> Vocabularies:
    """Return vocabularies of 40 words each: centres of the descriptors of some photos at all sizes."""
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(photos))[:PHOTOS_FOR_WORDS]
    samples = []
    for image, _ in scene_images.images(photos[i] for i in tqdm(chosen, desc="words", unit="photo")):
        edges = gradients(image)
        kinds = sparse_descriptors(edges), dense_descriptors(edges), texton_responses(image)
        samples.append([rows[rng.permutation(len(rows))[:DESCRIPTORS_FOR_WORDS]] for rows in kinds])
    return Vocabularies(*(_centres(np.concatenate(kind), seed) for kind in zip(*samples, strict=True)))


def _centres(rows: Floats, seed: int) -> Floats:
    with threadpool_limits(1):  # the batches are too small for threads
        means = MiniBatchKMeans(min(WORDS, len(rows)), n_init=3, random_state=seed).fit(rows)
    return np.asarray(means.cluster_centers_, dtype=np.float32)


def extract_rows(photos: Sequence[Photo], space: FeatureSpace) -> Floats:
    """Return the features of photos at all sizes, shape (n_photos, n_sizes, sum of widths)."""
    return np.stack([[space.extract_all(image) for image in scene_images.squares(photo)] for photo in photos])


def _table(parts: Parts, space: FeatureSpace, folder: Path, n_jobs: int) -> SceneTable:
    photos = [*parts.fitting, *parts.held_out, *parts.test]
    rows = in_chunks(folder, partial(extract_rows, space=space), photos, PHOTOS_IN_CHUNK, n_jobs, "photos")
    bounds = np.cumsum([len(parts.fitting), len(parts.held_out)])
    scaler = StandardScaler().fit(rows[: bounds[0]].reshape(-1, rows.shape[2]))
    rows = ((rows - scaler.mean_) / scaler.scale_).astype(np.float32)
    codes = np.unique([photo.label for photo in photos], return_inverse=True)[1]
    columns = np.split(np.arange(rows.shape[2]), np.cumsum(space.widths)[:-1])
    return SceneTable(tuple(np.split(rows, bounds)), tuple(np.split(codes, bounds)), tuple(columns))


def train_sets(masks: Sequence[int], table: SceneTable, model: SGDClassifier) -> NDArray[np.float64]:
    """Return a(S) and the test accuracy at each size for each feature set, shape (n_sets, 1 + n_sizes)."""
    return np.array([_train(mask, table, model) for mask in masks])


def _train(mask: int, table: SceneTable, model: Any) -> list[float]:
    if mask == 0:
        model, columns = DummyClassifier(strategy="most_frequent"), table.columns[0]
    else:
        columns = np.concatenate([table.columns[i] for i in members(mask)])
    fitting, held_out, test = (rows.take(columns, axis=2) for rows in table.rows)
    model.fit(fitting.reshape(-1, len(columns)), np.repeat(table.codes[0], fitting.shape[1]))
    estimated = float(_hits(model, held_out, table.codes[1]).mean())
    return [estimated, *_hits(model, test, table.codes[2]).mean(axis=0).tolist()]


def _hits(model: Any, rows: Floats, codes: NDArray[np.intp]) -> NDArray[np.bool_]:
    found = model.predict(rows.reshape(-1, rows.shape[2])).reshape(rows.shape[:2])
    return np.asarray(found == codes[:, None])


def in_chunks(folder: Path, work: Work, items: Sequence[Any], size: int, n_jobs: int, what: str) -> NDArray[Any]:
    """Return the rows that ``work(items)`` returns, one for each item; chunks that the folder holds are not repeated.

    Parameters
    ----------
    folder : Path
        Holds a file for each finished chunk. Its name must identify the work and the items.
    work : callable
    items : sequence
    size : int
        Number of items in a chunk.
    n_jobs : int
        Number of processes.
    what : str
        Title of the progress bar.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = {folder / f"{start:06d}.npy": items[start : start + size] for start in range(0, len(items), size)}
    missing = {file: chunk for file, chunk in files.items() if not file.exists()}
    tasks = (delayed(_keep)(file, work, chunk) for file, chunk in missing.items())
    done = Parallel(n_jobs, return_as="generator_unordered")(tasks)
    for _ in tqdm(done, desc=what, total=len(files), initial=len(files) - len(missing), unit="chunk"):
        pass
    return np.concatenate([np.load(file) for file in files])


def _keep(file: Path, work: Work, chunk: Sequence[Any]) -> None:
    _replace(file, lambda part: np.save(part, work(chunk)))


def _replace(path: Path, write: Callable[[Any], None]) -> None:
    """Write a file in one step: if the process is killed at any instant, the old or the new file is there."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    with part.open("wb") as file:
        write(file)
    os.replace(part, path)


def _key(*values: object) -> str:
    """Return a key for the results of this code on these values; comments and docstrings do not change it."""
    return sha256(repr((_code(scene_images), _code(scene_features), *values)).encode()).hexdigest()[:16]


def _code(module: ModuleType) -> str:
    tree = ast.parse(Path(str(module.__file__)).read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body[0] = ast.Pass()
    return ast.unparse(tree)
