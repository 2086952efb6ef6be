"""What the cells of a sweep have found, read chunk by chunk: a table, and totals of networks."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, cast

import numpy as np

from maestro_env.accelerators.hardware import Hardware
from maestro_env.experiments.shell.files import (
    csv_cell,
    read_each,
    replacing,
    write_csv,
    write_text,
)
from maestro_env.experiments.shell.printing import print_lines
from maestro_env.experiments.shown.statistics import Floats, iqm
from maestro_env.experiments.shown.tables import Keyed, Table, figure, named, significant
from maestro_env.experiments.store.claims import Claim
from maestro_env.experiments.study.sweep.axes import LayerSet, Sweep
from maestro_env.experiments.study.sweep.chunks import FIGURES, NUMBERS, VECTOR, Chunk, Columns
from maestro_env.models import has_levels

TABLE = "results.csv"
"""The table of all cells."""

HEADER = ("layer", "hardware", "objective", "mapper", "seed", *FIGURES, VECTOR)
"""The columns of the table of cells."""

TOTALS = ("latency_cycles", "energy_nj", "edp", "l1_bytes", "l2_bytes", "area_um2", "ratio")
"""What a set of layers takes on an accelerator.

Latency and energy are sums over all executions of the layers, EDP is the product of the sums.
Buffers are as large as the most demanding layer needs, and the area is that of one accelerator with
such buffers; with other memories than the two there is neither. The ratio is the geometric mean
over layers of the value found to the best value that any mapper found from any seed.
"""

SUMMARY = ("set", "hardware", "objective", "mapper", *TOTALS, "cells", "mapped", "valid")
"""The columns of the summary."""

_MOST_ROWS = 100


@dataclass(frozen=True, eq=False)
class Results:
    """What the cells of a sweep have found.

    Args:
        sweep: whose cells they are.
        figures: by name of ``NUMBERS``, float64[M, L, H, O, S]: mappers, layers,
            accelerators, objectives, seeds. NaN where a cell has none or was not searched.
    """

    sweep: Sweep
    figures: dict[str, Floats]

    @property
    def searched(self) -> int:
        """Number of cells that were searched."""
        return int(np.count_nonzero(~np.isnan(self.figures["evaluations"])))

    @property
    def seconds(self) -> float:
        """What the searches took, one after the other."""
        return float(np.nansum(self.figures["seconds"]))

    def totals(self, part: LayerSet) -> dict[str, Floats]:
        """Return ``TOTALS`` of a set of layers, float64[M, H, O, S] each.

        They are infinite where a layer has no valid mapping, or no such figure.
        """
        found = {
            name: np.nan_to_num(self.figures[name][:, part.layers], nan=np.inf)
            for name in ("latency_cycles", "energy_nj", "l1_bytes", "l2_bytes")
        }
        counts = np.array(part.counts, dtype=np.float64)[:, np.newaxis, np.newaxis, np.newaxis]
        latency = (found["latency_cycles"] * counts).sum(axis=1)
        energy = (found["energy_nj"] * counts).sum(axis=1)
        l1, l2 = (found[name].max(axis=1) for name in ("l1_bytes", "l2_bytes"))
        totals = (latency, energy, latency * energy, l1, l2, self._area(l1, l2), self._ratio(part))
        return dict(zip(TOTALS, totals, strict=True))

    def _area(self, l1_bytes: Floats, l2_bytes: Floats) -> Floats:
        """Return the area of accelerators with such buffers, float64[M, H, O, S]."""
        area = np.full(l1_bytes.shape, np.inf)
        for place in zip(*np.nonzero(np.isfinite(l1_bytes)), strict=True):
            hardware = cast(Hardware, self.sweep.hardware[place[1]])
            area[place] = hardware.area_um2(float(l1_bytes[place]), float(l2_bytes[place]))
        return area

    def _ratio(self, part: LayerSet) -> Floats:
        values = np.nan_to_num(self.figures["value"][:, part.layers], nan=np.inf)
        best = values.min(axis=(0, 4), keepdims=True)
        ratios = np.divide(values, best, out=np.full_like(values, np.inf), where=best < np.inf)
        mean: Floats = np.exp(np.log(ratios).mean(axis=1))
        return mean


def collect(chunks: Sequence[Chunk], table: Path | None = None) -> Results:
    """Read all chunks of a sweep, one at a time; write the table of their cells too.

    Args:
        chunks: of one sweep, at least one; those not searched yet are left out.
        table: of all cells, as CSV, in the order of the chunks; None for none.

    Raises:
        RecordError: a damaged record, or a table that cannot be written; the message names it.
    """
    sweep = chunks[0].sweep
    figures = np.full((len(NUMBERS), len(sweep.mappers), sweep.cells_of_mapper), np.nan)

    def read() -> Iterator[Sequence[object]]:
        for chunk, found in read_each((partial(_read, each) for each in chunks), chunks[0].again):
            if found is not None:
                columns, numbers = found
                figures[:, chunk.mapper, chunk.start : chunk.stop] = numbers
                yield from _rows(chunk, columns)

    if table is None:
        for _ in read():
            pass
    else:
        with replacing(table) as temporary, temporary.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(HEADER)
            writer.writerows(map(csv_cell, row) for row in read())
    named = zip(NUMBERS, figures, strict=True)
    return Results(sweep, {name: each.reshape(sweep.shape) for name, each in named})


def _read(chunk: Chunk) -> tuple[Chunk, tuple[Columns, Floats] | None]:
    return chunk, chunk.read()


def _rows(chunk: Chunk, columns: Columns) -> Iterator[Sequence[object]]:
    sweep, mapper = chunk.sweep, chunk.sweep.mappers[chunk.mapper]
    figures = zip(*(columns[name] for name in (*FIGURES, VECTOR)), strict=True)
    for cell, found in enumerate(figures, chunk.start):
        problem, seed = divmod(cell, sweep.seeds)
        yield (*sweep.names(problem), mapper, sweep.seed + seed, *found)


def summarize(results: Results) -> Iterator[tuple[Any, ...]]:
    """Yield a row of ``SUMMARY`` for every set of layers, accelerator, objective and mapper.

    Totals are interquartile means over seeds, None where a layer has no valid mapping from some of
    the seeds that count. Of ``cells`` searched, ``mapped`` have a valid mapping; ``valid`` is the
    share of valid samples.
    """
    sweep = results.sweep
    for part in sweep.sets:
        means = {name: iqm(np.moveaxis(each, -1, 0)) for name, each in results.totals(part).items()}
        sums = {
            name: np.nansum(results.figures[name][:, part.layers], axis=(1, 4))
            for name in ("evaluations", "valid")
        }
        counts = {
            name: np.count_nonzero(~np.isnan(results.figures[name][:, part.layers]), axis=(1, 4))
            for name in ("evaluations", "value")
        }
        mappers, _, hardware, objectives, _ = map(range, sweep.shape)
        for h, o, m in product(hardware, objectives, mappers):
            place = (m, h, o)
            spent = float(sums["evaluations"][place])
            yield (
                *(part.name, sweep.hardware[h].name, sweep.objectives[o], sweep.mappers[m]),
                *(_finite(float(means[name][place])) for name in TOTALS),
                *(int(counts[name][place]) for name in ("evaluations", "value")),
                float(sums["valid"][place]) / spent if spent else None,
            )


def summary_table(results: Results, summary: Sequence[tuple[Any, ...]]) -> Table:
    """Return the first rows of ``summarize`` as a table."""
    sweep = results.sweep
    hours = significant(results.seconds / 3600, 3)
    title = f"{results.searched:,} of {sweep.cells:,} cells, {hours} hours of searches"
    columns = (
        *("latency\ncycles", "energy\nnJ", "EDP\ncycles x nJ", "area\num^2", "times\nbest"),
        *("mapped\ncells", "valid\nsamples"),
    )
    rows = [_cells(dict(zip(SUMMARY, row, strict=True))) for row in summary[:_MOST_ROWS]]
    needs = "; buffers are as large as the most demanding layer needs"
    sized = any(map(has_levels, sweep.hardware))
    note = (
        "Interquartile means over seeds. Latency and energy are sums over all executions of the "
        f"layers, EDP is their product{needs if sized else ''}. "
        "Times best: geometric mean over layers of the best value to the best one that any mapper "
        "found."
    )
    if len(summary) > _MOST_ROWS:
        note += f" These are the first {_MOST_ROWS} of {len(summary):,} rows; summary.csv has all."
    return Table(title, ("layers of", "hardware", "objective", "mapper"), columns, rows, note)


def _cells(row: dict[str, Any]) -> list[Keyed]:
    ratio, valid = row["ratio"], row["valid"]
    return [
        *(named(row[name]) for name in ("set", "hardware", "objective", "mapper")),
        *(figure(row[name]) for name in ("latency_cycles", "energy_nj", "edp", "area_um2")),
        figure(ratio, f"{ratio or 0:.4f}"),
        figure(row["mapped"], f"{row['mapped']:,} of {row['cells']:,}"),
        figure(valid, f"{valid or 0:.1%}"),
    ]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def report(chunks: Sequence[Chunk], directory: Path) -> None:
    """Write the table of cells and the summary, and print the summary."""
    results = collect(chunks, directory / TABLE)
    rows = list(summarize(results))
    write_csv(directory / "summary.csv", SUMMARY, rows)
    table = summary_table(results, rows)
    write_text(directory / "summary.md", table.markdown())
    table.print()
    print_lines("", f"cells: {directory / 'results.csv'}", f"summary: {directory / 'summary.csv'}")


def conclude(chunks: Sequence[Chunk], directory: Path) -> None:
    """Write the tables, unless chunks are left to other processes."""
    ended = sum(chunk.path.exists() or chunk.error_path.exists() for chunk in chunks)
    if ended < len(chunks):
        print_lines(
            f"chunks: {ended:,} of {len(chunks):,} are in {directory}; "
            "the tables follow when all are"
        )
        return
    claim = Claim(directory / TABLE)
    if not claim.take():
        print_lines(f"tables: another process writes them to {directory}")
        return
    try:
        report(chunks, directory)
    finally:
        claim.give_back()
