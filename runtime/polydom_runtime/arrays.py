"""Short names for the array types that annotations use."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

Masks = NDArray[np.int64]
"""Feature sets as bit masks."""
