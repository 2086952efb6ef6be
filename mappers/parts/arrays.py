"""Types of arrays that mappers share; docstrings give their shapes."""

import numpy as np
from numpy.typing import NDArray

Booleans = NDArray[np.bool_]
Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
Integers = NDArray[np.int64]
