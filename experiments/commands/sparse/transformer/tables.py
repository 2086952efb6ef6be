"""What trainings cost and gave, as tables, and whether mixed sparsity is as good as none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from experiments.commands.sparse.transformer.pretraining import Trained
from experiments.commands.sparse.transformer.quality import COUNTS, WORST, Quality
from experiments.shown.statistics import (
    Floats,
    has_interval,
    iqm,
    log_mean,
    stratified_interval,
)
from experiments.shown.tables import Sheet, significant
from mappers.learners.transformer.schedule import Arm

_COSTS = ("seeds", "tokens\nM", "FLOPs\n%", "loss (95 % interval)", "loss as\ntrained", "CPU\nmin")
_NOTE_OF_COSTS = (
    "tokens: places of all batches; FLOPs: counted from masks, % of dense; loss: nats for a token "
    "of a held-out mapping, with full attention, and with the attention of most of the training; "
    "interquartile means and bootstrap intervals over seeds; times are of training on dense kernels"
)
_NOTE_OF_GAPS = (
    "n: mappings evaluated, of 100; gap: how far the best of so many is above the optimum, "
    f"at most {WORST:g} times as much; geometric mean over layers of held-out networks, with 95 % "
    "intervals over seeds. The prior was trained with these layers; random: any valid mappings"
)
_NOTE_OF_DIFFERENCES = (
    "loss in nats; best values in % of those of the other; 95 % bootstrap intervals over seeds"
)


@dataclass(frozen=True)
class Difference:
    """How an arm differs from another.

    Args:
        of: what is compared; less is better.
        value: the difference.
        interval: its 95 % interval over seeds; None for a single seed.
    """

    of: str
    value: float
    interval: tuple[float, float] | None

    @property
    def verdict(self) -> str:
        """Whether the first is worse, better, or that is not decided."""
        low, high = self.interval or (-np.inf, np.inf)
        return "worse" if low > 0 else "better" if high < 0 else "not decided"


def differences(first: Sequence[Trained], other: Sequence[Trained]) -> Iterator[Difference]:
    """Yield the differences of two arms in loss and in the values of their mappings."""
    both = [np.array([each.loss for each in arm]) for arm in (first, other)]
    yield _difference("loss", both, lambda strata: iqm(strata[0]) - iqm(strata[1]))
    for place, count in enumerate(COUNTS):
        both = [_ratios([each.quality for each in arm])[..., place] for arm in (first, other)]
        yield _difference(f"best of {count}, %", both, _excess)


def print_tables(
    ways: Mapping[str, Arm],
    found: Mapping[str, Sequence[Trained]],
    controls: Mapping[str, Sequence[Quality]],
) -> None:
    """Print what arms cost, what their mappings are worth, and how ``mst`` differs from others.

    Args:
        ways: all arms.
        found: trainings by arm.
        controls: what mappings of others are worth.
    """
    costs = [_costs(name, ways, trained) for name, trained in found.items()]
    Sheet("", ("arm",), _COSTS, costs, _NOTE_OF_COSTS).print()
    qualities = {name: [each.quality for each in trained] for name, trained in found.items()}
    gaps = [_gaps(name, measured) for name, measured in {**qualities, **controls}.items()]
    headers = ("n", *(f"gap after {count}, %" for count in COUNTS))
    Sheet("", ("arm",), headers, gaps, _NOTE_OF_GAPS).print()
    if mst := found.get("mst"):
        compared = {
            name: list(differences(mst, other)) for name, other in found.items() if name != "mst"
        }
        _print_differences(compared)


def answer(compared: Sequence[Difference]) -> str:
    """Say whether nothing is compromised: no if anything is worse, yes if all is better."""
    verdicts = {each.verdict for each in compared}
    if "worse" in verdicts:
        return f"no, worse: {', '.join(each.of for each in compared if each.verdict == 'worse')}"
    return "yes" if verdicts == {"better"} else "not decided"


def _print_differences(compared: Mapping[str, Sequence[Difference]]) -> None:
    rows = [
        (name, each.of, f"{each.value:+.3f}", _ends(each.interval, "{:+.3f}".format), each.verdict)
        for name, of_arm in compared.items()
        for each in of_arm
    ]
    if rows:
        headers = ("difference", "95 % interval", "mst is")
        Sheet("", ("mst minus", "of"), headers, rows, _NOTE_OF_DIFFERENCES).print()
    if "dense" in compared:
        print(f"mst, without compromising performance of dense: {answer(compared['dense'])}")


def _costs(name: str, ways: Mapping[str, Arm], trained: Sequence[Trained]) -> tuple[object, ...]:
    way, losses = ways[name], np.array([each.loss for each in trained])
    tokens = way.steps * way.batch * way.shape.length
    share = np.mean([each.flops for each in trained]) / ways["dense"].planned()
    ends = _ends(_interval([losses], lambda strata: iqm(strata[0])), "{:.4f}".format)
    return (
        *(name, len(trained), significant(tokens / 1e6, 3), f"{100 * share:.1f}"),
        f"{iqm(losses):.4f} {ends}",
        f"{iqm(np.array([each.loss_as_trained for each in trained])):.4f}",
        significant(float(np.mean([each.cpu_seconds for each in trained])) / 60, 3),
    )


def _gaps(name: str, measured: Sequence[Quality]) -> tuple[str, ...]:
    cells = []
    for ratios in np.moveaxis(_ratios(measured), -1, 0):
        ends = _interval([ratios], lambda strata: _gap(strata[0]))
        cells.append(f"{_percent(float(_gap(ratios)))} {_ends(ends, _percent)}")
    return name, f"{np.mean([each.samples for each in measured]):.0f}", *cells


def _ratios(measured: Sequence[Quality]) -> Floats:
    """Return value / optimum, float64[seeds, problems, counts]."""
    return np.array([each.ratios for each in measured])


def _mean(ratios: Floats) -> Floats:
    """Return the mean over seeds and problems, float64[...] of float64[S, ..., P]."""
    return log_mean(np.moveaxis(iqm(ratios), -1, 0))


def _gap(ratios: Floats) -> Floats:
    return 100 * (_mean(ratios) - 1)


def _percent(gap: float) -> str:
    return significant(gap, 3) if gap >= 1 else f"{gap:.2f}"


def _excess(strata: Sequence[Floats]) -> Floats:
    return 100 * (_mean(strata[0]) / _mean(strata[1]) - 1)


def _difference(
    of: str, both: Sequence[Floats], figure: Callable[[Sequence[Floats]], Floats]
) -> Difference:
    return Difference(of, float(figure(both)), _interval(both, figure))


def _interval(
    strata: Sequence[Floats], figure: Callable[[Sequence[Floats]], Floats]
) -> tuple[float, float] | None:
    if not has_interval(strata):
        return None
    low, high = stratified_interval(strata, figure)
    return float(low), float(high)


def _ends(interval: tuple[float, float] | None, shown: Callable[[float], str]) -> str:
    return "-" if interval is None else f"({shown(interval[0])} to {shown(interval[1])})"
