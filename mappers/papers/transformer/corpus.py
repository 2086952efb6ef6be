"""A corpus of mapped networks: documents of tokens, each made from its number.

A document draws an accelerator, an objective and a network of the zoo, of other widths and
resolutions in one half of them. Each layer is mapped by the prior, as its best proposal.
Rows begin with accelerator and objective; then come layers with their mappings, as many as fit.

The shipped prior was trained with all layers of the zoo: what is held out here, it has seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from maestro_env.accelerators.hardware import PRESETS, Hardware
from maestro_env.base.checks import look_up
from maestro_env.evaluation.objectives import OBJECTIVES, Objective
from maestro_env.evaluation.problem import Problem
from maestro_env.mappers.papers.transformer.tokens import END, encode, of_layer, of_machine
from maestro_env.mappers.parts.arrays import Booleans
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.prior.proposals import Prior, propose
from maestro_env.workloads.finding import models
from maestro_env.workloads.layer import Layer

WIDTH = 129
"""Tokens of a row: as many as a model reads, and one that follows."""

# Of everything drawn.
_SEED = 0
_OBJECTIVES = ("latency", "energy", "edp")
# Octaves from which an accelerator is drawn: PEs, bytes of L1 and of L2, words per cycle of the
# network and off-chip.
_FIGURES = ((3, 14), (6, 14), (14, 25), (3, 10), (2, 8))
# Octaves from which widths and resolutions of networks are drawn.
_WIDTHS, _SIDES = (-2.0, 1.0), (-1.0, 0.5)
# The colours of an image and the one row of a linear layer stay as they are.
_FEW = 3


@dataclass(frozen=True, eq=False)
class TokenRows:
    """Rows of a corpus.

    Args:
        tokens: int16[N, W], ``END`` behind the last sentence.
        chosen: whether a token is of a mapping, bool[N, W]; the others are of problems.
    """

    tokens: NDArray[np.int16]
    chosen: Booleans


@dataclass(frozen=True)
class Corpus:
    """Which documents there are.

    Args:
        networks: of the zoo, which documents are drawn from.
        held: networks of which no layer is in any document, nor one that has the same tokens.
        varied: whether half of the networks have other widths and resolutions.

    Raises:
        UnknownNameError: no such network in the zoo.
    """

    networks: tuple[str, ...]
    held: tuple[str, ...] = ()
    varied: bool = True

    def __post_init__(self) -> None:
        for name in (*self.networks, *self.held):
            look_up("network", name, models())

    def rows(self, number: int, prior: Prior) -> TokenRows:
        """Return the rows of a document: as many as its network needs, none if no layer fits.

        Args:
            number: of the document, from 0.
            prior: whose mappings are taken.
        """
        rng = np.random.default_rng([_SEED, number])
        hardware, objective = _machine(rng), OBJECTIVES[str(rng.choice(_OBJECTIVES))]
        layers = self._layers(rng)
        sentences = (_sentence(layer, hardware, objective, prior) for layer in layers)
        return _packed(of_machine(hardware, objective), filter(None, sentences))

    def _layers(self, rng: np.random.Generator) -> list[Layer]:
        """Draw the layers of a network, each once, without those that are held out."""
        layers: Sequence[Layer] = models()[str(rng.choice(self.networks))]
        if self.varied and rng.random() < 0.5:
            width, side = 2 ** rng.uniform(*_WIDTHS), 2 ** rng.uniform(*_SIDES)
            layers = [_scaled(layer, width, side) for layer in layers]
        by_tokens = {tuple(of_layer(layer)): layer for layer in layers}
        return [layer for said, layer in by_tokens.items() if said not in self._held_tokens]

    @cached_property
    def _held_tokens(self) -> frozenset[tuple[int, ...]]:
        return frozenset(tuple(of_layer(layer)) for name in self.held for layer in models()[name])


def split(held: Sequence[str]) -> tuple[Corpus, Corpus]:
    """Return the corpora for training and validation, which have no layer in common.

    Args:
        held: networks of the zoo for validation, as they are; all others are for training.
    """
    others = tuple(name for name in models() if name not in held)
    return Corpus(others, tuple(held)), Corpus(tuple(held), varied=False)


def _machine(rng: np.random.Generator) -> Hardware:
    """Draw an accelerator, one of the presets or any with equal chance."""
    if rng.random() < 0.5:
        return PRESETS[str(rng.choice(list(PRESETS)))]
    pes, l1, l2, network, offchip = (round(2 ** rng.uniform(*ends)) for ends in _FIGURES)
    return Hardware(pes, l1, l2, network, offchip)


def _scaled(layer: Layer, width: float, side: float) -> Layer:
    """Return a layer with other numbers of channels, rows and columns."""
    extents = dict(layer.extents)
    factors = dict.fromkeys("KC" if layer.is_convolution else "NK", width) | {"M": side}
    for dim in factors.keys() & extents.keys():
        if extents[dim] > _FEW:
            extents[dim] = max(1, round(factors[dim] * extents[dim]))
    for axis, window, stride in zip("YX", "RS", layer.stride, strict=True):
        if axis in extents:
            outputs = max(1, round(side * layer.loop_extents[f"{axis}'"]))
            extents[axis] = (outputs - 1) * stride + extents[window]
    return Layer(layer.operator, extents, layer.stride)


Sentence = tuple[list[int], list[int]]
"""Tokens of a layer, and of its mapping."""


def _sentence(
    layer: Layer, hardware: Hardware, objective: Objective, prior: Prior
) -> Sentence | None:
    """Map a layer; None if no mapping fits."""
    problem = Problem(MapSpace(layer, hardware))
    (points,) = propose([problem], [objective], 1, prior)
    return (of_layer(layer), encode(problem.space, points[0])) if len(points) else None


def _packed(header: list[int], sentences: Iterable[Sentence]) -> TokenRows:
    """Write sentences into rows, none across two."""
    rows: list[tuple[list[int], list[bool]]] = []
    for asked, chosen in sentences:
        if not rows or len(rows[-1][0]) + len(asked) + len(chosen) > WIDTH:
            rows.append(([*header], [False] * len(header)))
        rows[-1][0].extend([*asked, *chosen])
        rows[-1][1].extend([False] * len(asked) + [True] * len(chosen))
    tokens = np.full((len(rows), WIDTH), END, dtype=np.int16)
    mapped = np.zeros((len(rows), WIDTH), dtype=bool)
    for row, (written, chosen_there) in enumerate(rows):
        tokens[row, : len(written)] = written
        mapped[row, : len(written)] = chosen_there
    return TokenRows(tokens, mapped)
