"""The independent check of a bundle: what is right passes, and every fault that is planted is found."""

import ast
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polydom_builder
from polydom_builder import PolyDomSearch, QueryRegion
from polydom_builder.index.envelope import build_index
from polydom_builder.lattice.best_first import expand_best_first
from polydom_builder.lattice.candidates import select_candidates
from polydom_builder.lattice.proof import Proof, prove
from polydom_builder.sets.region import costs_at_sizes
from polydom_builder.sets.set_costs import SetCosts, TabledCosts
from polydom_builder.verification.proof_checks import covers, omissions, pair_faults
from polydom_builder.verification.proof_file import PROOF_FILE, load_proof
from polydom_builder.verification.verify import verify, verify_bundle
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.checks import TIE
from polydom_runtime.bundles.index import PolyDomIndex
from polydom_runtime.bundles.promise import LeftOut, Limits
from polydom_runtime.costs import ZERO
from polydom_runtime.exceptions import BundleFormatError
from tests.builder import task
from tests.builder.proofs import save_proof
from tests.builder.searches import fit, search
from tests.bundle_parts import changed
from tests.draws import draws
from tests.property import strategies as own
from tests.property.lattice_oracle import score_of

US = task.US
law = settings(max_examples=draws(8, 15), derandomize=True)

REGIONS = {
    "any budget": None,
    "a range of budgets": (50 * US, 400 * US),
    "one budget": 100 * US,
}


def proof_of(found: PolyDomSearch) -> Proof:
    kept = [candidate.mask for candidate in found.candidates_]
    slack: dict[str, Any] = {"alpha": found.alpha_, "tolerance": found.tolerance_}
    return prove(found.expanded_, kept, found.set_costs_, found.region_, **slack, grounds=found._grounds)


@pytest.fixture(scope="module", params=list(REGIONS.values()), ids=list(REGIONS))
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Bundle, Proof]:
    folder = tmp_path_factory.mktemp("built") / "task.bundle"
    found = fit(search(deadline=request.param, alpha=None))
    return folder, found.export(folder), proof_of(found)


def test_a_bundle_and_its_proof_verify_from_their_files(built: tuple[Path, Bundle, Proof]) -> None:
    folder, bundle, proof = built
    save_proof(proof, folder)

    report = verify_bundle(folder)

    assert report.ok, report
    assert (report.n_sets, report.n_kept, report.n_shipped) == (
        len(proof.masks),
        len(proof.kept),
        len(bundle.stored.shipped),
    )
    assert report.n_queries > 2000
    assert report.assumption.n_broken
    assert str(report).endswith("checked\nall as promised, as far as no set scores more than one that contains it")
    assert f"margin of {bundle.promise.margin:.2g} computed again for 200 queries" in str(report)
    assert "that untrained sets are like the trained ones is assumed, and cannot be checked" in str(report)


def test_a_bundle_without_a_proof_says_so(built: tuple[Path, Bundle, Proof]) -> None:
    folder, *_ = built
    (folder / PROOF_FILE).unlink(missing_ok=True)

    with pytest.raises(BundleFormatError, match="built without it"):
        verify_bundle(folder)


def test_a_kept_set_that_is_not_shipped_is_found(built: tuple[Path, Bundle, Proof]) -> None:
    """Without its models each shipped set is missed, if by sampling no other stands in for it, and only then."""
    _, bundle, proof = built
    missed = 0
    for number in bundle.stored.shipped:
        mask = bundle.models[number].mask
        smaller = with_models(bundle, [i for i, model in enumerate(bundle.models) if model.mask != mask])

        lines = [line for line in verify(smaller, proof).failures if line.startswith("kept set")]

        assert all(f"kept set {mask:#b} is best at size" in line for line in lines)
        if loses(proof, smaller):
            missed += 1
            assert len(lines) == 1
    assert missed > 0


def test_a_kept_set_whose_exported_model_scores_less_is_excused(built: tuple[Path, Bundle, Proof]) -> None:
    """By its exported score no better than the empty set, it need not be shipped; by that of the search it must."""
    _, bundle, proof = built
    mask = bundle.models[bundle.stored.shipped[-1]].mask
    smaller = with_models(bundle, [i for i, model in enumerate(bundle.models) if model.mask != mask])
    poor = np.where(proof.kept == mask, bundle.empty.accuracy, np.nan)

    missed = [line for line in verify(smaller, proof).failures if "has no model" in line]
    excused = [line for line in verify(smaller, replace(proof, exported=poor)).failures if "has no model" in line]

    assert missed
    assert excused == []


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bundle, Proof]:
    """A bundle that ships 4 of 9 models, and its proof; with scores as searched, each that is left out is missed."""
    folder = tmp_path_factory.mktemp("limited") / "task.bundle"
    bundle = fit(search(alpha=1.0, max_models=4, correction=None)).export(folder)
    return bundle, load_proof(folder)


def restated(bundle: Bundle, **changes: Any) -> Bundle:
    return replace(bundle, shipping=bundle.shipping._replace(**changes))


def test_sets_that_are_stated_as_left_out_are_no_fault(limited: tuple[Bundle, Proof]) -> None:
    bundle, proof = limited

    report = verify(bundle, proof)

    assert report.ok, report
    assert str(bundle.shipping) in str(report)


def test_a_kept_set_that_is_neither_shipped_nor_stated_as_left_out_is_found(limited: tuple[Bundle, Proof]) -> None:
    bundle, proof = limited
    for number, left in enumerate(bundle.shipping.left_out):
        fewer = bundle.shipping.left_out[:number] + bundle.shipping.left_out[number + 1 :]

        failures = verify(restated(bundle, left_out=fewer), proof).failures

        assert any(line.startswith(f"kept set {left.mask:#b} is best at size") for line in failures)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda b: restated(b, limits=Limits(3)), "the 4 models have .* bytes together, and do not keep 3 models"),
        (lambda b: restated(b, limits=Limits(4, 1000)), "do not keep 4 models and 1 kB"),
        (lambda b: restated(b, limits=Limits(4, 0, 60_000_001)), "not keep 4 models and the device's memory of 60 MB"),
        (
            lambda b: restated(b, left_out=(LeftOut(b.models[0].mask, 0.1, ZERO),)),
            "set 0b.* is left out, but has a model",
        ),
        (lambda b: restated(b, score=b.shipping.score - 0.001), "the mean score is .*, but the bundle states"),
        (lambda b: restated(b, whole=b.shipping.whole + 0.001), "the mean score with the models that are left out is"),
        (lambda b: restated(b, left_out=b.shipping.left_out[:-1]), "the mean score with the models that are left out"),
    ],
)
def test_what_is_misstated_of_models_left_out_is_found(
    change: Callable[[Bundle], Bundle], fault: str, limited: tuple[Bundle, Proof]
) -> None:
    bundle, proof = limited

    failures = verify(change(bundle), proof).failures

    assert any(re.search(fault, line) for line in failures), failures


def loses(proof: Proof, bundle: Bundle) -> bool:
    """Return whether at some sampled query the best kept set beats all that the bundle has models of."""
    scores = dict(zip(proof.expanded.tolist(), proof.scores.tolist(), strict=True))
    kept = [(scores[m], proof.costs(m), m in {0, *(e.mask for e in bundle.models)}) for m in proof.kept.tolist()]
    others = [(c.accuracy, c.cost, True) for c in bundle.index.candidates]
    rng = np.random.default_rng(0)
    for n in rng.uniform(*bundle.promise.sizes, 100):
        for budget in np.clip([cost(n) for _, cost, _ in kept], *bundle.promise.budgets):
            fitting = [(score, there) for score, cost, there in kept + others if cost(n) <= budget]
            best = max((score for score, _ in fitting), default=0.0)
            if best > max((score for score, there in fitting if there), default=scores[0]) + 1e-6:
                return True
    return False


def with_models(bundle: Bundle, numbers: list[int]) -> Bundle:
    """Return a bundle of some of the models, with an index that is right for them."""
    region = QueryRegion(bundle.promise.sizes, bundle.promise.budgets)
    chosen = [n for n in numbers if n in bundle.stored.shipped]
    index = build_index([bundle.empty, *map(bundle.candidate, chosen)], region)
    models = tuple(bundle.models[n] for n in numbers)
    by_mask = {model.mask: i for i, model in enumerate(models)}
    shipped = tuple(by_mask[c.mask] for c in index.candidates[1:])
    return changed(bundle, models=models, shipped=shipped, intervals=index.intervals)


def test_an_interval_that_moved_is_found(built: tuple[Path, Bundle, Proof]) -> None:
    """Whichever it is, and whether a tenth of it is lost at its start or at its end."""
    _, bundle, proof = built
    for row, interval in enumerate(bundle.stored.intervals):
        if interval.candidate == 0:
            continue  # the empty set is the answer where nothing else is, interval or not
        step = 0.1 * (interval.end - interval.start)
        for moved in (interval._replace(start=interval.start + step), interval._replace(end=interval.end - step)):
            intervals = (*bundle.stored.intervals[:row], moved, *bundle.stored.intervals[row + 1 :])

            failures = verify(changed(bundle, intervals=intervals), proof).failures

            assert any("the index, asked for" in line for line in failures), (interval, moved)


def test_an_answer_that_does_not_fit_is_found(
    built: tuple[Path, Bundle, Proof], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, bundle, proof = built
    monkeypatch.setattr(PolyDomIndex, "best", lambda index, n, budget: index.candidates[-1])

    failures = verify(bundle, proof).failures

    assert failures[0].startswith("the index, asked for size")
    assert failures[0].endswith("which does not fit")


def test_a_staircase_with_a_wrong_step_is_found(
    built: tuple[Path, Bundle, Proof], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, bundle, proof = built
    honest = PolyDomIndex.at_deadline

    def without_the_best(index: PolyDomIndex, deadline: float) -> Any:
        worse = sorted(index.candidates, key=lambda c: c.accuracy)[:-1]
        return honest(PolyDomIndex(worse, (), index.sizes), deadline)

    monkeypatch.setattr(PolyDomIndex, "at_deadline", without_the_best)

    failures = verify(bundle, proof).failures

    assert failures
    assert all("the staircase, asked for" in line or "more of staircases" in line for line in failures)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda b: changed(b, sizes=(b.promise.sizes[0], b.promise.sizes[1] + 1)), "sizes"),
        (lambda b: changed(b, budgets=(b.promise.budgets[0], 1.0)), "budgets"),
        (lambda b: changed(b, alpha=1.5), "alpha"),
        (lambda b: changed(b, tolerance=0.5), "tolerance"),
        (lambda b: replace(b, promise=b.promise._replace(margin=0.5 * b.promise.margin + 1e-6)), "margin"),
        (lambda b: replace(b, promise=b.promise._replace(margin=None)), "margin"),
        (lambda b: changed(b, costs=b.times.worst.features[1:] + b.times.worst.features[:1]), "costs of features"),
        (lambda b: changed(b, steps=[b.times.worst.steps[0]._replace(users=1)]), "costs of steps"),
        (lambda b: changed(b, dispatch=b.times.worst.dispatch * 2.0), "cost of dispatch"),
    ],
)
def test_a_proof_of_another_build_is_found(
    built: tuple[Path, Bundle, Proof], change: Callable[[Bundle], Bundle], named: str
) -> None:
    _, bundle, proof = built

    failures = verify(change(bundle), proof).failures

    assert f"the proof has other {named} than the bundle" in failures


def test_a_margin_without_grounds_in_the_proof_is_found(built: tuple[Path, Bundle, Proof]) -> None:
    _, bundle, proof = built

    failures = verify(bundle, replace(proof, grounds=None)).failures

    assert "the proof has other margin than the bundle" in failures


def small_proof(data: st.DataObject, tolerance: float = 0.0) -> tuple[Proof, QueryRegion]:
    costs = data.draw(own.set_costs(min_features=2, max_features=4))
    region = data.draw(own.regions(costs))
    alpha = data.draw(own.alphas)
    slack: dict[str, Any] = {"alpha": alpha, "tolerance": tolerance}
    scores = data.draw(own.scores(costs.n_features, tolerance))
    trained = expand_best_first(costs, region, score_of(scores), **slack)
    return prove(trained, select_candidates(trained, costs, region, **slack), costs, region, **slack), region


def swapped(positions: Any, row: int, value: int) -> Any:
    changed = positions.copy()
    changed[row] = value
    return changed


@law
@given(st.data(), own.tolerances)
def test_every_wrong_lower_witness_is_found(data: st.DataObject, tolerance: float) -> None:
    """A kept set is refused exactly if it does not cover the set, by sampling, or is not worth enough."""
    proof, region = small_proof(data, tolerance)
    scores = dict(zip(proof.expanded.tolist(), proof.scores.tolist(), strict=True))
    sizes = np.linspace(*region.sizes, 20)
    for row, mask in enumerate(proof.masks.tolist()):
        t = int(proof.expanded[proof.upper[row]])
        bound = scores[t] + (tolerance if t != mask else 0.0)
        cost = np.array([proof.costs(mask)(n) for n in sizes])
        for k, other in enumerate(proof.kept.tolist()):
            lower_cost = np.array([proof.costs(other)(n) for n in sizes])
            allowed = np.maximum(cost, region.budgets[0])
            fits = cost <= region.budgets[1] * (1 - 10 * TIE)
            uncovered = bool((fits & (lower_cost * (1 - 10 * TIE) > allowed)).any())
            poor = proof.alpha * scores[other] < bound * (1 - 10 * TIE)
            lines = [*pair_faults(replace(proof, lower=swapped(proof.lower, row, k)))]
            if uncovered:
                assert any("fits where its lower witness" in line for line in lines)
            if poor:
                assert any("is worth only" in line for line in lines)
            if other & ~mask == 0 and proof.alpha * scores[other] >= bound:
                assert lines == []


@pytest.mark.parametrize(("tolerance", "worth", "is_valid"), [(0.1, 0.85, False), (0.1, 0.95, True), (0.0, 0.85, True)])
def test_an_untrained_set_may_score_more_than_its_upper_witness_by_the_tolerance(
    tolerance: float, worth: float, is_valid: bool
) -> None:
    """The full set scores .8, and so an untrained set up to .9: more than the .85 that the empty set answers with."""
    costs = SetCosts([task.costs.features[0], task.costs.features[1]])
    masks, trained = np.array([0b00, 0b01, 0b10, 0b11]), np.array([0b00, 0b11])
    lower, upper = np.zeros(4, dtype=np.int32), np.array([0, 1, 1, 1], dtype=np.int32)
    scores, kept, unknown = np.array([worth, 0.8]), trained[:1], np.full(1, np.nan)
    region = QueryRegion((1, 9))
    proof = Proof(masks, lower, upper, True, trained, scores, kept, unknown, costs, region, 1.0, tolerance)

    lines = [f"set {mask:#b} may score 0.9, but its lower witness 0b0 is worth only 0.85" for mask in (0b01, 0b10)]
    assert [*pair_faults(proof)] == ([] if is_valid else lines)
    assert [*omissions(proof)] == []


@law
@given(st.data())
def test_every_wrong_upper_witness_is_found(data: st.DataObject) -> None:
    proof, _ = small_proof(data)
    for row, mask in enumerate(proof.masks.tolist()):
        for t, other in enumerate(proof.expanded.tolist()):
            if mask & ~other:
                lines = [*pair_faults(replace(proof, upper=swapped(proof.upper, row, t)))]

                assert f"set {mask:#b} is not within its upper witness {other:#b}" in lines


@law
@given(st.data(), st.booleans())
def test_every_missing_set_is_found(data: st.DataObject, tabled: bool) -> None:
    """Whether all sets are looked at or those at the edge of the list; what only just fits may be missed."""
    proof, region = small_proof(data)
    if tabled:
        proof = replace(proof, costs=TabledCosts.of(proof.costs, np.arange(1 << proof.costs.n_features)))
    for row, mask in enumerate(proof.masks.tolist()):
        left: dict[str, Any] = {name: np.delete(getattr(proof, name), row) for name in ("masks", "lower", "upper")}
        lines = [*omissions(replace(proof, **left))]

        if proof.costs(mask)(region.sizes[0]) <= region.budgets[1] * (1 - 10 * TIE):
            assert f"set {mask:#b} fits, but nothing settles it" in lines


def test_a_set_whose_cost_is_not_known_is_found() -> None:
    """A table that lacks a set at the edge of the list cannot show that the set does not fit."""
    table = TabledCosts(2, np.array([0, 1, 3]), np.array([[1.0, 0, 0, 0, 0, 0], [2.0] * 6, [4.0] * 6]))
    none = np.zeros(2, dtype=np.int32)
    region = QueryRegion((1, 9), (3, 30))
    one, nan = np.ones(1), np.full(1, np.nan)
    proof = Proof(np.array([0, 1]), none, none, True, np.array([3]), one, np.array([3]), nan, table, region, 1.0, 0.0)

    assert "set 0b10 is not listed, and its cost is not known" in [*omissions(proof)]


def test_tabled_costs_that_fall_are_found() -> None:
    """What is said of supersets leans on costs that rise with the set."""
    table = TabledCosts(1, np.array([0, 1]), np.array([[3.0, 0, 0, 0, 0, 0], [2.0, 0, 0, 0, 0, 0]]))
    none = np.zeros(2, dtype=np.int32)
    region = QueryRegion((1, 9))
    one, nan = np.ones(1), np.full(1, np.nan)
    proof = Proof(np.array([0, 1]), none, none, True, np.array([1]), one, np.array([1]), nan, table, region, 1.0, 0.0)

    assert [*omissions(proof)] == ["set 0b1 costs less than without feature 0b1"]


def test_a_kept_set_that_was_not_trained_is_found() -> None:
    costs = SetCosts([task.costs.features[0]])
    proof = prove({0: 0.5, 1: 0.6}, [0, 1], costs, QueryRegion((1, 9)))

    lines = [*pair_faults(replace(proof, expanded=proof.expanded[:1], scores=proof.scores[:1], upper=proof.upper * 0))]

    assert "kept set 0b1 was not trained" in lines


@law
@given(st.data(), own.cost_functions(), own.cost_functions())
def test_covering_is_decided_as_by_sampling(data: st.DataObject, k: Any, s: Any) -> None:
    """In all region shapes: what a sample refutes is not covered, and what a margin proves is."""
    costs = SetCosts([k, s])
    region = data.draw(own.regions(costs))
    first, second = np.array([k.weights]), np.array([s.weights])

    decided = bool(covers(first, second, region)[0])

    sizes = np.concatenate([np.linspace(*region.sizes, 2001), [s.largest_size(region.budgets[1])]]).clip(*region.sizes)
    mine, theirs = (costs_at_sizes(np.repeat(w, len(sizes), axis=0), sizes) for w in (first, second))
    fits = theirs <= region.budgets[1]
    allowed = np.maximum(theirs, region.budgets[0])
    if (fits & (mine > allowed * (1 + 10 * TIE)) & (theirs <= region.budgets[1] * (1 - 10 * TIE))).any():
        assert not decided
    if (~fits | (mine <= allowed * (1 - 1e-2))).all():
        assert decided


def test_the_check_does_not_use_what_it_checks() -> None:
    """None of its modules imports the search, the relation, the enumeration, the selection or the index builder."""
    checked = {"covers", "feasible", "best_first", "candidates", "promising_sets", "progressive", "envelope"}
    checked |= {"by_gain", "set_process", "set_pool", "query_grid", "within_noise"}
    folder = Path(polydom_builder.__file__).parent / "verification"
    for name in ("verify", "proof_checks", "margin_checks", "bundle_checks"):
        tree = ast.parse((folder / f"{name}.py").read_text())
        imported = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}

        assert not {part for module in imported for part in module.split(".")} & checked
