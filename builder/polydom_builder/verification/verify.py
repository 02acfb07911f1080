"""Verification of a bundle against its proof, without the code that searched, pruned and indexed."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from polydom_builder.lattice.proof import Proof
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index_file import load_bundle

from .index_checks import index_faults, index_queries, staircase_faults, staircase_queries
from .proof_checks import omissions, pair_faults
from .proof_file import load_proof
from .shipping_checks import mismatches, unshipped

SHOWN = 10
"""Faults of one kind that a report lists."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a verification looked at and found.

    Parameters
    ----------
    n_sets : int
        Feature sets with a pair of witnesses, each checked.
    n_trained, n_kept, n_shipped : int
        Sets that the search trained, that it kept, and that the bundle answers with.
    n_queries : int
        Queries whose answer was compared with a scan.
    failures : tuple of str
        What is wrong, a line each; of many of one kind the first ten.
    """

    n_sets: int
    n_trained: int
    n_kept: int
    n_shipped: int
    n_queries: int
    failures: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.failures

    def __str__(self) -> str:
        looked = (
            f"{self.n_sets} feature sets settled by {self.n_trained} trained ones, {self.n_kept} kept and "
            f"{self.n_shipped} shipped; {self.n_queries} queries asked"
        )
        return "\n".join([looked, *self.failures] if self.failures else [f"{looked}; all as promised"])


def verify_bundle(folder: str | os.PathLike[str]) -> Report:
    """Check that a bundle keeps its promise, from its files alone.

    At every size and budget of its region the best kept set must score at least the best of all sets divided by alpha,
    as the proof says; what is kept and the best answer to a query must be shipped; and the index and the staircases
    must answer as a scan does. Costs and scores that differ by less than 1e-9, relatively, count as equal.

    What is taken on trust: the scores and costs themselves, and that no set scores more than a superset plus the
    tolerance.

    Raises
    ------
    BundleFormatError
        If the bundle or its proof cannot be read, or the bundle was built without one.
    """
    return verify(load_bundle(folder), load_proof(folder))


def verify(bundle: Bundle, proof: Proof) -> Report:
    """Check a bundle and a proof that are at hand; see `verify_bundle`.

    Notes
    -----
    O(2^F) for up to 16 features; for more O(F² · n_sets), as the smallest sets that are not listed stand for all
    others. Beside it O(k²) crossings for k candidates.
    """
    queries, stairs = index_queries(bundle), staircase_queries(bundle)
    failures = [
        *_first("of the bundle", mismatches(proof, bundle)),
        *_first("of pairs", pair_faults(proof)),
        *_first("of sets that nothing settles", omissions(proof)),
        *_first("of kept sets", unshipped(proof, bundle)),
        *_first("of the index", index_faults(bundle, queries)),
        *_first("of staircases", (line for asked in stairs for line in staircase_faults(bundle, asked))),
    ]
    return Report(
        n_sets=len(proof.masks),
        n_trained=len(proof.expanded),
        n_kept=len(proof.kept),
        n_shipped=len(bundle.stored.shipped),
        n_queries=len(queries.sizes) + sum(len(asked.sizes) for asked in stairs),
        failures=tuple(failures),
    )


def _first(kind: str, faults: Iterable[str]) -> list[str]:
    """Return the first lines, and how many more there are."""
    lines = iter(faults)
    shown = list(islice(lines, SHOWN))
    rest = sum(1 for _ in lines)
    return [*shown, *([f"... and {rest} more {kind}"] if rest else [])]
