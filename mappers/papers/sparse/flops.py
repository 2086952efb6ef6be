"""Floating-point operations of sparse networks, counted from the weights that exist.

A weight takes two operations for each row: a product and a sum. Its gradient takes as many as its
use, and so does the gradient of its input. Biases, activations, losses and optimisers, which take
one or a few for each number, are left out.

What is counted is what the arithmetic needs. Ordinary kernels compute zeros too: counts are no
times.
"""

from __future__ import annotations

from collections import Counter

PER_LINK = 2
"""Operations of a weight for a row."""


class FlopMeter:
    """Adds up operations by what they are for.

    Attributes:
        spent: operations so far, by purpose.
    """

    def __init__(self) -> None:
        self.spent: Counter[str] = Counter()

    @property
    def total(self) -> int:
        """Operations so far."""
        return self.spent.total()

    def forward(self, purpose: str, links: int, rows: int) -> None:
        """Add what outputs of rows take."""
        self.spent[purpose] += PER_LINK * links * rows

    def update(self, purpose: str, links: int, rows: int) -> None:
        """Add what outputs of rows and the gradients of links and inputs take."""
        self.forward(purpose, 3 * links, rows)

    def dense_gradients(self, purpose: str, links: int, weights: int, rows: int) -> None:
        """Add what outputs of rows and the gradients of inputs and of all weights take.

        The gradient of a weight that does not exist is needed where the steepest grow.
        """
        self.forward(purpose, 2 * links + weights, rows)
