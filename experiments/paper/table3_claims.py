"""What the paper says of Table III, decided by its result files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from experiments.paper.acceptance import PAPERS
from experiments.paper.item import Claim

Rows = Sequence[dict[str, str]]

_MISSING = "-"
_WITHIN = 0.01
_FEWER = 30


def claims(networks: Rows, ratios: Rows, lines: Rows) -> list[Claim]:
    """Return every claim.

    Args:
        networks: rows of ``networks.csv``.
        ratios: rows of ``ratios.csv``.
        lines: rows of ``acceptance.csv``.
    """
    sums = [
        row
        for row in networks
        if row["model"] == "exact" and not row["layer"] and row["printed"] and row["ratio"]
    ]
    return [*_table(sums), *_soon(ratios), *_single_agent(lines)]


def _table(sums: Rows) -> Iterator[Claim]:
    if not sums:
        return
    above = [row for row in sums if _ahead(row)]
    near = [row for row in sums if abs(math.log(float(row["ratio"]))) <= _WITHIN]
    others = sorted({row["mapper"] for row in sums if row not in above})
    yield Claim(
        "at the end of the search MARL is ahead of every baseline, in latency and EDP, on "
        "MobileNetV2 and VGG16 (Table III).",
        len(above) == len(sums),
        f"{len(above)} of {len(sums)} geometric-mean ratios to MARL are above 1 with their whole "
        f"interval; {len(near)} lie within {_WITHIN:.0%} of it"
        + (f"; not so against {', '.join(others)}." if others else "."),
    )
    large = [row for row in sums if float(row["ratio"]) >= float(row["recomputed"])]
    most = max(sums, key=lambda row: float(row["ratio"]))
    yield Claim(
        "MARL's lead is as large as Table III has it, up to 32.61 times.",
        len(large) == len(sums),
        f"{len(large)} of {len(sums)} ratios are at least the paper's (recomputed from its own "
        f"values); the largest is {float(most['ratio']):.3g} against {most['mapper']} "
        f"({most['network']}, {most['objective']}; paper: {float(most['recomputed']):.3g}).",
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
        len(ahead) == len(found),
        f"over all reporting cells it does so in {len(ahead)} of {len(found)} comparisons; costs "
        f"in multiples of MARL's after {samples} samples: {shown} (none: no valid mapping in any "
        "cell).",
    )


def _ahead(row: dict[str, str]) -> bool:
    """Say whether MARL is ahead for certain: the whole interval is above 1."""
    if row["alone"] != "0":
        return False
    least = row["low"] or row["ratio"]
    return float(least) > 1 if least else row["without"] != "0"


def _shown(row: dict[str, str]) -> str:
    return f"{float(row['ratio']):.3g}" if row["ratio"] else "none"


def _single_agent(lines: Rows) -> Iterator[Claim]:
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
    yield Claim(
        f"MARL needs {_FEWER} to 300 times fewer samples than single-agent RL (Section I).",
        float(found["ppo"]["measured"]) >= _FEWER,
        f"to the single agent's best after all its samples, median of the cells: {shown}.",
    )
