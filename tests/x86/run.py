"""What depends on arithmetic, with the instruction sets of older x86-64 processors.

``make test-x86`` runs it. numpy and OpenBLAS are told to leave out newer instructions; all libraries, onnxruntime among
them, run on emulated processors: one without AVX, one with AVX2 and FMA and without AVX-512. Bundles must choose and
answer there as they do here. Exit code 77, after a line that starts with SKIPPED, means that nothing was emulated.
"""

import importlib
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.aarch64.run import CACHE, ROOT, Userland, emulated, ending, parity, say

NUMPY_SETS: tuple[str, ...] = tuple(importlib.import_module("numpy._core._multiarray_umath").__cpu_dispatch__)
"""The instruction sets beyond the oldest that numpy has code for."""

WITHOUT_AVX512 = " ".join(name for name in NUMPY_SETS if "512" in name or name == "X86_V4")

HERE = {
    "numpy without AVX-512, OpenBLAS of Haswell": (WITHOUT_AVX512, "Haswell"),
    "numpy with the oldest instructions, OpenBLAS of Nehalem": (" ".join(NUMPY_SETS), "Nehalem"),
}

ARITHMETIC = (
    *(
        f"tests/builder/{room}"
        for room in ("training", "costs", "sets", "families", "lattice", "index", "simulation", "bundling")
    ),
    *("tests/property", "tests/runtime/kernels", "tests/runtime/policy", "tests/runtime/measuring/test_tails.py"),
)

KERNELS = (
    *(f"tests/builder/training/test_{name}.py" for name in ("kernels", "onnx", "agreeing_engines", "least_cost")),
    *("tests/builder/costs/test_cost_fit.py", "tests/runtime/kernels", "tests/runtime/measuring/test_tails.py"),
)
"""Some thirty times slower, these take two minutes."""

X86 = Userland(
    "x86-64",
    CACHE / "x86",
    Path(__file__).with_name("userland.sh"),
    (sys.executable, " ".join(NUMPY_SETS)),
    processors=("Nehalem", "Haswell"),
)


def main() -> int:
    """Run all; return the exit code."""
    began, sound = time.monotonic(), [run_here(name) for name in HERE]
    code = subprocess.run([X86.setup, X86.folder, *X86.wheels]).returncode
    if code == 0:
        sound += [parity(X86), *run_emulated()]
    say("passed" if all(sound) else "FAILED", began)
    return code if all(sound) else 1


def run_here(name: str) -> bool:
    """Run the tests of what depends on arithmetic, without newer instructions."""
    began, (left_out, blas) = time.monotonic(), HERE[name]
    environment = os.environ | {"NPY_DISABLE_CPU_FEATURES": left_out, "OPENBLAS_CORETYPE": blas, "CI": "true"}
    command = [sys.executable, "-m", "pytest", "-q", "-nauto", "--maxprocesses=4", "--dist=loadfile", *ARITHMETIC]
    done = subprocess.run(command, env=environment, cwd=ROOT)
    say(f"{name}: the tests {ending(done.returncode)}", began)
    return done.returncode == 0


def run_emulated() -> list[bool]:
    """Run the tests of kernels and of parity on both emulated processors at a time."""
    began, options = time.monotonic(), ["-m", "pytest", "-q", "-pno:cacheprovider", *KERNELS]
    with ThreadPoolExecutor() as pool:
        done = list(pool.map(lambda processor: emulated(options, X86, processor), X86.processors))
    for processor, process in zip(X86.processors, done, strict=True):
        say(f"{processor}: the tests of kernels {ending(process.returncode)}", began)
    return [process.returncode == 0 for process in done]


if __name__ == "__main__":
    sys.exit(main())
