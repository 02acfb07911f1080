"""A copy of a tree of the code, into which a fault is planted, and runs of its tests there."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import cache_from_source
from pathlib import Path
from typing import NamedTuple

from .fault import Fault

MOST_NAMES = 3
"""Failing tests that are told of a fault."""

UNFIT = "tests/runtime/commands/test_node_command.py::test_node_environment_holds_the_three_dependencies_only"
"""A test that cannot pass where packages are found by ``PYTHONPATH``."""

MOST_S = 3600.0
"""The longest time of all tests."""

LINE = re.compile(r"^(FAILED|ERROR) (\S.*?)(?: - .*)?$", re.MULTILINE)
"""A line of the summary of pytest; an error without ``::`` is one of collection."""

NO_TESTS = 5
"""Pytest's exit code for no tests, as of a file without doctests."""

IMPORTED = (
    "import polydom_builder, polydom_runtime; print(polydom_builder.__file__, polydom_runtime.__file__, sep='\\n')"
)


class Tests(NamedTuple):
    """What came of a run of tests.

    Attributes
    ----------
    how : str
        Empty if all passed; ``tests`` if some failed, ``collection`` if some could not be imported; or
        ``does not end``.
    failing : list of str
        The first of them.
    seconds : float
    """

    how: str
    failing: list[str]
    seconds: float


class CopiedTree:
    """A copy of what git knows or does not ignore of a tree.

    Parameters
    ----------
    source : Path
    scratch : Path
        An empty folder, for the copy and the output of the tests.
    options : sequence of str
        Of every run of pytest.
    """

    def __init__(self, source: Path, scratch: Path, options: Sequence[str] = ()) -> None:
        self.root, self._output, self._options = scratch / "tree", scratch / "output", options
        self._unaltered: dict[tuple[str, ...], Tests] = {}
        listed = subprocess.run(
            ["git", "-C", source, "ls-files", "-coz", "--exclude-standard"], check=True, capture_output=True, text=True
        )
        for name in filter(None, listed.stdout.split("\0")):
            if os.path.lexists(source / name):
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source / name, self.root / name, follow_symlinks=False)
        paths = (self.root / "runtime", self.root / "builder", self.root)
        one_thread = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
        self._environment = {
            "POLYDOM_NODE_PYTHON": str(source.absolute() / ".venv-node/bin/python"),  # as in the Makefile
            **os.environ,
            **one_thread,
            "CI": "true",
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
        }

    def check_imports(self) -> str:
        """Return the files of the packages that tests import here.

        Raises
        ------
        ImportError
            If they are not those of the copy, such as those of an editable install.
        """
        command = [sys.executable, "-c", IMPORTED]
        done = subprocess.run(command, cwd=self.root, env=self._environment, check=True, capture_output=True, text=True)
        files = done.stdout.split()
        if not all(Path(file).is_relative_to(self.root) for file in files):
            raise ImportError(f"The packages must be those of the copy in {self.root}. Got {' and '.join(files)}.")
        return " and ".join(files)

    def unaltered(self, tests: tuple[str, ...], *options: str) -> Tests:
        """Return what comes of tests without a fault; they are run once."""
        if tests not in self._unaltered:
            self._unaltered[tests] = self.run(tests, MOST_S, *options)
        return self._unaltered[tests]

    @contextmanager
    def planted(self, fault: Fault) -> Iterator[None]:
        """Change a file within a ``with`` block."""
        file = self.root / fault.file
        text = file.read_text()
        try:
            self._write(file, text.replace(fault.right, fault.wrong))
            yield
        finally:
            self._write(file, text)

    def _write(self, file: Path, text: str) -> None:
        file.write_text(text)
        # A text of the same length, written in the same second, would be taken for the one that was compiled.
        Path(cache_from_source(str(file))).unlink(missing_ok=True)

    def run(self, tests: Sequence[str], seconds: float, *options: str) -> Tests:
        """Run tests; after some seconds, end them with all processes that they have begun."""
        command = [sys.executable, "-m", "pytest", "-q", "-rfE", "-p", "no:cacheprovider", "-m", "not end_to_end"]
        command += [f"--deselect={UNFIT}", *self._options, *options, *tests]
        began, code = time.monotonic(), None
        with open(self._output, "wb") as output:  # no pipe, which a process that is left behind would hold open
            where = {"cwd": self.root, "env": self._environment, "stdout": output, "stderr": output}
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, **where)  # type: ignore[call-overload]
            try:
                with suppress(subprocess.TimeoutExpired):
                    code = process.wait(seconds)
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        lines = LINE.findall(self._output.read_text(errors="replace"))
        failing = list(dict.fromkeys(name for _, name in lines if "::" in name))
        broken = [name for _, name in lines if "::" not in name]
        how = "does not end" if code is None else "tests" if failing else ""
        if not how and (broken or code not in (0, NO_TESTS)):
            how = "collection"
        return Tests(how, (failing or broken)[:MOST_NAMES], time.monotonic() - began)
