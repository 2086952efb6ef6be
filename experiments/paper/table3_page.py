"""The section of Table III, made of its result files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from experiments.paper.counts import MARL, PAPERS
from experiments.paper.item import Section
from experiments.paper.rows import read_rows
from experiments.paper.table3_claims import claims
from experiments.paper.table3_rows import PERCENTS
from experiments.paper.table3_text import (
    CLUSTERED_ON_EDGE,
    LEGEND,
    Row,
    Rows,
    Seeds,
    cheaper_forms,
    label,
    misprints,
    ratio,
    twins_told,
)
from experiments.sheets import Sheet, significant

_PRINTED = ("printed", "recomputed")
_MISSING = "-"
_NEVER = "never"
_DIGITS = 4
_ELSEWHERE = {"without": "none", "alone": "alone"}


def section(results: Path) -> Section:
    """Make the section.

    Raises:
        RecordError: a file cannot be read.
    """
    networks, ratios, arrivals, leads, lines, cells, fewer = (
        read_rows(results / f"{name}.csv")
        for name in ("networks", "ratios", "arrivals", "leads", "acceptance", "cells", "fewer")
    )
    seeds = Seeds(cells)
    sheets = [
        *_network_sheets(networks, seeds),
        *_ratio_sheets(ratios, seeds),
        *_arrival_sheets(arrivals, seeds),
        _acceptance_sheet(lines),
        _leads_sheet(leads, seeds),
        _cells_sheet(cells, fewer, seeds),
    ]
    texts = [LEGEND, seeds.told(), misprints(networks)]
    texts.append(twins_told(_unique(row["layer"] for row in cells)))
    if any(row["hardware"] == "edge" for row in cells):
        texts.append(CLUSTERED_ON_EDGE)
    body = "\n".join([*(f"{text}\n" for text in texts), *(s.markdown(level=3) for s in sheets)])
    return Section(claims(networks, ratios, lines, fewer), body)


def _network_sheets(rows: Rows, seeds: Seeds) -> Iterator[Sheet]:
    """One table a network and objective: what the paper's Table III has."""
    exact = [row for row in rows if row["model"] == "exact"]
    for network, objective in dict.fromkeys((row["network"], row["objective"]) for row in exact):
        here = [row for row in rows if (row["network"], row["objective"]) == (network, objective)]
        found = {(row["model"], row["mapper"], row["layer"]): row for row in here}
        layers = _unique(row["layer"] for row in here if row["layer"])
        table = []
        for mapper in _unique(row["mapper"] for row in here):
            row = found["exact", mapper, ""]
            maestro = found.get(("maestro", mapper, ""))
            table.append(
                [
                    label(mapper, _of(row, len(layers)), seeds.fewer("exact", mapper)),
                    *(_ratio(found["exact", mapper, layer]) for layer in layers),
                    f"**{_ratio(row)}**",
                    _MISSING if maestro is None else _ratio(maestro),
                    *(f"{float(row[name]):.2f}" if row[name] else _MISSING for name in _PRINTED),
                ]
            )
        maestro_too = label("under maestro", seeds.fewer("maestro"))
        headers = (*layers, "all of them", maestro_too, "paper prints", "paper's own values")
        sums = [row for row in here if not row["layer"]]
        yield Sheet(
            f"As the paper has it: {network}, {objective}",
            "Ratios at the end of the search, on `paper` hardware. Paper's own values: the ratio "
            "of the values it prints." + cheaper_forms(sums, lambda row: f"under {row['model']}"),
            "mapper",
            headers,
            table,
        )


def _ratio_sheets(rows: Rows, seeds: Seeds) -> Iterator[Sheet]:
    at = _unique(row["samples"] for row in rows)
    for group in _unique(row["group"] for row in rows):
        here = [row for row in rows if row["group"] == group]
        cells, model = here[0]["cells"], _model(group)
        table = []
        for mapper in _unique(row["mapper"] for row in here):
            found = [row for row in here if row["mapper"] == mapper]
            remarks = _of(found[0], cells), seeds.fewer(model, mapper)
            table.append([label(mapper, *remarks), *map(_ratio, found)])
        yield Sheet(
            f"Cost after so many samples: {group} ({cells} cells)",
            "Ratios after so many samples." + cheaper_forms(here, _after),
            "mapper",
            [f"{int(each):,}" for each in at],
            table,
        )


def _arrival_sheets(rows: Rows, seeds: Seeds) -> Iterator[Sheet]:
    for group in _unique(row["group"] for row in rows):
        here = [row for row in rows if row["group"] == group]
        found = {(row["mapper"], row["percent"]): row for row in here}
        table = [
            [
                label(mapper, seeds.fewer(_model(group), mapper)),
                *(_arrival(found[mapper, str(percent)]) for percent in PERCENTS),
            ]
            for mapper in _unique(row["mapper"] for row in here)
        ]
        yield Sheet(
            f"Samples to near the best known: {group}",
            "Median over all searches of all cells (share of searches that arrive).",
            "mapper",
            [f"within {percent} %" for percent in PERCENTS],
            table,
        )


def _acceptance_sheet(rows: Rows) -> Sheet:
    table = [
        [
            row["what"],
            row["threshold"] or _MISSING,
            row["measured"],
            row["holds"] or _MISSING,
            row["note"],
        ]
        for row in rows
    ]
    note = (
        "Reporting cells under `exact`. Within the interval of the best: MARL's interquartile mean "
        "is finite and at most the upper end of the 95 % bootstrap interval of that of the best "
        "other mapper; where that end is infinite, at most that mean itself. The threshold for "
        "samples to near the best known was set without saying by which measure: both are held "
        "against it. Samples for each search that gets there: those of all searches, until they do "
        f"or end, for each one that does (`expected_to_{PERCENTS[1]}` in `cells.csv`); samples of "
        f"the median search: medians over seeds (`median_to_{PERCENTS[1]}`). Cells that lack a "
        "search that the line needs count as missing."
    )
    headers = ("threshold", "measured", "holds", "note")
    return Sheet("What MARL was to reach", note, "what", headers, table)


def _leads_sheet(rows: Rows, seeds: Seeds) -> Sheet:
    at = _unique(row["samples"] for row in rows)
    found = {(row["against"], row["samples"]): row for row in rows}
    table = [
        [
            label(against, seeds.fewer("exact", against)),
            *(
                "{yes} of {counted}".format(**found[against, samples])
                if found[against, samples]["counted"] != "0"
                else _MISSING
                for samples in at
            ),
        ]
        for against in _unique(row["against"] for row in rows)
    ]
    return Sheet(
        "Cells where MARL is best, or within the interval of the best",
        "Against the best of several mappers, and against each alone.",
        "against",
        [f"{int(each):,}" for each in at],
        table,
    )


def _cells_sheet(cells: Rows, fewer: Rows, seeds: Seeds) -> Sheet:
    """One row a reporting cell under ``exact``."""
    iqms = [name for name in cells[0] if name.startswith("iqm_")] if cells else []
    shown = (iqms[1], iqms[-1]) if iqms else ()
    near = f"median_to_{PERCENTS[1]}"
    times = {_key(row): row["times"] for row in fewer if row["single_agent"] == "ppo"}
    table = []
    for key in dict.fromkeys(_key(row) for row in cells if row["model"] == "exact"):
        found = {row["mapper"]: row for row in cells if _key(row) == key}
        _, hardware, layer, objective = key
        entry = [f"{layer}, {objective}, {hardware}"]
        for figure in shown:
            entry += [_times_best(found.get(MARL), figure), _least(found, figure)]
        papers = [float(found[mapper][near]) for mapper in PAPERS if mapper in found]
        own = [float(found[MARL][near])] if MARL in found else []
        entry += [_samples(own), _samples(papers), _times(times.get(key))]
        table.append(entry)
    headers = []
    for figure in shown:
        samples = f"{int(figure.removeprefix('iqm_')):,}"
        headers += [f"MARL at {samples}", f"best of the paper's at {samples}"]
    headers += [
        f"MARL to {PERCENTS[1]} %",
        f"soonest of the paper's to {PERCENTS[1]} %",
        "times fewer than ppo",
    ]
    note = (
        "Cells under `exact`. Interquartile means in multiples of the best known; medians of "
        "samples. Times fewer than ppo: samples of a search of ppo divided by MARL's to the "
        "median of ppo's bests; none "
        "where that median is infinite, and 0 where MARL's median search never gets there. All "
        "mappers are in `cells.csv`."
    )
    few = [label(name, told) for name in PAPERS if (told := seeds.fewer("exact", name))]
    note += f" With fewer seeds: {', '.join(few)}." if few else ""
    return Sheet("Every reporting cell", note, "cell", headers, table)


def _key(row: Row) -> tuple[str, ...]:
    return tuple(row[name] for name in ("model", "hardware", "layer", "objective"))


def _ratio(row: Row) -> str:
    parts = [ratio(row)] if row["ratio"] else []
    parts += [f"{word} in {row[name]}" for name, word in _ELSEWHERE.items() if row[name] != "0"]
    return ", ".join(parts) or _MISSING


def _of(row: Row, cells: int | str) -> str:
    """Say in how many of the cells a ratio is, if not in all."""
    return "" if row["of"] == str(cells) else f"{row['of']} of {cells}"


def _after(row: Row) -> str:
    return f"after {int(row['samples']):,} samples"


def _model(group: str) -> str:
    """Return the model of a group of cells."""
    return group.partition(",")[0]


def _arrival(row: Row) -> str:
    return f"{_samples([float(row['median'])])} ({float(row['share']):.0%})"


def _samples(figures: Sequence[float]) -> str:
    least = min(figures, default=math.nan)
    if math.isnan(least):
        return _MISSING
    return _NEVER if math.isinf(least) else f"{least:,.0f}"


def _times(figure: str | None) -> str:
    return f"{float(figure):.1f}" if figure else _MISSING


def _times_best(row: Row | None, figure: str) -> str:
    if row is None or row[figure] == "inf":
        return _MISSING
    return significant(float(row[figure]) / float(row["best_known"]), _DIGITS)


def _least(found: dict[str, Row], figure: str) -> str:
    rows = [found[mapper] for mapper in PAPERS if mapper in found]
    best = min(rows, key=lambda row: float(row[figure]), default=None)
    shown = _times_best(best, figure)
    return shown if best is None or shown == _MISSING else f"{shown} ({best['mapper']})"


def _unique(names: Iterator[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
