"""A worker killed a thousand times at random instants while items are answered: how many answers were lost, or late."""

import os
import signal
import tempfile
import time
from contextlib import suppress
from random import Random
from threading import Event, Thread

import numpy as np

from polydom_runtime.supervision.supervisor import SupervisedPredictor

from .supervised import make_folder

KILLS = 1000
DEADLINE_S = 0.02


def kill_at_random(supervised: SupervisedPredictor, over: Event) -> None:
    """Kill whichever worker is there, at instants drawn from a seeded generator."""
    rng, last, killed = Random(0), 0, 0
    while killed < KILLS:
        time.sleep(rng.random() * 0.02)
        if (worker := supervised.worker_pid) and worker != last:
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
                last, killed = worker, killed + 1
    over.set()


def main() -> None:
    """Print the number of items, of answers lost and late, and who answered."""
    item, over, answers = np.zeros(1250), Event(), []
    with tempfile.TemporaryDirectory() as scratch:
        folder = make_folder(scratch)
        with SupervisedPredictor(folder, "tests.runtime.supervised_space:space", deadline=DEADLINE_S) as supervised:
            supervised.warm_up(item)
            start = time.perf_counter()
            Thread(target=kill_at_random, args=(supervised, over)).start()
            while not over.is_set():
                answers.append(supervised.predict_one(item))
            seconds = time.perf_counter() - start
        lost = sum(answer.label not in supervised.bundle.space.classes for answer in answers)
        late = [answer.elapsed_ns for answer in answers if not answer.deadline_met]
        print(f"{len(answers)} items in {seconds:.1f} s, {KILLS} kills, answers lost: {lost}, late: {len(late)}")
        if late:
            print(f"the latest took {max(late) * 1e-6:.1f} ms of {DEADLINE_S * 1e3:g} ms")
        print(dict(supervised.counts), f"workers replaced: {supervised.restarts}")


if __name__ == "__main__":
    main()
