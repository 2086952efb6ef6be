"""Writes and prints what a sweep has found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from maestro_env.experiments.shell.files import write_csv, write_text
from maestro_env.experiments.shell.printing import print_lines
from maestro_env.experiments.study.sweep.chunks import Chunk
from maestro_env.experiments.study.sweep.results import (
    SUMMARY,
    TABLE,
    collect,
    summarize,
    summary_sheet,
)


def report(chunks: Sequence[Chunk], directory: Path) -> None:
    """Write the table of cells and the summary, and print the summary."""
    results = collect(chunks, directory / TABLE)
    rows = list(summarize(results))
    write_csv(directory / "summary.csv", SUMMARY, rows)
    sheet = summary_sheet(results, rows)
    write_text(directory / "summary.md", sheet.markdown())
    sheet.print()
    print_lines("", f"cells: {directory / 'results.csv'}", f"summary: {directory / 'summary.csv'}")
