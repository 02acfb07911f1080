"""The host's front door: from items and labels to a bundle."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from joblib import Memory, effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from tqdm import tqdm

from polydom_runtime.bundle import Bundle
from polydom_runtime.cost_samples import CostSamples
from polydom_runtime.device_profile import DeviceProfile
from polydom_runtime.exceptions import DeadlineError
from polydom_runtime.features import FeatureSpace
from polydom_runtime.index import Candidate
from polydom_runtime.item_sizes import checked_size

from .costs.measuring import measure_here, time_model
from .costs.model_times import ModelTimes
from .costs.unit_costs import UnitCosts, check_coverage
from .exceptions import TrainingError
from .export import assemble, checked_target, export_models, plan_order, with_prefixes, write_bundle
from .index.envelope import build_index
from .lattice import expand_best_first
from .lattice.candidates import select_candidates
from .lattice.region import QueryRegion
from .onnx_models import to_onnx
from .parameters import checked_parameters
from .table import Table, extract_table
from .target import Target
from .training import Trainer, make_splits

MODEL_MARGIN = 1.2
"""The full set's model, timed, times this bounds every model's time during the search."""


class PolyDomSearch(BaseEstimator):  # type: ignore[misc]
    """Finds the feature sets worth having for every item size and budget, with few trainings, and exports them.

    Parameters
    ----------
    estimator : scikit-learn classifier or pipeline
        Trained as a black box; it sees the classes as numbers 0, 1, ... and must be one that skl2onnx converts.
    space : FeatureSpace
    alpha : float
        α of the paper's Problem 1: the score at any size and budget is at least the best possible one divided by alpha.
    tolerance : float
        e of the paper: by how much a superset's score may fall below a subset's.
    deadline : float, (float, float) or None
        Seconds. One deadline c0 (Prob-c0-Fixed), a range of deadlines, or any budget (Prob-General).
    size_range : (float, float), optional
        Sizes that the node will meet; the items' own if not given.
    scoring : str or callable
        As in scikit-learn; higher is better.
    cv : int or scikit-learn splitter or iterable of splits
        Folds for the scores; one (train, test) split scores on given test items.
    n_jobs : int, optional
        Workers for extraction, training and export, through joblib.
    memory : str or joblib.Memory, optional
        A folder that keeps features, time samples, scores and models, so that a killed build goes on.
    random_state : int, optional
        Seeds the shuffling of folds and the order of time measurements.
    verbose : int
        1 shows progress bars.
    quantile : float
        The worst case that is planned on: the promised share of answers in time. The rest is what the machine does once
        in a thousand answers, say; a busy machine may need a smaller quantile for short deadlines to hold anything.
    max_mismatches : int
        On how many training items an exported model may differ from scikit-learn's.

    Attributes
    ----------
    expanded_ : dict of int to float
        Score of every feature set that was trained, by bit mask.
    candidates_ : list of Candidate
        The sets kept after removing what others cover.
    index_ : PolyDomIndex
    staircase_ : Staircase or None
        The index at the (largest) deadline; None for any budget.
    samples_ : CostSamples or None
        Raw time samples, if they were measured here or given.
    fits_ : dict of str to CostFit
        The fits of those samples, by unit.
    target_ : Target
        The device that is planned for.
    units_ : UnitCosts
        Its worst-case costs.
    set_costs_ : SetCosts
        The cost of any feature set, as the search saw it.
    region_ : QueryRegion
    trainer_ : Trainer
        Trains and scores any feature set.
    prior_ : (int, float)
        Class number and score of the answer without features.
    """

    def __init__(
        self,
        estimator: Any,
        space: FeatureSpace,
        *,
        alpha: float = 1.0,
        tolerance: float = 0.0,
        deadline: float | tuple[float, float] | None = None,
        size_range: tuple[float, float] | None = None,
        scoring: str | Callable[..., float] = "accuracy",
        cv: Any = 5,
        n_jobs: int | None = None,
        memory: str | Memory | None = None,
        random_state: int | None = None,
        verbose: int = 0,
        quantile: float = 0.999,
        max_mismatches: int = 0,
    ) -> None:
        self.estimator = estimator
        self.space = space
        self.alpha = alpha
        self.tolerance = tolerance
        self.deadline = deadline
        self.size_range = size_range
        self.scoring = scoring
        self.cv = cv
        self.n_jobs = n_jobs
        self.memory = memory
        self.random_state = random_state
        self.verbose = verbose
        self.quantile = quantile
        self.max_mismatches = max_mismatches

    def fit(
        self,
        items: Sequence[Any],
        labels: Sequence[Any],
        groups: Sequence[Any] | None = None,
        costs: CostSamples | DeviceProfile | UnitCosts | None = None,
    ) -> "PolyDomSearch":
        """Measure, extract, search and index.

        Parameters
        ----------
        items : sequence of n_items items
        labels : sequence of n_items labels
        groups : sequence of n_items groups, optional
            Items of one group never stand on both sides of a fold.
        costs : CostSamples, DeviceProfile or UnitCosts, optional
            Time samples of the target device; or its profile, to which times measured here, now, are carried over; or
            its costs. If not given, this machine is the target and is measured.

        Raises
        ------
        PolyDomError
            If something about the parameters, items, labels, features or costs is not as it must be; the message says
            what, what was got, and what to do.
        """
        items = list(items)
        budgets = checked_parameters(self)
        memory = self.memory if isinstance(self.memory, Memory) else Memory(self.memory, verbose=0)
        sizes = [checked_size(self.space, item) for item in items]
        if not items:
            raise TrainingError("There must be items, and one label for each. Got none.")
        self.region_ = QueryRegion(self.size_range or (min(sizes), max(sizes)), budgets)

        self.target_ = self._target(items, sizes, costs, memory)
        self.units_, self.fits_ = self.target_.units, dict(self.target_.fits)

        with self._bar("features", len(items)) as bar:
            table = extract_table(self.space, items, labels, n_jobs=self.n_jobs, memory=memory, progress=bar.update)
        splits = make_splits(self.cv, table, groups, self.random_state)
        self.trainer_ = Trainer(self.estimator, table, splits, self.scoring, self.n_jobs, memory)
        self._check_convertible(table)

        model_seconds = self._model_seconds(memory)
        self._check_reachable(model_seconds)
        self.set_costs_ = self.units_.set_costs(model_seconds)

        self.expanded_ = self._expand()
        masks = select_candidates(
            self.expanded_, self.set_costs_, self.region_, alpha=self.alpha, tolerance=self.tolerance
        )
        self.candidates_ = [self._candidate(mask) for mask in masks]
        self.index_ = build_index(self.candidates_, self.region_)
        self.staircase_ = self.index_.at_deadline(budgets[1]) if budgets[1] < np.inf else None
        self.prior_ = int(np.bincount(table.codes).argmax()), self.expanded_[0]
        return self

    def export(self, folder: str | os.PathLike[str]) -> Bundle:
        """Train, export and check a model for every shipped set and every prefix of its order; write the bundle.

        The bundle at `folder` is replaced in one step; until then an old one stays as it is.

        Raises
        ------
        ExportError
            If a model cannot be exported, its labels differ from scikit-learn's, or the folder cannot be written.
        """
        check_is_fitted(self, "index_")
        checked_target(folder)
        chosen = [c.mask for c in self.index_.candidates]
        orders = with_prefixes([plan_order(mask, self.units_, self.region_.typical_size) for mask in chosen])
        with self._bar("models exported", len(orders)) as bar:
            exported = export_models(
                self.trainer_, orders, self.space.names, self.target_.versions, self.max_mismatches, bar.update
            )
        bundle, models = assemble(
            self.space,
            self.trainer_,
            self.target_,
            self.region_,
            exported,
            prior=self.prior_,
            alpha=self.alpha,
            tolerance=self.tolerance,
        )
        write_bundle(folder, bundle, models)
        return bundle

    def _expand(self) -> dict[int, float]:
        with self._bar("feature sets trained", None) as bar:

            def score(masks: list[int]) -> list[float]:
                scores = self.trainer_.scores(masks)
                bar.update(len(masks))
                return scores

            return expand_best_first(
                self.set_costs_,
                self.region_,
                score,
                alpha=self.alpha,
                tolerance=self.tolerance,
                batch=effective_n_jobs(self.n_jobs or 1),
            )

    def _candidate(self, mask: int) -> Candidate:
        order = plan_order(mask, self.units_, self.region_.typical_size)
        names = tuple(self.space.names[i] for i in order)
        return Candidate(mask, names, self.expanded_[mask], self.set_costs_(mask))

    def _check_convertible(self, table: Table) -> None:
        """Convert a model of a few items now rather than fail after hours of training."""
        few = np.concatenate([np.flatnonzero(table.codes == c)[:20] for c in range(len(table.classes))])
        to_onnx(self.trainer_.fit(range(len(self.space)), few), table.rows.shape[1], self.target_.versions)

    def _target(self, items: list[Any], sizes: list[float], costs: Any, memory: Memory) -> Target:
        self.samples_: CostSamples | None = None
        if isinstance(costs, UnitCosts):
            costs.check_space(self.space)
            return Target(costs)
        if not (costs is None or isinstance(costs, CostSamples | DeviceProfile)):
            raise TrainingError(
                f"costs must be CostSamples, a DeviceProfile, or UnitCosts. Got {type(costs).__name__}."
            )
        if isinstance(costs, CostSamples):
            samples = costs
        else:
            with self._bar("costs measured", 100, unit="%") as bar:
                samples = measure_here(self.space, items, self.quantile, self.random_state or 0, memory, bar)
        self.samples_ = samples
        check_coverage(samples, sizes, self.region_.sizes)
        if isinstance(costs, DeviceProfile):
            return Target.estimated(self.space, samples, costs, self.quantile)
        return Target.measured(self.space, samples, self.quantile)

    def _model_seconds(self, memory: Memory) -> float:
        """Return a bound on the time of any model's run, for the search: none exists yet, but the full set's can."""
        if self.units_.model_seconds is not None:
            return self.units_.model_seconds
        order = tuple(range(len(self.space)))
        return MODEL_MARGIN * time_model(
            self.trainer_, order, ModelTimes(self.target_.models), self.target_.versions, memory
        )

    def _check_reachable(self, model_seconds: float) -> None:
        longest = self.region_.budgets[1]
        least = self.units_.dispatch(self.region_.sizes[0]) + model_seconds
        if longest <= least:
            raise DeadlineError(
                f"The deadline must be longer than dispatch and one model run take, {least:.3g} s. Got {longest:.3g}. "
                "Choose a longer deadline or a faster estimator."
            )

    @contextmanager
    def _bar(self, what: str, total: int | None, unit: str = "") -> Iterator[Any]:
        with tqdm(desc=f"{what:>20}", total=total, unit=unit, disable=not self.verbose) as bar:
            yield bar
