"""Verification of a bundle against its proof, without the code of the search, the selection and the index."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from polydom_builder.lattice.monotonicity import check_assumption
from polydom_builder.lattice.proof import Proof
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.bundles.promise import Assumption
from polydom_runtime.describing.promise_text import MONOTONE

from .bundle_checks import (
    index_faults,
    index_queries,
    mismatches,
    misstated,
    staircase_faults,
    staircase_queries,
    unshipped,
)
from .margin_checks import margin_faults, margin_text
from .proof_checks import omissions, pair_faults
from .proof_file import load_proof

SHOWN = 10
"""Number of faults of one kind that a report lists."""


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a verification: the numbers of things checked, and the faults."""

    n_sets: int
    """Number of feature sets with a pair of witnesses, which were all checked."""
    n_trained: int
    n_kept: int
    n_shipped: int
    """`n_trained`, `n_kept`, `n_shipped`: the sets that the search trained, those that it kept, and those that the
    bundle answers with."""
    n_queries: int
    """Number of queries whose answer was compared with a scan."""
    assumption: Assumption
    """How far the trained sets keep the assumption that the promise rests on. To break it is no fault of the bundle."""
    margin: str
    """Which parts of the margin were checked, and which cannot be; empty if none is stated."""
    left_out: str
    """The models that were left out on purpose, and the price; empty if there are none."""
    failures: tuple[str, ...]
    """A line for each fault; of each kind the first ten."""

    @property
    def ok(self) -> bool:
        """Whether there is no fault."""
        return not self.failures

    def __str__(self) -> str:
        looked = (
            f"{self.n_sets} feature sets settled by {self.n_trained} trained ones, {self.n_kept} kept and "
            f"{self.n_shipped} shipped; {self.n_queries} queries asked"
        )
        # A search that tells a margin uses no tolerance.
        assumed, limited = ("", MONOTONE) if self.margin else (str(self.assumption), "as far as the tolerance holds")
        end = self.failures or (f"all as promised, {limited}" if self.assumption.n_broken else "all as promised",)
        return "\n".join([*filter(None, (looked, self.margin, assumed, self.left_out)), *end])


def verify_bundle(folder: str | os.PathLike[str]) -> Report:
    """Check that a bundle keeps its promise, from its files alone.

    Four properties are checked. At every size and budget of the region, the best kept set must score at least
    1 / alpha times the score of the best of all sets, as the proof says. The margin, if one is stated, must follow from
    the errors of the trained sets and the guesses of the others. Every kept set that is the best answer to some query
    must be shipped, or the bundle must state that it was left out to keep a limit, and the price. And the index and the
    staircases must give the answers that a scan of the candidates gives. Costs and scores with a relative difference
    below 1e-9 count as equal.

    Not checked are the scores and costs themselves. That no set scores more than a superset plus the tolerance is what
    the proof assumes; the report says for how many pairs of trained sets it is so. The margin rests on parts of scores
    as they are stated, and on untrained sets that are like the trained ones; neither can be checked.

    Parameters
    ----------
    folder : str or path
        Folder of the bundle, with its proof.

    Returns
    -------
    Report

    Raises
    ------
    BundleFormatError
        If the bundle or its proof cannot be read, or the bundle was built without one.
    """
    return verify(load_bundle(folder), load_proof(folder))


def verify(bundle: Bundle, proof: Proof) -> Report:
    """Check a bundle against a proof, both in memory; see `verify_bundle`.

    O(2^F) for up to 16 features; for more, O(F² · n_sets), as only the smallest sets that are not listed are checked.
    Besides, O(k²) crossings for k candidates.
    """
    trained = dict(zip(proof.expanded.tolist(), proof.scores.tolist(), strict=True))
    queries, stairs = index_queries(bundle), staircase_queries(bundle)
    failures = [
        *_first("of the bundle", mismatches(proof, bundle)),
        *_first("of pairs", pair_faults(proof)),
        *_first("of sets that nothing settles", omissions(proof)),
        *_first("of the margin", margin_faults(proof)),
        *_first("of kept sets", unshipped(proof, bundle)),
        *_first("of what was left out", misstated(bundle)),
        *_first("of the index", index_faults(bundle, queries)),
        *_first("of staircases", (line for asked in stairs for line in staircase_faults(bundle, asked))),
    ]
    return Report(
        n_sets=len(proof.masks),
        n_trained=len(proof.expanded),
        n_kept=len(proof.kept),
        n_shipped=len(bundle.stored.shipped),
        n_queries=len(queries.sizes) + sum(len(asked.sizes) for asked in stairs),
        assumption=check_assumption(trained, proof.tolerance),
        margin=margin_text(proof.grounds),
        left_out=str(bundle.shipping) if bundle.shipping.n_left_out else "",
        failures=tuple(failures),
    )


def _first(kind: str, faults: Iterable[str]) -> list[str]:
    """Return the first lines, and one that counts the others."""
    lines = iter(faults)
    shown = list(islice(lines, SHOWN))
    rest = sum(1 for _ in lines)
    return [*shown, *([f"... and {rest} more {kind}"] if rest else [])]
