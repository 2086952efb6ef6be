"""Sparse matrices in the core: products and gradients of the weights that exist, of no others."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from maestro_env import _native

COLUMNS = 16
"""Columns come in multiples of it."""

_Floats = NDArray[np.float32]


class SparseLinks(Protocol):
    """The weights of a matrix [inputs, outputs] that exist, n of them, output after output.

    What a layer takes and gives has a column for each row of a batch, C of them, so that a weight
    meets numbers that lie next to each other. All raise ValueError for arrays of other shapes.
    """

    @property
    def places(self) -> NDArray[np.int64]:
        """Where the weights stand in the matrix laid out flat, int64[n]."""

    def forward(self, weights: _Floats, biases: _Floats, inputs: _Floats) -> _Floats:
        """Return float32[outputs, C] of inputs float32[inputs, C].

        The bits of a column do not depend on the others.

        Args:
            weights: float32[n].
            biases: float32[outputs].
            inputs: as above.
        """

    def backward(
        self, weights: _Floats, inputs: _Floats, of_outputs: _Floats, to_inputs: bool
    ) -> tuple[_Floats, _Floats | None]:
        """Return the gradients of weights, float32[n], and, if asked for, inputs.

        Args:
            weights: float32[n].
            inputs: float32[inputs, C].
            of_outputs: gradients, float32[outputs, C].
            to_inputs: whether those of the inputs are wanted.
        """


def sparse_links(mask: NDArray[np.bool_]) -> SparseLinks:
    """Make the links of a mask, bool[inputs, outputs].

    Raises:
        ValueError: a mask of another shape, or of more than 2^30 entries.
    """
    return _native.SparseLinks(mask)
