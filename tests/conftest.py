"""What holds for every test: hypothesis reads no clock, so that no law fails because the machine is busy."""

import gc
import os

import pytest
from hypothesis import HealthCheck, settings

from tests.draws import draws

IN_CI = "CI" in os.environ
"""There the same examples are tried each time, so that a failure comes from the change; elsewhere they vary."""

settings.register_profile(
    "tests",
    deadline=None,
    max_examples=draws(25, 100),
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=IN_CI,
    print_blob=IN_CI,
)
settings.load_profile("tests")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Leave what the tests have imported out of each full garbage collection: it stays to the end anyway."""
    gc.collect()
    gc.freeze()
