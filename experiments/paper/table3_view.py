"""What the page shows of Table III, from its result files and those of the paper's own agents."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.paper.frame import (
    Item,
    Row,
    Rows,
    Verdict,
    at_least,
    everywhere,
    grouped,
    read_rows,
    unique,
)
from experiments.paper.printed import MARL, PAPERS, PERCENTS
from experiments.paper.ratios import shown_ratio
from experiments.stats import stratified_interval

OWN = "marl_paper"
"""The item, and the mapper, that the paper's own agents are."""

_MISPRINT = 0.01
_LEVEL = 0.01
_FEWER = 30
_RESNET18_TWIN = ("exact", "paper", "resnet50_l2", "latency")
"""The reporting cell with the shape of resnet18_l2."""
_RESNET18_LOWER, _RESNET18_FEWER = 1.5, 120


def view(item: Item, results: Path) -> dict[str, Any]:
    """Return what the template shows.

    Raises:
        RecordError: a file cannot be read.
    """
    files = {name: item.rows(results, f"{name}.csv") for name in _FILES}
    for name in _SHARED:
        if (path := results / OWN / f"{name}.csv").exists():
            files[name] += [row for row in read_rows(path) if _is_new(row)]
    cells, ratios = files["cells"], files["ratios"]
    whole = [r for r in files["networks"] if r["model"] == "exact" and not r["layer"]]
    seeds = _seeds(cells)
    printed = [row for row in whole if row["printed"]]
    sums = [row for row in printed if row["ratio"]]
    soon = [r for r in ratios if r["group"] == "exact" and r["mapper"] in PAPERS and r["of"] != "0"]
    return {
        "networks": _network_table(whole, seeds),
        "ratios": [_ratio_table(group, rows, seeds) for (group,), rows in grouped(ratios, "group")],
        "arrivals": _arrivals_table(files["arrivals"], seeds),
        "leads": _leads_table(files["leads"], seeds),
        "seeds": max((int(row["seeds"]) for row in cells), default=0),
        "misprints": [row for row in printed if _is_misprint(row)],
        "sums": len(sums),
        "ahead": [row for row in sums if _ahead(row)],
        "not_ahead": sorted({row["mapper"] for row in sums if not _ahead(row)}),
        "level": sum(abs(math.log(float(row["ratio"]))) <= _LEVEL for row in sums),
        "reached": sum(_reaches(row) is True for row in sums),
        "largest": max(sums, key=lambda row: float(row["ratio"]), default=None),
        "soon": (sum(_ahead(row) is True for row in soon), len(soon)),
        "own": (own := _own_agents(ratios)),
        "fewer": _fewer(files["fewer"]),
        "resnet18": _resnet18(cells, files["fewer"]),
        "verdicts": {
            "ahead": everywhere(map(_ahead, sums)),
            "margins": everywhere(map(_reaches, sums)),
            "budgets": _budgets(everywhere(map(_ahead, soon)), own),
            "fewer": at_least(*_median_interval(_times(files["fewer"], "ppo")), _FEWER),
            "resnet18_fewer": None,
            "resnet18_lower": _resnet18_lower(cells),
        },
    }


_FILES = ("networks", "ratios", "arrivals", "leads", "cells", "fewer")
_SHARED = ("networks", "ratios", "leads", "cells")
"""Files that the item of the paper's own agents has too."""


def _is_new(row: Row) -> bool:
    return OWN in (row.get("mapper"), row.get("against"))


def _seeds(cells: Rows) -> dict[tuple[str, str], str]:
    """Return what a row says of a mapper's seeds under a model, if these are fewer than the most.

    Returns:
        By model and mapper; by model and an empty name if it is the same for all of its mappers.
    """
    counts: dict[tuple[str, str], set[int]] = {}
    for row in cells:
        for mapper in (row["mapper"], ""):
            counts.setdefault((row["model"], mapper), set()).add(int(row["seeds"]))
    most = max((max(found) for found in counts.values()), default=0)
    return {
        key: " ({} seed{})".format(
            " to ".join(map(str, sorted({min(found), max(found)}))), "s" * (max(found) > 1)
        )
        for key, found in counts.items()
        if min(found) < most
    }


def _network_table(rows: Rows, seeds: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    """Return the paper's table: final ratios, with the paper's own values behind them."""
    found = {(row["network"], row["objective"], row["mapper"]): row for row in rows}
    columns = unique(key[:2] for key in found)
    table = [
        [
            mapper + seeds.get(("exact", mapper), ""),
            *(_beside_printed(found[*column, mapper]) for column in columns),
        ]
        for mapper in unique(key[2] for key in found)
    ]
    return {"headers": ["mapper", *map(", ".join, columns)], "rows": table}


def _beside_printed(row: Row) -> str:
    paper = f" (paper: {float(row['recomputed']):.2f})" if row["recomputed"] else ""
    return shown_ratio(row) + paper


def _ratio_table(group: str, rows: Rows, seeds: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    cells, model = rows[0]["cells"], group.partition(",")[0]
    table = []
    for (mapper,), found in grouped(rows, "mapper"):
        if found[0]["of"] == "0":
            continue
        part = "" if found[0]["of"] == cells else f" ({found[0]['of']} of {cells} cells)"
        table.append([mapper + seeds.get((model, mapper), "") + part, *map(shown_ratio, found)])
    samples = [f"{int(each):,}" for each in unique(row["samples"] for row in rows)]
    return {"title": f"{group} ({cells} cells)", "headers": ["mapper", *samples], "rows": table}


def _arrivals_table(rows: Rows, seeds: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    found = {(row["group"], row["percent"], row["mapper"]): row for row in rows}
    whole = rows[0]["group"] if rows else ""
    columns = [(whole, str(percent)) for percent in PERCENTS]
    columns += [(group, "2") for group in unique(row["group"] for row in rows) if group != whole]
    table = [
        [
            mapper + seeds.get(("exact", mapper), ""),
            *(_arrival(found.get((*column, mapper))) for column in columns),
        ]
        for mapper in unique(row["mapper"] for row in rows)
    ]
    headers = ["mapper", *(f"{group}: {percent} %" for group, percent in columns)]
    return {"headers": headers, "rows": table}


def _arrival(row: Row | None) -> str:
    return "-" if row is None else f"{_samples(row['median'])} ({float(row['share']):.0%})"


def _samples(figure: str) -> str:
    return "never" if figure == "inf" else f"{float(figure):,.0f}"


def _leads_table(rows: Rows, seeds: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    samples = unique(row["samples"] for row in rows)
    table = [
        [
            against + seeds.get(("exact", against), ""),
            *(
                "{yes} of {counted}".format(**row) if row["counted"] != "0" else "-"
                for row in found
            ),
        ]
        for (against,), found in grouped(rows, "against")
    ]
    return {"headers": ["against", *(f"{int(each):,}" for each in samples)], "rows": table}


def _key(row: Row) -> tuple[str, ...]:
    return tuple(row[name] for name in ("model", "hardware", "layer", "objective"))


def _is_misprint(row: Row) -> bool:
    return abs(float(row["printed"]) / float(row["recomputed"]) - 1) > _MISPRINT


# --- Claims -------------------------------------------------------------------------------------


def _interval(row: Row) -> tuple[float, float]:
    """Return the interval of a ratio; with one seed it is everything."""
    return float(row["low"] or 0), float(row["high"] or math.inf)


def _ahead(row: Row) -> bool | None:
    """Say whether MARL is ahead: the whole interval is above 1, or only MARL finds anything."""
    low, high = _interval(row)
    without, alone = row["without"] != "0", row["alone"] != "0"
    if (low > 1 or (without and not row["ratio"])) and not alone:
        return True
    behind = high < 1 or (alone and not row["ratio"])
    return False if behind and not without else None


def _reaches(row: Row) -> bool | None:
    return at_least(*_interval(row), float(row["recomputed"]))


def _own_agents(ratios: Rows) -> tuple[int, int, int]:
    """Compare the paper's own agents with its other mappers by their costs relative to MARL's.

    Returns:
        Numbers of comparisons in which they cost less, more, and of all, on ``paper`` hardware,
        where every mapper finds valid mappings. Two differ if their intervals do not overlap.
    """
    here = [row for row in ratios if row["group"] == "exact, paper" and row["ratio"]]
    own = {row["samples"]: _interval(row) for row in here if row["mapper"] == OWN}
    rivals = [row for row in here if row["mapper"] in PAPERS and row["samples"] in own]
    better = sum(own[row["samples"]][1] < _interval(row)[0] for row in rivals)
    worse = sum(_interval(row)[1] < own[row["samples"]][0] for row in rivals)
    return better, worse, len(rivals)


def _budgets(marl: bool | None, own: tuple[int, int, int]) -> Verdict:
    """Say whether MARL beats the other mappers: our MARL, and the paper's own agents."""
    _, worse, of = own
    return f"`{MARL}` only" if marl and of and worse else marl


def _times(fewer: Rows, slow: str, hardware: str = "") -> list[float]:
    return [
        float(row["times"])
        for row in fewer
        if row["single_agent"] == slow and row["times"] and hardware in ("", row["hardware"])
    ]


def _fewer(rows: Rows) -> dict[str, Any]:
    """Return how many times fewer samples MARL needs than single agents, medians over cells."""
    times = _times(rows, "ppo")
    return {
        "ppo": _median(times),
        "box": _median(_times(rows, "ppo_box")),
        "hardware": {
            name: _median(_times(rows, "ppo", name)) for name in unique(r["hardware"] for r in rows)
        },
        "interval": "{:.1f} to {:.1f}".format(*_median_interval(times)),
        "cells": len(times),
        "of": sum(row["single_agent"] == "ppo" for row in rows),
    }


def _median(times: Sequence[float]) -> str:
    return f"{np.median(times):.1f}" if times else "-"


def _median_interval(times: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of a median over cells; of one cell it is everything."""
    if len(times) < 2:
        return 0.0, math.inf
    low, high = stratified_interval([np.array(times)], lambda drawn: np.median(drawn[0], axis=0))
    return float(low), float(high)


def _resnet18_rows(cells: Rows) -> dict[str, Row]:
    return {row["mapper"]: row for row in cells if _key(row) == _RESNET18_TWIN}


def _resnet18(cells: Rows, fewer: Rows) -> dict[str, str] | None:
    """Return the figures of the layer with the shape of resnet18_l2."""
    found = _resnet18_rows(cells)
    times = [
        row["times"]
        for row in fewer
        if _key(row) == _RESNET18_TWIN and row["single_agent"] == "ppo"
    ]
    if not times or not {MARL, "ppo"} <= found.keys():
        return None
    end = [name for name in cells[0] if name.startswith("iqm_")][-1]
    lower = float(found["ppo"][end]) / float(found[MARL][end])
    return {"fewer": f"{float(times[0]):.1f}", "lower": f"{lower:.2f}"}


def _resnet18_lower(cells: Rows) -> bool | None:
    """Judge the latency of the layer by the ends of both interquartile means' intervals."""
    found = _resnet18_rows(cells)
    if not {MARL, "ppo"} <= found.keys():
        return None
    low, high = ([name for name in cells[0] if name.startswith(end)][-1] for end in ("low", "high"))
    slow, fast = found["ppo"], found[MARL]
    least, most = float(slow[low]) / float(fast[high]), float(slow[high]) / float(fast[low])
    return at_least(least, most, _RESNET18_LOWER)
