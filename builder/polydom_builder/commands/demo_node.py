"""The node of the demo: a process of another Python, with only the folder of the example on its path."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from polydom_builder.exceptions import ExportError


class Node(NamedTuple):
    """A node that answers items with the bundle of the demo.

    Attributes
    ----------
    python : str
        Any Python with polydom_runtime.
    example : Path
        The folder of ``surface.py``.
    out : Path
        The folder with the bundle and the items.
    """

    python: str
    example: Path
    out: Path

    def run(
        self, items: str, deadline: float, *, period: float | None = None, quiet: bool = False
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Answer items in a process of their own.

        Parameters
        ----------
        items : str
            A packed file in `out`.
        deadline : float
            Seconds.
        period : float, optional
            Seconds from one item to the next; the next one comes at once if not given.
        quiet : bool
            Whether the node prints only the summary.

        Returns
        -------
        answers : list of dict
            One for each item; empty if quiet.
        summary : dict

        Raises
        ------
        ExportError
            If the node cannot run the bundle.
        """
        bundle, file = (self.out / "surface.bundle").absolute(), (self.out / items).absolute()
        # The link is not resolved: it marks a virtual environment.
        python = os.path.abspath(shutil.which(self.python) or self.python)
        command = [python, "-m", "polydom_runtime", "run", str(bundle), "surface:space"]
        command += ["--items", str(file), "--deadline", f"{deadline}s", *(["--quiet"] if quiet else [])]
        command += [] if period is None else ["--period", f"{period}s"]
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        done = subprocess.run(command, cwd=self.example, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise ExportError(f"The node must run the bundle. It said: {done.stderr.strip()[-500:]}")
        *answers, last = map(json.loads, done.stdout.splitlines())
        return answers, last["summary"]
