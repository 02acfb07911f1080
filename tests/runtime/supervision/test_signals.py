"""A signal ends ``polydom-node run --supervised`` and all its processes, whatever hangs in them.

All limits of time other than the deadline are hours, so that a process that waits for one of them never ends.
"""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polydom_runtime.bundles.references import References, stored
from tests.bundle_parts import changed
from tests.draws import draws
from tests.runtime import supervised_space as faults
from tests.runtime.conftest import make_bundle, write
from tests.runtime.loop.test_monitor import heed_signals
from tests.runtime.model_faults import of_model, switch

from .test_supervisor import is_alive, wait_until

SPACE = "tests.runtime.model_faults:space"
HANGS = faults.HOLDS_THE_LOCK

PROGRAM = """
import sys
from polydom_runtime.__main__ import main
from polydom_runtime.supervision import hand_over, keeper, supervisor
hand_over.ASLEEP_S = 1e-4
keeper.MODEL_S = supervisor.WARM_UP_S = supervisor.START_S = 10_000.0
keeper.START_NS = 10_000 * 10**9
sys.exit(main())
"""

SOURCE = """
import itertools
import numpy as np

def items():
    yield from (np.full(9, first) for first in {firsts})
    yield from itertools.repeat(np.arange(9.0))
"""

WHERE: dict[str, dict[str, Any]] = {
    "a feature": {"firsts": [0.0, HANGS]},
    "a model": {"firsts": [0.0, of_model(HANGS)]},
    "the warm-up": {"firsts": [HANGS]},
    "the warm-up of a new worker": {"firsts": [faults.HANGS_AFTER_TWO]},
    "the load of a model": {"at_load": HANGS},
    "the comparison": {"reference": HANGS},
}
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
CASES = draws([*zip(WHERE, SIGNALS * 2, strict=True)], [*product(WHERE, SIGNALS)])


def make_folder(folder: Path, reference: float = 0.0) -> Path:
    """Write a bundle with one reference item, whose first number is given."""
    bundle, models = make_bundle()
    item = stored(np.full(9, reference))
    assert item is not None
    references = References((item,), ((reference,) * 5 + (9.0,),), (1.0,) * 6)
    return write(folder, replace(changed(bundle, budgets=(1e-3, 1.0), steps=()), references=references), models)


def descendants(pid: int) -> list[int]:
    """Return the processes that a process has started, and those that these have."""
    try:
        children = [int(c) for task in Path(f"/proc/{pid}/task").glob("*/children") for c in task.read_text().split()]
    except OSError:
        return []
    return [*children, *(further for child in children for further in descendants(child))]


def hung_below(pid: int) -> list[int]:
    """Return the processes below another one that have said that they hang."""
    found = []
    for process in descendants(pid):
        with suppress(OSError):
            found += [process] if faults.is_hung(process) else []
    return found


@pytest.mark.parametrize(("where", "number"), CASES)
def test_signal_ends_every_process_whatever_hangs(where: str, number: signal.Signals, tmp_path: Path) -> None:
    what = WHERE[where]
    (tmp_path / "sources.py").write_text(SOURCE.format(firsts=what.get("firsts", [])))
    name, value = switch(at_load=what.get("at_load", 0))
    paths = (str(tmp_path), str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH", ""))
    command = ["run", str(make_folder(tmp_path / "b", what.get("reference", 0.0))), SPACE, "--items", "sources:items"]
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *command, "--supervised", "--quiet", "--deadline", "1s"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), name: value},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=heed_signals,
    ) as process:
        try:
            wait_until(lambda: hung_below(process.pid))
            all_of_them = descendants(process.pid)
            process.send_signal(number)
            wait_until(lambda: process.poll() is not None)
        finally:
            process.kill()

    assert all_of_them
    wait_until(lambda: not any(map(is_alive, all_of_them)))
