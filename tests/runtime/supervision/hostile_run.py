"""Items with hostile features among them, supervised: no answer of another item, no exception, none lost.

``python -m tests.runtime.supervision.hostile_run 100000`` answers as many and prints what became of them.
"""

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random

from polydom_runtime.supervision.supervisor import SupervisedPredictor
from tests.runtime.conftest import write
from tests.runtime.hostile_space import FAULTS, HANG, LARGEST, OF_NURSERY, SPACE, item, make_bundle

DEADLINE_S = 0.02
SHARE = 0.1
"""Of items with a fault."""

WEIGHTS = [0.02 if name in OF_NURSERY else 0.5 if name in HANG else 1.0 for name in FAULTS]
"""A nursery takes a second to start again; one that is stopped is noticed after some seconds."""

AFTER_A_LOSS_S = 0.002
"""A pause while no worker is ready, or all items would pass before a nursery has started again."""


def run(predictor: SupervisedPredictor, n_items: int, seed: int = 0) -> Counter[str]:
    """Answer items; return how many had which fate: ``wrong`` if the answer is another item's."""
    rng, fates = Random(seed), Counter[str]()
    before = sum(predictor.counts.values())
    for _ in range(n_items):
        fault = rng.choices(list(FAULTS), WEIGHTS)[0] if rng.random() < SHARE else ""
        number = rng.randint(1, LARGEST)
        try:
            answer = predictor.predict_one(item(number, fault))
            if rng.random() < 0.05:
                predictor.rehearse()
        except Exception as e:
            fates[f"raised {e!r}"] += 1
            continue
        fates["hostile"] += bool(fault)
        fates["prior" if answer.features == () else "own"] += answer.label == (number if answer.features else 0)
        if answer.label != (number if answer.features else 0):
            fates[f"wrong, {answer.reason}, {fault!r}"] += 1
        fates["planned"] += answer.reason == "planned"
        fates["late"] += not answer.deadline_met
        if not predictor.worker_pid:
            time.sleep(AFTER_A_LOSS_S)
    fates["lost"] = n_items - (sum(predictor.counts.values()) - before)
    return +fates


def main(n_items: int) -> None:
    """Print the fates of some items."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        folder = write(Path(scratch) / "b", *make_bundle(DEADLINE_S))
        with SupervisedPredictor(folder, SPACE, deadline=DEADLINE_S, item_bytes=1 << 20) as predictor:
            fates = run(predictor, n_items)
            print(f"{n_items} items in {time.perf_counter() - began:.0f} s: {dict(fates)}")
            print(
                dict(predictor.counts), f"workers lost: {predictor.restarts}, nurseries: {predictor.nursery_restarts}"
            )


if __name__ == "__main__":
    main(int(sys.argv[1]))
