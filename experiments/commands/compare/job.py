"""The comparison of mappers: a study, and its tables, ledger and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.commands.compare.config import CompareConfig
from experiments.search.goals import split_layers
from experiments.shell.files import write_text
from experiments.study.plots import draw
from experiments.study.standings import Contest
from experiments.study.study import Study, conduct, make_study
from experiments.study.tables import (
    LEGEND,
    markdown,
    seconds_sheet,
    sheets,
    write_ledger,
    write_seconds,
    write_table,
)


def execute(config: CompareConfig) -> int:
    """Do what a config asks and return the exit status."""
    return conduct(resolve(config), "compare", "compare", _report)


def resolve(config: CompareConfig) -> Study:
    """Look up everything a config names."""
    layers, objectives = split_layers(config.layers), config.objectives.split(",")
    return make_study(config, layers, objectives, ("--mappers", config.mappers))


def _report(study: Study, directory: Path, contests: Sequence[Contest], _: bool) -> None:
    tables = list(sheets(study, contests))
    write_text(directory / "table.md", markdown(study, tables))
    write_table(directory / "table.csv", study, contests)
    write_ledger(directory / "ledger.csv", study, contests)
    write_seconds(directory / "seconds.csv", contests)
    pictures = list(draw(study, contests, directory))
    for sheet in (*tables, seconds_sheet(study, contests)):
        sheet.print()
        print()
    print(LEGEND)
    print(f"tables: {directory / 'table.md'}")
    for path in pictures:
        print(f"plot: {path}")
