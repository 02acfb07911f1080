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
        *("hypothesis<6.140", "sortedcontainers", "attrs", "prometheus_client"),
    ),
    # That of a Raspberry Pi 2, and what 32-bit systems on newer ones can count on.
    ("cortex-a7",),
    # Printed by pytest as deselected: what is measured with onnxruntime, or tests onnxruntime itself.
    ("-m", "not onnxruntime"),
    DESELECTED,
)

if __name__ == "__main__":
    sys.exit(test(ARMHF))
