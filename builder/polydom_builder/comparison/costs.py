"""The comparison of two costs files."""

import math
from collections.abc import Sequence
from typing import Any

from polydom_builder.costs.cost_report import CostRow, report_costs
from polydom_runtime.measuring.cost_samples import DISPATCH, CostSamples

from .comparison import Comparison, Fact, TimeChange, TimeKind, Units, check_common, common_sizes, time_changes

N_SIZES, QUANTILE = 5, 0.999
"""The number of sizes at which times are compared, and the quantile that is the worst case."""

STAMPS = ("device", "cpu", "kernel", "python", "numpy", "onnxruntime", "began")
"""The facts about a machine that are compared."""

Rows = Sequence[CostRow]


def compare_costs(before: CostSamples, after: CostSamples) -> Comparison:
    """Compare the fitted times of every unit, and tell which changed by more than noise.

    Noise is what each file is known to: 95 % intervals, and the difference between two processes.

    Raises `ComparisonError` if they have no unit and no item size in common.
    """
    units = Units.of(before.units, after.units)
    check_common("feature or step", units, ignored=[DISPATCH])
    sizes = common_sizes(before.sizes.tolist(), after.sizes.tolist(), N_SIZES)
    old, new = report_costs(before, QUANTILE), report_costs(after, QUANTILE)
    facts = zip(_facts(before).items(), _facts(after).values(), strict=True)
    return Comparison(
        "costs",
        {what: Fact(one, other) for (what, one), other in facts},
        units,
        (*_changes("typical", old, new, sizes), *_changes("worst case", old, new, sizes)),
    )


def _changes(kind: TimeKind, before: Rows, after: Rows, sizes: Sequence[float]) -> tuple[TimeChange, ...]:
    typical = kind == "typical"
    costs = [{row.unit: row.fit.typical if typical else row.fit.worst for row in rows} for rows in (before, after)]
    old, new = (
        {row.unit: row.typical_error if typical else row.worst_error for row in rows} for rows in (before, after)
    )
    noise = {unit: (1.0 + old[unit]) * (1.0 + new[unit]) for unit in old.keys() & new}
    # With few rounds an error is infinite: nothing is known.
    known = {unit: ratio for unit, ratio in noise.items() if ratio < math.inf}
    return time_changes(kind, costs[0], costs[1], sizes, known)


def _facts(samples: CostSamples) -> dict[str, Any]:
    return {
        **{name: samples.machine.get(name) for name in STAMPS},
        "code": samples.fingerprint,
        "rounds": samples.n_rounds,
        "warnings": list(samples.warnings),
    }
