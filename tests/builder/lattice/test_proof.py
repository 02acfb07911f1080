"""The proof kept with a build: that it can always be given, and what is refused."""

import zipfile
from dataclasses import fields
from io import BytesIO
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples.paper.algorithms.layers import expand_layers
from polydom_builder.exceptions import LatticeError
from polydom_builder.lattice import feasible
from polydom_builder.lattice.best_first import expand_best_first
from polydom_builder.lattice.candidates import select_candidates
from polydom_builder.lattice.proof import Proof, prove
from polydom_builder.sets.region import QueryRegion
from polydom_builder.sets.set_costs import SetCosts, TabledCosts, smallest_outside
from polydom_builder.verification.proof_checks import omissions, pair_faults
from polydom_builder.verification.proof_file import PROOF_FILE, load_proof
from polydom_runtime.costs import CostFunction
from polydom_runtime.exceptions import BundleFormatError
from tests.builder.proofs import save_proof
from tests.draws import draws
from tests.property import strategies as own
from tests.property.lattice_oracle import score_of

law = settings(max_examples=draws(12, 25), derandomize=True)

ANY = QueryRegion((1, 100))


class Ruled:
    """The same costs as given ones, of a kind that a proof does not know."""

    def __init__(self, costs: SetCosts) -> None:
        self._costs = costs
        self.n_features = costs.n_features

    def __call__(self, mask: int) -> CostFunction:
        return self._costs(mask)


def faults(proof: Proof) -> list[str]:
    return [*pair_faults(proof), *omissions(proof)]


def same(a: Proof, b: Proof) -> bool:
    """Compare two proofs, of the same sets, number by number."""
    names = [f.name for f in fields(Proof) if f.name not in ("costs", "grounds")]
    probe = np.concatenate([a.masks, a.expanded])
    return all(np.array_equal(getattr(a, n), getattr(b, n), equal_nan=True) for n in names[:-3]) and (
        (a.region, a.alpha, a.tolerance) == (b.region, b.alpha, b.tolerance)
        and np.array_equal(a.costs.weights(probe), b.costs.weights(probe))
    )


@law
@given(st.data(), own.set_costs(), own.alphas, own.tolerances, st.booleans(), st.booleans())
def test_every_search_can_be_proved(
    data: st.DataObject, costs: SetCosts, alpha: float, tolerance: float, layers: bool, ruled: bool
) -> None:
    """In all regions, for both searches and any kind of costs, there is a proof and it is right."""
    region = data.draw(own.regions(costs))
    score = score_of(data.draw(own.scores(costs.n_features, tolerance)))
    given_costs = Ruled(costs) if ruled else costs
    slack: dict[str, Any] = {"alpha": alpha, "tolerance": tolerance}

    if layers:
        trained = expand_layers(costs.n_features, score, **slack)
    else:
        trained = expand_best_first(given_costs, region, score, **slack)
    kept = select_candidates(trained, given_costs, region, **slack)
    proof = prove(trained, kept, given_costs, region, **slack)

    assert proof.complete
    assert faults(proof) == []


@law
@given(st.data(), own.set_costs(), own.alphas, own.tolerances, st.booleans())
def test_sets_that_are_not_listed_are_proved_by_the_rule(
    data: st.DataObject, costs: SetCosts, alpha: float, tolerance: float, ruled: bool
) -> None:
    """The same with the path for many features, on which the covered sets are not enumerated."""
    region = data.draw(own.regions(costs))
    score = score_of(data.draw(own.scores(costs.n_features, tolerance)))
    given_costs = Ruled(costs) if ruled else costs
    slack: dict[str, Any] = {"alpha": alpha, "tolerance": tolerance}

    with mock.patch.object(feasible, "EASY_SETS", 4):
        trained = expand_best_first(given_costs, region, score, **slack)
        kept = select_candidates(trained, given_costs, region, **slack)
        proof = prove(trained, kept, given_costs, region, **slack)
    with mock.patch(
        "polydom_builder.verification.proof_checks.BRUTE_FORCE_FEATURES", data.draw(st.sampled_from((0, 16)))
    ):
        found = faults(proof)

    assert found == []


def test_many_features_are_proved_without_all_their_sets() -> None:
    """Of 2^24 sets those under the deadline are listed or covered."""
    rng = np.random.default_rng(0)
    worth = rng.exponential(size=24)
    costs = SetCosts([CostFunction.of(linear=w) for w in rng.uniform(1, 4, 24)])
    region = QueryRegion((1, 100), (60.0, 60.0))

    def score(masks: list[int]) -> list[float]:
        return [0.5 + 0.4 * (1 - np.exp(-0.3 * worth[[m >> i & 1 == 1 for i in range(24)]].sum())) for m in masks]

    trained = expand_best_first(costs, region, score, alpha=1.2)
    proof = prove(trained, select_candidates(trained, costs, region, alpha=1.2), costs, region, alpha=1.2)

    assert not proof.complete
    assert faults(proof) == []


@law
@given(st.data(), own.set_costs(min_features=2, max_features=4))
def test_a_covering_between_ties_goes_through_a_trained_set(data: st.DataObject, costs: SetCosts) -> None:
    """K covers R and R covers S is enough, whatever the conservative test says of K and S."""
    region = data.draw(own.regions(costs))
    trained = expand_best_first(costs, region, score_of(data.draw(own.scores(costs.n_features))), alpha=1.2)
    kept = select_candidates(trained, costs, region, alpha=1.2)

    with mock.patch("polydom_builder.lattice.proof._lower_witnesses", lambda sets, most, *_: np.full(len(most), -1)):
        proof = prove(trained, kept, costs, region, alpha=1.2)

    assert faults(proof) == []


def test_a_set_that_nothing_settles_is_named() -> None:
    """Kept sets of another alpha settle not everything."""
    costs = SetCosts([CostFunction.of(1), CostFunction.of(1)])

    with pytest.raises(LatticeError, match=r"None does set 0b11, which may score 0\.9"):
        prove({0: 0.6, 1: 0.8, 2: 0.8, 3: 0.9}, [0, 1, 2], costs, ANY)


@pytest.mark.parametrize(
    ("expanded", "kept", "message"),
    [
        ({0: 0.5, 1: 0.6}, [0, 1], "The full set must be"),
        ({0: 0.5, 3: 0.6}, [0, 1], "0b1 is not"),
        ({0: 0.5, 3: 0.6}, [3], "The empty set must be"),
    ],
)
def test_sets_that_do_not_go_together_are_refused(expanded: dict[int, float], kept: list[int], message: str) -> None:
    costs = SetCosts([CostFunction.of(1), CostFunction.of(1)])

    with pytest.raises(LatticeError, match=message):
        prove(expanded, kept, costs, ANY)


@law
@given(st.data(), st.integers(0, 5))
def test_every_set_outside_a_list_contains_a_smallest_one(data: st.DataObject, n_features: int) -> None:
    """Those are outside, and all sets with one feature less are inside."""
    listed = data.draw(st.sets(st.integers(0, (1 << n_features) - 1)))

    smallest = smallest_outside(np.array(sorted(listed), dtype=np.int64), n_features).tolist()

    outside = set(range(1 << n_features)) - listed
    below = {m: {m & ~(1 << i) for i in range(n_features)} - {m} for m in outside}
    assert smallest == sorted(m for m in outside if below[m] <= listed)
    assert all(any(m & s == s for s in smallest) for m in outside)


def example(ruled: bool = False) -> Proof:
    """Three features in a rectangle of sizes and budgets."""
    costs = SetCosts([CostFunction.of(1, linear=w) for w in (1, 2, 4)], [(CostFunction.of(3), 6)], CostFunction.of(1))
    region = QueryRegion((1, 50), (5, 300))
    scores = {m: 0.5 + 0.1 * m.bit_count() + 0.01 * m for m in range(8)}
    trained = expand_best_first(costs, region, lambda masks: [scores[m] for m in masks], alpha=1.05)
    kept = select_candidates(trained, costs, region, alpha=1.05)
    return prove(trained, kept, Ruled(costs) if ruled else costs, region, alpha=1.05, exported={kept[-1]: 0.7})


@pytest.mark.parametrize("ruled", [False, True])
def test_a_saved_proof_loads_as_it_was(tmp_path: Path, ruled: bool) -> None:
    """Sums come back as sums, other costs as a table."""
    proof = example(ruled)

    file = save_proof(proof, tmp_path)

    loaded = load_proof(tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == [file.name]
    assert type(loaded.costs) is (TabledCosts if ruled else SetCosts)
    assert same(proof, loaded)
    assert faults(loaded) == []


def test_a_folder_without_a_proof_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BundleFormatError, match="built without it"):
        load_proof(tmp_path)


def test_a_cut_or_altered_proof_is_refused_or_reads_the_same(tmp_path: Path) -> None:
    """Wherever it is cut or a byte is changed, the only error is the one that says so."""
    proof = example()
    data = save_proof(proof, tmp_path).read_bytes()
    rng = np.random.default_rng(0)
    cut = [data[:n] for n in rng.integers(len(data), size=60)]
    altered = [data[:n] + bytes([data[n] ^ 1 << int(rng.integers(8))]) + data[n + 1 :] for n in range(0, len(data), 23)]

    refused = 0
    for content in (*cut, *altered):
        (tmp_path / PROOF_FILE).write_bytes(content)
        try:
            assert same(proof, load_proof(tmp_path))
        except BundleFormatError:
            refused += 1

    assert refused > len(cut)


def rewritten(file: Path, **changes: Any) -> None:
    """Write the arrays of a proof again, some of them changed."""
    with np.load(file) as arrays:
        content = dict(arrays)
    np.savez(file, **(content | changes))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("counts", lambda a: np.array([99, *a[1:]])),
        ("counts", lambda a: np.array([1, 61, 1, 0, 0])),
        ("masks", lambda a: a.astype(np.int32)),
        ("masks", lambda a: a[:, None]),
        ("masks", lambda a: a[:-1]),
        ("masks", lambda a: a | 8),
        ("masks", lambda a: a * 0),
        ("lower", lambda a: a + 100),
        ("upper", lambda a: a - 100),
        ("scores", lambda a: a * np.nan),
        ("scores", lambda a: a * 1e308),
        ("features", lambda a: a * 1e306),
        ("features", lambda a: -a),
        ("features", lambda a: a[:-1]),
        ("numbers", lambda a: a * 0),
        ("base", lambda a: np.asfortranarray(np.ones((6, 2)))),
        ("kept", lambda a: np.array([None])),
    ],
)
def test_arrays_of_a_wrong_form_are_refused(tmp_path: Path, name: str, change: Any) -> None:
    file = save_proof(example(), tmp_path)
    with np.load(file) as arrays:
        changed = change(arrays[name])

    rewritten(file, **{name: changed})

    with pytest.raises(BundleFormatError):
        load_proof(tmp_path)


def test_a_table_without_a_listed_set_is_refused(tmp_path: Path) -> None:
    file = save_proof(example(ruled=True), tmp_path)
    with np.load(file) as arrays:
        shorter = {name: arrays[name][1:] for name in ("tabled", "table")}

    rewritten(file, **shorter)

    with pytest.raises(BundleFormatError, match="the cost of every set"):
        load_proof(tmp_path)


def test_a_proof_that_claims_more_than_it_holds_takes_no_memory(tmp_path: Path) -> None:
    """A header of 2^60 numbers over eight bytes is refused before an array is made."""
    file = save_proof(example(), tmp_path)
    with zipfile.ZipFile(file) as archive:
        content = {entry: archive.read(entry) for entry in archive.namelist()}
    stream = BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<i8", "fortran_order": False, "shape": (1 << 60,)})
    content["kept.npy"] = stream.getvalue() + bytes(8)
    with zipfile.ZipFile(file, "w") as archive:
        for entry, data in content.items():
            archive.writestr(entry, data)

    with pytest.raises(BundleFormatError, match="'kept' must be"):
        load_proof(tmp_path)


def test_a_proof_larger_than_allowed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_proof(example(), tmp_path)
    monkeypatch.setattr("polydom_builder.verification.proof_file.MAX_BYTES", 1000)

    with pytest.raises(BundleFormatError, match="at most 1000 bytes"):
        load_proof(tmp_path)
