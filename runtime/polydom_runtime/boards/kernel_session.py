"""A session: the calibration kernels and the reference models of both engines, hot and cold, in a fresh process."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Annotated, Any

import numpy as np

from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.bundle_times import Regime
from polydom_runtime.bundles.engines import onnxruntime_version
from polydom_runtime.codec.codec import Codec, unpack_json
from polydom_runtime.codec.marks import AnyText, In, Unsound
from polydom_runtime.device.board import BoardState, usable_cpus
from polydom_runtime.device.calibration import KERNELS, kernels
from polydom_runtime.device.probe import environment_of_child
from polydom_runtime.exceptions import MeasurementError
from polydom_runtime.features import Feature, FeatureSpace
from polydom_runtime.measuring.conditions import THREAD_VARIABLES
from polydom_runtime.measuring.cost_samples import WAKING, CostSamples
from polydom_runtime.measuring.measure import measure
from polydom_runtime.measuring.own_profile import cold_seconds
from polydom_runtime.measuring.session import SHARE_OF_TIME

OF_ONNXRUNTIME = "model ", "onnx_"
"""How the names of references and kernels begin that numpy runs too where onnxruntime is missing."""

ITEMS, ITEM_SIZE = 100, 8
START_SECONDS = 8.0
"""A child process takes about this time to import, to make the reference models and to warm up."""

LOOK_SECONDS = 0.5

Seconds = Annotated[float, In(1e-12, 1e6)]


@dataclass(frozen=True, slots=True)
class KernelTimes:
    """Times of single runs of a kernel or a reference model."""

    median: Seconds
    p90: Seconds
    runs: Annotated[int, In(1, 10**9)]


@dataclass(frozen=True, slots=True)
class KernelSession:
    """The times of a session."""

    began: AnyText
    stopped: AnyText
    """Why it ended."""
    kernels: Mapping[AnyText, KernelTimes]
    """Kernels in random order among the others, as in device profiles."""
    hot: Mapping[AnyText, KernelTimes]
    cold: Mapping[AnyText, KernelTimes]
    """`hot`, `cold`: kernels of numpy and reference models as parts of answers, one after another, and 20 ms asleep
    before each."""
    cold_seconds: Annotated[float, In(0.0, 1.0)]
    cold_uncertainty: Annotated[float, In(1.0, 1000.0)]
    """`cold_seconds`, `cold_uncertainty`: the time that cold adds in the median, as in device profiles."""
    processor_share: Annotated[float, In(0.0, 1.0)]
    """The share of a processor that it got."""
    before: BoardState
    after: BoardState
    warnings: tuple[AnyText, ...]


CODEC = Codec(KernelSession, plain=True)


def kernel_space() -> FeatureSpace:
    """Return a space whose features are the kernels of numpy, so that they are measured as features are."""
    jobs = ((name, job) for name, job in kernels().items() if not name.startswith(OF_ONNXRUNTIME))
    return FeatureSpace([Feature(name, partial(_run, job)) for name, job in jobs], size=len)


def _run(job: Callable[[], object], _item: object) -> list[float]:
    job()
    return [0.0]


def session_here(seconds: float) -> KernelSession:
    """Measure a session of about some seconds in this process."""
    share = 1.0 + SHARE_OF_TIME  # answers come in addition
    items = [np.zeros(ITEM_SIZE)] * ITEMS
    samples = measure(kernel_space(), items, seconds=seconds / share, cpu=usable_cpus()[-1])
    cold, machine = cold_seconds(samples, "session"), samples.machine
    assert cold is not None  # since `measure` answers after sleeps too
    known = bool(onnxruntime_version())
    return KernelSession(
        machine["began"],
        samples.stopped,
        {name: _times(samples.kernels[name]) for name in KERNELS if known or not name.startswith(OF_ONNXRUNTIME)},
        hot=_in_answers(samples, "hot", known),
        cold=_in_answers(samples, "cold", known),
        cold_seconds=cold.value,
        cold_uncertainty=cold.uncertainty,
        processor_share=machine.get("processor_share", 1.0),
        before=_state(machine, "before"),
        after=_state(machine, "after"),
        warnings=samples.warnings,
    )


def _in_answers(samples: CostSamples, regime: Regime, known: bool) -> dict[str, KernelTimes]:
    answers = samples.items[regime]
    units = ((u, t) for u, t in zip(samples.units, answers.seconds, strict=True) if u != WAKING or regime != "hot")
    models = ((name, t) for name, t in answers.models.items() if known or not name.startswith(OF_ONNXRUNTIME))
    return {name: _times(times) for name, times in chain(units, models)}


def _times(seconds: Floats) -> KernelTimes:
    return KernelTimes(float(np.median(seconds)), float(np.quantile(seconds, 0.9)), seconds.size)


def _state(machine: Mapping[str, Any], when: str) -> BoardState:
    return BoardState(*(machine[f"{what}_{when}"] for what in ("clock_hz", "celsius", "throttled")))


def session_apart(seconds: float, progress: Callable[[float], None]) -> KernelSession:
    """Measure a session in a process of its own, where numpy has one thread unless the environment says otherwise."""
    command, began = [sys.executable, "-m", __name__, f"{seconds!r}"], time.monotonic()
    environment = environment_of_child(**dict.fromkeys(THREAD_VARIABLES, "1"))
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        try:
            while True:
                try:
                    said, complaint = child.communicate(timeout=LOOK_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    progress(min((time.monotonic() - began) / (seconds + START_SECONDS), 1.0))
        except BaseException:
            child.kill()
            raise
    try:
        return CODEC.read(unpack_json(said))
    except Unsound as e:
        last = complaint.decode(errors="replace").strip().splitlines()[-1:] or [f"exit code {child.returncode}"]
        raise MeasurementError(
            f"A child process must measure the calibration kernels. It failed: {last[0]}. "
            "Look at `polydom-node doctor`."
        ) from e


if __name__ == "__main__":
    print(json.dumps(CODEC.write(session_here(float(sys.argv[1])))))
