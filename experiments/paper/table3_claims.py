"""What the paper says of Table III, decided by its result files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from experiments.paper.counts import PAPERS
from experiments.paper.fewer_line import START, WHERE
from experiments.paper.item import Claim
from experiments.paper.judging import at_least, everywhere
from experiments.stats import stratified_interval

Rows = Sequence[dict[str, str]]

_MISSING = "-"
_WITHIN = 0.01
_FEWER = 30


def claims(networks: Rows, ratios: Rows, lines: Rows, fewer: Rows) -> list[Claim]:
    """Return every claim.

    Args:
        networks: rows of ``networks.csv``.
        ratios: rows of ``ratios.csv``.
        lines: rows of ``acceptance.csv``.
        fewer: rows of ``fewer.csv``.
    """
    sums = [
        row
        for row in networks
        if row["model"] == "exact" and not row["layer"] and row["printed"] and row["ratio"]
    ]
    return [*_table(sums), *_soon(ratios), *_single_agent(lines, fewer)]


def _table(sums: Rows) -> Iterator[Claim]:
    if not sums:
        return
    above = [row for row in sums if _ahead(row)]
    near = [row for row in sums if abs(math.log(float(row["ratio"]))) <= _WITHIN]
    others = sorted({row["mapper"] for row in sums if row not in above})
    yield Claim(
        "at the end of the search MARL is ahead of every baseline, in latency and EDP, on "
        "MobileNetV2 and VGG16 (Table III).",
        everywhere(map(_ahead, sums)),
        f"{len(above)} of {len(sums)} geometric-mean ratios to MARL are above 1 with their whole "
        f"interval. The number of them within {_WITHIN:.0%} of 1 is "
        f"{len(near)}."
        + (f" Not ahead with the whole interval of: {', '.join(others)}." if others else ""),
    )
    verdicts = [at_least(*_interval(row), float(row["recomputed"])) for row in sums]
    most = max(sums, key=lambda row: float(row["ratio"]))
    yield Claim(
        "MARL's lead is as large as Table III has it, up to 32.61 times.",
        everywhere(verdicts),
        f"{verdicts.count(True)} of {len(sums)} ratios are at least the paper's (recomputed from "
        f"its own values) with their whole interval, {verdicts.count(False)} less; "
        f"the largest is {float(most['ratio']):.3g} against {most['mapper']} ({most['network']}, "
        f"{most['objective']}; paper: {float(most['recomputed']):.3g}).",
    )


def _soon(ratios: Rows) -> Iterator[Claim]:
    found = [
        row
        for row in ratios
        if row["group"] == "exact" and row["mapper"] in PAPERS and row["of"] != "0"
    ]
    if not found:
        return
    ahead = [row for row in found if _ahead(row)]
    rows_of = {row["mapper"]: [r for r in found if r["mapper"] == row["mapper"]] for row in found}
    shown = "; ".join(f"{name} {', '.join(map(_shown, rows))}" for name, rows in rows_of.items())
    samples = ", ".join(dict.fromkeys(f"{int(row['samples']):,}" for row in found))
    yield Claim(
        "MARL outperforms the baselines under equal sample budgets (Section I).",
        everywhere(map(_ahead, found)),
        f"over all reporting cells it does so in {len(ahead)} of {len(found)} comparisons. Costs "
        f"in multiples of MARL's after {samples} samples: {shown}."
        + (_NOWHERE if any(not row["ratio"] for row in found) else "")
        + _left_out(rows_of, "without", "their interquartile mean")
        + _left_out(rows_of, "alone", "MARL's interquartile mean alone"),
    )


_NOWHERE = " None: no cell has a finite interquartile mean of both."


def _left_out(rows_of: Mapping[str, Rows], column: str, infinite: str) -> str:
    """Say how many cells each mapper's ratios leave out, after every number of samples."""
    counts = "; ".join(
        f"{name} {', '.join(row[column] for row in rows)}"
        for name, rows in rows_of.items()
        if any(row[column] != "0" for row in rows)
    )
    return f" Cells left out, as {infinite} is infinite there: {counts}." if counts else ""


def _interval(row: dict[str, str]) -> tuple[float, float]:
    """Return the interval of a ratio; of one seed, which tells no spread, it is everything."""
    return float(row["low"] or 0), float(row["high"] or math.inf)


def _ahead(row: dict[str, str]) -> bool | None:
    """Say whether MARL is ahead for certain: the whole interval is above 1; None if none is."""
    low, high = _interval(row)
    without, alone = row["without"] != "0", row["alone"] != "0"
    if (low > 1 or (without and not row["ratio"])) and not alone:
        return True
    behind = high < 1 or (alone and not row["ratio"])
    return False if behind and not without else None


def _shown(row: dict[str, str]) -> str:
    return f"{float(row['ratio']):.3g}" if row["ratio"] else "none"


def _single_agent(lines: Rows, fewer: Rows) -> Iterator[Claim]:
    measured: dict[str, dict[str, str]] = {}
    for row in lines:
        if row["what"].startswith(START) and row["measured"] != _MISSING:
            name, _, rest = row["what"].removeprefix(START).partition(" ")
            measured.setdefault(name, {})[rest.partition(WHERE)[2]] = row["measured"]
    if "" not in measured.get("ppo", {}):
        return
    shown = ", ".join(_times_fewer(name, by_place) for name, by_place in measured.items())
    times = [float(row["times"]) for row in fewer if row["single_agent"] == "ppo" and row["times"]]
    low, high = median_interval(times)
    yield Claim(
        f"MARL needs {_FEWER} to 300 times fewer samples than single-agent RL (abstract, Section "
        "I). Yardstick: the best so far.",
        at_least(low, high, _FEWER),
        f"to the single agent's best after all its samples, median of the cells: {shown}. The 95 % "
        f"bootstrap interval over cells is {low:.1f} to {high:.1f} against ppo. What is not "
        "counted is noted in *What MARL was to reach*.",
    )


def _times_fewer(name: str, by_place: Mapping[str, str]) -> str:
    """Tell how many times fewer samples than a single agent, over all cells and by hardware."""
    parts = ", ".join(f"{times} under `{place}`" for place, times in by_place.items() if place)
    return f"{by_place.get('', _MISSING)} times fewer than {name}" + (
        f" ({parts})" if parts else ""
    )


def median_interval(times: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of a median over cells; of one cell it is everything."""
    if len(times) < 2:
        return 0.0, math.inf
    low, high = stratified_interval([np.array(times)], lambda drawn: np.median(drawn[0], axis=0))
    return float(low), float(high)
