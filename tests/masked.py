"""Draws masked samples of the layer zoo on every preset, and counts those that are invalid.

python tests/masked.py [SAMPLES [LAYERS]] draws at least so many vectors under the model exact,
whose masks are complete: over so many layers of the zoo, every preset, schema and kind of tiles, as
many of each space that has a valid mapping. It fails if one of them is invalid.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import product

import numpy as np

from maestro_env.accelerators.hardware import PRESETS
from maestro_env.evaluation.cost_and_status import OK
from maestro_env.evaluation.masks import Masks
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.space import TILES
from maestro_env.mapspace.two_level_space import SCHEMAS, MapSpace
from maestro_env.workloads.finding import all_layers
from maestro_env.workloads.layer import Layer

_BLOCK = 1 << 16


def zoo(count: int) -> list[Layer]:
    """Return layers of different shapes, from all over the zoo."""
    shapes = {(each.operator, each.dimensions): each for each in all_layers()}
    layers = list(shapes.values())
    chosen = np.linspace(0, len(layers) - 1, min(count, len(layers))).round().astype(int)
    return [layers[index] for index in chosen]


def problems(layers: list[Layer]) -> Iterator[Problem]:
    for layer, machine, schema, tiles in product(layers, PRESETS.values(), SCHEMAS, TILES):
        yield Problem(MapSpace(layer, machine, schema, tiles))


def invalid_samples(masks: Masks, samples: int, rng: np.random.Generator) -> int:
    """Draw masked samples and return how many of them are invalid."""
    invalid = 0
    for start in range(0, samples, _BLOCK):
        points = masks.sample(min(_BLOCK, samples - start), rng)
        status = masks.problem.evaluate(points).status
        invalid += int(np.count_nonzero(status != OK))
    return invalid


def main(samples: int = 10_000_000, layers: int = 50) -> None:
    rng = np.random.default_rng(0)
    masks = [Masks(each) for each in problems(zoo(layers))]
    assert all(each.complete for each in masks)
    some = [each for each in masks if each.allowed([]).any()]
    share = -(-samples // len(some))
    invalid = sum(invalid_samples(each, share, rng) for each in some)
    sys.stdout.write(
        f"{share * len(some):,} masked samples of {len(some)} spaces of {layers} layers on "
        f"{', '.join(PRESETS)}: {invalid} invalid; {len(masks) - len(some)} spaces have no valid "
        "mapping\n"
    )
    assert invalid == 0


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
