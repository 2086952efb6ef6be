"""What the page says of Fig. 6, from its result files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from experiments.csv_files import read_csv
from experiments.paper.fig6_plot import draw_shares
from experiments.paper.item import Claim, Places, Section
from experiments.paper.ratio_rows import RatioRow, tally
from experiments.paper.variants import ALL, INTERACTION, ONE, PEARSON, Variant
from experiments.sheets import Sheet

NUMBERS, DUELS, CURVES, VALID = "numbers.csv", "duels.csv", "curves.csv", "valid.csv"
EVERY = "all hardware"
# The paper's best numbers of agents, and how much cost still counts as the same.
_PRINTED, _LEVEL = (9, 6), 1.01

Ratios = Mapping[Variant, Mapping[int, RatioRow]]
"""By variant and number of samples."""


def make_section(places: Places) -> Section:
    """Make the section and its picture."""
    numbers = _read(places.results / NUMBERS).get(EVERY, {})
    duels = _read(places.results / DUELS)
    duels.pop(EVERY, None)
    draw_shares(read_csv(places.results / CURVES), places.images / "fig6.png")
    parts = (
        f"![Mean return against samples]({places.link}/fig6.png)",
        "Means over problems and seeds. A search begins anew once its agents have settled, hence "
        "the falls.",
        _numbers_sheet(numbers).markdown(level=3),
        _few_valid(read_csv(places.results / VALID)),
        *(_duels_sheet(hardware, found).markdown(level=3) for hardware, found in duels.items()),
        *(_verdict(hardware, found) for hardware, found in duels.items()),
    )
    return Section(list(_claims(numbers, duels)), "\n\n".join(parts))


def _read(path: Path) -> dict[str, dict[Variant, dict[int, RatioRow]]]:
    """Return the ratios of a file by hardware."""
    ratios: dict[str, dict[Variant, dict[int, RatioRow]]] = {}
    for row in read_csv(path):
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
        "[95 % stratified bootstrap interval]; *none in 2*: on so many of these it has no valid "
        "mapping yet, and they are left out. The warm-up of clustered and reversed groups is not "
        "counted; with it they have only just begun when the budget of the others ends. One agent "
        "per parameter is where the paper has 10 agents; our map space has 13 parameters."
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
                f"told apart in {even}; from {min(each.ratio for each in found):.3f} to "
                f"{max(each.ratio for each in found):.3f} times their cost."
            )
    return "\n".join((f"What this shows on `{hardware}` hardware:", "", *lines))


def _ratios_of(duels: Ratios, grouping: str, measure: str) -> Iterator[RatioRow]:
    for variant, found in duels.items():
        if (variant.grouping, variant.measure) == (grouping, measure):
            yield from found.values()


def _claims(numbers: Ratios, duels: Mapping[str, Ratios]) -> Iterator[Claim]:
    clustered = {
        variant.agents: found
        for variant, found in numbers.items()
        if variant in (ONE, ALL) or (variant.grouping, variant.measure) == ("clustered", PEARSON)
    }
    if {ONE.agents, ALL.agents} <= clustered.keys() and len(clustered) > 2:
        yield from _claims_on_numbers(clustered)
    found = [row for each in duels.values() for row in _ratios_of(each, "clustered", PEARSON)]
    if found:
        better, worse, even = tally(found)
        yield Claim(
            "the efficacy of the clustering algorithm is evident in the results (VI-C).",
            2 * better > len(found),
            f"groups by Pearson's r cost less than random ones in {better} of {len(found)} "
            f"comparisons, more in {worse}, and are not told apart in {even}.",
        )


def _claims_on_numbers(clustered: Mapping[int, Mapping[int, RatioRow]]) -> Iterator[Claim]:
    one = clustered[ONE.agents]
    several = {agents: found for agents, found in clustered.items() if agents != ONE.agents}
    shared = sorted(set.intersection(*(set(found) for found in clustered.values())))
    if not shared:
        return
    first, last = shared[0], shared[-1]
    ahead = [
        found[samples].ratio < one[samples].ratio
        for found in several.values()
        for samples in shared
    ]
    yield Claim(
        "MARL consistently outperforms a single agent, with two agents already (VI-C, Fig. 6).",
        all(ahead),
        f"the same learner as one agent costs {one[first].ratio:.3f} times what one agent per "
        f"parameter costs after {first:,} samples, {one[last].ratio:.3f} times after "
        f"{last:,}; other numbers of agents are ahead of it in {sum(ahead)} of {len(ahead)} "
        "comparisons.",
    )
    best = {samples: min(several, key=lambda n: several[n][samples].ratio) for samples in shared}
    yield Claim(
        "performance is optimal with 9 or 6 agents (VI-C).",
        all(agents in _PRINTED for agents in best.values()),
        "the least cost has "
        + ", ".join(f"{_name(n)} after {samples:,}" for samples, n in best.items())
        + " samples, warm-up not counted.",
    )
    few = {n: several[n][last].ratio for n in _PRINTED if n in several}
    yield Claim(
        "few agents grouped by similarity are competitive with one per parameter (VI-C).",
        all(each <= _LEVEL for each in few.values()) if few else None,
        "; ".join(f"{n} agents cost {each:.3f} times as much" for n, each in few.items())
        + f" after {last:,} samples, beside their warm-up.",
    )


def _name(agents: int) -> str:
    return f"{agents} agents" if agents else "one per parameter"
