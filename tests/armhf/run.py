"""The runtime on an emulated 32-bit ARM processor, with Debian's numpy and msgpack, and without onnxruntime.

``make test-armhf`` runs it; see `tests.aarch64.run`. Models run in numpy there, in onnxruntime here.
"""

import sys
from pathlib import Path

from tests.aarch64.run import CACHE, DESELECTED, Userland, test

ARMHF = Userland(
    "armhf",
    CACHE / "armhf",
    Path(__file__).with_name("userland.sh"),
    # Newer versions of hypothesis have code for the processor.
    (
        *("pytest", "iniconfig", "pluggy", "packaging", "pygments"),
        *("hypothesis<6.140", "sortedcontainers", "attrs", "prometheus_client", "paho-mqtt"),
    ),
    # That of a Raspberry Pi 2, and what 32-bit systems on newer ones can count on.
    ("cortex-a7",),
    # Printed by pytest as deselected: what is measured with onnxruntime, or tests onnxruntime itself.
    ("-m", "not onnxruntime"),
    {
        **DESELECTED,
        "tests/runtime/supervision/test_supervisor.py::test_worker_that_died_is_replaced_in_a_rehearsal": (
            "the emulator has a thread of its own, which may hold the connection of a killed worker for a moment"
        ),
    },
)

if __name__ == "__main__":
    sys.exit(test(ARMHF))
