"""The check of a margin: what a search states passes, and what was made smaller or changed is found."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polydom_builder.lattice.by_gain import expand_by_gain
from polydom_builder.lattice.limits import LimitedScore
from polydom_builder.lattice.progressive import proven_alpha
from polydom_builder.lattice.proof import Grounds, Proof, prove
from polydom_builder.lattice.within_noise import PairedErrors, grounds_of, margin_of, select_within_noise
from polydom_builder.sets.region import QueryRegion
from polydom_builder.sets.set_costs import SetCosts, TabledCosts
from polydom_builder.verification.margin_checks import margin_faults
from polydom_builder.verification.proof_checks import omissions, pair_faults
from polydom_builder.verification.proof_file import PROOF_FILE, load_proof
from polydom_runtime.costs import CostFunction
from polydom_runtime.exceptions import BundleFormatError
from tests.builder.lattice.noisy_world import NoisyWorld, noisy_world
from tests.builder.proofs import save_proof
from tests.draws import draws


def proof_of(world: NoisyWorld, most: int = 1000) -> Proof:
    """Return the proof of a search by gain of at most some trainings."""
    costs, region, errors = world.costs, world.region, world.errors
    score = LimitedScore(world.score, 2, "two sets", most, None, lambda: 0.0)
    found = expand_by_gain(costs, region, score, noise=errors.typical)
    kept = select_within_noise(found.expanded, costs, region, errors, 0.5)
    grounds = grounds_of(found, margin_of(found, kept, costs, region, errors), errors)
    alpha = proven_alpha(found.expanded, costs, region, 0.0, kept)
    return prove(found.expanded, kept, costs, region, alpha=alpha, grounds=grounds)


@pytest.fixture(scope="module")
def honest() -> Proof:
    return proof_of(noisy_world(1, n_features=6, noise=0.2))


def changed(proof: Proof, **changes: Any) -> Proof:
    """Return a proof with other grounds; a change may be a function of the value that is changed."""
    assert proof.grounds is not None
    values = {n: c(getattr(proof.grounds, n)) if callable(c) else c for n, c in changes.items()}
    return replace(proof, grounds=replace(proof.grounds, **values))


def times(place: int, factor: float) -> Callable[[tuple[float, ...]], tuple[float, ...]]:
    return lambda numbers: tuple(x * factor if i == place else x for i, x in enumerate(numbers))


@pytest.mark.parametrize("n_features", [3, 5, 6])
@pytest.mark.parametrize("noise", [1e-4, 0.01, 0.2])
def test_an_honest_margin_is_confirmed(n_features: int, noise: float) -> None:
    """Whether scores are sure or not, and whether the search was ended early."""
    for seed in range(draws(1, 3)):
        world = noisy_world(seed, n_features, noise=noise)

        assert [*margin_faults(proof_of(world))] == []
        assert [*margin_faults(proof_of(world, most=8))] == []


@pytest.mark.parametrize("seed", draws([2], [2, 4]))
@pytest.mark.parametrize("free", [False, True], ids=["", "with a feature that costs nothing"])
def test_margins_of_regions_of_any_form_are_confirmed(seed: int, free: bool) -> None:
    """One size, one budget, one of both, and any budget."""
    world = noisy_world(seed, 5, noise=0.1)
    low, high = world.region.budgets
    costs = SetCosts([CostFunction.of(), *world.costs.features[1:]]) if free else world.costs
    for region in (
        QueryRegion((20.0, 20.0), (low, high)),
        QueryRegion((20.0, 100.0), (high / 3, high / 3)),
        QueryRegion((50.0, 50.0), (high / 3, high / 3)),
        QueryRegion((20.0, 100.0)),
    ):
        assert [*margin_faults(proof_of(replace(world, region=region, costs=costs)))] == []


def test_margins_of_one_block_and_of_equal_scores_are_confirmed() -> None:
    """With one block no error is known, and a process of equal scores guesses nothing."""
    world = noisy_world(3, 4)
    lone = replace(world, parts=world.parts.mean(axis=1, keepdims=True))
    equal = replace(world, parts=np.full_like(world.parts, 0.5))

    assert [*margin_faults(proof_of(lone))] == []
    assert [*margin_faults(proof_of(equal))] == []


def test_of_many_features_a_part_of_the_sets_is_weighed() -> None:
    rng = np.random.default_rng(0)
    worth = rng.exponential(size=18)
    costs = SetCosts([CostFunction.of(linear=w) for w in rng.uniform(1.0, 4.0, 18)])
    luck = 0.1 * rng.normal(size=20)

    def parts(masks: Any) -> Any:
        sums = np.array([worth[[m >> i & 1 == 1 for i in range(18)]].sum() for m in masks])
        own = [0.03 * np.random.default_rng(m).normal(size=20) for m in masks]
        return 0.9 - 0.4 * np.exp(-0.3 * sums)[:, None] + luck + own

    region, errors = QueryRegion((1, 100), (300.0, 300.0)), PairedErrors(parts, np.full(20, 0.05))
    score = LimitedScore(lambda m: parts(m).mean(axis=1), 2, "two sets", 28, None, lambda: 0.0)
    found = expand_by_gain(costs, region, score, noise=errors.typical)
    kept = select_within_noise(found.expanded, costs, region, errors, 0.5)
    margin = margin_of(found, kept, costs, region, errors)
    masks, scores = np.array(list(found.expanded)), np.array(list(found.expanded.values()))
    none, nan = np.zeros(1, dtype=np.int32), np.full(len(kept), np.nan)
    sets = np.zeros(1, dtype=np.int64), none, none, False, masks, scores, np.array(kept), nan
    proof = Proof(*sets, costs, region, 1.0, 0.0, grounds_of(found, margin, errors))

    assert [*margin_faults(proof)] == []
    assert [line for line in margin_faults(changed(proof, margin=0.3 * margin)) if "too small" in line]


@pytest.mark.parametrize("factor", [0.0, 0.3, 0.6])
def test_a_margin_that_is_stated_too_small_is_found(honest: Proof, factor: float) -> None:
    """Also with costs in a table."""
    small = changed(honest, margin=lambda margin: factor * margin)
    tabled = replace(small, costs=TabledCosts.of(small.costs, np.arange(64)))

    for proof in (small, tabled):
        (line,) = margin_faults(proof)
        assert line.startswith("the margin of ")
        assert "is too small: at " in line


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"parts": lambda parts: parts + 0.2}, "but its parts average to"),
        ({"parts": lambda parts: np.roll(parts, 1, axis=0)}, "but its parts average to"),
        ({"parts": lambda parts: np.where(np.eye(*parts.shape) > 0, parts + 20.0, parts)}, "parts average to"),
        ({"parts": lambda parts: parts.mean(axis=1)[:, None] + 3 * (parts - parts.mean(axis=1)[:, None])}, "error is"),
        ({"parts": lambda parts: parts.mean(axis=1)[:, None] + (parts - parts.mean(axis=1)[:, None]) / 3}, "error is"),
        ({"inflation": 4.0}, "is too small"),
        ({"inflation": 9.0}, "the typical error is"),
        ({"noise": 0.0}, "the typical error is"),
        ({"noise": lambda noise: 3.0 * noise}, "the typical error is"),
        ({"scale": times(0, 0.9)}, "does not fit"),
        ({"scale": times(0, 1.2)}, "is too small"),
        ({"scale": times(3, 0.2)}, "does not fit"),
        ({"shape": lambda shape: tuple(x * 1e-2 for x in shape)}, "does not fit"),
        ({"shape": times(0, 100.0)}, "is too small"),
        ({"shape": times(4, 100.0)}, "is too small"),
        ({"shape": (1.0, 1e-100, 1e-100, 1.0, 1e-100)}, "cannot be computed"),
    ],
)
def test_grounds_that_were_changed_are_found(honest: Proof, changes: dict[str, Any], fault: str) -> None:
    lines = [*margin_faults(changed(honest, **changes))]

    assert any(fault in line for line in lines), lines


def test_a_score_that_was_changed_is_found(honest: Proof) -> None:
    """Whichever it is: by its parts."""
    for row in range(len(honest.scores)):
        scores = honest.scores.copy()
        scores[row] += 0.2

        lines = [*margin_faults(replace(honest, scores=scores))]

        assert any(line.startswith(f"set {honest.expanded[row]:#b} scores") for line in lines)


def test_kept_sets_that_were_removed_are_found(honest: Proof) -> None:
    """The best ones leave a larger loss; without the empty set nothing answers the smallest budgets."""
    worth = dict(zip(honest.expanded.tolist(), honest.scores.tolist(), strict=True))
    best = max(honest.kept.tolist(), key=worth.__getitem__)

    for left in (honest.kept[honest.kept != best], np.zeros(0, dtype=np.int64)):
        assert any("is too small" in line for line in margin_faults(replace(honest, kept=left)))


def same(a: Grounds, b: Grounds) -> bool:
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in Grounds.__slots__)


def test_a_saved_proof_has_what_its_margin_rests_on(tmp_path: Path, honest: Proof) -> None:
    save_proof(honest, tmp_path)

    loaded = load_proof(tmp_path)

    assert loaded.grounds is not None
    assert honest.grounds is not None
    assert same(honest.grounds, loaded.grounds)
    assert [*pair_faults(loaded), *omissions(loaded), *margin_faults(loaded)] == []


def test_a_proof_without_a_margin_is_written_and_read(tmp_path: Path, honest: Proof) -> None:
    with np.load(save_proof(replace(honest, grounds=None), tmp_path)) as arrays:
        names = set(arrays)

    assert not {"parts", "shares", "margin", "scale", "shape", "weighed"} & names
    assert load_proof(tmp_path).grounds is None
    assert [*margin_faults(load_proof(tmp_path))] == []


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("parts", lambda a: a[:-1]),
        ("parts", lambda a: a[:, :-1]),
        ("parts", lambda a: a.ravel()),
        ("parts", lambda a: a * np.nan),
        ("parts", lambda a: a * 1e200),
        ("parts", lambda a: a.astype(np.float32)),
        ("shares", lambda a: -a),
        ("shares", lambda a: 2.0 * a),
        ("shares", lambda a: a[:0]),
        ("margin", lambda a: np.array([-0.1, *a[1:]])),
        ("margin", lambda a: np.array([np.inf, *a[1:]])),
        ("margin", lambda a: np.array([a[0], 0.9, a[2]])),
        ("margin", lambda a: np.array([a[0], a[1], np.nan])),
        ("margin", lambda a: a[:-1]),
        ("scale", lambda a: np.array([np.nan, *a[1:]])),
        ("scale", lambda a: np.array([a[0], 0.0, *a[2:]])),
        ("scale", lambda a: -a),
        ("shape", lambda a: np.array([*a[:-1], 0.0])),
        ("shape", lambda a: np.array([*a[:-1], 1e300])),
        ("weighed", lambda a: a + 2),
        ("counts", lambda a: np.array([3, *a[1:]])),
    ],
)
def test_grounds_of_a_wrong_form_are_refused(tmp_path: Path, honest: Proof, name: str, change: Any) -> None:
    with np.load(file := save_proof(honest, tmp_path)) as arrays:
        content = dict(arrays)

    np.savez(file, **(content | {name: change(content[name])}))

    with pytest.raises(BundleFormatError):
        load_proof(tmp_path)
    assert file.name == PROOF_FILE
