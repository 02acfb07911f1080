"""The host's front door: from items and labels to a bundle."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from joblib import Memory, effective_n_jobs

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index import Candidate, Staircase
from polydom_runtime.bundles.promise import Identity, Promise
from polydom_runtime.features import FeatureSpace

from .bundle_search import BundleSearch
from .bundling.corrected_scores import correction_of
from .bundling.export import ExportedModel, models_to_export, plan_order
from .bundling.leaving_out import FEW_MODELS, Which, promising_models, within_limits
from .costs.model_limits import keeps
from .exploration import Explored, explore_best_first, explore_by_gain
from .families.family_choice import FamilyLimits, choice_text, chosen_families
from .families.other_families import OtherFamilies
from .index.envelope import build_index
from .lattice.monotonicity import check_assumption
from .lattice.proof import prove
from .lattice.within_noise import PairedErrors
from .preparation.fitting_families import fitting_families, limits_of_models
from .preparation.parameters import checked_alphas
from .preparation.progress import counted_scores
from .preparation.settings import AnswerRules, NodeConditions, Noise, ProvenPromise, SearchLimits
from .sets.expected_queries import ExpectedQueries
from .training.families import Family
from .training.trainer import Trainer, nested_trainers
from .verification.proof_file import encode_proof

FILE_GROWTH = 2
"""The file of a model may be larger by this factor than those that were converted before the search, the one of all
features among them."""


class PolyDomSearch(BundleSearch):
    """Finds the best feature sets for every item size and budget, with few trainings, and exports them.

    It trains the sets from which most is expected, until little is left to gain; or, to prove a promise, the most
    promising ones, until the promise holds.

    Parameters
    ----------
    estimator : scikit-learn classifier, regressor or pipeline; or mapping of str to such
        Trained as a black box, on the labels as they are given. It must be one that skl2onnx converts. Of several, by
        names of your choice, the bundle has the models of each where they are the best: quick ones for short deadlines,
        slow and good ones for long. One that is beaten by another that is no slower drops out after a few trainings.
        The one that is the best at most queries explores the lattice, and the promise is about its sets. All together
        train at most half as much again as that one. Parameters are named ``estimator__NAME__parameter``.
    space : FeatureSpace
    deadline : float, sequence of float or None
        Seconds. One deadline c0 (Prob-c0-Fixed), a range (low, high), or any budget (Prob-General). More than two,
        which rise, are a range as well, and the table of the bundle has these, instead of some of the range.
    size_range : (float, float), optional
        The smallest and the largest size on the node; those of the items if not given. Twice the same size is
        Prob-n0-Fixed.
    scoring : str or callable, optional
        As in scikit-learn; higher is better. Accuracy, or R² for a regressor, if not given; an R² below 0 counts as 0.
    cv : int or scikit-learn splitter or iterable of splits
        Folds for the scores; one (train, test) split scores on given test items.
    n_jobs : int, optional
        Workers for extraction, training and export, through joblib; None leaves it to ``joblib.parallel_config``, so
        that a cluster can do the work.
    memory : str or joblib.Memory, optional
        A folder that keeps features, time samples, scores and models, so that a build that was killed continues. They
        are plain data with digests, not pickles; of a ``joblib.Memory`` only its folder is used.
    random_state : int, optional
        Seeds the shuffling of folds and the order of time measurements.
    verbose : int
        1 shows progress bars.
    quantile : float
        The promised share of answers in time; 0.999 allows one late answer in a thousand. On a busy machine a feature
        may fit short deadlines only with a smaller quantile.
    promise : ProvenPromise, optional
        alpha, tolerance: if given, the search proves it.
    limits : SearchLimits, optional
        max_trainings, max_seconds, max_features, max_models, max_memory, max_mismatches.
    answers : AnswerRules, optional
        confidence, early_stop, costs_of_errors, prior.
    noise : Noise, optional
        correction, standard_errors.
    node : NodeConditions, optional
        sizes, slowdown, combine.

    Attributes
    ----------
    expanded_ : dict of int to float
        Score of every feature set that was trained, by bit mask; of several estimators, those of the one that explored
        the lattice.
    scores_ : dict of str to dict
        Such scores by the name of the estimator; the name is empty for one that was given without.
    families_ : tuple of Family
        The estimators that were not beaten, with their trainers; the first one explored the lattice.
    candidates_ : list of Candidate
        The trained sets of which no other set can take the place.
    index_ : PolyDomIndex
    staircase_ : Staircase or None
        The candidates at the (largest) deadline; None for any budget.
    alpha_, tolerance_ : float
        The slacks for which the promise is proven; `alpha_` is infinite if none is.
    margin_ : float or None
        The most by which, with 95 % certainty, another set is better than the one that answers, at each size and
        deadline, if untrained sets are like the trained ones; None if the search was not by gain.
    steps_ : list of SearchStep
        How far a search by gain was after each training: the gain to be expected, and the loss still possible.
    nested_ : list of Explored
        The searches without the held-out items of each fold, with correction="nested".
    space_ : FeatureSpace
        The features that the pre-selection left.
    dropped_ : dict of str to str
        The reason for each feature that it dropped.
    assumption_ : Assumption
        How far the trained sets keep the tolerance: a promise that is proven rests on this.
    samples_ : CostSamples or None
        Raw time samples, if they were measured here or given.
    fits_ : dict of str to CostFit
        The fits of those samples, by unit.
    target_ : Target
        The device that is planned for.
    times_ : UnitTimes
        The worst-case times of its units.
    set_costs_ : SetCosts or CombinedCosts
        The cost of any feature set, as the search saw it, with a model of the estimator that explored the lattice.
    costs_ : dict of str to SetCosts or CombinedCosts
        Likewise for each estimator.
    region_ : QueryRegion
    trainer_ : Trainer
        Trains and scores any feature set.
    timer_ : ModelTimer
        Tells how long exported models run on the device.
    prior_ : (int or float, float)
        Class number, or number, and score of the answer without features.
    limits_ : Limits
        The limits of the models of a bundle; 0 is no limit.
    shipping_ : Shipping
        After an export: what was left out, and `curve`, the mean score with good choices of 1, 2, 4 and more models.
    """

    def __init__(
        self,
        estimator: Any,
        space: FeatureSpace,
        *,
        deadline: float | Sequence[float] | None = None,
        size_range: tuple[float, float] | None = None,
        scoring: str | Callable[..., float] | None = None,
        cv: Any = 5,
        n_jobs: int | None = None,
        memory: str | Memory | None = None,
        random_state: int | None = None,
        verbose: int = 0,
        quantile: float = 0.999,
        promise: ProvenPromise | None = None,
        limits: SearchLimits | None = None,
        answers: AnswerRules | None = None,
        noise: Noise | None = None,
        node: NodeConditions | None = None,
    ) -> None:
        self.estimator, self.space, self.deadline, self.size_range = estimator, space, deadline, size_range
        self.scoring, self.cv, self.n_jobs, self.memory = scoring, cv, n_jobs, memory
        self.random_state, self.verbose, self.quantile = random_state, verbose, quantile
        self.promise, self.limits, self.answers = promise, limits, answers
        self.noise, self.node = noise, node

    def _find(self) -> None:
        limits, correction = self.settings.limits, self.settings.noise.correction
        self.limits_ = limits_of_models(limits, self.target_)
        self._search_with(fitting_families(self.limits_, self.families_, self.target_, limits.max_mismatches))
        families = self.families_
        budget = FamilyLimits(families, *limits.trainings)
        if len(families) > 1:
            seed = self.random_state or 0
            self._search_with(chosen_families(families, self.costs_, self.region_, budget, seed))
            if self.verbose:
                print(f"Note: {choice_text(families, self.families_)}.")
        nested = nested_trainers(self.trainer_, self.cv, self.random_state) if correction == "nested" else []
        explored = self._explore(self.trainer_, *budget.of_lattice)
        self.expanded_, self.alpha_, self.tolerance_ = explored.expanded, explored.alpha, explored.tolerance
        self.margin_, self.steps_, self._grounds = explored.margin, list(explored.steps), explored.grounds
        others = self._of_others(budget, explored.kept) if len(self.families_) > 1 else []
        self.scores_ = {f.name: {mask: found.score for mask, found in f.trainer.known.items()} for f in families}
        self.scores_[self.families_[0].name] |= self.expanded_
        self.candidates_ = [self._candidate(self._order(mask)) for mask in explored.kept]
        self.candidates_ += [self._candidate(self._order(mask), family) for family, mask in others]
        self.index_ = build_index(self.candidates_, self.region_)
        self._within = None
        longest = self.region_.budgets[1]
        self.staircase_ = Staircase(self.candidates_, longest) if longest < np.inf else None
        self.nested_ = [self._explore(trainer, *budget.of_lattice) for trainer in nested]
        self.assumption_ = check_assumption(self.expanded_, self.tolerance_)

    def _made(self, identity: Identity) -> tuple[Bundle, list[ExportedModel]]:
        index = build_index(self._proven, self.region_)
        best = {(self._order(c.mask), c.estimator): c for c in self._shipped() if c.mask}
        exported = self._exported(self._promising(best))
        if self.settings.noise.correction is not None:
            known = self.expanded_, self.trainer_, self.set_costs_, index, self.region_
            if correction := correction_of(*known, [found.candidates for found in self.nested_]):
                exported = [correction(model) for model in exported]
        slacks = self.alpha_, self.tolerance_, self.settings.node.slowdown
        about: dict[str, Any] = {"assumption": self.assumption_, "margin": self.margin_}
        promise = Promise(self.region_.sizes, self.promised_budgets(), *slacks, **about)
        whole = self._draft(exported, promise, identity)
        return within_limits(whole, self.region_, self.limits_, self.sizes_, best), exported

    @property
    def _answering(self) -> Any:
        if self._within is None:
            chosen = [(self._order(c.mask), c.estimator) for c in self._shipped()]
            sizes = [len(data) for family in self.families_ for data in family.trainer.converted.values()]
            every = [FILE_GROWTH * max(sizes, default=0)] * len(models_to_export(chosen, self._quickest))
            self._within = self.index_ if keeps(self.limits_, every) else self._made(Identity())[0].index
        return self._within

    def _of_others(self, limits: FamilyLimits, kept: Sequence[int]) -> list[tuple[Family, int]]:
        """Train models of the other families; return those that are better than all cheaper ones."""
        others = OtherFamilies(self.families_, self.costs_, self.region_, self.expanded_)
        others.train(limits.of_others(len(self.expanded_)), limits.in_time, effective_n_jobs(self.n_jobs))
        noise, _, _, _, promise = self.settings
        return others.better(kept, noise.standard_errors if promise is None else 0.0)

    def _explore(self, trainer: Trainer, max_trainings: int | None, max_seconds: float | None) -> Explored:
        noise, limits, _, _, promise = self.settings
        given: dict[str, Any] = {"limits": (max_trainings, max_seconds), "batch": effective_n_jobs(self.n_jobs)}
        with counted_scores(trainer, self.verbose, max_trainings, max_seconds) as (score, show):
            known = self.set_costs_, self.region_, score
            if promise is None:
                errors = PairedErrors(trainer.parts, trainer.shares, trainer.inflation)
                return explore_by_gain(*known, errors, standard_errors=noise.standard_errors, shown=show, **given)
            alphas = checked_alphas(promise.alpha, limits.trainings != (None, None))
            tolerance = None if promise.tolerance == "auto" else float(promise.tolerance)
            quantile = promise.tolerance_quantile
            return explore_best_first(*known, alphas=alphas, tolerance=tolerance, quantile=quantile, **given)

    def _shipped(self) -> Sequence[Candidate]:
        indexes = (build_index(candidates, self.region_) for candidates in (self.candidates_, self._proven))
        return list(dict.fromkeys(candidate for index in indexes for candidate in index.candidates))

    @property
    def _proven(self) -> list[Candidate]:
        """The candidates of the first family: the proof is about these."""
        return [c for c in self.candidates_ if c.estimator in ("", self.families_[0].name)]

    def _promising(self, best: dict[Which, Candidate]) -> list[Which]:
        few = ((f, m) for f in self.families_ for m in self.scores_[f.name] if 0 < m.bit_count() <= FEW_MODELS[-1])
        trained = (((order := self._order(m), f.name), self._candidate(order, f)) for f, m in few)
        costs = [c.cost for c in best.values()]
        grid = ExpectedQueries.of(self.sizes_, self.region_.sizes, self.promised_budgets(), costs)
        return promising_models([*best], trained, self.expanded_[0], self.limits_, grid, self._quickest)

    def _order(self, mask: int) -> tuple[int, ...]:
        return plan_order(mask, self.times_, self.region_.typical_size)

    def _proof(self, exported: Sequence[ExportedModel]) -> bytes | None:
        if self.alpha_ == np.inf:
            return None
        scores: dict[int, float] = {}
        for model in (m for m in exported if m.estimator == self.families_[0].name):
            mask = sum(1 << i for i in model.order)
            scores[mask] = max(model.accuracy, scores.get(mask, model.accuracy))
        proof = prove(
            self.expanded_,
            [c.mask for c in self._proven],
            self.set_costs_,
            self.region_,
            alpha=self.alpha_,
            tolerance=self.tolerance_,
            exported=scores,
            grounds=self._grounds,
        )
        return encode_proof(proof)
