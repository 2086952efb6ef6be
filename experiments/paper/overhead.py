"""Section VI-E: what clustering costs, and groups learnt on one layer reused on others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, fields
from itertools import product

from clustering import cluster
from experiments.cells import Finished
from experiments.csv_files import write_csv
from experiments.datasets import collect
from experiments.files import ensure_directory, write_text
from experiments.paper.arena import Arena, make_arenas
from experiments.paper.item import Item, Places, Run, Scale, Section
from experiments.paper.overhead_section import (
    NONE,
    OWN,
    PERCENT,
    RANDOM,
    RATIOS,
    REUSED,
    SAMPLES,
    SOURCE,
    make_section,
)
from experiments.paper.ratio_rows import RatioRow, ratio_rows
from experiments.paper.reach import Reach, samples_to_cost
from experiments.paper.searches import goal
from maestro_env.map_space import MapSpace

_NAME = "overhead"
_HARDWARE = "paper"
_PAIRS = ((REUSED, OWN), (REUSED, RANDOM), (OWN, RANDOM), (REUSED, NONE))


class Overhead(Item):
    """Own, reused and random groups on the reporting layers that have the source's parameters."""

    name = _NAME
    title = "Section VI-E: overhead, and groups reused on other layers"

    def prepare(self, scale: Scale, places: Places) -> None:
        ensure_directory(places.work)
        for objective in scale.objectives:
            run = Run(SOURCE, objective, "random", 0, scale.samples, _HARDWARE)
            found = collect(goal(run), run.mapper, run.samples, run.seed, places.work)
            groups = cluster(found.samples).groups
            write_text(places.work / _groups_file(objective), groups.to_json())

    def runs(self, scale: Scale) -> Iterable[Run]:
        for layer, objective in product(_layers(scale), scale.objectives):
            for mapper in _mappers(objective).values():
                for seed in range(scale.seeds):
                    yield Run(layer, objective, mapper, seed, scale.samples, _HARDWARE)
            yield Run(layer, objective, "ga", 0, scale.long_samples, _HARDWARE)

    def write(self, finished: Mapping[Run, Finished], scale: Scale, places: Places) -> None:
        arenas = make_arenas(finished, scale.samples)
        write_csv(
            places.results / SAMPLES,
            ("objective", "layer", "groups", *Reach.header(), "warm_up"),
            (row for arena in arenas for row in _samples(arena)),
        )
        for name in map(_groups_file, scale.objectives):
            write_text(places.results / name, (places.work / name).read_text(encoding="utf-8"))
        write_csv(
            places.results / RATIOS,
            ("objective", "groups", "to", *(field.name for field in fields(RatioRow))),
            (row for objective in scale.objectives for row in _ratios(arenas, objective, scale)),
        )

    def section(self, places: Places) -> Section:
        return make_section(places)


def _mappers(objective: str) -> dict[str, str]:
    """Return the mappers by the groups they have."""
    return {
        OWN: "marl_clustered",
        REUSED: f"marl_clustered:groups={_NAME}/{_groups_file(objective)}",
        RANDOM: "marl_clustered:agents=6:grouping=random",
        NONE: "marl",
    }


def _groups_file(objective: str) -> str:
    return f"{SOURCE}-{objective}.json"


def _layers(scale: Scale) -> list[str]:
    return [layer for layer in scale.layers if _parameters(layer) == _parameters(SOURCE)]


def _parameters(layer: str) -> list[str]:
    space: MapSpace = goal(Run(layer, "latency", "marl", 0, 1, _HARDWARE)).problem.space
    return [parameter.name for parameter in space.parameters]


def _samples(arena: Arena) -> Iterator[list[object]]:
    contest = arena.contest
    target = (1 + PERCENT / 100) * contest.best_known
    for groups, mapper in _mappers(contest.objective).items():
        if arena.has(mapper):
            searches = contest.searches[mapper]
            reach = samples_to_cost(searches, target)
            warm_up = max(each.warm_up for each in searches)
            yield [contest.objective, contest.layer, groups, *reach.row(), warm_up]


def _ratios(arenas: list[Arena], objective: str, scale: Scale) -> Iterator[list[object]]:
    here = [arena for arena in arenas if arena.contest.objective == objective]
    mappers = _mappers(objective)
    for groups, other in _PAIRS:
        for row in ratio_rows(here, mappers[groups], mappers[other], scale.checkpoints):
            yield [objective, groups, other, *astuple(row)]
