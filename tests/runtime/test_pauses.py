"""Freed memory stays in the process."""

import subprocess
import sys

SCRIPT = """
import resource, numpy as np
from polydom_runtime.pauses import keep_freed_memory
assert keep_freed_memory({keep})
def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(50):
        np.ones(500_000)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
faults()
print(faults())
"""


def test_kept_memory_is_not_faulted_in_again() -> None:
    """Fifty arrays of 4 MB are 1,000 pages each where they are mapped anew; nothing where they are not."""
    said = [
        subprocess.run([sys.executable, "-c", SCRIPT.format(keep=keep)], capture_output=True, text=True, check=True)
        for keep in (True, False)
    ]
    kept, returned = (int(done.stdout) for done in said)

    assert kept < 50
    assert returned > 5_000
