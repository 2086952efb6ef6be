"""Writes and prints what a sweep has found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.shell.files import write_csv, write_text
from experiments.shown.tables import Sheet, significant
from experiments.study.sweep.chunks import Chunk
from experiments.study.sweep.results import SUMMARY, TABLE, Results, collect, summarize
from maestro_env.base.errors import printable

_MOST_ROWS = 100


def report(chunks: Sequence[Chunk], directory: Path) -> None:
    """Write the table of cells and the summary, and print the summary."""
    results = collect(chunks, directory / TABLE)
    rows = list(summarize(results))
    write_csv(directory / "summary.csv", SUMMARY, rows)
    sheet = _sheet(results, rows)
    write_text(directory / "summary.md", sheet.markdown())
    sheet.print()
    print()
    print(printable(f"cells: {directory / 'results.csv'}"))
    print(printable(f"summary: {directory / 'summary.csv'}"))


def _sheet(results: Results, rows: Sequence[tuple[Any, ...]]) -> Sheet:
    sweep = results.sweep
    hours = significant(results.seconds / 3600, 3)
    title = f"{results.searched:,} of {sweep.cells:,} cells, {hours} hours of searches"
    columns = (
        *("latency\ncycles", "energy\nnJ", "EDP\ncycles x nJ", "area\num^2", "times\nbest"),
        *("mapped\ncells", "valid\nsamples"),
    )
    shown = [_cells(dict(zip(SUMMARY, row, strict=True))) for row in rows[:_MOST_ROWS]]
    note = (
        "Interquartile means over seeds. Latency and energy are sums over all executions of the "
        "layers, EDP is their product; buffers are as large as the most demanding layer needs. "
        "Times best: geometric mean over layers of the best value to the best one that any mapper "
        "found."
    )
    if len(rows) > _MOST_ROWS:
        note += f" These are the first {_MOST_ROWS} of {len(rows):,} rows; summary.csv has all."
    return Sheet(title, ("layers of", "hardware", "objective", "mapper"), columns, shown, note)


def _cells(row: dict[str, Any]) -> list[str]:
    figures = (row[name] for name in ("latency_cycles", "energy_nj", "edp", "area_um2"))
    return [
        *(row[name] for name in ("set", "hardware", "objective", "mapper")),
        *("-" if each is None else significant(each, 5) for each in figures),
        "-" if row["ratio"] is None else f"{row['ratio']:.4f}",
        f"{row['mapped']:,} of {row['cells']:,}",
        "-" if row["valid"] is None else f"{row['valid']:.1%}",
    ]
