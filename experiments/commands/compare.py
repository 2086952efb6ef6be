"""``maestro-env compare``: compare mappers over layers, objectives and seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from maestro_env.evaluation.objectives import OBJECTIVE_HELP
from maestro_env.experiments.search.named_mappers import MAPPERS_HELP
from maestro_env.experiments.shell.files import write_text
from maestro_env.experiments.shell.flags import option, split_layers
from maestro_env.experiments.shell.printing import print_lines
from maestro_env.experiments.study.plots import draw
from maestro_env.experiments.study.standings import Contest
from maestro_env.experiments.study.study import Study, StudyConfig, conduct, make_study
from maestro_env.experiments.study.tables import (
    markdown,
    print_tables,
    tables,
    write_ledger,
    write_seconds,
    write_table,
)
from maestro_env.models import has_levels, room_of


@dataclass(frozen=True)
class _Problems:
    """The flags that say what is searched."""

    layers: str = option(
        "resnet18_l2,resnet18_l16,alexnet_l2,gpt2_l4",
        "layers as for run, separated by commas",
    )
    objectives: str = option(
        "latency,edp",
        f"what to minimise, separated by commas: {OBJECTIVE_HELP}",
    )
    mappers: str = option("all", MAPPERS_HELP)


@dataclass(frozen=True)
class Config(StudyConfig, _Problems):
    """Compare mappers on layers and objectives; write tables, a ledger and figures."""


def execute(config: Config) -> int:
    """Do what a config asks and return the exit status."""
    return conduct(resolve(config), "compare", "compare", _report)


def resolve(config: Config) -> Study:
    """Look up everything a config names."""
    layers, objectives = split_layers(config.layers), config.objectives.split(",")
    return make_study(config, layers, objectives, ("--mappers", config.mappers))


def _report(study: Study, directory: Path, contests: Sequence[Contest], _: bool) -> None:
    every = list(tables(study, contests))
    write_text(directory / "table.md", markdown(study, every))
    write_table(directory / "table.csv", study, contests)
    write_ledger(directory / "ledger.csv", study, contests)
    write_seconds(directory / "seconds.csv", contests)
    print_tables(study, contests)
    for each in contests:
        if each.why_none:
            print_lines(f"{each.layer}, {each.objective}: {each.why_none}")
    hardware = contests[0].goal.problem.hardware
    if not has_levels(hardware):
        print_lines(f"on {hardware.name}", *room_of(hardware.MODEL).summary(hardware))
    print_lines(f"tables: {directory / 'table.md'}")
    draw(study, contests, directory)
