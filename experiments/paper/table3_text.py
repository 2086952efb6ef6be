"""Sentences and labels of the section of Table III."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from experiments.paper.arena import WARMED
from experiments.paper.counts import MARL
from experiments.paper.tuned import TUNED, twin
from experiments.sheets import significant

Row = Mapping[str, str]
Rows = Sequence[Row]

_ROUNDING = 0.01
_DIGITS = 4
LEGEND = (
    "A cell is a layer, an objective and a hardware. Ratios are costs in multiples of MARL's "
    "(mapper `marl`: one agent per parameter), above 1 where MARL is better: interquartile means "
    "over seeds, geometric mean over cells [95 % bootstrap interval, seeds drawn within each "
    "cell]. *none in 3*: in so many cells its interquartile mean is infinite, as too few of its "
    "searches have a valid mapping yet, and these are left out; *alone in 3*: in so many "
    "MARL's is, likewise. Samples to near the best known are "
    "medians over searches, those that never arrive counted as infinite. The best known of a cell "
    "is the least value of all its searches, one long search of `ga` among them. "
    f"*{WARMED}*: the same searches as `marl_clustered`, begun only after their warm-up."
)
CLUSTERED_ON_EDGE = (
    "Under `edge` the groups of `marl_clustered` come from the few samples of the warm-up that are "
    "valid, or, with fewer than three of these, from chance: Fig. 6 has the numbers."
)


def misprints(rows: Rows) -> str:
    """Say which ratios of the paper are not those of the values it prints."""
    sums = (row for row in rows if row["printed"] and not row["layer"] and row["model"] == "exact")
    wrong = [
        f"{row['network']}, {row['objective']}, {row['mapper']}: {float(row['printed']):.2f} "
        f"instead of {float(row['recomputed']):.2f}"
        for row in sums
        if abs(float(row["printed"]) / float(row["recomputed"]) - 1) > _ROUNDING
    ]
    return (
        f"More than {_ROUNDING:.0%} from the ratio of the values it prints are these ratios of the "
        f"paper: {'; '.join(wrong) or 'none'}."
    )


def twins_told(layers: Iterable[str]) -> str:
    """Say which layers have the shape of one that settings were chosen on."""
    same = [f"{layer} has the very shape of {twin(layer)}" for layer in layers if twin(layer)]
    chosen = f"The settings of mappers were chosen on {', '.join(TUNED)}"
    if not same:
        return f"{chosen}: none of the layers here has the shape of one of these."
    return f"{chosen}: {'; '.join(same)}. *What MARL was to reach* has its counts without it too."


class Seeds:
    """How many searches of a mapper there are in a cell, from the rows of ``cells.csv``."""

    def __init__(self, cells: Rows) -> None:
        self._found: dict[tuple[str, str], set[int]] = {}
        for row in cells:
            key = row["model"], row["mapper"]
            self._found.setdefault(key, set()).add(int(row["seeds"]))
        self._most = max((max(each) for each in self._found.values()), default=0)

    def fewer(self, model: str, mapper: str = "") -> str:
        """Tell how many seeds a mapper has, or every one has, if that is fewer than the most."""
        counts = {
            count
            for (under, name), found in self._found.items()
            if under == model and mapper in ("", name)
            for count in found
        }
        if not counts or min(counts) == self._most:
            return ""
        ends = " to ".join(str(each) for each in dict.fromkeys((min(counts), max(counts))))
        return f"{ends} seed{'s' if ends != '1' else ''}"

    def told(self) -> str:
        """Say it of all mappers."""
        return f"Each mapper has {self._most} seeds in a cell, where no row or column says fewer."


def cheaper_forms(rows: Rows, where: Callable[[Row], str]) -> str:
    """Say which forms of MARL cost less than ``marl`` for certain; empty if none does.

    Args:
        rows: of ratios.
        where: tells where a row is.
    """
    found: dict[str, list[str]] = {}
    for row in rows:
        certain = row["high"] and float(row["high"]) < 1 and row["without"] == "0"
        if certain and row["mapper"].startswith(MARL):
            found.setdefault(row["mapper"], []).append(f"{where(row)} ({ratio(row)})")
    shown = "; ".join(f"`{name}` {', '.join(places)}" for name, places in found.items())
    if not shown:
        return ""
    return f" Some variants cost less than `{MARL}`, their whole interval below 1: {shown}."


def ratio(row: Row) -> str:
    """Return the ratio of a row with its interval."""
    ends = [_figure(row[name]) for name in ("low", "high") if row[name]]
    interval = f" [{', '.join(ends)}]" if len(ends) == 2 else ""
    return _figure(row["ratio"]) + interval


def _figure(text: str) -> str:
    return text if text == "inf" else significant(float(text), _DIGITS)


def label(mapper: str, *remarks: str) -> str:
    """Return the name of a row with what is to be said of it."""
    said = ", ".join(remark for remark in remarks if remark)
    return f"{mapper} ({said})" if said else mapper
