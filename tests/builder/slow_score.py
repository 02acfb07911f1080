"""A score that kills the process which computes it, once: a worker lost in the middle of a training."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class FatalOnce:
    """Accuracy; the first scoring after `calls` others, counted by files in `folder`, kills its process instead.

    `spared` is the process of the test, which must not die.
    """

    folder: str
    calls: int
    spared: int

    def __call__(self, model: Any, rows: Any, labels: Any) -> float:
        folder = Path(self.folder)
        if len(list(folder.glob("scored-*"))) >= self.calls and os.getpid() != self.spared:
            try:
                (folder / "killed").open("x").close()
            except FileExistsError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        result = float(np.mean(model.predict(rows) == labels))
        (folder / f"scored-{os.urandom(8).hex()}").touch()
        return result
