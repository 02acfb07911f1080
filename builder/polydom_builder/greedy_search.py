"""The paper's Greedy behind the same front door: sequences of features rather than an index of sets."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from joblib import Memory, effective_n_jobs
from sklearn.utils.validation import check_is_fitted

from polydom_runtime.bundles.bundle import Bundle, Promise, StoredIndex
from polydom_runtime.bundles.greedy import GreedyIndex
from polydom_runtime.bundles.index import Candidate
from polydom_runtime.device.device_profile import DeviceProfile
from polydom_runtime.features import FeatureSpace
from polydom_runtime.measuring.cost_samples import CostSamples
from polydom_runtime.unit_times import UnitTimes

from .bundling.bundle_folder import checked_target
from .bundling.identity import given_identity
from .bundling.risks import calibrated
from .fitted_search import candidate, draft, export_orders, publish, warn_if_useless, write_fitted
from .host_answers import HostAnswers
from .lattice.greedy import PAPER_LAMBDAS, greedy_sequences
from .preparation.parameters import check_single, checked_lambdas, checked_limits, is_sure
from .preparation.preparation import prepare
from .preparation.progress import counted_scores
from .signing.signing_key import SigningKey, check_key


class GreedySearch(HostAnswers):
    """Finds a sequence of features for each λ, added one at a time by their gain in score less λ times their cost.

    It needs few trainings, and makes no promise about the score. The node chooses a sequence by the deadline, at the
    median size, and adds its features until the time is used; this may be far from the best set that fits an item.

    Parameters
    ----------
    estimator, space, deadline, size_range, scoring, costs_of_errors, cv, n_jobs, memory, random_state, verbose
        As in `PolyDomSearch`.
    quantile, confidence, max_mismatches, max_features
        Likewise.
    max_trainings, max_seconds : optional
        The limits of training, in sets and in seconds; at least the first features of the sequences are found. The
        sequences end where the limit does: the node never computes the features that are left.
    lambdas : sequence of float, >= 0
        The score that a millisecond must gain; the paper's numbers if not given. ``(0,)`` is Greedy-Acc,
        ``(math.inf,)`` Greedy-Cost.

    Attributes
    ----------
    sequences_ : list of tuple of int
        The different orders of features.
    expanded_ : dict of int to float
        Score of every feature set that was trained, by bit mask.
    index_ : GreedyIndex
    median_size_ : float
        Of the items.
    space_, dropped_, samples_, fits_, target_, times_, set_costs_, region_, trainer_, timer_, prior_
        As in `PolyDomSearch`.
    """

    def __init__(
        self,
        estimator: Any,
        space: FeatureSpace,
        *,
        lambdas: Sequence[float] = PAPER_LAMBDAS,
        deadline: float | tuple[float, float] | None = None,
        size_range: tuple[float, float] | None = None,
        scoring: str | Callable[..., float] | None = None,
        costs_of_errors: Mapping[tuple[Any, Any], float] | None = None,
        cv: Any = 5,
        n_jobs: int | None = None,
        memory: str | Memory | None = None,
        random_state: int | None = None,
        verbose: int = 0,
        quantile: float = 0.999,
        confidence: bool = False,
        max_mismatches: int = 0,
        max_features: int | None = None,
        max_trainings: int | None = None,
        max_seconds: float | None = None,
    ) -> None:
        self.estimator = estimator
        self.space = space
        self.lambdas = lambdas
        self.deadline = deadline
        self.size_range = size_range
        self.scoring = scoring
        self.costs_of_errors = costs_of_errors
        self.cv = cv
        self.n_jobs = n_jobs
        self.memory = memory
        self.random_state = random_state
        self.verbose = verbose
        self.quantile = quantile
        self.confidence = confidence
        self.max_mismatches = max_mismatches
        self.max_features = max_features
        self.max_trainings = max_trainings
        self.max_seconds = max_seconds

    def fit(
        self,
        items: Sequence[Any],
        labels: Sequence[Any],
        groups: Sequence[Any] | None = None,
        costs: CostSamples | DeviceProfile | UnitTimes | None = None,
        sample_weight: Sequence[float] | None = None,
    ) -> "GreedySearch":
        """Measure, extract and find the sequences.

        Parameters
        ----------
        items, labels, groups, costs, sample_weight
            As in `PolyDomSearch.fit`.

        Raises
        ------
        PolyDomError
            As in `PolyDomSearch.fit`.
        """
        lambdas = checked_lambdas(self.lambdas)
        checked_limits(self)
        check_single(self.estimator)
        publish(self, prepare(self, items, labels, groups, costs, sample_weight))
        self.median_size_ = float(np.median(self.sizes_))
        with counted_scores(self.trainer_, self.verbose, self.max_trainings, self.max_seconds) as (score, _):
            self.sequences_, self.expanded_ = greedy_sequences(
                len(self.space_),
                score,
                lambda mask: 1e3 * self.set_costs_(mask)(self.median_size_),
                lambdas,
                batch=effective_n_jobs(self.n_jobs),
                max_trainings=self.max_trainings,
                max_seconds=self.max_seconds,
            )
        self.scores_ = {"": self.expanded_}
        rows = [[candidate(self, order[:k]) for k in range(len(order) + 1)] for order in self.sequences_]
        self.index_ = GreedyIndex(rows, self.median_size_)
        self.prior_ = self.trainer_.prior, self.expanded_[0]
        warn_if_useless(self.expanded_)
        return self

    def export(
        self,
        folder: str | os.PathLike[str],
        *,
        name: str = "",
        version: str = "",
        built_by: str = "",
        key: SigningKey | None = None,
    ) -> Bundle:
        """Train, export and check a model for every prefix of every sequence; write the bundle.

        Parameters
        ----------
        folder, name, version, built_by, key
            As in `PolyDomSearch.export`.

        Raises
        ------
        ExportError
            As in `PolyDomSearch.export`.
        """
        check_is_fitted(self, "index_")
        checked_target(folder)
        check_key(key)
        identity = given_identity(name, version, built_by)
        exported = export_orders(self, [(order, "") for order in self.sequences_])
        promise = Promise(self.region_.sizes, self.region_.budgets)
        stored = StoredIndex(sequences=tuple(self.sequences_), median_size=self.median_size_)
        bundle = draft(self, exported, promise, stored=stored, identity=identity)
        if is_sure(self):
            bundle = calibrated(bundle, exported, self.trainer_)
        return write_fitted(self, folder, bundle, exported, key=key)

    def shipped_candidates(self) -> Sequence[Candidate]:
        """Return the candidates that a bundle gets."""
        candidates: tuple[Candidate, ...] = self.index_.candidates
        return candidates
