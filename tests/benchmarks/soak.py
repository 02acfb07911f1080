"""``python -m tests.benchmarks.soak --items 1000000``: whether memory, handles and times stay as they are.

Metrics and a flight recorder take every answer, as on a node. Beside the elapsed time of an answer stands the time that
it had the processor, which tells what other processes are to blame for. Nothing here is asserted.
"""

import argparse
import gc
import hashlib
import os
import resource
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

import numpy as np

from polydom_runtime import CostFunction, Predictor
from polydom_runtime.bundles.index import Interval
from polydom_runtime.bundles.model_entry import ModelEntry
from polydom_runtime.bundles.unit_times import StepTime, step_users
from polydom_runtime.clock import collector_off
from polydom_runtime.device.tiny_models import constant_classifier
from polydom_runtime.records.metrics import Metrics
from polydom_runtime.records.metrics_files import JsonLines, Regularly
from polydom_runtime.records.recorder import FlightRecorder
from tests.bundle_parts import bundle_of
from tests.runtime.conftest import write

from .signal_space import Signal, space, windows

NAMES = ("mean", "rms", "extremes", "turns", "histogram")
DEADLINE = 2e-3
WARM_UP, BLOCK, MIN_BLOCKS, COLLECT_EVERY = 10_000, 100_000, 10, 1000
"""Items before memory is looked at the first time; between looks, of which there are at least so many; between garbage
collections, outside timed calls."""

MORE_BYTES, MORE_TIME = 1_000_000, 1.25
"""What counts as flat: so much more memory at the end; a last block so many times as long as the first."""


@dataclass(frozen=True, slots=True)
class Look:
    """What the process needs after so many items, and the times since the last look: elapsed, and on the processor."""

    items: int
    resident_bytes: int
    handles: int
    p50_ns: float
    p99_ns: float
    busy_p50_ns: float
    busy_p99_ns: float
    misses: int

    def __str__(self) -> str:
        return (
            f"{self.items:>10,} items: {self.resident_bytes / 1e6:8.2f} MB resident, {self.handles} handles, "
            f"p50 {self.p50_ns / 1e3:6.1f} µs, p99 {self.p99_ns / 1e3:6.1f} µs, "
            f"on the processor {self.busy_p50_ns / 1e3:6.1f} and {self.busy_p99_ns / 1e3:6.1f} µs, {self.misses} missed"
        )


def soaked(folder: Path) -> Predictor:
    """Return an any-time predictor of five cheap features that chooses by size; its models always answer the same."""
    part = space.part(NAMES)
    orders = [tuple(range(k)) for k in range(1, len(NAMES) + 1)]
    models = [constant_classifier(sum(part.widths[i] for i in order), 1) for order in orders]
    bundle = bundle_of(
        names=part.names,
        widths=part.widths,
        classes=("no", "yes"),
        sizes=(1.0, 1e4),
        budgets=(DEADLINE, DEADLINE),
        costs=(CostFunction.of(1e-4, linear=1e-7),) * (len(NAMES) - 1) + (CostFunction.of(2e-4, linear=1e-6),),
        steps=tuple(StepTime(name, users, CostFunction.of(1e-5)) for name, users in step_users(part)),
        dispatch=CostFunction.of(1e-5),
        prior=(0, 0.5),
        models=tuple(
            ModelEntry(order, 0.6 + 0.01 * len(order), 2e-5, len(m), hashlib.sha256(m).digest())
            for order, m in zip(orders, models, strict=True)
        ),
        shipped=tuple(range(len(NAMES))),
        intervals=tuple(Interval(k, 1.0, 1e4) for k in range(1, len(NAMES) + 1)),
    )
    return Predictor.load(write(folder, bundle, models), part)


def items(count: int = 64) -> list[Signal]:
    """Return signals of 64 to 2,048 values, shuffled."""
    rng = np.random.default_rng(0)
    found = windows([rng.normal(size=4096)], count, longest=2048)
    rng.shuffle(found)
    return found


def soak(predictor: Predictor, folder: Path, count: int) -> list[Look]:
    """Answer so many items, printing a look after the warm-up and after every block; return the looks."""
    looks: list[Look] = []
    block = max(min(BLOCK, count // MIN_BLOCKS), 1)
    times = np.full((2, block), 1, dtype=np.int64)
    look(0, times, 0)  # what looking takes is taken before the first look
    metrics = Metrics(predictor)
    files = Regularly(JsonLines(folder / "metrics.jsonl"), metrics, every=1.0, say=print)
    with closing(FlightRecorder(folder / "node.flight", predictor)) as recorder, collector_off():
        for number, item in enumerate(islice(cycle(items()), WARM_UP + count)):
            before = time.thread_time_ns()
            answer = predictor.predict_one(item)
            busy = time.thread_time_ns() - before
            metrics.add(answer, predictor.trace)
            recorder.add(answer, predictor.trace, number)
            place = (number - WARM_UP) % block
            times[:, place] = answer.elapsed_ns, busy
            if number % COLLECT_EVERY == COLLECT_EVERY - 1:
                gc.collect()
                files.on_slack(1.0)
            if number + 1 == WARM_UP or (number >= WARM_UP and place == block - 1):
                known = times[:, -WARM_UP:] if number < WARM_UP else times
                looks.append(look(number + 1, known, metrics.misses))
                print(looks[-1], flush=True)
    return looks


def look(done: int, times: np.ndarray, misses: int) -> Look:
    """Return what the process needs now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    (p50, busy_p50), (p99, busy_p99) = np.percentile(times, [50, 99], axis=1).tolist()
    handles = len(os.listdir("/proc/self/fd")) - 1  # one is that of the listing
    return Look(done, pages * resource.getpagesize(), handles, p50, p99, busy_p50, busy_p99, misses)


def verdict(looks: list[Look]) -> str:
    """Say whether the process stayed as it was."""
    start, first, last = looks[0], looks[1], looks[-1]
    more, handles = last.resident_bytes - start.resident_bytes, last.handles - start.handles
    lines = [
        f"memory since the first {start.items:,} items: {more / 1e3:+.0f} kB, {_flat(more <= MORE_BYTES)}",
        f"handles: {handles:+d}, {_flat(handles == 0)}",
    ]
    for name, a, b in (
        ("elapsed p50", first.p50_ns, last.p50_ns),
        ("elapsed p99", first.p99_ns, last.p99_ns),
        ("on the processor p50", first.busy_p50_ns, last.busy_p50_ns),
        ("on the processor p99", first.busy_p99_ns, last.busy_p99_ns),
    ):
        ratio = f"x {b / a:.2f}, {_flat(1.0 / MORE_TIME <= b / a <= MORE_TIME)}"
        lines.append(f"{name}, first and last block: {a / 1e3:.1f} and {b / 1e3:.1f} µs, {ratio}")
    return "\n".join(lines)


def _flat(is_flat: bool) -> str:
    return "flat" if is_flat else "NOT flat"


def main(count: int = 100_000) -> None:
    """Soak, and say whether all is flat."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        predictor = soaked(folder / "soak.bundle")
        predictor.warm_up(items()[0])
        print(verdict(soak(predictor, folder, count)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=1_000_000, help=f"after {WARM_UP:,} more")
    main(parser.parse_args().items)
