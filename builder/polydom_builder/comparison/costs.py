"""The comparison of two costs files."""

import math
from collections.abc import Sequence
from typing import Any

from polydom_builder.costs.cost_report import CostRow, report_costs
from polydom_runtime.measuring.cost_samples import AROUND, CostSamples

from .comparison import Comparison, Fact, TimeChange, TimeKind, Units, check_common, common_sizes, time_changes

COST_SIZES, WORST_QUANTILE = 5, 0.999
"""The number of sizes at which times are compared, and the quantile that is the worst case."""

STAMPS = ("device", "cpu", "kernel", "python", "numpy", "onnxruntime", "began")
"""The facts about a machine that are compared."""


def compare_costs(before: CostSamples, after: CostSamples) -> Comparison:
    """Compare the fitted times of every unit, and tell which changed by more than noise.

    Noise is what each file is known to: 95 % intervals, and the difference between two processes.

    Raises `ComparisonError` if they have no unit and no item size in common.
    """
    units = Units.of(before.units, after.units)
    check_common("feature or step", units, ignored=AROUND)
    sizes = common_sizes(before.sizes.tolist(), after.sizes.tolist(), COST_SIZES)
    rows = [report_costs(samples, WORST_QUANTILE) for samples in (before, after)]
    times = (*_changes("typical", rows, sizes), *_changes("worst case", rows, sizes))
    facts = _facts(after)
    return Comparison("costs", {what: Fact(value, facts[what]) for what, value in _facts(before).items()}, units, times)


def _changes(kind: TimeKind, both: Sequence[Sequence[CostRow]], sizes: Sequence[float]) -> tuple[TimeChange, ...]:
    typical = kind == "typical"
    before, after = ({row.unit: row.fit.typical if typical else row.fit.worst for row in rows} for rows in both)
    old, new = ({row.unit: row.typical_error if typical else row.worst_error for row in rows} for rows in both)
    noise = {unit: (1.0 + old[unit]) * (1.0 + new[unit]) for unit in old.keys() & new}
    # With few rounds an error is infinite: nothing is known.
    return time_changes(kind, before, after, sizes, {unit: ratio for unit, ratio in noise.items() if ratio < math.inf})


def _facts(samples: CostSamples) -> dict[str, Any]:
    return {
        **{name: samples.machine.get(name) for name in STAMPS},
        "code": samples.fingerprint,
        "rounds": samples.n_rounds,
        "warnings": list(samples.warnings),
    }
