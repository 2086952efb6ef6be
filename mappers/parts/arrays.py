"""Types of arrays that mappers share, whose shapes docstrings give, and files of arrays."""

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maestro_env.base.errors import Refuse

Booleans = NDArray[np.bool_]
Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
Integers = NDArray[np.int64]

_MOST_BYTES = 2**28
"""Of all arrays of a file: a small one may say that it holds any number of zeros."""


@contextmanager
def opened_checkpoint(path: Path | str, refuse: Refuse) -> Iterator[Any]:
    """Open a file of ``numpy.savez``; ``refuse`` makes the error of whatever is wrong in the block.

    Raises:
        MaestroEnvError: of that kind.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(each.file_size for each in archive.infolist())
        if size > _MOST_BYTES:
            raise ValueError(f"it has {size:,} bytes of arrays; allowed: {_MOST_BYTES:,}")
        with np.load(path, allow_pickle=False) as file:
            yield file
    except Exception as error:  # noqa: BLE001 (a damaged file makes its readers raise anything)
        raise refuse(f"cannot read the checkpoint {path}: {error}") from None
