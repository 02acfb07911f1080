"""Copies among items: one memory for several of them, and copies on both sides of a fold."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from polydom_builder import PolyDomSearch
from polydom_builder.exceptions import TrainingError
from polydom_builder.training.copies import (
    check_memory,
    share_of_copies,
    share_of_near_copies,
    telling_digests,
    warn_of_copies,
)
from polydom_builder.training.folds import Splits, make_splits
from polydom_builder.training.labels import targets_of
from polydom_builder.training.weights import checked_weights
from polydom_runtime import Feature, FeatureSpace
from polydom_runtime.exceptions import FeatureError, ItemError
from polydom_runtime.items.digests import item_digest
from tests.builder import task
from tests.builder.searches import made

RNG = np.random.default_rng(1)
OTHERS = [RNG.normal(size=40) for _ in range(400)]
TWO = targets_of([0, 1] * 200, 400)


NUMBERS = targets_of(np.arange(400.0).tolist(), 400, regression=True)


def folds(groups: list[int] | None = None, n_items: int = 400) -> Splits:
    return make_splits(4, targets_of([0, 1] * (n_items // 2), n_items), groups, 0)


def rows_of(items: list[NDArray[Any]]) -> NDArray[np.float32]:
    return np.array([[x.mean(), x.std(), x.max(), x[0]] for x in items], dtype=np.float32)


def test_copies_on_both_sides_of_a_fold_are_a_warning_that_names_groups() -> None:
    """Each item is there four times, so a model knows each held-out item, whatever its label."""
    items = [OTHERS[k % 60].copy() for k in range(240)]
    search = made(PolyDomSearch, cv=3, deadline=400e-6, max_trainings=3)

    with pytest.warns(UserWarning, match=r"100 % equal an item that the same fold is trained on.* Give groups"):
        search.fit(items, [int(OTHERS[k % 60][0] > 0) for k in range(240)], costs=task.costs)


@pytest.mark.parametrize(
    ("n_copies", "is_told"), [(0, False), (2, False), (8, True), (400, True)], ids=["none", "0.5 %", "2 %", "all"]
)
def test_copies_count_from_one_in_a_hundred_on(n_copies: int, is_told: bool) -> None:
    """Numbers of another type are the same numbers."""
    half = n_copies // 2
    items = [*OTHERS[: 400 - half], *(x.copy() for x in OTHERS[:half])] if half < 200 else [*OTHERS[:200]] * 2
    digests, splits = [*map(item_digest, items)], folds()

    told = [False, True][is_told]
    assert told == (share_of_copies(digests, splits) >= 0.01)
    together = folds([k % (400 - half) for k in range(400)])
    assert share_of_copies(digests, together) == 0.0


@pytest.mark.parametrize("noise", [1e-5, 1e-4])
def test_near_copies_count(noise: float) -> None:
    """Such as items of which each was recorded twice by one converter."""
    items = [OTHERS[k % 100] + noise * RNG.normal(size=40) for k in range(400)]

    for targets in (TWO, NUMBERS):
        assert share_of_near_copies(rows_of(items), targets, folds()) > 0.5
        assert share_of_near_copies(rows_of(items), targets, folds([k % 100 for k in range(400)])) == 0.0


@pytest.mark.parametrize(("n_classes", "n_each"), [(3, 10), (4, 8), (10, 6)])
@pytest.mark.parametrize("is_doubled", [True, False])
def test_classes_that_are_small_and_tight_are_no_copies(n_classes: int, n_each: int, is_doubled: bool) -> None:
    """Such as three notes of a tuned instrument; but if each item was recorded twice, that is told."""
    for seed in range(5):
        rng, labels = np.random.default_rng(seed), np.repeat(range(n_classes), n_each).tolist()
        notes = 50.0 + 10.0 * np.array(labels) + 0.02 * rng.normal(size=len(labels))
        columns = (notes, 2.0 * notes) if is_doubled else (notes,)
        rows, targets = np.stack(columns, axis=1).astype(np.float32), targets_of(labels, len(labels))

        assert share_of_near_copies(rows, targets, make_splits(3, targets, None, 0)) < 0.01


def test_near_copies_in_small_and_tight_classes_count() -> None:
    labels = np.repeat(range(3), 40).tolist()
    notes = np.repeat(50.0 + 10.0 * np.array(labels[::4]) + 0.02 * RNG.normal(size=30), 4)
    rows = np.stack([notes, RNG.normal(size=30).repeat(4)], axis=1) + 1e-4 * RNG.normal(size=(120, 2))
    targets = targets_of(labels, 120)

    assert share_of_near_copies(rows.astype(np.float32), targets, make_splits(3, targets, None, 0)) > 0.3


KINDS: dict[str, Callable[[np.random.Generator], NDArray[Any]]] = {
    "binary": lambda r: r.integers(0, 2, (400, 2)),
    "small integers": lambda r: r.integers(0, 30, (400, 2)),
    "rounded otherwise": lambda r: 0.1 * r.integers(0, 30, (400, 2)) * (1.0 + 1e-7 * r.normal(size=(400, 2))),
    "one number": lambda r: r.normal(size=(400, 1)),
    "all from one number": lambda r: np.exp(r.normal(size=(400, 1)) * [[1.0, 2.0, 3.0]]),
    "one number beside a constant": lambda r: np.c_[r.normal(size=400), np.ones(400)],
    "of all scales": lambda r: 10.0 ** r.uniform(-6.0, 0.0, (400, 1)) * r.normal(size=(400, 2)),
    "half are silent": lambda r: np.where(r.random((400, 1)) < 0.5, 1e-5, 1.0) * r.normal(size=(400, 3)),
    "slowly changing": lambda r: np.cumsum(r.normal(size=(400, 2)), axis=0),
    "far from 0": lambda r: 1.7e9 + np.c_[10.0 * np.arange(400), r.integers(0, 9, 400)],
}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_are_equal_or_near_by_chance_are_no_copies(kind: str) -> None:
    for seed in range(5):
        rows = KINDS[kind](np.random.default_rng(seed)).astype(np.float32)

        assert max(share_of_near_copies(rows, targets, folds()) for targets in (TWO, NUMBERS)) < 0.01


@pytest.mark.parametrize(
    "item", [np.zeros(50), np.full(50, 7, dtype=np.uint8), np.arange(3), 5, "on", None, [[1, 2], [3]]], ids=repr
)
def test_items_that_are_often_equal_are_no_copies(item: Any) -> None:
    """A sensor that rests, short texts and few numbers; of other objects nothing is known."""
    assert share_of_copies([item_digest(item)] * 400, folds()) == 0.0


HOLD_LITTLE: dict[str, Callable[[np.random.Generator], Any]] = {
    "buttons": lambda r: r.integers(0, 2, 4),
    "switches": lambda r: r.integers(0, 2, 12),
    "leaves": lambda r: 0.1 * r.integers(10, 40, 4),
    "a text of two letters": lambda r: "".join(r.choice(["a", "b"], 40, p=[0.05, 0.95])),
}


@pytest.mark.parametrize("kind", HOLD_LITTLE)
def test_items_that_hold_little_are_equal_by_chance(kind: str) -> None:
    items = [HOLD_LITTLE[kind](RNG) for _ in range(400)]

    assert share_of_copies([*map(item_digest, items)], folds()) > 0.0 or kind == "leaves"
    assert telling_digests(items) == [None] * 400


@pytest.mark.parametrize("kind", [lambda r: r.normal(size=4), lambda r: r.integers(0, 2, 64), lambda r: r.bytes(32)])
def test_copies_of_items_that_hold_enough_count(kind: Callable[[np.random.Generator], Any]) -> None:
    several = [kind(RNG) for _ in range(100)]

    assert share_of_copies(telling_digests(several * 4), folds()) > 0.9


def test_one_pair_of_few_items_is_left_to_chance() -> None:
    """As in the measured irises, of which two are the same."""
    items = [*OTHERS[:49], OTHERS[0].copy()]
    splits = [(np.arange(25, 50), np.arange(25)), (np.arange(25), np.arange(25, 50))]

    assert share_of_copies(telling_digests(items), splits) == 0.0
    assert share_of_copies(telling_digests([*OTHERS[:48], *OTHERS[:2]]), splits) == 0.08


def test_the_warning_says_when_copies_do_not_matter() -> None:
    """Lines of a log are of few kinds, and so are those to come."""
    lines = ["the door of the cabinet was opened", "the door of the cabinet was closed"] * 200

    with pytest.warns(UserWarning, match="100 % equal .* too high for new items, unless these repeat in the same way"):
        warn_of_copies(telling_digests(lines), RNG.normal(size=(400, 1)).astype(np.float32), TWO, folds())


def filled_again() -> Iterator[NDArray[Any]]:
    buffer = np.zeros(40)
    for x in OTHERS[:60]:
        buffer[:] = x
        yield buffer


def test_items_that_share_memory_are_refused() -> None:
    items, targets = [*filled_again()], targets_of([0, 1] * 30, 60)

    buffers = OTHERS[:4] * 15
    whole: dict[str, Any] = {"level": 1.0}
    several: list[Any] = [[(x, "Hz") for x in items], [{"wave": x, "unit": "Hz"} for x in items], [whole] * 60]
    several += [items, [x[:] for x in items], [[1.0, 2.0]] * 2, [x for x in buffers[:30] for _ in "01"]]
    for given in several:
        with pytest.raises(TrainingError, match=r"Items 0 and 1 are: .* Append a copy of each, such as item\.copy\(\)"):
            check_memory(given, targets)


def test_a_generator_may_fill_one_array_again() -> None:
    search = made(PolyDomSearch, cv=3, deadline=400e-6, max_trainings=2)

    search.fit(filled_again(), [int(x.mean() > 0) for x in OTHERS[:60]], costs=task.costs)  # type: ignore[arg-type]

    assert max(search.expanded_.values()) > 0.9


def test_parts_of_one_recording_and_equal_objects_have_memory_of_their_own() -> None:
    """Windows may overlap; a copy of an item has its label; small numbers and texts are one object in Python."""
    recording = np.arange(100.0)
    first = OTHERS[0]

    table = OTHERS[2]
    check_memory([(table, x) for x in OTHERS[:60]], targets_of([0, 1] * 30, 60))
    check_memory([{"table": table, "level": float(k)} for k in range(60)], targets_of([0, 1] * 30, 60))
    check_memory([(1.0, "Hz")] * 60, targets_of([0, 1] * 30, 60))
    check_memory([recording[k : k + 10] for k in range(60)], targets_of([0, 1] * 30, 60))
    check_memory([first, OTHERS[1], first], targets_of([0, 1, 0], 3))
    check_memory(["a", "a", 1, 1], targets_of([0, 1, 0, 1], 4))
    check_memory([np.zeros((0, 3)), np.zeros((0, 3))], targets_of([0, 1], 2))


@pytest.mark.parametrize("n_times", [2, 5])
def test_items_may_have_several_labels(n_times: int) -> None:
    """Of several people who labelled them, or with weights instead of one sure label."""
    check_memory(OTHERS[:60] * n_times, targets_of([k % 2 for k in range(n_times) for _ in range(60)], 60 * n_times))


@pytest.mark.parametrize("item", [np.ma.masked_array([1.0, 2.0], [False, True]), memoryview(b"1234")])
def test_items_that_hold_not_all_of_themselves_are_refused(item: Any) -> None:
    with pytest.raises(ItemError, match=f"Item 1 is a {type(item).__name__}"):
        check_memory([np.ones(2), item], targets_of([0, 1], 2))


def test_a_warning_says_which_kind_of_copies() -> None:
    near = rows_of([OTHERS[k % 100] + 1e-5 * RNG.normal(size=40) for k in range(400)])

    with pytest.warns(UserWarning, match="% nearly equal an item"):
        warn_of_copies([None] * 400, near, TWO, folds())


def test_what_is_masked_is_no_number() -> None:
    """The item of numpy's mask is 0, and an array of it, too."""
    hidden = np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False])
    space = FeatureSpace([Feature("top", lambda x: np.ma.masked if x[0] < 0 else x.max())], size=len)

    with pytest.raises(TrainingError, match="Got masked for item 1"):
        targets_of(hidden, 3, regression=True)  # type: ignore[arg-type]
    with pytest.raises(TrainingError, match="Got masked for item 1"):
        checked_weights(hidden, 3)  # type: ignore[arg-type]
    with pytest.raises(FeatureError, match=r"'top' must return 1 real numbers in one row\. Got masked"):
        space.extract_all(np.array([-1.0, 2.0]))
