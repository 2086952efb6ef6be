"""What the page says of Fig. 6, from its result files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from experiments.paper.fig6_plot import Ratios, draw_costs, draw_returns
from experiments.paper.item import Claim, Places, Section
from experiments.paper.judging import at_least, everywhere, mostly
from experiments.paper.ratio_rows import LEFT_OUT, RatioRow, tally
from experiments.paper.rows import read_rows
from experiments.paper.variants import ALL, INTERACTION, ONE, PARAMETERS, PEARSON, Variant
from experiments.sheets import Sheet

NUMBERS, DUELS, RIVALS = "numbers.csv", "duels.csv", "rivals.csv"
CURVES, VALID = "curves.csv", "valid.csv"
EVERY = "all hardware"
PRINTED = (9, 6)
"""The paper's best numbers of agents."""
# How much cost still counts as the same.
_LEVEL = 1.01


def make_section(places: Places) -> Section:
    """Make the section and its picture."""
    numbers = _read(places.results / NUMBERS).get(EVERY, {})
    duels = _read(places.results / DUELS)
    duels.pop(EVERY, None)
    rivals: dict[int, dict[int, list[RatioRow]]] = {}
    for row in read_rows(places.results / RIVALS):
        found = rivals.setdefault(int(row["to"]), {})
        found.setdefault(int(row["agents"]), []).append(RatioRow.of(row))
    draw_costs(numbers, places.images / "fig6.png")
    draw_returns(read_rows(places.results / CURVES), places.images / "fig6-returns.png")
    parts = (
        f"![Cost against the number of agents]({places.link}/fig6.png)",
        "Every second column of the first table below, with its intervals; each panel has its own "
        f"scale. One agent and one per parameter ({PARAMETERS}) leave nothing to group.",
        f"![Mean return against samples]({places.link}/fig6-returns.png)",
        "The paper's picture: agents clustered by Pearson's r, their warm-up not counted. Means "
        "over problems and seeds, and 95 % stratified bootstrap intervals. A search begins anew "
        "once its agents have settled, hence the falls.",
        "An agent's policy is a product of its heads, one a parameter, that share nothing. So with "
        "this learner a grouping acts only through PPO's ratio, which is that of all an agent's "
        "heads together, and through which agents begin anew.",
        _numbers_sheet(numbers).markdown(level=3),
        _few_valid(read_rows(places.results / VALID)),
        *(_duels_sheet(hardware, found).markdown(level=3) for hardware, found in duels.items()),
        *(_verdict(hardware, found) for hardware, found in duels.items()),
    )
    return Section(list(_claims(numbers, duels, rivals)), "\n\n".join(parts))


def _read(path: Path) -> dict[str, dict[Variant, dict[int, RatioRow]]]:
    """Return the ratios of a file by hardware."""
    ratios: dict[str, dict[Variant, dict[int, RatioRow]]] = {}
    for row in read_rows(path):
        ratio = RatioRow.of(row)
        found = ratios.setdefault(row["hardware"], {}).setdefault(Variant.of(row), {})
        found[ratio.samples] = ratio
    return ratios


def _few_valid(rows: Sequence[Mapping[str, str]]) -> str:
    counts = ", ".join(
        f"{int(row['valid']):,} on {row['layer']}, {row['hardware']}" for row in rows
    )
    return (
        f"Groups are learnt from {int(rows[0]['of']):,} uniform random mappings, of which few may "
        f"be valid: {counts} (of as many from another seed). With fewer than three valid ones "
        "clustered groups are random ones."
    )


def _numbers_sheet(ratios: Ratios) -> Sheet:
    note = (
        f"Cost in multiples of that of one agent per parameter (`{ALL.mapper}`) after so many "
        "samples: geometric mean over problems of the ratio of interquartile means over seeds "
        f"[95 % stratified bootstrap interval]; {LEFT_OUT} The warm-up of clustered and "
        "reversed groups is not counted; with it they have only just begun when the budget of the "
        "others ends. One agent per parameter is where the paper has 10 agents; our map space has "
        f"{PARAMETERS} parameters."
    )
    return _sheet("Numbers of agents", note, ratios)


def _duels_sheet(hardware: str, ratios: Ratios) -> Sheet:
    note = (
        "Cost in multiples of that of random groups for as many agents, otherwise as above. Below "
        "1 the grouping is better than chance. Random groups are as equally large as can be; "
        "clustered ones are what the tree leaves, and reversed ones as large as these, with the "
        "most dependent parameters kept apart."
    )
    return _sheet(f"Clustered against random grouping: {hardware}", note, ratios)


def _sheet(title: str, note: str, ratios: Ratios) -> Sheet:
    samples = sorted({each for found in ratios.values() for each in found})
    rows = [
        [
            str(variant),
            str(max(each.problems for each in found.values())),
            *(str(found[each]) if each in found else "-" for each in samples),
        ]
        for variant, found in ratios.items()
    ]
    return Sheet(title, note, "agents", ["problems", *(f"{each:,}" for each in samples)], rows)


def _verdict(hardware: str, duels: Ratios) -> str:
    """Say in words what a table shows."""
    lines = []
    for grouping, measure in (
        ("clustered", PEARSON),
        ("clustered", INTERACTION),
        ("reversed", PEARSON),
    ):
        found = list(_ratios_of(duels, grouping, measure))
        better, worse, even = tally(found)
        if found:
            lines.append(
                f"- {grouping} by {measure}: better than random groups in {better} of {len(found)} "
                f"comparisons (numbers of agents times numbers of samples), worse in {worse}, not "
                f"told apart in {even}; {_range(found)}."
            )
    return "\n".join((f"What this shows on `{hardware}` hardware:", "", *lines))


def _range(rows: Sequence[RatioRow]) -> str:
    ratios = [row.ratio for row in rows if not math.isnan(row.ratio)]
    apart = sum(row.without + row.alone for row in rows)
    shown = f"from {min(ratios):.3f} to {max(ratios):.3f} times their cost" if ratios else ""
    alone = f"in {apart} cells of these comparisons only one of both is finite" if apart else ""
    return ", and ".join(part for part in (shown, alone) if part)


def _ratios_of(duels: Ratios, grouping: str, measure: str) -> Iterator[RatioRow]:
    for variant, found in duels.items():
        if (variant.grouping, variant.measure) == (grouping, measure):
            yield from found.values()


def _claims(
    numbers: Ratios,
    duels: Mapping[str, Ratios],
    rivals: Mapping[int, Mapping[int, Sequence[RatioRow]]],
) -> Iterator[Claim]:
    if ONE.agents in rivals:
        yield _one_agent(rivals[ONE.agents])
    best = {base: found for base, found in rivals.items() if base in PRINTED}
    if best:
        yield _optimal(best)
    few = {
        variant.agents: found[max(found)]
        for variant, found in numbers.items()
        if variant.agents in PRINTED
        and (variant.grouping, variant.measure) == ("clustered", PEARSON)
    }
    if few:
        yield Claim(
            "few agents grouped by similarity are competitive with one per parameter (VI-C).",
            everywhere(map(_level, few.values())),
            "cost in multiples of that of one agent per parameter: "
            + "; ".join(f"{n} agents {row} after {row.samples:,} samples" for n, row in few.items())
            + f", beside their warm-up; up to {_LEVEL} is competitive.",
        )
    found = [row for each in duels.values() for row in _ratios_of(each, "clustered", PEARSON)]
    if found:
        better, worse, even = tally(found)
        yield Claim(
            "the efficacy of the clustering algorithm is evident in the results (VI-C).",
            mostly(better, worse, len(found)),
            f"groups by Pearson's r cost less than random ones in {better} of {len(found)} "
            f"comparisons, more in {worse}, and are not told apart in {even}.",
        )


def _one_agent(several: Mapping[int, Sequence[RatioRow]]) -> Claim:
    rows = [row for found in several.values() for row in found]
    better, worse, even = tally(rows)
    every = several.get(ALL.agents, ())
    shown = "; ".join(f"{row} after {row.samples:,} samples" for row in every)
    return Claim(
        "MARL consistently outperforms a single agent, with two agents already (VI-C, Fig. 6).",
        everywhere(_told(row) for row in rows),
        f"several agents cost less than the same learner as one agent in {better} of {len(rows)} "
        f"comparisons (numbers of agents times numbers of samples), more in {worse}, and are not "
        f"told apart in {even}"
        + (f"; one per parameter costs, in multiples of one agent: {shown}." if shown else "."),
    )


def _optimal(best: Mapping[int, Mapping[int, Sequence[RatioRow]]]) -> Claim:
    """Decide by most numbers of samples: at one alone chance may have it.

    Args:
        best: by one of these and another number of agents, what the other costs in multiples.
    """
    samples = sorted(
        {row.samples for found in best.values() for rows in found.values() for row in rows}
    )
    verdicts = {at: optimal(best, at) for at in samples}
    found = list(verdicts.values())
    told = {True: "yes", False: "no", None: "not told apart"}
    return Claim(
        "performance is optimal with 9 or 6 agents (VI-C).",
        mostly(found.count(True), found.count(False), len(found)),
        "whether one of these costs less than every other number of agents, with its whole "
        "interval: "
        + "; ".join(f"{told[verdict]} after {at:,} samples" for at, verdict in verdicts.items())
        + ", warm-up not counted.",
    )


def optimal(best: Mapping[int, Mapping[int, Sequence[RatioRow]]], samples: int) -> bool | None:
    """Say whether one of some numbers of agents beats every other number after some samples.

    Args:
        best: rows of what other numbers cost in multiples of these, by these and the other number.
        samples: how many.

    Returns:
        False if another number beats each of them, None if neither is for certain.
    """
    others: dict[int, dict[int, RatioRow]] = {}
    for base, found in best.items():
        for agents in found.keys() - best.keys():
            for row in found[agents]:
                if row.samples == samples:
                    others.setdefault(agents, {})[base] = row
    if any(all(row.better for row in rows.values()) for rows in others.values()):
        return False
    wins = any(all(base in rows and rows[base].worse for rows in others.values()) for base in best)
    return True if wins and others else None


def _told(row: RatioRow) -> bool | None:
    return True if row.better else False if row.worse else None


def _level(row: RatioRow) -> bool | None:
    """Say whether a cost is competitive; None if its interval or cells left out leave it open."""
    verdict = at_least(-row.high, -row.low, -_LEVEL)
    if math.isnan(row.low):
        return None
    return None if verdict is not None and (row.without if verdict else row.alone) else verdict
