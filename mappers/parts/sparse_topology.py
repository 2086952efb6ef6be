"""How masks change while networks learn: dynamic sparse training.

Now and then the smallest weights of each matrix are dropped and others are grown, where the loss
has the steepest gradient (RigL: Evci et al., *Rigging the Lottery*, 2020) or at random (SET: Mocanu
et al., 2018). Grown weights begin at 0, without a history in the optimiser, so that what a network
computes changes only by what is dropped.

Weights that do not exist are zeros of ordinary tensors. A network computes with these tensors and
no masks, so that its gradients are dense, as growth needs them; an optimiser is given gradients
times ``Topology.masks``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from maestro_env.base.errors import MaestroEnvError
from maestro_env.mappers.parts.arrays import Booleans, Floats, Integers


class SparsityError(MaestroEnvError, ValueError):
    """A density or a share of weights that is not allowed."""


def link_counts(shapes: Sequence[tuple[int, int]], density: float) -> list[int]:
    """Return how many weights of each matrix exist; together round(density * all weights).

    They are in proportion to inputs + outputs, but at most all of a matrix: wide matrices are the
    sparsest (Mocanu et al., 2018).

    Raises:
        SparsityError: a density that is not above 0 and at most 1.
    """
    if not 0 < density <= 1:
        raise SparsityError(f"density is {density}; allowed: above 0, at most 1")
    sizes = np.array([inputs * outputs for inputs, outputs in shapes])
    total = round(density * int(sizes.sum()))
    exact = _shares(total, sizes, np.array([sum(shape) for shape in shapes]))
    counts = np.floor(exact).astype(np.int64)
    # Those that lose most by rounding get what is left.
    most = np.argsort(counts - exact, kind="stable")[: total - counts.sum()]
    counts[most] += 1
    found: list[int] = counts.tolist()
    return found


def random_mask(shape: tuple[int, int], count: int, rng: np.random.Generator) -> Booleans:
    """Return where so many weights exist, bool of a shape; all are equally likely."""
    mask = np.zeros(shape[0] * shape[1], dtype=bool)
    mask[rng.choice(len(mask), count, replace=False)] = True
    return mask.reshape(shape)


def _shares(total: int, sizes: Integers, weights: Integers) -> Floats:
    """Return shares of a total in proportion to weights, none above its size."""
    shares = sizes.astype(np.float64)
    free = np.ones(len(sizes), dtype=bool)
    while free.any():
        # What the full ones leave.
        left = total - sizes[~free].sum()
        shares[free] = left * weights[free] / weights[free].sum()
        full = free & (shares >= sizes)
        if not full.any():
            break
        shares[full] = sizes[full]
        free &= ~full
    return shares


@dataclass(frozen=True)
class Matrix:
    """A sparse matrix: a parameter of a network, or a part of one.

    Args:
        parameter: number of the parameter among those of the network.
        part: what of it is the matrix, such as ``(agent, slice(inputs), slice(outputs))``; all of
            it by default.
    """

    parameter: int
    part: tuple[int | slice, ...] = ()

    def of(self, tensors: Sequence[Tensor]) -> Tensor:
        """Return a view of the matrix in tensors that are shaped as the parameters."""
        return tensors[self.parameter][self.part]


class Topology:
    """The weights of a network that exist.

    Args:
        parameters: of the network.
        matrices: the sparse ones; all other weights exist.
        density: share of the weights of all matrices that exist.
        rng: draws the first masks, and what grows at random.

    Attributes:
        masks: 1 where a weight exists, 0 elsewhere; one for each parameter, of its shape. They
            change in place.
        links: how many weights of each matrix exist, counted from the masks.
        sizes: how many weights each matrix has.
    """

    def __init__(
        self,
        parameters: Sequence[Tensor],
        matrices: Sequence[Matrix],
        density: float,
        rng: np.random.Generator,
    ) -> None:
        self._parameters, self._matrices, self._rng = parameters, matrices, rng
        self.masks = [torch.ones_like(each, requires_grad=False) for each in parameters]
        self._shapes = [tuple(each.of(parameters).shape) for each in matrices]
        self.sizes = [inputs * outputs for inputs, outputs in self._shapes]
        counts = link_counts(self._shapes, density)
        for matrix, shape, count in zip(matrices, self._shapes, counts, strict=True):
            matrix.of(self.masks).copy_(torch.from_numpy(random_mask(shape, count, rng)))
        with torch.no_grad():
            for parameter, mask in zip(parameters, self.masks, strict=True):
                parameter.mul_(mask)
        self._count()

    def evolve(
        self,
        share: float,
        gradients: Sequence[Tensor] | None,
        moments: Sequence[Sequence[Tensor]],
        *,
        random: float = 0.0,
        density: float | None = None,
    ) -> None:
        """Drop the smallest weights of each matrix, and grow others.

        What was just dropped may grow again, from 0.

        Args:
            share: of the weights that exist that are dropped; more are where a lower density needs
                it.
            gradients: of all weights, whether they exist or not; the largest grow. None to grow at
                random.
            moments: what the optimiser remembers of each parameter, as of ``adam_moments``; it
                becomes 0 where a weight was dropped or grown.
            random: share of what grows that is drawn at random all the same.
            density: after it; None for as many weights of each matrix as before.

        Raises:
            SparsityError: a share or a density that is not allowed.
        """
        for name, value in (("share", share), ("random", random)):
            if not 0 <= value <= 1:
                raise SparsityError(f"{name} is {value}; allowed: 0 to 1")
        counts = self.links if density is None else link_counts(self._shapes, density)
        with torch.no_grad():
            for matrix, count in zip(self._matrices, counts, strict=True):
                mask, weights = matrix.of(self.masks), matrix.of(self._parameters)
                present = int(mask.sum())
                drops = max(round(share * present), present - count)
                dropped = _largest(-weights.abs(), mask > 0, drops)
                mask[dropped] = 0
                steep = None if gradients is None else matrix.of(gradients).abs()
                grown = self._grown(mask == 0, count - present + drops, steep, random)
                mask[grown] = 1
                for each in (self._parameters, *moments):
                    matrix.of(each)[dropped | grown] = 0
        self._count()

    def _grown(self, free: Tensor, count: int, steep: Tensor | None, random: float) -> Tensor:
        """Return which of the free weights grow, bool: the steepest, some or all at random."""
        grown = torch.zeros_like(free)
        by_chance = count
        if steep is not None:
            by_chance = round(random * count)
            grown = _largest(steep, free, count - by_chance)
        if by_chance:
            noise = torch.from_numpy(self._rng.random(tuple(free.shape)))
            grown |= _largest(noise, free & ~grown, by_chance)
        return grown

    def _count(self) -> None:
        self.links = [int(each.of(self.masks).sum()) for each in self._matrices]


def adam_moments(adam: torch.optim.Optimizer, parameters: Sequence[Tensor]) -> list[list[Tensor]]:
    """Return what Adam or AdamW remembers of each parameter: the means of gradient and square.

    Before its first step there is nothing, and the list is empty.
    """
    states = [adam.state[each] for each in parameters]
    return [[state[name] for state in states] for name in ("exp_avg", "exp_avg_sq") if all(states)]


def cosine_share(first: float, done: float) -> float:
    """Return the share of weights to drop after a part of the training, from ``first`` to 0."""
    return first / 2 * (1 + math.cos(math.pi * min(done, 1)))


def _largest(scores: Tensor, where: Tensor, count: int) -> Tensor:
    """Return where the largest scores are, bool; of equal ones, the first."""
    flat = torch.where(where, scores, -math.inf).flatten()
    if count == 0:
        return torch.zeros_like(where)
    # Sorting a million scores would take a tenth of a second.
    least = float(np.partition(flat.numpy(), -count)[-count])
    found = flat > least
    found[(flat == least).nonzero()[: count - int(found.sum()), 0]] = True
    return found.reshape(where.shape)
