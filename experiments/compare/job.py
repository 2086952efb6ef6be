"""The comparison of mappers: a study, and its tables, ledger and pictures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from experiments.cells import Cell, Finished
from experiments.compare.config import CompareConfig, resolve
from experiments.compare.csv_tables import ledger_csv, seconds_csv, table_csv
from experiments.files import write_text
from experiments.study import Study, conduct
from experiments.study_plots import draw
from experiments.study_tables import LEGEND, markdown, seconds_sheet, sheets
from experiments.tables import print_table


def execute(config: CompareConfig) -> int:
    """Do what a config asks and return the exit status."""
    return conduct(resolve(config), "experiments.compare", "compare", _report)


def _report(
    study: Study, directory: Path, finished: Mapping[Cell, Finished], interrupted: bool
) -> None:
    contests = study.contests(finished)
    tables = list(sheets(study, contests))
    write_text(directory / "table.md", markdown(study, tables))
    write_text(directory / "table.csv", table_csv(study, contests))
    write_text(directory / "ledger.csv", ledger_csv(study, contests))
    write_text(directory / "seconds.csv", seconds_csv(contests))
    pictures = list(draw(study, contests, directory))
    for sheet in (*tables, seconds_sheet(study, contests)):
        print_table(sheet.table())
        print()
    print(LEGEND)
    print(f"tables: {directory / 'table.md'}")
    for path in pictures:
        print(f"plot: {path}")
