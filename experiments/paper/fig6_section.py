"""What the page says of Fig. 6, from its result files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from experiments.csv_files import read_csv
from experiments.paper.fig6_plot import draw_shares
from experiments.paper.item import Claim, Places, Section
from experiments.paper.variants import ALL, INTERACTION, ONE, PEARSON, Variant
from experiments.sheets import Sheet

NUMBERS, DUELS, CURVES = "numbers.csv", "duels.csv", "curves.csv"
# The paper's best numbers of agents, and how much cost still counts as the same.
_PRINTED, _LEVEL = (9, 6), 1.01


@dataclass(frozen=True)
class Ratio:
    """A geometric mean of cost ratios and its interval, NaN if there is none."""

    figure: float
    low: float
    high: float

    def __str__(self) -> str:
        interval = f" [{self.low:.3f}, {self.high:.3f}]" if self.low == self.low else ""
        return f"{self.figure:.3f}{interval}"


Ratios = Mapping[Variant, Mapping[int, Ratio]]
"""By variant and number of samples."""


def make_section(places: Places) -> Section:
    """Make the section and its picture."""
    numbers, arenas = _read(places.results / NUMBERS)
    duels, _ = _read(places.results / DUELS)
    draw_shares(read_csv(places.results / CURVES), places.images / "fig6.png")
    picture = f"![Mean return against samples]({places.link}/fig6.png)"
    sheets = (_numbers_sheet(numbers, arenas), _duels_sheet(duels, arenas))
    parts = (picture, *(sheet.markdown(level=3) for sheet in sheets), _verdict(duels))
    return Section(list(_claims(numbers, duels)), "\n\n".join(parts))


def _read(path: Path) -> tuple[dict[Variant, dict[int, Ratio]], int]:
    """Return the ratios of a file, and over how many problems they are."""
    rows = read_csv(path)
    ratios: dict[Variant, dict[int, Ratio]] = {}
    for row in rows:
        ratio = Ratio(*(float(row[name]) for name in ("ratio", "low", "high")))
        ratios.setdefault(Variant.of(row), {})[int(row["samples"])] = ratio
    return ratios, max((int(row["arenas"]) for row in rows), default=0)


def _numbers_sheet(ratios: Ratios, arenas: int) -> Sheet:
    note = (
        f"Cost in multiples of that of one agent per parameter (`{ALL.mapper}`) after so many "
        f"samples: geometric mean over {arenas} problems of the ratio of interquartile means over "
        "seeds [95 % stratified bootstrap interval]. The warm-up of clustered and reversed groups "
        "is not counted: charged, they have found nothing when it ends, at the end of a whole "
        "budget of the others. One agent per parameter is where the paper has 10 agents; our "
        "map space has 13 parameters."
    )
    return _sheet("Numbers of agents", note, ratios)


def _duels_sheet(ratios: Ratios, arenas: int) -> Sheet:
    note = (
        "Cost in multiples of that of random groups for as many agents, sizes of groups as equal "
        f"as can be; over {arenas} problems, as above. Below 1 the grouping is better than chance. "
        "Reversed groups keep the most dependent parameters apart."
    )
    return _sheet("Clustered against random grouping", note, ratios)


def _sheet(title: str, note: str, ratios: Ratios) -> Sheet:
    samples = sorted({each for found in ratios.values() for each in found})
    rows = [
        [str(variant), *(str(found[each]) if each in found else "-" for each in samples)]
        for variant, found in ratios.items()
    ]
    return Sheet(title, note, "agents", [f"{each:,}" for each in samples], rows)


def _verdict(duels: Ratios) -> str:
    """Say in words what the second table shows."""
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
                f"told apart in {even}; from {min(each.figure for each in found):.3f} to "
                f"{max(each.figure for each in found):.3f} times their cost."
            )
    return "\n".join(("What this shows:", "", *lines))


def tally(ratios: Iterable[Ratio]) -> tuple[int, int, int]:
    """Return how many ratios lie below 1, above 1, and neither, with their whole interval."""
    found = list(ratios)
    better = sum(each.high < 1 for each in found)
    worse = sum(each.low > 1 for each in found)
    return better, worse, len(found) - better - worse


def _ratios_of(duels: Ratios, grouping: str, measure: str) -> Iterator[Ratio]:
    for variant, found in duels.items():
        if (variant.grouping, variant.measure) == (grouping, measure):
            yield from found.values()


def _claims(numbers: Ratios, duels: Ratios) -> Iterator[Claim]:
    clustered = {
        variant.agents: found
        for variant, found in numbers.items()
        if variant in (ONE, ALL) or (variant.grouping, variant.measure) == ("clustered", PEARSON)
    }
    if {ONE.agents, ALL.agents} <= clustered.keys() and len(clustered) > 2:
        yield from _claims_on_numbers(clustered)
    found = list(_ratios_of(duels, "clustered", PEARSON))
    if found:
        better, worse, even = tally(found)
        yield Claim(
            "the efficacy of the clustering algorithm is evident in the results (VI-C).",
            2 * better > len(found),
            f"groups by Pearson's r cost less than random ones in {better} of {len(found)} "
            f"comparisons, more in {worse}, and are not told apart in {even}.",
        )


def _claims_on_numbers(clustered: Mapping[int, Mapping[int, Ratio]]) -> Iterator[Claim]:
    one = clustered[ONE.agents]
    last = max(one)
    several = {agents: found for agents, found in clustered.items() if agents != ONE.agents}
    ahead = [
        found[samples].figure < one[samples].figure for found in several.values() for samples in one
    ]
    yield Claim(
        "MARL consistently outperforms a single agent, with two agents already (VI-C, Fig. 6).",
        all(ahead),
        f"the same learner as one agent costs {one[min(one)].figure:.3f} times what one agent per "
        f"parameter costs after {min(one):,} samples, {one[last].figure:.3f} times after "
        f"{last:,}; other numbers of agents are ahead of it in {sum(ahead)} of {len(ahead)} "
        "comparisons.",
    )
    best = {samples: min(several, key=lambda n: several[n][samples].figure) for samples in one}
    yield Claim(
        "performance is optimal with 9 or 6 agents (VI-C).",
        all(agents in _PRINTED for agents in best.values()),
        "the least cost has "
        + ", ".join(f"{_name(n)} after {samples:,}" for samples, n in best.items())
        + " samples, warm-up not counted.",
    )
    few = {n: several[n][last].figure for n in _PRINTED if n in several}
    yield Claim(
        "few agents grouped by similarity are competitive with one per parameter (VI-C).",
        all(each <= _LEVEL for each in few.values()) if few else None,
        "; ".join(f"{n} agents cost {each:.3f} times as much" for n, each in few.items())
        + f" after {last:,} samples, beside their warm-up.",
    )


def _name(agents: int) -> str:
    return f"{agents} agents" if agents else "one per parameter"
