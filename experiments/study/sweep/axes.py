"""What a sweep searches: its axes, and the cells that they make, which no list holds."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple, cast

from maestro_env.accelerators.accelerator import Accelerator
from maestro_env.experiments.search.goals import Goal, ProblemConfig, make_goal
from maestro_env.experiments.shell.flags import UsageError, require_distinct
from maestro_env.models import accelerator_record
from maestro_env.workloads.layer import Layer
from maestro_env.workloads.network import Network, gather, shape_of

LAYERS = "layers"
"""What the set of the layers that belong to no network is called."""

MOST_CELLS = 10_000_000


class LayerSet(NamedTuple):
    """A network, or the layers that belong to none.

    Args:
        name: in tables.
        layers: indices into the layers of the sweep.
        counts: how often each layer is executed.
    """

    name: str
    layers: tuple[int, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Sweep:
    """The axes of a sweep; ``make_sweep`` checks them.

    A problem is a layer on an accelerator for an objective, a cell a search: a problem, a mapper
    and a seed. Cells of one mapper are counted from 0 with the seeds innermost, then objectives,
    accelerators and layers.

    Args:
        problem: cost model, schema and the like; its hardware is not read.
        layers: no two compute the same, and their names differ.
        sets: the networks that the layers belong to.
        hardware: accelerators.
        objectives: their names.
        mappers: their names.
        samples: evaluations of one search.
        seeds: searches a problem and mapper, one a seed.
        seed: the first one.
    """

    problem: ProblemConfig
    layers: tuple[Layer, ...]
    sets: tuple[LayerSet, ...]
    hardware: tuple[Accelerator, ...]
    objectives: tuple[str, ...]
    mappers: tuple[str, ...]
    samples: int
    seeds: int
    seed: int = 0

    @property
    def shape(self) -> tuple[int, int, int, int, int]:
        """Number of mappers, layers, accelerators, objectives and seeds: M, L, H, O, S."""
        axes = (self.mappers, self.layers, self.hardware, self.objectives)
        m, n, h, o = map(len, axes)
        return m, n, h, o, self.seeds

    @property
    def problems(self) -> int:
        """Number of problems."""
        return len(self.layers) * len(self.hardware) * len(self.objectives)

    @property
    def cells_of_mapper(self) -> int:
        """Number of cells of one mapper."""
        return self.problems * self.seeds

    @property
    def cells(self) -> int:
        """Number of cells."""
        return len(self.mappers) * self.cells_of_mapper

    def names(self, problem: int) -> tuple[str, str, str]:
        """Return the names of a problem's layer, accelerator and objective."""
        layer, hardware, objective = self._axes(problem)
        return layer.name, hardware.name, objective

    def goal(self, problem: int) -> Goal:
        """Make the goal of a problem."""
        return make_goal(self.problem, *self._axes(problem))

    def goals(self) -> Iterator[Goal]:
        """Make the goals of all problems, one after the other."""
        return map(self.goal, range(self.problems))

    def part(self, problems: range) -> Part:
        """Return no more of it than some consecutive problems need."""
        accelerators = len(self.hardware)
        first, last = (each // len(self.objectives) for each in (problems[0], problems[-1]))
        pairs = range(first, min(last + 1, first + accelerators))
        return Part(
            self.problem,
            self.layers[first // accelerators : last // accelerators + 1],
            (),
            tuple(self.hardware[pair % accelerators] for pair in pairs),
            self.objectives,
            self.mappers,
            self.samples,
            self.seeds,
            self.seed,
            whole=self.digest,
            accelerators=accelerators,
            first=first,
        )

    def describe(self) -> dict[str, Any]:
        """Return everything that decides the results, as JSON holds it."""
        names = ("objectives", "mappers", "samples", "seeds", "seed")
        others = (each.name for each in fields(ProblemConfig) if each.name != "hardware")
        problem = {name: getattr(self.problem, name) for name in others}
        return {
            # Older records have nothing to keep.
            "problem": {name: each for name, each in problem.items() if each is not None},
            "layers": [_described(layer) for layer in self.layers],
            "sets": [[each.name, list(each.layers), list(each.counts)] for each in self.sets],
            "hardware": [accelerator_record(each) for each in self.hardware],
            **json.loads(json.dumps({name: getattr(self, name) for name in names})),
        }

    @cached_property
    def digest(self) -> str:
        """What no other sweep has."""
        text = json.dumps(self.describe(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def _axes(self, problem: int) -> tuple[Layer, Accelerator, str]:
        pair, objective = divmod(problem, len(self.objectives))
        layer, hardware = divmod(pair, len(self.hardware))
        return self.layers[layer], self.hardware[hardware], self.objectives[objective]


@dataclass(frozen=True, kw_only=True)
class Part(Sweep):
    """A sweep whose layers and accelerators are those of some consecutive problems alone.

    It has the names, the goals and the digest of the sweep; other processes need no more.

    Args:
        whole: digest of the sweep.
        accelerators: of the sweep.
        first: pair of a layer and an accelerator; the pairs are counted as the problems are.
    """

    whole: str
    accelerators: int
    first: int

    @cached_property
    def digest(self) -> str:
        return self.whole

    def part(self, problems: range) -> Part:
        return self

    def _axes(self, problem: int) -> tuple[Layer, Accelerator, str]:
        pair, objective = divmod(problem, len(self.objectives))
        layer = pair // self.accelerators - self.first // self.accelerators
        # The accelerators begin with that of the first pair.
        hardware = (pair - self.first) % self.accelerators
        return self.layers[layer], self.hardware[hardware], self.objectives[objective]


def make_sweep(
    problem: ProblemConfig,
    networks: Iterable[Network],
    layers: Sequence[Layer],
    hardware: Sequence[Accelerator],
    objectives: Sequence[str],
    mappers: Sequence[str],
    samples: int,
    seeds: int = 1,
    seed: int = 0,
) -> Sweep:
    """Make a sweep; a layer that several networks have is searched once.

    Args:
        problem: cost model, schema and the like; its hardware is not read.
        networks: whose layers are searched.
        layers: to search that belong to no network.
        hardware: accelerators; their names differ.
        objectives: names of objectives, or products of metrics.
        mappers: their names, settings behind a colon, as ``find_mappers`` returns them.
        samples: evaluations of one search.
        seeds: searches a problem and mapper.
        seed: the first one.

    Raises:
        UsageError: two of a kind, or too many cells.
    """
    named = [(each.name, each.layers) for each in networks]
    if layers:
        named.append((LAYERS, tuple(replace(each, count=1) for each in layers)))
    _require_different("networks", [name for name, _ in named])
    _require_different("hardware", [each.name for each in hardware])
    shapes = ((each.name or str(each), shape_of(each)) for each in layers)
    require_distinct(LAYERS, shapes, "the same")
    keys = ((each.name, replace(cast(Any, each), name="")) for each in hardware)
    require_distinct("hardware", keys, "the same accelerator")
    # Equal layers are counted under the name of the first; names that repeat get a number.
    distinct = gather("sweep", (each for _, parts in named for each in parts)).layers
    place = {shape_of(layer): index for index, layer in enumerate(distinct)}
    sets = tuple(
        LayerSet(
            name,
            tuple(place[shape_of(each)] for each in parts),
            tuple(each.count for each in parts),
        )
        for name, parts in named
    )
    axes = (tuple(hardware), tuple(objectives), tuple(mappers))
    plain = tuple(replace(layer, count=1) for layer in distinct)
    sweep = Sweep(problem, plain, sets, *axes, samples, seeds, seed)
    if sweep.cells > MOST_CELLS:
        raise UsageError(
            f"the sweep has {sweep.cells:,} cells; allowed: {MOST_CELLS:,}; split it into several"
        )
    return sweep


def _require_different(key: str, names: Iterable[str]) -> None:
    for name, times in Counter(names).items():
        if times > 1:
            raise UsageError(f"{key}: {times} of them are called {name}: their names must differ")


def _described(layer: Layer) -> dict[str, Any]:
    return {
        "name": layer.name,
        "operator": layer.operator,
        "extents": dict(layer.extents),
        "stride": list(layer.stride),
    }
