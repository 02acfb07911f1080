"""One cache for all tests of a worker: what one test has trained and converted, no other test trains again.

Searches that must train by themselves, such as those whose trainings are counted, are given `memory=None`.
"""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory


@cache
def _folder() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="polydom-tests-", ignore_cleanup_errors=True)


def shared_memory() -> Path:
    """Return the folder of the cache; it goes when the process ends."""
    return Path(_folder().name)
