"""Faults of the builder, one or two for each room, from low rooms to high ones."""

from .fault import Fault

PACKAGE = "builder/polydom_builder"

BUILDER_FAULTS = (
    Fault(
        "an error of a training is no ValueError, which scikit-learn's own tools expect",
        f"{PACKAGE}/exceptions.py",
        "class TrainingError(PolyDomError, ValueError):",
        "class TrainingError(PolyDomError):",
        tests=("tests/builder/preselection/test_preselection.py",),
    ),
    Fault(
        "of too many units for a picture, the cheapest are drawn",
        f"{PACKAGE}/drawing/bars.py",
        "shown = sorted(units, key=lambda unit: unit.worst)[-MOST_BARS:]",
        "shown = sorted(units, key=lambda unit: unit.worst)[:MOST_BARS]",
    ),
    Fault(
        "a private key that the group of its owner may read is used",
        f"{PACKAGE}/signing/signing_key.py",
        "mode & (stat.S_IRWXG | stat.S_IRWXO)",
        "mode & stat.S_IRWXO",
    ),
    Fault(
        "of many features of noise, the pre-selection takes some",
        f"{PACKAGE}/preselection/selector.py",
        "now[b].chance * len(rest) <= self.level]",
        "now[b].chance <= self.level]",
    ),
    Fault(
        "with the same memory, scores of other folds are taken",
        f"{PACKAGE}/training/trainer.py",
        "self.weights, self.estimator, self.splits, self.scoring, self.by_number",
        "self.weights, self.estimator, self.scoring, self.by_number",
    ),
    Fault(
        "the prior is the class with the most items, whatever they weigh",
        f"{PACKAGE}/training/trainer.py",
        "counts = np.bincount(targets, weights, len(self.table.classes))",
        "counts = np.bincount(targets, None, len(self.table.classes))",
        ("tests/builder/training/test_weights.py",),
    ),
    Fault(
        "after a sleep, the guard uses the 0.9 quantile and not the promised one",
        f"{PACKAGE}/costs/fitted_times.py",
        "self.at(promised, regime).relative_to(stated)",
        "self.at(UNIT_QUANTILE, regime).relative_to(stated)",
    ),
    Fault(
        "errors of scores are too small, since folds share the items that they train on",
        f"{PACKAGE}/lattice/within_noise.py",
        "factor = np.sqrt(self.inflation * n / (n - 1))",
        "factor = np.sqrt(n / (n - 1))",
    ),
    Fault(
        "of two sets with the same score and cost, the larger one answers",
        f"{PACKAGE}/index/envelope.py",
        "key=lambda c: (-c.accuracy, c.mask.bit_count(), c.mask)",
        "key=lambda c: (-c.accuracy, -c.mask.bit_count(), c.mask)",
        tests=("tests/property/test_index_references.py",),
    ),
    Fault(
        "the paper's search takes the tolerance from the score after it was multiplied by alpha",
        "examples/paper/algorithms/printed.py",
        "self.alpha * (lower - self.tolerance) >= upper",
        "self.alpha * lower - self.tolerance >= upper",
    ),
    Fault(
        "late answers to one item count as often as if they were of many",
        f"{PACKAGE}/bundling/late_share.py",
        "n = min(max(share * (1.0 - share) / spread, n), n_answers)",
        "n = n_answers",
        ("tests/builder/bundling/test_late_share.py",),
    ),
    Fault(
        "bundles are compared at sizes that only one of them is for",
        f"{PACKAGE}/comparison/comparison.py",
        "max(before[0], after[0]), min(before[-1], after[-1])",
        "max(before[0], after[0]), max(before[-1], after[-1])",
    ),
    Fault(
        "a proof passes without the tolerance that it states",
        f"{PACKAGE}/verification/proof_checks.py",
        "np.where(upper == proof.masks, 0.0, proof.tolerance)",
        "0.0 * proof.tolerance",
    ),
    Fault(
        "confidences are judged on the folds that they were fitted to",
        f"{PACKAGE}/bundling/calibration.py",
        "there = here if here.all() else ~here",
        "there = here | ~here",
    ),
    Fault(
        "the slow-down of a search is ignored",
        f"{PACKAGE}/preparation/inputs.py",
        "(budgets[0] / node.slowdown, budgets[1])",
        "(budgets[0], budgets[1])",
        tests=("tests/builder/test_search.py",),
    ),
    Fault(
        "a climb skips sets that fit small items only",
        f"{PACKAGE}/exploration.py",
        "lambda mask: costs(mask)(smallest) <= most",
        "lambda mask: costs(mask)(region.sizes[1]) <= most",
    ),
    Fault(
        "prefixes get models of the first estimator, and not of the quickest",
        f"{PACKAGE}/bundle_search.py",
        "return min(self.families_, key=lambda family: family.seconds).name",
        "return self.families_[0].name",
    ),
    Fault(
        "a step counts as used only where all of its features are used",
        f"{PACKAGE}/displays/worth.py",
        "used = float(((masks & users) != 0).mean())",
        "used = float(((masks & users) == users).mean())",
    ),
    Fault(
        "the score of a fitted search ignores the weights of items",
        f"{PACKAGE}/host_answers.py",
        "given = {} if weights is None else {NAME: weights}",
        "given: dict[str, Any] = {}",
    ),
    Fault(
        "after an export, a search answers by models that its bundle left out",
        f"{PACKAGE}/bundle_search.py",
        "self._within = bundle.index if bundle.shipping.n_left_out else self.index_",
        "self._within = self.index_",
        tests=("tests/builder/bundling/test_limits_of_several.py",),
    ),
    Fault(
        "a greedy search takes lambda for the score that a second must gain, and not a millisecond",
        f"{PACKAGE}/greedy_search.py",
        "lambda mask: 1e3 * self.set_costs_(mask)(self.median_size_)",
        "lambda mask: self.set_costs_(mask)(self.median_size_)",
    ),
    Fault(
        "the best single set of an evaluation fits the smallest item, and not every one",
        f"{PACKAGE}/evaluation/baselines.py",
        "best_single((bundle.empty, *bundle.index.candidates), largest, deadline)",
        "best_single((bundle.empty, *bundle.index.candidates), min(test.sizes), deadline)",
    ),
    Fault(
        "in the interval of a replayed score, late answers count as good ones",
        f"{PACKAGE}/reporting/replayed.py",
        "(np.array([known[key] for key in keys]) * in_time).mean(axis=0)",
        "np.array([known[key] for key in keys]).mean(axis=0)",
    ),
    Fault(
        "polydom build ignores --max-seconds",
        f"{PACKAGE}/commands/build.py",
        'names = "max_trainings", "max_seconds", "max_features"',
        'names = "max_trainings", "max_features"',
    ),
    Fault(
        "polydom always ends with the code 0",
        f"{PACKAGE}/__main__.py",
        "    return run_command(",
        "    return 0 * run_command(",
        ("tests/builder/commands/test_command.py",),
    ),
    Fault(
        "thresholds of histogram boosting are rounded to the nearest float32",
        f"{PACKAGE}/training/onnx.py",
        "nearest > thresholds, np.nextafter(",
        "nearest > np.inf, np.nextafter(",
    ),
    Fault(
        "a model of whole-number features is refused for ties of its neighbours",
        f"{PACKAGE}/training/onnx.py",
        "found.append(model.predict(rows if exact else moved(rows, rng)))",
        "found.append(OnnxModel(onnx_bytes, classifies).predict(rows))",
    ),
)
