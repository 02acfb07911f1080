"""The paper's Greedy behind the same front door: sequences of features rather than an index of sets."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from joblib import Memory, effective_n_jobs

from polydom_runtime.bundles.bundle import Bundle, StoredIndex
from polydom_runtime.bundles.greedy import GreedyIndex
from polydom_runtime.bundles.index import Candidate
from polydom_runtime.bundles.promise import Identity, Promise
from polydom_runtime.features import FeatureSpace

from .bundle_search import BundleSearch
from .bundling.export import ExportedModel
from .lattice.greedy import PAPER_LAMBDAS, greedy_sequences
from .preparation.parameters import checked_lambdas
from .preparation.progress import counted_scores
from .preparation.settings import AnswerRules, NodeConditions, SearchLimits, Settings


class GreedySearch(BundleSearch):
    """Finds a sequence of features for each λ, added one at a time by their gain in score less λ times their cost.

    It needs few trainings, and makes no promise about the score. The node chooses a sequence by the deadline, at the
    median size, and adds its features until the time is used; this may be far from the best set that fits an item.

    Parameters
    ----------
    estimator, space, deadline, size_range, scoring, cv, n_jobs, memory, random_state, verbose, quantile
        As in `PolyDomSearch`; one estimator.
    lambdas : sequence of float, >= 0
        The score that a millisecond must gain; the paper's numbers if not given. ``(0,)`` is Greedy-Acc,
        ``(math.inf,)`` Greedy-Cost.
    limits : SearchLimits, optional
        max_trainings, max_seconds, max_features, max_mismatches. At least the first features of the sequences are
        found. The sequences end where the limit does: the node never computes the features that are left.
    answers : AnswerRules, optional
        confidence, costs_of_errors, prior.

    Attributes
    ----------
    sequences_ : list of tuple of int
        The different orders of features.
    expanded_ : dict of int to float
        Score of every feature set that was trained, by bit mask.
    index_ : GreedyIndex
    median_size_ : float
        The median size of the items.
    space_, dropped_, samples_, fits_, target_, times_, set_costs_, region_, trainer_, timer_, prior_
        As in `PolyDomSearch`.
    """

    def __init__(
        self,
        estimator: Any,
        space: FeatureSpace,
        *,
        lambdas: Sequence[float] = PAPER_LAMBDAS,
        deadline: float | Sequence[float] | None = None,
        size_range: tuple[float, float] | None = None,
        scoring: str | Callable[..., float] | None = None,
        cv: Any = 5,
        n_jobs: int | None = None,
        memory: str | Memory | None = None,
        random_state: int | None = None,
        verbose: int = 0,
        quantile: float = 0.999,
        limits: SearchLimits | None = None,
        answers: AnswerRules | None = None,
    ) -> None:
        self.estimator, self.space, self.lambdas = estimator, space, lambdas
        self.deadline, self.size_range, self.scoring, self.cv = deadline, size_range, scoring, cv
        self.n_jobs, self.memory, self.random_state = n_jobs, memory, random_state
        self.verbose, self.quantile = verbose, quantile
        self.limits, self.answers = limits, answers

    @property
    def settings(self) -> Settings:
        """The records that are given; it plans for no slow-down."""
        return super().settings._replace(node=NodeConditions(slowdown=1.0))

    def _check(self) -> None:
        checked_lambdas(self.lambdas, self.estimator, self.settings)

    def _find(self) -> None:
        self.median_size_ = float(np.median(self.sizes_))
        max_trainings, max_seconds = self.settings.limits.trainings
        with counted_scores(self.trainer_, self.verbose, max_trainings, max_seconds) as (score, _):
            self.sequences_, self.expanded_ = greedy_sequences(
                len(self.space_),
                score,
                lambda mask: 1e3 * self.set_costs_(mask)(self.median_size_),
                checked_lambdas(self.lambdas, self.estimator, self.settings),
                batch=effective_n_jobs(self.n_jobs),
                max_trainings=max_trainings,
                max_seconds=max_seconds,
            )
        self.scores_ = {"": self.expanded_}
        rows = [[self._candidate(order[:k]) for k in range(len(order) + 1)] for order in self.sequences_]
        self.index_ = GreedyIndex(rows, self.median_size_)

    def _made(self, identity: Identity) -> tuple[Bundle, list[ExportedModel]]:
        exported = self._exported([(order, "") for order in self.sequences_])
        stored = StoredIndex(sequences=tuple(self.sequences_), median_size=self.median_size_)
        return self._draft(exported, Promise(self.region_.sizes, self.region_.budgets), identity, stored), exported

    def _shipped(self) -> Sequence[Candidate]:
        candidates: tuple[Candidate, ...] = self.index_.candidates
        return candidates
