"""Types of arrays that mappers share, whose shapes docstrings give, and errors of their files."""

import tokenize
import zipfile
import zlib

import numpy as np
from numpy.typing import NDArray

Booleans = NDArray[np.bool_]
Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
Integers = NDArray[np.int64]

UNREADABLE = (
    *(OSError, LookupError, TypeError, ValueError, EOFError, NotImplementedError),
    *(SyntaxError, tokenize.TokenError, zipfile.BadZipFile, zlib.error),
)
"""What reading a damaged file of ``numpy.savez`` raises."""
