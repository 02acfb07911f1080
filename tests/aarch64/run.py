"""The runtime on emulated 64-bit ARM processors: its tests, and bundles that must answer there as they do here.

``make test-aarch64`` runs it. Exit code 77, after a line that starts with SKIPPED, means that nothing was tested.
Emulation is 5 to 100 times slower, by no fixed factor, so that nothing here looks at times.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from polydom_runtime.items.packing import write_packed

from .bundles import build
from .signals import items

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache"

WHEELS = ("numpy", "onnxruntime", "msgpack", "pytest", "hypothesis", "prometheus_client", "cryptography", "paho-mqtt")


class Userland(NamedTuple):
    """A Debian userland for other processors, in one folder.

    Attributes
    ----------
    name : str
        Of the architecture.
    folder : Path
        Made by `setup` unless it is there; has the emulated Python as ``run``.
    setup : Path
        A shell script, called with the folder and the wheels.
    wheels : tuple of str
    processors : tuple of str
        The runtime's tests run on the last one, the comparison of answers on all.
    options : tuple of str
        Of pytest.
    deselected : dict of str to str
        Tests that cannot hold there, and why.
    """

    name: str
    folder: Path
    setup: Path
    wheels: tuple[str, ...]
    processors: tuple[str, ...]
    options: tuple[str, ...] = ()
    deselected: Mapping[str, str] = {}

    @property
    def python(self) -> Path:
        """The emulated Python, for processes that it starts."""
        return self.folder / "usr" / "bin" / "python3"


DESELECTED = {
    "tests/runtime/commands/test_node_command.py::test_node_environment_holds_the_three_dependencies_only": (
        "the userland also holds pytest, and has the runtime's source tree in place of its wheel"
    ),
    **dict.fromkeys(
        (
            "tests/runtime/test_planted.py::test_file_of_another_user_is_not_used_in_a_shared_folder",
            "tests/runtime/test_planted.py::test_link_of_another_user_is_not_followed",
            "tests/runtime/trust/test_keys.py::test_a_file_of_another_user_is_refused",
        ),
        "the userland has no other user",
    ),
    "tests/runtime/supervision/test_hostile_features.py::test_hostile_feature_costs_only_itself[exhausted memory]": (
        "the emulator limits no memory"
    ),
    **dict.fromkeys(
        (
            "tests/runtime/supervision/test_hostile_features.py::test_feature_that_forks_costs_no_worker[fork in C]",
            "tests/runtime/supervision/test_hostile_features.py::test_items_with_any_fault_get_their_own_answers",
        ),
        "the emulator maps all memory in a process that is forked, also what must not be",
    ),
}

AARCH64 = Userland(
    "aarch64",
    CACHE / "aarch64",
    Path(__file__).with_name("userland.sh"),
    # In the versions that are installed here, so that only the processor differs.
    tuple(f"{name}=={version(name)}" for name in WHEELS),
    # Those of a Raspberry Pi 3 and 4. Wheels that need instructions of newer ones die on these, and only on these.
    ("cortex-a53", "cortex-a72"),
    deselected=DESELECTED,
)

DIFFERENCES_SHOWN = 20

Answers = dict[str, dict[str, Any]]


def test(userland: Userland) -> int:
    """Set up, test, compare; return the exit code."""
    began = time.monotonic()
    if code := set_up(userland):
        return code
    sound = [parity(userland), run_tests(userland)]
    say("passed" if all(sound) else "FAILED", began)
    return 0 if all(sound) else 1


def set_up(userland: Userland) -> int:
    """Make the userland unless it is there; return 0, or 77 if it cannot be made here."""
    began, command = time.monotonic(), [str(userland.setup), str(userland.folder), *userland.wheels]
    if code := subprocess.run(command, env=os.environ | {"PYTHON": sys.executable}).returncode:
        return code
    packages = userland.folder / "usr" / "lib" / "python3" / "dist-packages"
    (packages / "polydom.pth").write_text(f"{ROOT / 'runtime'}\n")  # as an editable install, for child processes too
    say(f"{userland.name} userland ready in {userland.folder.relative_to(ROOT)}", began)
    return 0


def parity(userland: Userland) -> bool:
    """Compare what the bundles answer here and on each processor."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_packed(folder / "items.npz", items(150, seed=1)[0])
        arguments: list[str | Path] = ["-m", "tests.aarch64.parity", folder / "items.npz", *build(folder)]
        ours: Answers = json.loads(subprocess.check_output([sys.executable, *arguments], cwd=ROOT))
        return all([alike(ours, arguments, userland, processor) for processor in userland.processors])


def alike(ours: Answers, arguments: Sequence[str | Path], userland: Userland, processor: str) -> bool:
    """Tell whether a processor gives the same answers, and print how many or which differ."""
    began = time.monotonic()
    done = emulated(arguments, userland, processor, stdout=subprocess.PIPE)
    if done.returncode:
        say(f"{processor}: the comparison {ending(done.returncode)}", began)
        return False
    differing = list(differences(ours, json.loads(done.stdout)))
    for line in differing[:DIFFERENCES_SHOWN]:
        print(f"  {line}")
    kinds = ", ".join(f"{len(found):,} {kind} ({n_distinct(found)} distinct)" for kind, found in ours.items())
    say(f"{processor} and this machine, {kinds}: " + (f"{len(differing):,} DIFFER" if differing else "equal"), began)
    return not differing


def differences(ours: Answers, theirs: Answers) -> Iterator[str]:
    """Yield a line for each question that is answered differently, or on one side only."""
    for kind in ours:
        for question in ours[kind] | theirs[kind]:
            here, there = (found[kind].get(question, "nothing") for found in (ours, theirs))
            if here != there:
                yield f"{kind}, {question}: here {here}, there {there}"


def n_distinct(found: dict[str, Any]) -> int:
    """Return how many distinct answers there are: equal ones tell little if all are the same."""
    return len(set(map(str, found.values())))


def run_tests(userland: Userland) -> bool:
    """Run the runtime's tests and doctests, without those that cannot hold there."""
    began, processor = time.monotonic(), userland.processors[-1]
    for name, reason in userland.deselected.items():
        print(f"Not run: {name}, since {reason}.", flush=True)
    # The cache is the host's.
    options = ["-q", "-pno:cacheprovider", *userland.options, *(f"--deselect={name}" for name in userland.deselected)]
    done = emulated(["-m", "pytest", *options, "tests/runtime", "runtime/polydom_runtime"], userland, processor)
    say(f"{processor}: the runtime's tests {ending(done.returncode)}", began)
    return done.returncode == 0


def emulated(
    arguments: Sequence[str | Path], userland: Userland, processor: str, stdout: int | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the emulated Python."""
    environment = os.environ | {"QEMU_CPU": processor, "POLYDOM_NODE_PYTHON": str(userland.python), "CI": "true"}
    return subprocess.run([userland.folder / "run", *arguments], env=environment, cwd=ROOT, stdout=stdout, text=True)


def ending(code: int) -> str:
    """Put a process's exit code in words.

    >>> ending(-4)
    'died of SIGILL'
    """
    return "passed" if code == 0 else f"died of {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"


def say(what: str, began: float) -> None:
    """Print a line with the seconds that it took."""
    print(f"{what} [{time.monotonic() - began:.0f} s]", flush=True)


if __name__ == "__main__":
    sys.exit(test(AARCH64))
