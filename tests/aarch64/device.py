"""A device with very different costs: measure there, build here, run there. Prints figures and asserts none.

``make bench-aarch64`` runs it, on the userland that ``make test-aarch64`` sets up. Three bundles for the same deadlines
run on the emulated device: planned on its own costs, on this machine's, and on this machine's carried over by a profile
that the device wrote of itself. Emulated code is translated when it first runs, so that early calls are slow by the
millisecond; its deadlines are longer than those of a board.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from polydom_builder.costs.carry_over import carried_fits, ratios
from polydom_builder.costs.cost_fit import CostFit, fit_cost
from polydom_runtime.device.device_profile import DeviceProfile
from polydom_runtime.items.packing import write_packed
from polydom_runtime.measuring.cost_samples import CostSamples
from polydom_runtime.measuring.costs_file import load_costs

from .run import AARCH64, ROOT, set_up

EXAMPLE = ROOT / "examples" / "surface"
DEADLINES_MS = (15, 30, 60)
SECONDS, MAX_SIDE, TRAIN, TEST, QUANTILE = 120, 96, 900, 300, 0.99
HOST = (sys.executable, "-m", "polydom_builder")


def main() -> int:
    """Measure, build and run; print what came of it."""
    if code := set_up(AARCH64):
        return code
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        cut_items(folder)
        node = str(AARCH64.folder / "run")
        measure = ["measure", "surface:space", "--items", "train.npz", "--seconds", str(SECONDS)]
        call(folder, node, "-m", "polydom_runtime", *measure, "--out", "device.costs", "--profile-out", "device.toml")
        call(folder, sys.executable, "-m", "polydom_runtime", *measure, "--out", "here.costs")
        print(call(folder, *HOST, "costs", "device.costs", "--quantile", str(QUANTILE)))
        compare(folder)
        for title, profile in (
            ("its own costs", "device.costs"),
            ("this machine's costs", "here.costs"),
            ("carried over", "device.toml"),
        ):
            build(folder, profile)
            for deadline in DEADLINES_MS:
                print(f"{title:22} {deadline:4} ms: {as_text(run(folder, node, deadline))}", flush=True)
    return 0


def cut_items(folder: Path) -> None:
    """Write patches that are not so large that an emulated Gabor bank takes a second."""
    sys.path.insert(0, str(EXAMPLE))
    from examples.surface.surface import patches

    for part, count in (("train", TRAIN), ("test", TEST)):
        pairs = [pair for pair in zip(*patches(part, 2 * count), strict=True) if max(pair[0].shape) <= MAX_SIDE]
        write_packed(folder / f"{part}.npz", *zip(*pairs[:count], strict=True))


def build(folder: Path, profile: str) -> None:
    """Build ``device.bundle`` for all deadlines."""
    deadlines = f"{DEADLINES_MS[0]}ms:{DEADLINES_MS[-1]}ms"
    command = [
        "build",
        "surface:space",
        "--busy",
        "--items",
        "train.npz",
        "--deadline",
        deadlines,
        "--quantile",
        str(QUANTILE),
    ]
    out = call(folder, *HOST, *command, "--profile", profile, "--out", "device.bundle", "--cache", "cache")
    print("\n" + "\n".join(out.splitlines()[-2:]))


def run(folder: Path, node: str, deadline: int) -> dict[str, Any]:
    """Answer the test items on the device."""
    command = ["run", "device.bundle", "surface:space", "--items", "test.npz", "--deadline", f"{deadline}ms", "--quiet"]
    summary: dict[str, Any] = json.loads(call(folder, node, "-m", "polydom_runtime", *command).splitlines()[-1])
    return dict(summary["summary"])


def as_text(summary: dict[str, Any]) -> str:
    """Return the figures of one run in a line."""
    shares = ", ".join(f"{name} {share:.2f}" for name, share in summary["elapsed_share"].items())
    most = next(iter(summary["features"]))
    return (
        f"accuracy {summary['accuracy']:.3f}, missed {summary['missed']}/{summary['items']}, "
        f"elapsed/deadline {shares}, mostly {most}"
    )


def compare(folder: Path) -> None:
    """Print how far carried-over costs are from those measured there."""
    here, there = load_costs(folder / "here.costs"), load_costs(folder / "device.costs")
    by_kernel = ratios(DeviceProfile.load(folder / "device.toml"), here.kernels)
    carried, measured = carried_fits(fits(here), by_kernel), fits(there)
    n = float(np.sqrt(there.sizes[0] * there.sizes[-1]))
    print(f"\nestimated / measured there, at size {n:.0f}:   typical  worst case   (times slower there)")
    for unit in there.units:
        typical = carried[unit].typical(n) / measured[unit].typical(n)
        worst = carried[unit].worst(n) / measured[unit].worst(n)
        slower = float(np.median(there.of(unit)) / np.median(here.of(unit)))
        print(f"  {unit:36} {typical:10.2f}  {worst:10.2f}   ({slower:.1f})")
    print("kernels, times slower there: " + ", ".join(f"{k} {r.typical:.1f}" for k, r in by_kernel.items()))


def fits(samples: CostSamples) -> dict[str, CostFit]:
    """Fit every unit."""
    return {
        unit: fit_cost(samples.sizes, samples.of(unit), QUANTILE, samples.typical_of(unit)) for unit in samples.units
    }


def call(folder: Path, *command: str) -> str:
    """Run a command beside the example and return what it prints."""
    paths = os.pathsep.join((str(EXAMPLE), str(ROOT / "runtime")))
    environment = {**os.environ, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with code {done.returncode}: {done.stderr[-1000:]}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
