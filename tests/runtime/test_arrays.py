"""Functions that newer versions of numpy have, and older ones lack."""

import numpy as np
import pytest

from polydom_runtime.arrays import bit_counts


def test_every_feature_counts_in_the_size_of_a_set_without_a_function_of_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(np, "bitwise_count", raising=False)
    masks = [*(1 << k for k in range(61)), *((1 << k) - 1 for k in range(61)), 0x0123_4567_89AB_CDEF]

    assert bit_counts(np.array(masks)).tolist() == [mask.bit_count() for mask in masks]
