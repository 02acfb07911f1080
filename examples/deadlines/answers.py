"""Whole answers to many items, hot and after sleeps, each unit timed: more of them than a measurement takes."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import monotonic

import numpy as np

from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.bundle_times import REGIMES, Regime
from polydom_runtime.clock import collector_off, memory_kept
from polydom_runtime.device.calibration import REFERENCE_MODEL, reference_models
from polydom_runtime.measuring.answer_bench import AnswerBench
from polydom_runtime.measuring.cost_samples import CostSamples, ItemSamples
from polydom_runtime.measuring.item_sizes import drawn_items
from polydom_runtime.measuring.stopwatch import Stopwatch, Timers

from .task import Task

N_ITEMS, HOT_ROUNDS = 600, 5
"""Half of the items are to plan with. The other half is replayed."""

SHARE_OF_TIME, HOT_SHARE = 1.5, 0.2
"""The longest time for the answers as a share of that for the measurement, and the part of it for hot ones."""

PERIOD = 0.02
"""The seconds of sleep before each answer that is not hot."""


def with_many_answers(task: Task, samples: CostSamples, file: Path, seconds: float) -> CostSamples:
    """Return the samples with the times of many answers in place of those of the measurement.

    The answers take at most `seconds`. The file keeps their times; delete it to measure again.
    """
    items = _kept(file, samples)
    if items is None:
        items = _answered(task, seconds)
        _keep(file, samples, items)
    return replace(samples, items=items)


def _answered(task: Task, seconds: float) -> dict[Regime, ItemSamples]:
    """Answer items hot, round after round, and then each in turn cold and rehearsed."""
    everything, timers = [*task.items, *task.test_items], Timers()
    items = [everything[k] for k in drawn_items(task.space, everything, N_ITEMS, seed=1)]
    models = [reference_models()[REFERENCE_MODEL]]
    with collector_off(), memory_kept():
        bench = AnswerBench(task.space, items, models, Stopwatch(timers), timers, seed=1)
        hot = _until(HOT_SHARE * seconds, (bench.answer(k, "hot", 0.0) for k in [*range(len(items))] * HOT_ROUNDS))
        bench.learn_usual_times(np.array(hot))
        turns = (
            np.stack([bench.answer(k, regime, PERIOD) for regime in ("cold", "rehearsed")]) for k in range(len(items))
        )
        asleep = _until((1.0 - HOT_SHARE) * seconds, turns)
    times = {"hot": hot, "cold": [pair[0] for pair in asleep], "rehearsed": [pair[1] for pair in asleep]}
    return {regime: _as_samples(np.array(times[regime]), 0.0 if regime == "hot" else PERIOD) for regime in REGIMES}


def _until(seconds: float, answers: Iterator[Floats]) -> list[Floats]:
    """Return answers until the time is over, at least two."""
    taken, end = [], monotonic() + seconds
    for answer in answers:
        taken.append(answer)
        if len(taken) > 1 and monotonic() >= end:
            break
    return taken


def _as_samples(answers: Floats, asleep: float) -> ItemSamples:
    """Return rows of position, size, units and the model as samples; a round that is not complete is left out."""
    n_items = len(set(answers[:, 0].tolist()))
    n_rounds = len(answers) // n_items
    table = answers[: n_items * n_rounds].reshape(n_rounds, n_items, -1).T
    return ItemSamples(table[1, :, 0].copy(), table[2:-1].copy(), {REFERENCE_MODEL: table[-1].copy()}, asleep)


def _keep(file: Path, samples: CostSamples, items: dict[Regime, ItemSamples]) -> None:
    arrays = {"fingerprint": np.array(_key(samples))}
    for regime, mine in items.items():
        arrays |= {f"{regime} sizes": mine.sizes, f"{regime} seconds": mine.seconds}
        arrays |= {f"{regime} model": mine.models[REFERENCE_MODEL], f"{regime} asleep": np.array(mine.asleep)}
    part = file.with_name("part-" + file.name)
    np.savez(part, **arrays)  # type: ignore[arg-type]
    part.replace(file)


def _kept(file: Path, samples: CostSamples) -> dict[Regime, ItemSamples] | None:
    """Return the answers of an earlier run, unless there are none or they go with another measurement."""
    if not file.exists():
        return None
    with np.load(file, allow_pickle=False) as a:
        if str(a["fingerprint"]) != _key(samples):
            return None
        return {
            regime: ItemSamples(
                a[f"{regime} sizes"],
                a[f"{regime} seconds"],
                {REFERENCE_MODEL: a[f"{regime} model"]},
                float(a[f"{regime} asleep"]),
            )
            for regime in REGIMES
        }


def _key(samples: CostSamples) -> str:
    """Name a measurement by the source of the features and the times themselves."""
    return f"{samples.fingerprint} {samples.seconds.sum():.9e}"
