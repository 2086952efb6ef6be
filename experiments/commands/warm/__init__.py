"""``maestro-env warm``: measure what mappings of similar layers are worth as a start."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from experiments.commands.warm.chain import Chain
from experiments.search.goals import (
    MAPPERS_HELP,
    ProblemConfig,
    find_mappers,
    make_goal,
    require_fit,
    unique,
)
from experiments.shell import cli, flags
from experiments.shell.files import run_directory, write_csv, write_text
from experiments.shell.flags import UsageError, option
from experiments.shown.tables import Sheet
from experiments.store.claims import remove_abandoned
from experiments.store.pool import run_cells
from maestro_env.accelerators.finding import find_hardware
from maestro_env.base.checks import plain_integer
from maestro_env.workloads.finding import find_network


@dataclass(frozen=True)
class _Searches:
    """The flags that say what is searched and how long."""

    networks: str = option(
        "mobilenetv2,resnet50", "networks as map takes them, with commas between"
    )
    objective: str = option("edp", "what to minimise, as run takes it")
    mappers: str = option("ga_log,marl", MAPPERS_HELP)
    samples: str = option("50,100,500", "evaluations of a layer's search, with commas between")
    library: int = option(2000, "evaluations of the search that a library has of a layer", least=1)
    seeds: int = option(10, "searches of a kind, one a seed", least=1, most=10_000)
    seed: int = option(0, "the first seed; the others count up from it")


# Fields of the last base come first, and so do their flags in the help.
@dataclass(frozen=True)
class Config(ProblemConfig, _Searches):
    """Search networks layer by layer, from the mappings of similar layers before and from none."""

    jobs: int = option(1, "networks at a time, each in a process of its own", least=1, most=1024)
    out: str | None = option(
        None, "where to write (default: the first free runs/warm-<n>)", value="directory"
    )
    resume: bool = option(False, "continue what is in --out, or join processes that work on it")


_DRAWS = 2000
_KINDS = {
    "network under way": ("under_way", "cold"),
    "library": ("library", "cold"),
    "library, charged": ("library", "charged"),
}
_HEADER = (
    *("network", "mapper", "samples", "start", "ratio", "low", "high", "pairs"),
    *("only_warm", "only_cold"),
)
_NOTE = (
    "Geometric means over layers and seeds of the least cost found, of searches that start from "
    "similar layers of the network before, to searches that start from none; in brackets the 95 % "
    "bootstrap interval over layers. Both have as many samples a layer, the start included. The "
    "start is what such searches found themselves (network under way) or what a search of "
    "{library:,} samples a layer found (library); charged, the other search has these samples too. "
    "'only': searches of which one of the two found a valid mapping."
)


def execute(config: Config) -> int:
    """Search, write, print, and return the exit status."""
    chains = _resolve(config, Path())
    directory = run_directory(config.out, "warm", config.resume)
    remove_abandoned(directory)
    chains = _resolve(config, directory)
    left = [chain for chain in chains if not chain.path.exists()]
    if status := run_cells(left, len(chains) - len(left), config.jobs):
        if status == cli.INTERRUPTED:
            with cli.undisturbed():
                flags.tell_interrupted("finished", config, "warm", directory)
        return status
    rows = list(_rows(chains))
    write_csv(directory / "table.csv", _HEADER, rows)
    sheet = _sheet(config, rows)
    write_text(directory / "table.md", sheet.markdown())
    sheet.print()
    print(f"\ntable: {directory / 'table.md'}")
    return 0


def _resolve(config: Config, directory: Path) -> list[Chain]:
    """Look up everything a config names."""
    hardware = find_hardware(config.hardware)
    mappers, _ = find_mappers("--mappers", config.mappers)
    samples = sorted({_number(text) for text in config.samples.split(",")})
    seeds = range(config.seed, config.seed + config.seeds)
    goals = {}
    for name in unique(config.networks.split(",")):
        layers = find_network(name).layers
        goals[name] = tuple(make_goal(config, each, hardware, config.objective) for each in layers)
        require_fit(mappers, goals[name])
    return [
        Chain(network, goals[network], mapper, seed, tuple(samples), config.library, directory)
        for seed, network, mapper in product(seeds, goals, mappers)
    ]


def _number(text: str) -> int:
    number = plain_integer(text.strip())
    if number is None or not 0 < number <= 10**6:
        raise UsageError(f"--samples: {text!r}; allowed: integers from 1 to 1000000")
    return number


def _rows(chains: Sequence[Chain]) -> Iterator[tuple[Any, ...]]:
    """Yield a row of the table for every network, mapper, number of samples and start."""
    found = {str(chain): chain.read() for chain in chains}
    for network, mapper in dict.fromkeys((each.network, each.mapper) for each in chains):
        same = [str(each) for each in chains if (each.network, each.mapper) == (network, mapper)]
        numbers = enumerate(chains[0].samples)
        for (index, number), (kind, (warm, cold)) in product(numbers, _KINDS.items()):
            # The first layer has none before it.
            pairs = [
                [(row[warm][index], row[cold][index]) for row in found[name][1:]] for name in same
            ]
            yield network, mapper, number, kind, *_ratio(pairs)


def _ratio(pairs: Sequence[Sequence[tuple[float | None, float | None]]]) -> tuple[Any, ...]:
    """Return the mean ratio with its interval, and how many pairs it is of, by [seed][layer]."""
    layers: list[list[float]] = [[] for _ in pairs[0]]
    only = [0, 0]
    for of_seed in pairs:
        for logs, (warm, cold) in zip(layers, of_seed, strict=True):
            if warm and cold:
                logs.append(math.log(warm / cold))
            elif warm or cold:
                only[0 if warm else 1] += 1
    kept = [logs for logs in layers if logs]
    if not kept:
        return (None, None, None, 0, *only)
    sums = np.array([[sum(logs), len(logs)] for logs in kept])
    drawn = np.random.default_rng(0).integers(len(kept), size=(_DRAWS, len(kept)))
    totals = sums[drawn].sum(axis=1)
    low, high = np.exp(np.percentile(totals[:, 0] / totals[:, 1], [2.5, 97.5])).tolist()
    mean = math.exp(sums[:, 0].sum() / sums[:, 1].sum())
    return (mean, low, high, int(sums[:, 1].sum()), *only)


def _sheet(config: Config, rows: Sequence[tuple[Any, ...]]) -> Sheet:
    shown = []
    for network, mapper, samples, kind, mean, low, high, pairs, *only in rows:
        ratio = "-" if mean is None else f"{mean:.2f} [{low:.2f}, {high:.2f}]"
        shown.append((network, mapper, kind, f"{samples:,}", ratio, str(pairs), *map(str, only)))
    title = f"Warm to cold {config.objective} on {config.hardware}"
    columns = ("samples\na layer", "cost ratio", "pairs", "only\nwarm", "only\ncold")
    note = _NOTE.format(library=config.library)
    return Sheet(title, ("network", "mapper", "start"), columns, shown, note)
