"""What the page says of Fig. 5, from its result files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from experiments.paper.fig5_plot import draw_returns
from experiments.paper.fig5_rows import BEST, CONVERGED, LAST, MULTI, SINGLE, Comparison
from experiments.paper.item import Claim, Places, Section
from experiments.paper.judging import at_least, everywhere
from experiments.paper.reach import Factor, mean_factor, middle
from experiments.paper.rows import read_rows
from experiments.sheets import Sheet, significant
from experiments.stats import Floats, stratified_interval

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

_LEAST = 30
# The least that the paper's own numbers make of "an order of magnitude": hundreds of thousands of
# steps of a single agent against 25,000 of MARL.
_MAGNITUDE = 8
_UNIT = (
    "A return of 1 is that of a typical random mapping: the median objective of valid random ones."
)
_YARDSTICK = "Yardstick: the single agent's converged mean return."
# A cost no more than this share above another matches it.
_MATCH = 0.01


def make_section(places: Places) -> Section:
    """Make the section and its picture."""
    comparisons = [Comparison.of(row) for row in read_rows(places.results / SAMPLES)]
    ends = read_rows(places.results / ENDS)
    warm_ups = {each.multi: each.warm_up for each in comparisons}
    draw_returns(read_rows(places.results / RETURNS), warm_ups, places.images / "fig5.png")
    picture = f"![Mean return against samples]({places.link}/fig5.png)"
    sheets = [_sheet(comparisons, target) for target in (CONVERGED, BEST, LAST)]
    parts = (
        picture,
        _beside(ends),
        *(sheet.markdown(level=3) for sheet in (*sheets, _ends_sheet(ends))),
    )
    return Section(list(_claims(comparisons, ends)), "\n\n".join(parts))


def _beside(ends: Sequence[Mapping[str, str]]) -> str:
    """Explain the picture."""
    seeds = {row["mapper"]: len(_bests(row)) for row in ends}
    counts = ", ".join(f"{count} of `{mapper}`" for mapper, count in seeds.items())
    return (
        "A line is the mean over seeds of the mean return in a window, and a band goes from the "
        f"least to the greatest of the seeds: {counts}. {_UNIT} A dotted line is the same "
        "searches with their warm-up counted."
    )


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
    BEST: "Samples to the single agent's best by MARL's budget",
    LAST: "Samples to the single agent's last best",
}
_NOTES = {
    CONVERGED: (
        "Converged: the mean return of the last tenth of the single agent's samples, median over "
        "seeds. Samples: up to the end of the first window with that mean return, median over "
        "seeds (searches that got there / all); > is the whole budget, and < or > before a factor "
        "what that leaves of it. Windows of both have as many samples, a hundredth of the single "
        "agent's, and no factor is more than a hundred, unless the single agent never gets there. "
        "MARL explores to its last sample, and "
        "begins anew once it has settled, so its mean return stays below what it knows, and falls."
    ),
    BEST: (
        "Best: the median over seeds of the least cost the single agent has found after as many "
        "samples as MARL has in all. Samples: until a search has found as little, median over "
        "seeds (searches that got there / all)."
    ),
    LAST: "The same for the least cost the single agent has found after all its samples.",
}


def _ends_sheet(ends: Sequence[Mapping[str, str]]) -> Sheet:
    rows = [
        [
            f"{row['layer']}, {row['objective']}: {row['mapper']}",
            f"{int(row['samples']):,}",
            str(len(_bests(row))),
            significant(float(row["converged_return"])),
            significant(float(middle(_bests(row)))),
        ]
        for row in ends
    ]
    note = f"Medians over seeds. {_UNIT}"
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
            steps = first.factor
            yield Claim(
                f"MARL needs {printed}x fewer steps than single-agent RL for least {objective} of "
                f"{layer} (VI-B). {_YARDSTICK}",
                at_least(steps.low, steps.high, printed),
                f"{steps.told} to the converged mean return of `{SINGLE[0]}`. By the best so far "
                f"it is {second.factor.told}, to its best by MARL's budget.",
            )
    yield from _over_problems(comparisons)
    yield from _final(ends)


def _over_problems(comparisons: Sequence[Comparison]) -> Iterator[Claim]:
    """Decide what is said of all problems, by intervals of geometric means over them."""
    single = [each for each in comparisons if each.single == SINGLE[0]]
    own, charged = ([each for each in single if each.multi == multi] for multi in MULTI)
    if own:
        best, converged = (_mean(own, target, charged=False) for target in (BEST, CONVERGED))
        factors = ", ".join(str(each.factor) for each in own if each.target == CONVERGED)
        yield Claim(
            f"MARL improves sample efficiency by 30 to 300x (abstract). {_YARDSTICK}",
            at_least(converged.low, converged.high, _LEAST),
            f"{converged.told} to the converged mean return of `{SINGLE[0]}`, geometric mean over "
            f"problems: {factors}. By the best so far, which Table III decides on, it is "
            f"{best.told} here, to its best by MARL's budget.",
        )
    if charged:
        converged, last = (_mean(charged, target, charged=True) for target in (CONVERGED, LAST))
        yield Claim(
            "with the clustering's samples counted, MARL still needs an order of magnitude fewer "
            f"(VI-E). {_YARDSTICK}",
            at_least(converged.low, converged.high, _MAGNITUDE),
            f"{converged.told} to the converged mean return of `{SINGLE[0]}`, geometric mean over "
            f"problems. To the best of all its samples it is {last.told}. The paper's own numbers "
            f"are at least {_MAGNITUDE}x, hundreds of thousands of steps against 25,000.",
        )


def _mean(comparisons: Sequence[Comparison], target: str, *, charged: bool) -> Factor:
    """Return the geometric mean of the factors to a target."""
    return mean_factor(
        [
            (each.slow, each.fast_charged if charged else each.fast)
            for each in comparisons
            if each.target == target
        ]
    )


def _final(ends: Sequence[Mapping[str, str]]) -> Iterator[Claim]:
    bests = {(row["layer"], row["objective"], row["mapper"]): _bests(row) for row in ends}
    found = {
        problem: ratio_of_medians(bests[(*problem, SINGLE[0])], bests[(*problem, MULTI[0])])
        for problem in _PRINTED
        if {(*problem, SINGLE[0]), (*problem, MULTI[0])} <= bests.keys()
    }
    if found:
        ratios = "; ".join(
            f"{', '.join(problem)} {ratio:.3f} [{low:.3f}, {high:.3f}]"
            for problem, (ratio, low, high) in found.items()
        )
        yield Claim(
            "MARL matches or surpasses the final performance of single-agent RL (VI-B).",
            everywhere(at_least(low, high, 1 - _MATCH) for _, low, high in found.values()),
            f"what `{SINGLE[0]}` finds with all its samples costs, in multiples of what "
            f"`{MULTI[0]}` finds with far fewer: {ratios}. These are ratios of medians; within "
            f"{_MATCH:.0%} is a match.",
        )


def ratio_of_medians(tops: Floats, bottoms: Floats) -> tuple[float, float, float]:
    """Return the ratio of medians over seeds, and its 95 % bootstrap interval.

    One seed tells no spread: its interval is everything.
    """

    def ratio(drawn: Sequence[Floats]) -> Floats:
        # Infinite over infinite is not a number, and is sorted behind all.
        with np.errstate(invalid="ignore"):
            return np.asarray(middle(drawn[0]) / middle(drawn[1]))

    if min(len(tops), len(bottoms)) < 2:
        return float(ratio([tops, bottoms])), 0.0, np.inf
    low, high = stratified_interval([tops, bottoms], ratio)
    return float(ratio([tops, bottoms])), float(low), float(high)


def _bests(row: Mapping[str, str]) -> Floats:
    """Return what every search ended with."""
    return np.array([float(each) for each in row["bests"].split()])
