"""The base of both searches: what they are given, what they prepare, and how they end in a bundle."""

import math
import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from polydom_runtime.bundles.bundle import Bundle, BundleSpace, Prior, StoredIndex
from polydom_runtime.bundles.bundle_times import BundleTimes
from polydom_runtime.bundles.index import Candidate
from polydom_runtime.bundles.promise import Identity, Promise
from polydom_runtime.bundles.references import References
from polydom_runtime.bundles.unit_times import UnitTimes
from polydom_runtime.device.device_profile import DeviceProfile
from polydom_runtime.measuring.cost_samples import CostSamples
from polydom_runtime.measuring.fingerprint import source_fingerprint

from .bundling.assembly import check_fits_memory, model_entries, models_of
from .bundling.bundle_folder import checked_target, write_bundle
from .bundling.calibration import with_stops
from .bundling.export import ExportedModel, Order, export_models, models_to_export
from .bundling.given_identity import given_identity
from .bundling.leaving_out import only_prior_text
from .bundling.quantiles import with_chosen_times
from .bundling.reference_answers import with_answers
from .bundling.risks import calibrated, held_out_of, with_risks
from .costs.model_timers import ModelTimer
from .costs.target import Target
from .host_answers import HostAnswers
from .preparation.parameters import asked_deadlines, check_settings
from .preparation.preparation import Prepared, prepare
from .preparation.progress import progress_bar
from .sets.combined_costs import costs_of_sets
from .sets.inputs import CostsOfSets
from .signing.signing_key import SigningKey, check_key
from .training.families import Family, named
from .training.scoring import scoring_name

MOST_LOST = 0.05
"""Without a warning, an exported model may score less than in the search by this: forests are random."""


class BundleSearch(HostAnswers):
    """What `PolyDomSearch` and `GreedySearch` share. Each of them finds its sets, and makes its own kind of bundle."""

    sizes_: list[float]
    samples_: CostSamples | None
    target_: Target
    timer_: ModelTimer
    references_: References
    set_costs_: CostsOfSets
    costs_: dict[str, CostsOfSets]
    expanded_: dict[int, float]
    scores_: dict[str, dict[int, float]]
    prior_: tuple[Any, float]
    _within: Any

    def fit(
        self,
        items: Sequence[Any],
        labels: Sequence[Any],
        groups: Sequence[Any] | None = None,
        costs: CostSamples | DeviceProfile | UnitTimes | None = None,
        sample_weight: Sequence[float] | None = None,
    ) -> Self:
        """Measure, extract, search and index.

        Parameters
        ----------
        items : sequence of n_items items
        labels : sequence of n_items labels
            Integers, strings or booleans; numbers for a regressor.
        groups : sequence of n_items groups, optional
            Items of one group never stand on both sides of a fold. A warning tells if copies do: then a score says
            nothing about new items.
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
        check_settings(self.settings)
        self._check()
        self._publish(prepare(self, items, labels, groups, costs, sample_weight))
        self._find()
        trainer = self.trainer_
        self.prior_ = trainer.prior, self.expanded_[0] if trainer.chosen is None else trainer.chosen_score
        if max(self.expanded_.values()) <= self.expanded_[0]:
            warnings.warn(
                f"No feature set scores more than the answer without features ({self.expanded_[0]:.3g}): the bundle "
                "always gives that answer. Look at the labels, the scoring, the features and the estimator.",
                stacklevel=2,
            )
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
        """Train, export and check a model for each set that may answer and each prefix of its order; write the bundle.

        The bundle at `folder` is replaced in one step; until then an old one stays as it is. If the search proves a
        promise, the bundle gets a proof of it, for ``polydom verify``.

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
            If a model cannot be exported, its labels differ from scikit-learn's, the models do not fit the memory of
            the device, a text is not valid, or the folder cannot be written.
        """
        check_is_fitted(self, "index_")
        checked_target(folder)
        check_key(key)
        bundle, exported = self._made(given_identity(name, version, built_by))
        self.shipping_ = bundle.shipping
        if text := only_prior_text(bundle):
            warnings.warn(text, stacklevel=2)
        self._within = bundle.index if bundle.shipping.n_left_out else self.index_
        answers = self.settings.answers
        if answers.is_sure:
            bundle = calibrated(bundle, exported, self.trainer_)
        if answers.early_stop is not None:
            bundle = with_stops(bundle, held_out_of(bundle, exported), answers.early_stop)
        check_fits_memory(bundle, self.target_)
        asked, target, promised = asked_deadlines(self.deadline), self.target_, 1.0 - self.quantile
        with progress_bar(self.verbose, "regimes replayed", 1 + len(target.regimes)) as bar:
            bundle = with_chosen_times(bundle, target, self.samples_, self.sizes_, promised, asked, bar.update)
        bundle = with_risks(bundle, exported, self.trainer_, self.sizes_)
        models = models_of(bundle, exported)
        bundle = with_answers(bundle, models)
        write_bundle(folder, bundle, models, self._proof(exported), key)
        return replace(bundle, contents=tuple(models))

    def _check(self) -> None:
        """Check the parameters that only one kind of search has."""

    def _find(self) -> None:
        """Train sets, and set `expanded_`, `scores_` and `index_`."""
        raise NotImplementedError

    def _made(self, identity: Identity) -> tuple[Bundle, list[ExportedModel]]:
        """Return a bundle with its index, within the limits, and the exported models that it was chosen from."""
        raise NotImplementedError

    def _proof(self, exported: Sequence[ExportedModel]) -> bytes | None:
        """Return the content of the proof file; None if nothing is proven."""
        return None

    def _publish(self, prepared: Prepared) -> None:
        self.region_, self.space_, self.dropped_ = prepared.region, prepared.space, prepared.dropped
        self.target_, self.samples_ = prepared.target, prepared.samples
        self.sizes_, self.times_, self.fits_ = prepared.sizes, prepared.target.worst, dict(prepared.target.fits)
        self.timer_, self.references_, self.item_kind_ = prepared.timer, prepared.references, prepared.item_kind
        self.data_sha256_ = prepared.data
        self._search_with(prepared.families)

    def _search_with(self, families: Sequence[Family]) -> None:
        """Set `families_`, `costs_`; from the first family, which explores the lattice, `trainer_`, `set_costs_`."""
        first, *_ = self.families_ = tuple(families)
        worst, combine = self.target_.worst, self.settings.node.combine
        self.costs_ = {family.name: costs_of_sets(worst, family.seconds, combine) for family in families}
        self.trainer_, self.set_costs_ = first.trainer, self.costs_[first.name]

    @property
    def _quickest(self) -> str:
        return min(self.families_, key=lambda family: family.seconds).name

    def _candidate(self, order: Order, family: Family | None = None) -> Candidate:
        """Return the candidate of a trained set, with its features in this order; of the first family if not given."""
        mask = sum(1 << i for i in order)
        names = tuple(self.space_.names[i] for i in order)
        estimator = (family or self.families_[0]).name
        score, cost = self.scores_[estimator][mask], self.costs_[estimator](mask)
        return Candidate(mask, names, score, cost, estimator if mask else "")

    def _exported(self, chosen: Sequence[tuple[Order, str]]) -> list[ExportedModel]:
        """Train, export and check a model for every given order of features and its estimator, and for every prefix."""
        every, found = models_to_export(chosen, self._quickest), {}
        names, versions, settings = self.space_.names, self.target_.versions, self.settings
        with progress_bar(self.verbose, "models exported", len(every)) as bar:
            for family in self.families_:
                orders = [order for order, name in every if name == family.name]
                wanted = settings.limits.max_mismatches, bar.update, settings.answers.is_sure
                with named(family.name):
                    exported = export_models(family, orders, names, versions, *wanted)
                found.update({(model.order, model.estimator): model for model in exported})
        for model in (models := [found[which] for which in every]):
            searched = self.scores_[model.estimator].get(sum(1 << i for i in model.order), -math.inf)
            if model.accuracy < searched - MOST_LOST:
                warnings.warn(
                    f"The model of {self.trainer_.name_of(model.order)} scores {model.accuracy:.3f} as it is exported, "
                    f"and {searched:.3f} in the search. Its features were chosen by the latter. Set random_state in "
                    "the estimator if it has one, or choose one that is converted more exactly.",
                    stacklevel=4,
                )
        return models

    def _draft(
        self, exported: Sequence[ExportedModel], promise: Promise, identity: Identity, stored: StoredIndex | None = None
    ) -> Bundle:
        """Return a bundle with worst cases only and with every exported model, still without an index."""
        space, target, trainer = self.space_, self.target_, self.trainer_
        return Bundle(
            BundleSpace(space.names, space.widths, tuple(trainer.table.classes.tolist()), item_kind=self.item_kind_),
            BundleTimes.of(replace(target.worst, model=None), origin=target.origin),
            promise._replace(scoring=scoring_name(trainer.scoring), late=round(1.0 - self.quantile, 12)),
            Prior(*self.prior_),
            model_entries(self.timer_, target, exported, self.settings.node.combine),
            stored or StoredIndex(),
            error_costs=trainer.errors,
            references=self.references_,
            identity=identity._replace(data=self.data_sha256_, code=source_fingerprint(space)),
        )
