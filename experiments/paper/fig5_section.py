"""What the page says of Fig. 5, from its result files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from experiments.csv_files import read_csv
from experiments.paper.fig5_plot import draw_returns
from experiments.paper.fig5_rows import BEST, CONVERGED, MULTI, SINGLE, Comparison
from experiments.paper.item import Claim, Places, Section
from experiments.paper.reach import Factor, mean_factor
from experiments.sheets import Sheet, significant

RETURNS, ENDS, SAMPLES = "returns.csv", "ends.csv", "samples.csv"

_PRINTED = {
    ("mobilenetv2_l2", "latency"): 100,
    ("mobilenetv2_l2", "area"): 40,
    ("mobilenetv2_l2", "edp"): 312.5,
    ("vgg16_l2", "latency"): 30,
    ("vgg16_l2", "area"): 63,
    ("vgg16_l2", "edp"): 41.6,
}
"""Times fewer steps that the paper's MARL needs (VI-B; the caption has 300 for 312.5)."""

_LEAST, _MAGNITUDE = 30, 10


def make_section(places: Places) -> Section:
    """Make the section and its picture."""
    comparisons = [Comparison.of(row) for row in read_csv(places.results / SAMPLES)]
    ends = read_csv(places.results / ENDS)
    warm_ups = {each.multi: each.warm_up for each in comparisons}
    draw_returns(read_csv(places.results / RETURNS), warm_ups, places.images / "fig5.png")
    picture = f"![Mean return against samples]({places.link}/fig5.png)"
    sheets = [_sheet(comparisons, target) for target in (CONVERGED, BEST)]
    parts = (picture, *(sheet.markdown(level=3) for sheet in (*sheets, _ends_sheet(ends))))
    return Section(list(_claims(comparisons, ends)), "\n\n".join(parts))


def _sheet(comparisons: Sequence[Comparison], target: str) -> Sheet:
    asked = {
        (each.layer, each.objective, each.single, each.multi): each
        for each in comparisons
        if each.target == target
    }
    rows = []
    for layer, objective, single in dict.fromkeys(key[:3] for key in asked):
        both = [asked.get((layer, objective, single, multi)) for multi in MULTI]
        there = next(each for each in both if each is not None)
        figures = [
            text
            for each in both
            for text in ((str(each.fast), str(each.factor)) if each else ("-", "-"))
        ]
        charged = str(both[1].charged) if both[1] else "-"
        printed = f"{_PRINTED[layer, objective]}x" if single == SINGLE[0] else ""
        name = f"{layer}, {objective}: {single}"
        rows.append([name, str(there.slow), *figures, charged, printed])
    headers = ("single agent", *(each for multi in MULTI for each in (multi, "fewer")))
    return Sheet(
        _TITLES[target],
        _NOTES[target],
        "problem: single agent",
        (*headers, "fewer, warm-up counted", "paper"),
        rows,
    )


_TITLES = {
    CONVERGED: "Samples to the single agent's converged mean return",
    BEST: "Samples to the single agent's best",
}
_NOTES = {
    CONVERGED: (
        "Converged: the mean return of the last tenth of the single agent's samples, median over "
        "seeds. Samples: up to the end of the first window (a hundredth of a search) with that "
        "mean return, median over seeds (searches that got there / all); > is the whole budget, "
        "and < or > before a factor what that leaves of it. MARL explores to its last sample, and "
        "begins anew once it has settled, so its mean return stays below what it knows, and falls."
    ),
    BEST: (
        "Best: the median over seeds of the least cost the single agent has found after as many "
        "samples as MARL has in all. Samples: until a search has found as little, median over "
        "seeds (searches that got there / all)."
    ),
}


def _ends_sheet(ends: Sequence[Mapping[str, str]]) -> Sheet:
    rows = [
        [
            f"{row['layer']}, {row['objective']}: {row['mapper']}",
            f"{int(row['samples']):,}",
            row["searches"],
            significant(float(row["converged_return"])),
            significant(float(row["best"])),
        ]
        for row in ends
    ]
    note = (
        "Medians over seeds. A return of 1 is that of a typical random mapping: the median "
        "objective of valid random ones."
    )
    headers = ("samples", "searches", "converged mean return", "best")
    return Sheet("Where the searches ended", note, "problem: mapper", headers, rows)


def _claims(
    comparisons: Sequence[Comparison], ends: Sequence[Mapping[str, str]]
) -> Iterator[Claim]:
    found = {(c.layer, c.objective, c.single, c.target, c.multi): c for c in comparisons}
    for (layer, objective), printed in _PRINTED.items():
        key = (layer, objective, SINGLE[0])
        first, second = (found.get((*key, target, MULTI[0])) for target in (CONVERGED, BEST))
        if first and second:
            yield Claim(
                f"MARL needs {printed}x fewer steps than single-agent RL for least {objective} of "
                f"{layer} (VI-B).",
                at_least(first.factor, printed),
                f"{first.factor} to the converged mean return of `{SINGLE[0]}`, {second.factor} to "
                "its best.",
            )
    yield from _over_problems(comparisons)
    yield from _final(ends)


def _over_problems(comparisons: Sequence[Comparison]) -> Iterator[Claim]:
    bests = [c for c in comparisons if (c.single, c.target) == (SINGLE[0], BEST)]
    own = [each.factor for each in bests if each.multi == MULTI[0]]
    if own:
        mean = mean_factor(own)
        yield Claim(
            "MARL improves sample efficiency by 30 to 300x (abstract).",
            at_least(mean, _LEAST),
            f"{mean} to the best of `{SINGLE[0]}`, geometric mean over {len(own)} problems: "
            f"{', '.join(map(str, own))}.",
        )
    charged = [each.charged for each in bests if each.multi == MULTI[1]]
    if charged:
        mean = mean_factor(charged)
        yield Claim(
            "with the clustering's samples counted, MARL still needs an order of magnitude fewer "
            "(VI-E).",
            at_least(mean, _MAGNITUDE),
            f"{mean} to the best of `{SINGLE[0]}`, geometric mean over {len(charged)} problems.",
        )


def _final(ends: Sequence[Mapping[str, str]]) -> Iterator[Claim]:
    bests = {(row["layer"], row["objective"], row["mapper"]): float(row["best"]) for row in ends}
    ratios = [
        bests[(*problem, SINGLE[0])] / bests[(*problem, MULTI[0])]
        for problem in _PRINTED
        if {(*problem, SINGLE[0]), (*problem, MULTI[0])} <= bests.keys()
    ]
    if ratios:
        yield Claim(
            "MARL matches or surpasses the final performance of single-agent RL (VI-B).",
            min(ratios) >= 1,
            f"what `{SINGLE[0]}` finds with all its samples costs {np.min(ratios):.3f} to "
            f"{np.max(ratios):.3f} times what `{MULTI[0]}` finds with far fewer.",
        )


def at_least(found: Factor, printed: float) -> bool | None:
    """Say whether a factor is at least one printed; None if its bound leaves that open."""
    if found.bound == "?":
        return None
    reaches = found.value >= printed
    open_ended = ("<" if reaches else ">") == found.bound
    return None if open_ended else reaches
