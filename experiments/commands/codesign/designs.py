"""What networks take on accelerators, and which of these no other one beats."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from maestro_env.accelerators.accelerator import Accelerator
from maestro_env.experiments.commands.codesign.grid import Grid
from maestro_env.experiments.search.goals import make_goal
from maestro_env.experiments.shown.statistics import Floats
from maestro_env.experiments.study.sweep.axes import LayerSet, Sweep
from maestro_env.experiments.study.sweep.results import Results

ALL = "all"
"""What all networks together are called."""


@dataclass(frozen=True)
class Design:
    """What a workload takes on an accelerator.

    Args:
        workload: a network, or ``ALL``.
        hardware: the accelerator.
        sizes: its values by axis of the grid.
        area_um2: of the PEs and buffers that it has.
        latency_cycles: of all executions of the layers; infinite if one has no valid mapping.
        energy_nj: the same.
        unmapped: names of the layers without a valid mapping.
        value: the sum of the layers' objective over all executions; NaN if one has none.
        gap: how far that sum may be above its least, as a share of it; 0 if all are proven, None of
            a mapper that proves nothing.
    """

    workload: str
    hardware: Accelerator
    sizes: Mapping[str, int]
    area_um2: float
    latency_cycles: float
    energy_nj: float
    unmapped: tuple[str, ...] = ()
    value: float = math.nan
    gap: float | None = None

    @property
    def edp(self) -> float:
        """Latency times energy, in cycles x nJ."""
        return self.latency_cycles * self.energy_nj


def workloads(sweep: Sweep) -> tuple[LayerSet, ...]:
    """Return the networks of a sweep and, if there are several, all of them executed once."""
    sets = sweep.sets
    if len(sets) == 1:
        return sets
    layers = tuple(chain.from_iterable(each.layers for each in sets))
    counts = tuple(chain.from_iterable(each.counts for each in sets))
    return (*sets, LayerSet(ALL, layers, counts))


def designs_of(results: Results, grid: Grid) -> Iterator[Design]:
    """Yield what every workload takes on every accelerator of a sweep of one mapper and seed."""
    sweep = results.sweep
    values, bounds = (results.figures[name][0, :, :, 0, 0] for name in ("value", "bound"))
    found = ~np.isnan(values)
    for part in workloads(sweep):
        totals = results.totals(part)
        latency, energy = (totals[name][0, :, 0, 0] for name in ("latency_cycles", "energy_nj"))
        for index, hardware in enumerate(sweep.hardware):
            left = dict.fromkeys(layer for layer in part.layers if not found[layer, index])
            unmapped = tuple(sweep.layers[layer].name for layer in left)
            found_sum, least_sum = (
                float(np.dot(part.counts, each[list(part.layers), index]))
                for each in (values, bounds)
            )
            gap = None if math.isnan(least_sum) else max(found_sum / least_sum - 1, 0.0)
            has = hardware, grid.sizes[hardware.name], grid.area_um2(hardware)
            takes = float(latency[index]), float(energy[index])
            yield Design(part.name, *has, *takes, unmapped, found_sum, gap)


def above_bound(design: Design, sweep: Sweep) -> float | None:
    """Return how far a mapped workload's objective is above its bound, as a share of it.

    The bound is that of the searches, or without proofs the sum of what no mapping of a layer goes
    below, whether one reaches it or not; None without either.
    """
    if design.gap is not None:
        return design.gap
    part = next(each for each in workloads(sweep) if each.name == design.workload)
    least = 0.0
    for layer, count in zip(part.layers, part.counts, strict=True):
        asked = sweep.layers[layer], design.hardware, sweep.objectives[0]
        bound = make_goal(sweep.problem, *asked).lower_bound
        if not bound:
            return None
        least += count * bound
    return max(design.value / least - 1, 0.0)


def front_of(designs: Iterable[Design]) -> list[Design]:
    """Return the designs that no other one beats, the fastest first.

    One beats another if it has no more latency, energy or area, and less of one. Of equal ones the
    first is kept; those without latency are left out.
    """
    mapped = [each for each in designs if not each.unmapped]
    figures = [(each.latency_cycles, each.energy_nj, each.area_um2) for each in mapped]
    rows = _least(np.array(figures, dtype=np.float64).reshape(-1, 3))
    return [mapped[row] for row in rows]


def _least(figures: Floats) -> Sequence[int]:
    """Return the rows that no other one beats, in ascending order of figures float64[N, 3]."""
    kept: list[int] = []
    front: NDArray[np.float64] = np.empty((0, figures.shape[1]))
    # Sorts are stable, and what beats a row stands before it.
    for row in np.lexsort(figures.T[::-1]).tolist():
        if not (front <= figures[row]).all(axis=1).any():
            kept.append(row)
            front = figures[kept]
    return kept
