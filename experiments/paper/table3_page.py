"""The section of Table III, made of its result files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from experiments.paper.acceptance import MARL, PAPERS
from experiments.paper.arena import WARMED
from experiments.paper.item import Section
from experiments.paper.rows import read_rows
from experiments.paper.table3_claims import claims
from experiments.paper.table3_rows import PERCENTS
from experiments.sheets import Sheet, significant

Rows = Sequence[dict[str, str]]

_ROUNDING = 0.01
_PRINTED = ("printed", "recomputed")
_MISSING = "-"
_NEVER = "never"
_DIGITS = 4
_ELSEWHERE = {"without": "none", "alone": "alone"}
_LEGEND = (
    "A cell is a layer, an objective and a hardware. Ratios are costs in multiples of MARL's "
    "(mapper `marl`: one agent per parameter), above 1 where MARL is better: interquartile means "
    "over seeds, geometric mean over cells [95 % bootstrap interval, seeds drawn within each "
    "cell]. *none in 3*: in so many cells its interquartile mean is infinite, as too few of its "
    "searches have a valid mapping yet, and these are left out; *alone in 3*: in so many "
    "MARL's is, likewise. Samples to near the best known are "
    "medians over searches, those that never arrive counted as infinite. The best known of a cell "
    "is the least value of all its searches, one long search of `ga` among them. "
    f"*{WARMED}*: the same searches as `marl_clustered`, begun only after their warm-up."
)


def section(results: Path) -> Section:
    """Make the section.

    Raises:
        RecordError: a file cannot be read.
    """
    networks, ratios, arrivals, leads, lines, cells, fewer = (
        read_rows(results / f"{name}.csv")
        for name in ("networks", "ratios", "arrivals", "leads", "acceptance", "cells", "fewer")
    )
    sheets = [
        *_network_sheets(networks),
        *_ratio_sheets(ratios),
        *_arrival_sheets(arrivals),
        _acceptance_sheet(lines),
        _leads_sheet(leads),
        _cells_sheet(cells, fewer),
    ]
    texts = (_LEGEND, _misprints(networks))
    body = "\n".join([*(f"{text}\n" for text in texts), *(s.markdown(level=3) for s in sheets)])
    return Section(claims(networks, ratios, lines, fewer), body)


def _misprints(rows: Rows) -> str:
    """Say which ratios of the paper are not those of the values it prints."""
    sums = (row for row in rows if row["printed"] and not row["layer"] and row["model"] == "exact")
    wrong = [
        f"{row['network']}, {row['objective']}, {row['mapper']}: {float(row['printed']):.2f} "
        f"instead of {float(row['recomputed']):.2f}"
        for row in sums
        if abs(float(row["printed"]) / float(row["recomputed"]) - 1) > _ROUNDING
    ]
    return (
        f"More than {_ROUNDING:.0%} from the ratio of the values it prints are these ratios of the "
        f"paper: {'; '.join(wrong) or 'none'}."
    )


def _network_sheets(rows: Rows) -> Iterator[Sheet]:
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
                    _label(mapper, row["of"], len(layers)),
                    *(_ratio(found["exact", mapper, layer]) for layer in layers),
                    f"**{_ratio(row)}**",
                    _MISSING if maestro is None else _ratio(maestro),
                    *(f"{float(row[name]):.2f}" if row[name] else _MISSING for name in _PRINTED),
                ]
            )
        headers = (*layers, "all of them", "under maestro", "paper prints", "paper's own values")
        yield Sheet(
            f"As the paper has it: {network}, {objective}",
            "Ratios at the end of the search, on `paper` hardware. Paper's own values: the ratio "
            "of the values it prints.",
            "mapper",
            headers,
            table,
        )


def _ratio_sheets(rows: Rows) -> Iterator[Sheet]:
    at = _unique(row["samples"] for row in rows)
    for group in _unique(row["group"] for row in rows):
        here = [row for row in rows if row["group"] == group]
        cells = here[0]["cells"]
        table = []
        for mapper in _unique(row["mapper"] for row in here):
            found = [row for row in here if row["mapper"] == mapper]
            table.append([_label(mapper, found[0]["of"], cells), *map(_ratio, found)])
        yield Sheet(
            f"Cost after so many samples: {group} ({cells} cells)",
            "Ratios after so many samples.",
            "mapper",
            [f"{int(each):,}" for each in at],
            table,
        )


def _arrival_sheets(rows: Rows) -> Iterator[Sheet]:
    for group in _unique(row["group"] for row in rows):
        here = [row for row in rows if row["group"] == group]
        found = {(row["mapper"], row["percent"]): row for row in here}
        table = [
            [mapper, *(_arrival(found[mapper, str(percent)]) for percent in PERCENTS)]
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
        "other mapper; where that end is infinite, at most that mean itself. Samples for each "
        "search that gets there: those of all searches, until they do or end, for each one that "
        "does; samples of the median search: medians over seeds. Cells that lack a search that the "
        "line needs count as missing."
    )
    headers = ("threshold", "measured", "holds", "note")
    return Sheet("What MARL was to reach", note, "what", headers, table)


def _leads_sheet(rows: Rows) -> Sheet:
    at = _unique(row["samples"] for row in rows)
    found = {(row["against"], row["samples"]): row for row in rows}
    table = [
        [
            against,
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


def _cells_sheet(cells: Rows, fewer: Rows) -> Sheet:
    """One row a reporting cell under ``exact``."""
    iqms = [name for name in cells[0] if name.startswith("iqm_")] if cells else []
    shown = (iqms[1], iqms[-1]) if iqms else ()
    near = f"median_to_{PERCENTS[1]}"
    times = {_key(row): row["times"] for row in fewer if row["single_agent"] == "ppo"}
    table = []
    for key in dict.fromkeys(_key(row) for row in cells if row["model"] == "exact"):
        found = {row["mapper"]: row for row in cells if _key(row) == key}
        entry = [f"{key[1]}, {key[2]}, {key[0]}"]
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
        "Interquartile means in multiples of the best known; medians of samples. Times fewer than "
        "ppo: samples of a search of ppo divided by MARL's to the median of ppo's bests; none "
        "where that median is infinite, and 0 where MARL's median search never gets there. All "
        "mappers are in `cells.csv`."
    )
    return Sheet("Every reporting cell", note, "cell", headers, table)


def _key(row: dict[str, str]) -> tuple[str, str, str]:
    return (row["hardware"], row["layer"], row["objective"])


def _ratio(row: dict[str, str]) -> str:
    parts = []
    if row["ratio"]:
        ends = [_figure(row[name]) for name in ("low", "high") if row[name]]
        interval = f" [{', '.join(ends)}]" if len(ends) == 2 else ""
        parts.append(_figure(row["ratio"]) + interval)
    parts += [f"{word} in {row[name]}" for name, word in _ELSEWHERE.items() if row[name] != "0"]
    return ", ".join(parts) or _MISSING


def _figure(text: str) -> str:
    return text if text == "inf" else significant(float(text), _DIGITS)


def _label(mapper: str, of: str, cells: int | str) -> str:
    return mapper if of == str(cells) else f"{mapper} ({of} of {cells})"


def _arrival(row: dict[str, str]) -> str:
    return f"{_samples([float(row['median'])])} ({float(row['share']):.0%})"


def _samples(figures: Sequence[float]) -> str:
    least = min(figures, default=math.nan)
    if math.isnan(least):
        return _MISSING
    return _NEVER if math.isinf(least) else f"{least:,.0f}"


def _times(figure: str | None) -> str:
    return f"{float(figure):.1f}" if figure else _MISSING


def _times_best(row: dict[str, str] | None, figure: str) -> str:
    if row is None or row[figure] == "inf":
        return _MISSING
    return significant(float(row[figure]) / float(row["best_known"]), _DIGITS)


def _least(found: dict[str, dict[str, str]], figure: str) -> str:
    rows = [found[mapper] for mapper in PAPERS if mapper in found]
    best = min(rows, key=lambda row: float(row[figure]), default=None)
    shown = _times_best(best, figure)
    return shown if best is None or shown == _MISSING else f"{shown} ({best['mapper']})"


def _unique(names: Iterator[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
