"""What the page says of section VI-E, from its result files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from experiments.paper.item import Claim, Places, Section
from experiments.paper.judging import at_least, everywhere, mostly
from experiments.paper.ratio_rows import LEFT_OUT, RatioRow, tally
from experiments.paper.reach import Reach, middle
from experiments.paper.rows import read_rows
from experiments.sheets import Sheet
from experiments.stats import Floats, stratified_interval

SAMPLES, RATIOS = "samples.csv", "ratios.csv"
SOURCE = "resnet18_l2"
PERCENT = 2
OWN, REUSED, RANDOM, NONE = "own", f"of {SOURCE}", "random", "one agent per parameter"
_LAYERS = (1, 2, 4, 8)
_NEGLIGIBLE = 0.1
_NEVER, _ONCE, _ALWAYS = "never", "once", "every time"
_LINES = (
    (OWN, _ALWAYS),
    (OWN, _NEVER),
    (REUSED, _ONCE),
    (REUSED, _NEVER),
    (RANDOM, _NEVER),
    (NONE, _NEVER),
)
"""Groups, and how often their warm-up is counted."""

Found = Mapping[str, Mapping[str, Sequence[Reach]]]
"""What searches needed on every layer, by objective and groups."""


@dataclass(frozen=True)
class Total:
    """Samples for some layers.

    Args:
        samples: how many.
        least: whether there may be more: on some layer the median search never arrived.
    """

    samples: float
    least: bool

    def __str__(self) -> str:
        return f"{'>' if self.least else ''}{self.samples:,.0f}"


def total(reaches: Sequence[Reach], layers: int, warm_up: int, counted: str) -> Total:
    """Return the samples that so many layers take, if they are like those that were searched.

    Args:
        reaches: what the searches of each layer needed.
        layers: how many there are.
        warm_up: samples that groups are learnt from.
        counted: ``never``, ``once`` or ``every time``.
    """
    times = {_NEVER: 0, _ONCE: 1, _ALWAYS: layers}[counted]
    mean = float(np.mean([each.least for each in reaches]))
    return Total(layers * mean + times * warm_up, any(each.censored for each in reaches))


def mean_interval(reaches: Sequence[Reach]) -> tuple[float, float]:
    """Return the 95 % bootstrap interval over seeds of the mean of medians over layers.

    A median beyond its budget counts with that at the lower end, as infinite at the upper one; a
    layer with one seed tells no spread, and leaves anything open.
    """
    if any(len(each.samples) < 2 for each in reaches):
        return 0.0, np.inf
    budgets = [each.budget for each in reaches]

    def least(drawn: Sequence[Floats]) -> Floats:
        medians = (
            np.minimum(middle(each), most) for each, most in zip(drawn, budgets, strict=True)
        )
        return np.asarray(np.mean(list(medians), axis=0))

    def most(drawn: Sequence[Floats]) -> Floats:
        return np.asarray(np.mean([middle(each) for each in drawn], axis=0))

    strata = [np.array(each.samples) for each in reaches]
    return float(stratified_interval(strata, least)[0]), float(stratified_interval(strata, most)[1])


def make_section(places: Places) -> Section:
    """Make the section."""
    found: dict[str, dict[str, list[Reach]]] = {}
    warm_up = 0
    for row in read_rows(places.results / SAMPLES):
        groups = found.setdefault(row["objective"], {})
        groups.setdefault(row["groups"], []).append(Reach.of(row))
        warm_up = max(warm_up, int(row["warm_up"]))
    rows = read_rows(places.results / RATIOS)
    ratios: dict[tuple[str, str, str], list[RatioRow]] = {}
    for row in rows:
        key = row["groups"], row["to"], row["objective"]
        ratios.setdefault(key, []).append(RatioRow.of(row))
    sheets = (_totals_sheet(found, warm_up), _ratios_sheet(ratios))
    body = "\n\n".join(sheet.markdown(level=3) for sheet in sheets)
    return Section(list(_claims(found, warm_up, ratios)), body)


def _totals_sheet(found: Found, warm_up: int) -> Sheet:
    rows = []
    for objective, groups in found.items():
        for name, counted in _LINES:
            if name in groups:
                totals = [total(groups[name], n, warm_up, counted) for n in _LAYERS]
                arrived = sum(not each.censored for each in groups[name])
                label = f"{objective}: {name}" + (
                    f", warm-up {counted}" if _has_warm_up(name) else ""
                )
                rows.append([label, *map(str, totals), f"{arrived}/{len(groups[name])}"])
    note = (
        f"Samples until within {PERCENT} % of the best known of a layer (that of the searches of "
        "this section and of a long one of `ga`), median over seeds, mean over the reporting "
        "layers that have the same parameters, times the number of layers; and the warm-up of "
        f"{warm_up:,} samples that groups are learnt from. A layer whose median search never "
        "arrives counts with its whole budget, hence >; layers on which it arrives are in the last "
        f"column. resnet50_l2 has the shape of {SOURCE}."
    )
    headers = [*(f"{n} layer{'s' if n > 1 else ''}" for n in _LAYERS), "arrives on"]
    return Sheet(f"Samples to within {PERCENT} %", note, "groups", headers, rows)


def _has_warm_up(groups: str) -> bool:
    return groups in (OWN, REUSED)


def _ratios_sheet(ratios: Mapping[tuple[str, str, str], Sequence[RatioRow]]) -> Sheet:
    samples = sorted({row.samples for rows in ratios.values() for row in rows})
    table = []
    for (groups, other, objective), rows in ratios.items():
        found = {row.samples: str(row) for row in rows}
        cells = [found.get(each, "-") for each in samples]
        table.append([f"{objective}: {groups} to {other}", *cells])
    note = (
        "Cost with the first groups in multiples of that with the second, warm-up not counted: "
        "geometric mean over layers of the ratio of interquartile means over seeds [95 % "
        f"stratified bootstrap interval]. {LEFT_OUT}"
    )
    headers = [f"{each:,}" for each in samples]
    return Sheet("Cost with reused, own and random groups", note, "groups", headers, table)


def _claims(
    found: Found, warm_up: int, ratios: Mapping[tuple[str, str, str], Sequence[RatioRow]]
) -> Iterator[Claim]:
    reused = [row for key, rows in ratios.items() if key[:2] == (REUSED, OWN) for row in rows]
    chance = [row for key, rows in ratios.items() if key[:2] == (REUSED, RANDOM) for row in rows]
    if reused and chance:
        worse, (better, worst, _) = tally(reused)[1], tally(chance)
        yield Claim(
            "learned correlations and agent assignments can be generalised to similar DNN "
            "architectures (VI-E).",
            everywhere((2 * worse <= len(reused), mostly(better, worst, len(chance)))),
            f"groups of {SOURCE} cost more than a layer's own in {worse} of {len(reused)} "
            "comparisons (objectives times numbers of samples), less than random groups in "
            f"{better} of {len(chance)} and more in {worst}; the rest is not told apart.",
        )
    for objective, groups in found.items():
        if {REUSED, NONE} <= groups.keys():
            yield _amortisation(objective, groups, warm_up)


def _amortisation(objective: str, groups: Mapping[str, Sequence[Reach]], warm_up: int) -> Claim:
    most = max(_LAYERS)
    charged = total(groups[REUSED], most, warm_up, _ONCE)
    share = warm_up / charged.samples
    low, high = (
        warm_up / (warm_up + most * each) for each in reversed(mean_interval(groups[REUSED]))
    )
    without = total(groups[NONE], most, warm_up, _NEVER)
    return Claim(
        "reuse quickly renders the initial cost of clustering negligible, "
        f"for least {objective} (VI-E).",
        at_least(-high, -low, -_NEGLIGIBLE),
        f"the warm-up is {'at most ' if charged.least else ''}{share:.0%} of the {charged} samples "
        f"that {most} layers take with groups of {SOURCE} [{low:.1%}, {high:.1%}]; with one agent "
        f"per parameter, and no warm-up, they take {without}.",
    )
