"""The host's front door: from items and labels to a bundle."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from joblib import Memory, effective_n_jobs
from sklearn.utils.validation import check_is_fitted

from polydom_runtime.bundles.bundle import Bundle, Promise
from polydom_runtime.bundles.identity import Identity
from polydom_runtime.bundles.index import Candidate, Staircase
from polydom_runtime.device.device_profile import DeviceProfile
from polydom_runtime.features import FeatureSpace
from polydom_runtime.measuring.cost_samples import CostSamples
from polydom_runtime.unit_times import UnitTimes

from .bundling.assembly import with_stops
from .bundling.bundle_folder import checked_target
from .bundling.corrected_scores import CORRECTIONS, correction_of
from .bundling.export import ExportedModel, models_to_export, plan_order
from .bundling.identity import given_identity
from .bundling.leaving_out import FEW, Which, promising_models, within_limits
from .bundling.risks import calibrated, held_out_of
from .costs.model_limits import keeps
from .exploration import SEARCHES, Exploration, Explored
from .families.family_choice import choice_text, chosen_families
from .families.family_limits import FamilyLimits
from .families.other_families import OtherFamilies
from .fitted_search import (
    candidate,
    draft,
    export_orders,
    promised_budgets,
    publish,
    search_with,
    warn_if_useless,
    write_fitted,
)
from .host_answers import HostAnswers
from .index import build_index
from .lattice.monotonicity import check_assumption
from .lattice.paired_errors import PairedErrors
from .lattice.proof import prove
from .paper import INDEXES
from .preparation.model_limits import checked_limits_of_models, fitting_families, with_memory
from .preparation.parameters import check_choice, checked_slacks, is_sure, lattice_of
from .preparation.preparation import prepare
from .preparation.progress import counted_scores
from .sets.combined_costs import Combine
from .sets.expected_queries import ExpectedQueries
from .signing.signing_key import SigningKey, check_key
from .training.families import Family
from .training.nested_folds import nested_trainers
from .training.trainer import Trainer
from .verification.proof_file import encode_proof

LARGER = 2
"""The file of a model may be larger by this factor than those that were converted before the search, the one of all
features among them."""


class PolyDomSearch(HostAnswers):
    """Finds the best feature sets for every item size and budget, with few trainings, and exports them.

    Parameters
    ----------
    estimator : scikit-learn classifier, regressor or pipeline; or mapping of str to such
        Trained as a black box, on the labels as they are given. It must be one that skl2onnx converts. Of several, by
        names of your choice, the bundle has the models of each where they are the best: quick ones for short deadlines,
        slow and good ones for long. One that is beaten by another that is no slower drops out after a few trainings.
        The one that is the best at most queries explores the lattice, and the promise is about its sets. All together
        train at most half as much again as that one. Parameters are named ``estimator__NAME__parameter``.
    space : FeatureSpace
    alpha : float or falling sequence of float, optional
        α of the paper's Problem 1, at least 1, for a search that proves a promise: the score at any size and budget is
        at least the best possible one divided by alpha. This is meaningful for scores of which 0 is worthless and 1
        perfect (accuracy, balanced accuracy, F1, average precision, R²); shift other scores so, or leave alpha at 1.
        With `max_trainings` or `max_seconds` it is the alpha to reach, or a sequence of alphas to reach one after
        another.
    tolerance : float or "auto", optional
        With `alpha`, or in its place: e of the paper, at least 0, by which the score of a set may lie below that of a
        set which it contains. "auto" estimates it from the pairs of trained sets.
    deadline : float, (float, float) or None
        Seconds. One deadline c0 (Prob-c0-Fixed), a range of deadlines, or any budget (Prob-General).
    size_range : (float, float), optional
        The smallest and the largest size on the node; those of the items if not given. Twice the same size is
        Prob-n0-Fixed.
    scoring : str or callable, optional
        As in scikit-learn; higher is better. Accuracy, or R² for a regressor, if not given; an R² below 0 counts as 0.
    costs_of_errors : mapping of (label, label) to float, optional
        For each pair of a true label and another one that is said for it, what this error costs: at least 0. Models
        then answer with the label of least expected cost, for which the estimator must have probabilities, and the
        score is the share of the cost of the best constant answer that is saved, unless `scoring` is given. None may be
        said for each true label, too: then models abstain where that is expected to cost least.
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
        1 shows progress bars, and what each deadline buys at the end of an export.
    quantile : float
        The promised share of answers in time; 0.999 allows one late answer in a thousand. On a busy machine a feature
        may fit short deadlines only with a smaller quantile.
    slowdown : float
        The largest slow-down of the device for which the bundle has the best models even at the shortest deadline.
    early_stop : float, optional
        The accuracy that early answers may give up, 0.01 say. If given, the bundle states for each model the confidence
        from which the node may answer before its time is used, to save energy. The node does so only when asked. It
        implies `confidence`.
    confidence : bool
        Whether each answer on the node states the probability that it is right, and the bundle the share of wrong
        answers if unsure ones are withheld. The estimator needs probabilities or decision values. A linear model or a
        small network then takes some microseconds longer; trees and models that onnxruntime runs do not.
    correction : {"resampling", "nested", None}
        A set that is chosen among many for its score had some luck, so this score is too high. "resampling" estimates
        the luck, without more trainings, and lowers the scores that a bundle states by it. "nested" estimates it by one
        more search for each fold, without the held-out items of this fold. Each score also gets an interval. The order
        of the scores, the search and its promise stay as measured. None leaves out all of this.
    max_mismatches : int
        The number of training items on which an exported model may answer otherwise than scikit-learn's.
    max_features : int, optional
        The number of features that a cost-aware pre-selection leaves to the search. If not given, all take part, and
        there must be at most 60.
    standard_errors : float
        A set must be better than a cheaper one by so many standard errors of their difference, or it is not kept: 1 is
        the one-standard-error rule, which ships few models. Where few groups are held out, errors are large, and even
        0.25 loses up to two points of the score. 0 keeps all that are better. For a search by gain.
    max_models : int, optional
        The largest number of models that a bundle ships, of all estimators together. If not all that are best somewhere
        fit, those are left out that lose least of the mean score over sizes and deadlines; the bundle states the price.
        For each model there is one of the quickest estimator for each prefix of its order.
    max_memory : int or str, optional
        The most bytes of all model files together, such as "20MB". The memory of the device, if its costs or its
        profile state it, is a limit too.
    sizes : sequence of float, optional
        Sizes that items are expected to have on the node, for that mean and for replays; those of the items if not
        given.
    max_trainings, max_seconds : optional
        The limits of training, in sets and in seconds, for all estimators together. The search ends with the best sets
        so far.
    tolerance_quantile : float
        The quantile of the violations that "auto" takes; 1 is the largest violation.
    combine : callable, optional
        The cost of a set, if it is not the sum of its features' costs: see `polydom_builder.sets.combined_costs`.
    lattice : {"by-gain", "best-first", "layers", "as-printed", "all"}, optional
        The search for feature sets. "by-gain" trains the sets from which most is expected, until little is left to
        gain; it is the default, unless `alpha` or `tolerance` is given. "best-first" proves a promise for these;
        "layers" is the paper's search, made complete; "as-printed" is the paper's pseudo-code, which may break the
        promise; "all" trains every set.
    index : {"envelope", "sweep", "all-crossings", "scan"}
        The algorithm that builds `index_`; all indexes give the same answers. The bundle always has the first.

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
    index_ : PolyDomIndex, AllCrossingsIndex or ScanIndex
    staircase_ : Staircase or None
        The candidates at the (largest) deadline; None for any budget.
    alpha_, tolerance_ : float
        The slacks for which the promise is proven; `alpha_` is infinite if none is.
    margin_ : float or None
        By how much, with 95 % certainty, another set may be better than the one that answers, at each size and
        deadline, if untrained sets are like the trained ones; None if the search was not by gain.
    steps_ : list of Step
        How far a search by gain was after each training: the gain to be expected, and the loss still possible.
    nested_ : list of Explored
        The searches without the held-out items of each fold, with correction="nested".
    space_ : FeatureSpace
        The features that the pre-selection left.
    dropped_ : dict of str to str
        The reason for each feature that it dropped.
    assumption_ : Assumption
        For how many pairs of trained sets the tolerance holds: what the promise rests on.
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
        Of the models of a bundle; 0 is no limit.
    shipping_ : Shipping
        After an export: what was left out, and `curve`, the mean score with good choices of 1, 2, 4 and more models.
    """

    def __init__(
        self,
        estimator: Any,
        space: FeatureSpace,
        *,
        alpha: float | Sequence[float] | None = None,
        tolerance: float | Literal["auto"] | None = None,
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
        slowdown: float = 2.0,
        early_stop: float | None = None,
        confidence: bool = False,
        correction: str | None = "resampling",
        max_mismatches: int = 0,
        max_features: int | None = None,
        max_models: int | None = None,
        max_memory: int | str | None = None,
        sizes: Sequence[float] | None = None,
        max_trainings: int | None = None,
        max_seconds: float | None = None,
        tolerance_quantile: float = 0.99,
        standard_errors: float = 0.0,
        combine: Combine | None = None,
        lattice: str | None = None,
        index: str = "envelope",
    ) -> None:
        self.estimator = estimator
        self.space = space
        self.alpha = alpha
        self.tolerance = tolerance
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
        self.slowdown = slowdown
        self.early_stop = early_stop
        self.confidence = confidence
        self.correction = correction
        self.max_mismatches = max_mismatches
        self.max_features = max_features
        self.max_models = max_models
        self.max_memory = max_memory
        self.sizes = sizes
        self.max_trainings = max_trainings
        self.max_seconds = max_seconds
        self.tolerance_quantile = tolerance_quantile
        self.standard_errors = standard_errors
        self.combine = combine
        self.lattice = lattice
        self.index = index

    def fit(
        self,
        items: Sequence[Any],
        labels: Sequence[Any],
        groups: Sequence[Any] | None = None,
        costs: CostSamples | DeviceProfile | UnitTimes | None = None,
        sample_weight: Sequence[float] | None = None,
    ) -> "PolyDomSearch":
        """Measure, extract, search and index.

        Parameters
        ----------
        items : sequence of n_items items
        labels : sequence of n_items labels
            Integers, strings or booleans; numbers for a regressor.
        groups : sequence of n_items groups, optional
            Items of one group never stand on both sides of a fold.
        costs : CostSamples, DeviceProfile or UnitTimes, optional
            Time samples of the target device; or its profile, to which times measured here, now, are carried over; or
            its costs. If not given, this machine is the target and is measured.
        sample_weight : sequence of n_items numbers of at least 0, optional
            How much each item counts: given to the estimator's fit (of a pipeline, to its last step, or with
            ``enable_metadata_routing`` to the steps that request it) and to the scorer, both of which must take it,
            and counted in the prior and in the choice of early stops.

        Raises
        ------
        PolyDomError
            If something about the parameters, items, labels, features or costs is not as it must be; the message says
            what, what was got, and what to do.
        """
        if self.lattice is not None:
            check_choice("lattice", self.lattice, SEARCHES)
        check_choice("index", self.index, tuple(INDEXES))
        check_choice("correction", self.correction, CORRECTIONS)
        alphas, limits = checked_slacks(self), checked_limits_of_models(self)
        publish(self, prepare(self, items, labels, groups, costs, sample_weight, self.slowdown), self.combine)
        self.limits_ = with_memory(limits, self.target_)
        fitting = fitting_families(self.limits_, self.families_, self.target_, self.max_mismatches)
        search_with(self, fitting, self.combine)

        families = self.families_
        budget = FamilyLimits(families, self.max_trainings, self.max_seconds)
        if len(families) > 1:
            seed = self.random_state or 0
            search_with(self, chosen_families(families, self.costs_, self.region_, budget, seed), self.combine)
            if self.verbose:
                print(f"Note: {choice_text(families, self.families_)}.")
        nested = nested_trainers(self.trainer_, self.cv, self.random_state) if self.correction == "nested" else []
        explored = self._explore(self.trainer_, alphas, *budget.of_lattice)
        self.expanded_, self.alpha_, self.tolerance_ = explored.expanded, explored.alpha, explored.tolerance
        self.margin_, self.steps_, self._grounds = explored.margin, list(explored.steps), explored.grounds
        others = self._of_others(budget, explored.kept) if len(self.families_) > 1 else []
        self.scores_ = {f.name: {mask: found.score for mask, found in f.trainer.known.items()} for f in families}
        self.scores_[self.families_[0].name] |= self.expanded_
        self.candidates_ = [candidate(self, self._order(mask)) for mask in explored.kept]
        self.candidates_ += [candidate(self, self._order(mask), family) for family, mask in others]
        self.index_ = INDEXES[self.index](self.candidates_, self.region_)
        self._within: Any = None
        longest = self.region_.budgets[1]
        self.staircase_ = Staircase(self.candidates_, longest) if longest < np.inf else None
        self.prior_ = self.trainer_.prior, self.expanded_[0]
        self.nested_ = [self._explore(trainer, alphas, *budget.of_lattice) for trainer in nested]
        self.assumption_ = check_assumption(self.expanded_, self.tolerance_)
        if self.verbose:
            print(f"Note: {self.assumption_}.")
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
        """Train, export and check a model for every shipped set and every prefix of its order; write the bundle.

        The bundle at `folder` is replaced in one step; until then an old one stays as it is. It gets a proof of the
        promise, for ``polydom verify``, unless the lattice search was the paper's as printed.

        Parameters
        ----------
        folder : str or path
        name, version, built_by : str
            What the bundle is called, its version, and who built it, as nodes show them: at most 200 printable
            characters each. The same build gives the same bytes, so the bundle holds a time only if the environment
            variable ``SOURCE_DATE_EPOCH`` states it, in seconds since 1970.
        key : SigningKey, optional
            The key to sign the bundle with, under its name, or that of the folder.

        Raises
        ------
        ExportError
            If a model cannot be exported, its labels differ from scikit-learn's, a text is not valid, or the folder
            cannot be written.
        """
        check_is_fitted(self, "index_")
        checked_target(folder)
        check_key(key)
        bundle, exported = self._made(given_identity(name, version, built_by))
        self.shipping_ = bundle.shipping
        self._within = bundle.index if bundle.shipping.n_left_out else self.index_
        if is_sure(self):
            bundle = calibrated(bundle, exported, self.trainer_)
        if self.early_stop is not None:
            bundle = with_stops(bundle, held_out_of(bundle, exported), self.early_stop)
        return write_fitted(self, folder, bundle, exported, self._proof(exported), key)

    def _made(self, identity: Identity) -> tuple[Bundle, list[ExportedModel]]:
        """Return a bundle with its index, within the limits, and the exported models that it was chosen from."""
        index = build_index(self._proven, self.region_)
        best = {(self._order(c.mask), c.estimator): c for c in self._shipped() if c.mask}
        exported = export_orders(self, self._promising(best))
        if self.correction is not None:
            known = self.expanded_, self.trainer_, self.set_costs_, index, self.region_
            if correction := correction_of(*known, [found.candidates for found in self.nested_]):
                exported = [correction(model) for model in exported]
        promise = Promise(
            self.region_.sizes,
            promised_budgets(self),
            self.alpha_,
            self.tolerance_,
            self.slowdown,
            assumption=self.assumption_,
            margin=self.margin_,
        )
        whole = draft(self, exported, promise, combine=self.combine, identity=identity)
        return within_limits(whole, self.region_, self.limits_, self.sizes_, best), exported

    @property
    def _answering(self) -> Any:
        if self._within is None:
            chosen = [(self._order(c.mask), c.estimator) for c in self._shipped()]
            sizes = [len(data) for family in self.families_ for data in family.trainer.converted.values()]
            every = [LARGER * max(sizes, default=0)] * len(models_to_export(chosen, self._quickest))
            self._within = self.index_ if keeps(self.limits_, every) else self._made(Identity())[0].index
        return self._within

    @property
    def _quickest(self) -> str:
        return min(self.families_, key=lambda family: family.seconds).name

    def _of_others(self, limits: FamilyLimits, kept: Sequence[int]) -> list[tuple[Family, int]]:
        """Train models of the other families; return those that are better than all cheaper ones."""
        others = OtherFamilies(self.families_, self.costs_, self.region_, self.expanded_)
        others.train(limits.of_others(len(self.expanded_)), limits.in_time, effective_n_jobs(self.n_jobs))
        return others.better(kept, self.standard_errors if lattice_of(self) == "by-gain" else 0.0)

    def _explore(
        self, trainer: Trainer, alphas: tuple[float, ...], max_trainings: int | None, max_seconds: float | None
    ) -> Explored:
        with counted_scores(trainer, self.verbose, max_trainings, max_seconds) as (score, show):
            return Exploration(
                self.set_costs_,
                self.region_,
                score,
                lattice_of(self),
                alphas,
                None if self.tolerance == "auto" else float(self.tolerance or 0.0),
                self.tolerance_quantile,
                max_trainings,
                max_seconds,
                effective_n_jobs(self.n_jobs),
                PairedErrors(trainer.parts, trainer.shares, trainer.inflation),
                self.standard_errors,
                show,
            ).run()

    def _shipped(self) -> Sequence[Candidate]:
        indexes = (build_index(candidates, self.region_) for candidates in (self.candidates_, self._proven))
        return list(dict.fromkeys(candidate for index in indexes for candidate in index.candidates))

    @property
    def _proven(self) -> list[Candidate]:
        """The candidates of the first family: the proof is about these."""
        return [c for c in self.candidates_ if c.estimator in ("", self.families_[0].name)]

    def _promising(self, best: dict[Which, Candidate]) -> list[Which]:
        few = ((f, m) for f in self.families_ for m in self.scores_[f.name] if 0 < m.bit_count() <= FEW[-1])
        trained = (((order := self._order(m), f.name), candidate(self, order, f)) for f, m in few)
        costs = [c.cost for c in best.values()]
        grid = ExpectedQueries.of(self.sizes_, self.region_.sizes, promised_budgets(self), costs)
        return promising_models([*best], trained, self.expanded_[0], self.limits_, grid, self._quickest)

    def _order(self, mask: int) -> tuple[int, ...]:
        return plan_order(mask, self.times_, self.region_.typical_size)

    def _proof(self, exported: Sequence[ExportedModel]) -> bytes | None:
        if self.lattice == "as-printed" or self.alpha_ == np.inf:
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
