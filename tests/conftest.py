"""For all tests."""

import gc

import pytest


def pytest_collection_finish(session: pytest.Session) -> None:
    """Leave what the tests have imported out of each full garbage collection: it stays to the end anyway."""
    gc.collect()
    gc.freeze()
