"""predict_one of the supervised predictor against that of a direct one, and how long a new worker takes."""

import os
import signal
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np

from polydom_runtime import Predictor
from polydom_runtime.supervision.supervisor import SupervisedPredictor
from tests.bundle_parts import changed
from tests.runtime import supervised_space
from tests.runtime.conftest import make_bundle, write

from .side_by_side import samples

DEADLINE_S = 0.1


def make_folder(scratch: str) -> Path:
    """Write a bundle for items of up to a megabyte."""
    bundle, models = make_bundle()
    intervals = tuple(interval._replace(end=2e6) for interval in bundle.stored.intervals)
    wide = changed(bundle, budgets=(DEADLINE_S, DEADLINE_S), sizes=(1.0, 2e6), steps=(), intervals=intervals)
    return write(Path(scratch) / "bench.bundle", wide, models)


def overhead(size_bytes: int, direct: Predictor, supervised: SupervisedPredictor) -> None:
    """Print what supervision adds to an item of this size."""
    item = np.zeros(size_bytes // 8)
    for predictor in (direct, supervised):
        predictor.warm_up(item)
    a, b = samples([lambda: direct.predict_one(item), lambda: supervised.predict_one(item)], rounds=2000)
    print(
        f"{size_bytes:>9} bytes: direct {median(a) * 1e6:8.1f} µs, supervised {median(b) * 1e6:8.1f} µs, on top "
        f"{(median(b) - median(a)) * 1e6:8.1f} µs, at best {(min(b) - min(a)) * 1e6:8.1f} µs, "
        f"99th centile {(sorted(b)[len(b) * 99 // 100] - sorted(a)[len(a) * 99 // 100]) * 1e6:8.1f} µs"
    )


def replacement(supervised: SupervisedPredictor) -> None:
    """Print how long it takes until both the worker and the spare one are new ones."""
    taken = []
    for _ in range(30):
        supervised.predict_one(np.zeros(100))
        before, start = supervised._keeper.workers, time.perf_counter_ns()
        os.kill(supervised.worker_pid, signal.SIGKILL)
        while supervised._keeper.workers == before:
            time.sleep(1e-4)
        taken.append((time.perf_counter_ns() - start) * 1e-6)
    print(f"a new worker is ready {median(taken):.1f} ms after a kill, at most {max(taken):.1f} ms")


def main() -> None:
    """Print the overhead (target: at most 150 µs for 10 kB) and the time of a replacement."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = make_folder(scratch)
        direct = Predictor.load(folder, supervised_space.space)
        with SupervisedPredictor(folder, "tests.runtime.supervised_space:space") as supervised:
            print(
                f"hand-over {supervised._keeper.hand_over['hot'] * 1e6:.0f} µs, "
                f"reserve {supervised.reserve * 1e6:.0f} µs"
            )
            for size_bytes in (10_000, 1_000_000):
                overhead(size_bytes, direct, supervised)
            replacement(supervised)
            print(dict(supervised.counts))


if __name__ == "__main__":
    main()
