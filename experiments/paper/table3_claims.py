"""What the paper says of Table III, decided by its result files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from experiments.paper.acceptance import PAPERS
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
        f"interval; {len(near)} lie within {_WITHIN:.0%} of it"
        + (f"; not so against {', '.join(others)}." if others else "."),
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
    shown = "; ".join(
        f"{mapper} " + ", ".join(_shown(row) for row in found if row["mapper"] == mapper)
        for mapper in dict.fromkeys(row["mapper"] for row in found)
    )
    samples = ", ".join(dict.fromkeys(f"{int(row['samples']):,}" for row in found))
    yield Claim(
        "MARL outperforms the baselines under equal sample budgets (Section I).",
        everywhere(map(_ahead, found)),
        f"over all reporting cells it does so in {len(ahead)} of {len(found)} comparisons; costs "
        f"in multiples of MARL's after {samples} samples: {shown} (none: an infinite interquartile "
        "mean in every cell: too few searches have a valid mapping yet).",
    )


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
    start = "times fewer samples than "
    found = {
        row["what"].removeprefix(start).partition(" ")[0]: row
        for row in lines
        if row["what"].startswith(start) and row["measured"] != _MISSING
    }
    if "ppo" not in found:
        return
    shown = "; ".join(
        f"{row['measured']} times fewer than {name} ({row['note']})" for name, row in found.items()
    )
    times = [float(row["times"]) for row in fewer if row["single_agent"] == "ppo" and row["times"]]
    low, high = median_interval(times)
    yield Claim(
        f"MARL needs {_FEWER} to 300 times fewer samples than single-agent RL (Section I).",
        at_least(low, high, _FEWER),
        f"to the single agent's best after all its samples, median of the cells: {shown}; "
        f"{low:.1f} to {high:.1f} times fewer than ppo is the 95 % bootstrap interval over cells.",
    )


def median_interval(times: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of a median over cells; of one cell it is everything."""
    if len(times) < 2:
        return 0.0, math.inf
    low, high = stratified_interval([np.array(times)], lambda drawn: np.median(drawn[0], axis=0))
    return float(low), float(high)
