"""The node's part: answer the telemetry of one flight, window after window, and keep every answer in a recording."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from polydom_runtime import Predictor
from polydom_runtime.records.recorder import FlightRecorder

from .aircraft import SECONDS, Telemetry, cut, fly

FIRST, LOOKS = 15, (3.0, 12.0)  # seconds: the end of the first window, and the lengths of windows
OUTAGE = range(26, 30)  # seconds in which the air data computer is silent, so that items have no such channels


@dataclass(frozen=True, slots=True)
class Recorded:
    """A flight, and the answers of the node in it."""

    state: str
    """What failed."""
    onset: float
    """The second at which it failed."""
    records: Sequence[Mapping[str, Any]]
    """One a second, as ``polydom-node flight`` prints them."""

    @property
    def named_at(self) -> int | None:
        """The second from which on two answers in a row named what failed; None if there is none."""
        right = [record["label"] == self.state for record in self.records]
        seconds = (FIRST + k for k in range(len(right) - 1) if right[k] and right[k + 1])
        return next((second for second in seconds if second >= self.onset), None)

    def story(self) -> Iterator[str]:
        """Yield a line for each stretch of alike answers."""
        numbered = enumerate(self.records, FIRST)
        for (label, error), stretch in groupby(numbered, lambda one: (one[1]["label"], one[1]["error"])):
            part = list(stretch)
            sure = np.mean([record["confidence"] for _, record in part])
            features = ", ".join(part[-1][1]["features"]) or "none"
            seconds = f"{part[0][0]} to {part[-1][0]} s"
            yield f"{seconds:>10}  {label:<9} {sure:4.0%} sure, by {features}{error and '; ' + error}"


def windows_of(flight: Telemetry, rng: np.random.Generator) -> Iterator[Telemetry]:
    """Yield a window of telemetry for each second of a flight; how far it goes back depends on the buffer."""
    for second in range(FIRST, int(SECONDS)):
        window = cut(flight, second - float(np.exp(rng.uniform(*np.log(LOOKS)))), second)
        yield {name: channels for name, channels in window.items() if name != "air" or second not in OUTAGE}


def record(predictor: Predictor, file: Path, state: str, seed: int = 0) -> Recorded:
    """Let a predictor answer a flight, and read the recording as after an accident.

    `file`: the recording; one that exists is replaced. `state`: what fails in the flight. `seed`: of the flight.
    """
    rng = np.random.default_rng([seed, 4])
    flight, onset = fly(state, rng)
    file.unlink(missing_ok=True)
    recorder = FlightRecorder(file, predictor, capacity=1000)
    for number, window in enumerate(windows_of(flight, rng)):
        recorder.add(predictor.predict_one(window), predictor.trace, number)
    recorder.close()
    command = [sys.executable, "-m", "polydom_runtime", "flight", str(file)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return Recorded(state, onset, [json.loads(line) for line in printed.splitlines()])
