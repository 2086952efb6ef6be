"""All trainings of transformers: which there are, and their tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from maestro_env.base.checks import look_up
from maestro_env.experiments.papers.sparse.corpus import Source, shards
from maestro_env.experiments.papers.sparse.curves import CURVES, draw_curves
from maestro_env.experiments.papers.sparse.pretraining import (
    CONTROLS,
    COUNTS,
    WORST,
    Control,
    ControlSetup,
    Pretraining,
    Quality,
    Setup,
    Size,
    Trained,
)
from maestro_env.experiments.shell.printing import print_lines
from maestro_env.experiments.shown.plots import plot
from maestro_env.experiments.shown.statistics import Estimate, Floats, estimate, iqm, log_mean
from maestro_env.experiments.shown.tables import Table, significant, with_interval
from maestro_env.experiments.store.records import Versions
from maestro_env.experiments.store.running import run_setups
from maestro_env.mappers.papers.transformer.training import Arm

MARGIN = 3.0
"""Per cent by which an arm that is as good may be worse: what MAST's paper calls little."""

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
    "%: of what the other has, with 95 % bootstrap intervals over seeds; perplexity: exp(loss). "
    f"Better: all of the interval is below 0; as good: below {MARGIN:g}; worse: above {MARGIN:g}"
)


@dataclass(frozen=True)
class Difference:
    """How an arm differs from another.

    Args:
        of: what is compared; less is better.
        excess: of the first, in per cent of what the other has.
    """

    of: str
    excess: Estimate

    @property
    def verdict(self) -> str:
        """Whether the first is better, as good within ``MARGIN``, worse, or not decided."""
        if self.excess.high < MARGIN:
            return "better" if self.excess.high < 0 else "as good"
        return "worse" if self.excess.low > MARGIN else "not decided"


def differences(first: Sequence[Trained], other: Sequence[Trained]) -> Iterator[Difference]:
    """Yield the differences of two arms in perplexity and in the values of their mappings."""
    perplexities = [np.exp([[each.loss] for each in arm]) for arm in (first, other)]
    yield Difference("perplexity", estimate(perplexities, _excess))
    for place, count in enumerate(COUNTS):
        both = [_ratios([each.quality for each in arm])[..., place] for arm in (first, other)]
        yield Difference(f"best of {count}", estimate(both, _excess))


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
    dense = found.get("dense")
    costs = [(name, *_costs(ways[name], trained, dense)) for name, trained in found.items()]
    Table("", ("arm",), _COSTS, costs, _NOTE_OF_COSTS).print()
    qualities = {name: [each.quality for each in trained] for name, trained in found.items()}
    gaps = [_gaps(name, measured) for name, measured in {**qualities, **controls}.items()]
    headers = ("n", *(f"gap after {count}, %" for count in COUNTS))
    Table("", ("arm",), headers, gaps, _NOTE_OF_GAPS).print()
    if mst := found.get("mst"):
        compared = {
            name: list(differences(mst, other)) for name, other in found.items() if name != "mst"
        }
        _print_differences(compared)


def answer(compared: Sequence[Difference]) -> str:
    """Say whether nothing is compromised: no if anything is worse, yes if all is as good."""
    if worse := [each.of for each in compared if each.verdict == "worse"]:
        return f"no, worse: {', '.join(worse)}"
    return "not decided" if any(each.verdict == "not decided" for each in compared) else "yes"


def _print_differences(compared: Mapping[str, Sequence[Difference]]) -> None:
    rows = [
        (name, each.of, with_interval(each.excess, "{:+.2f}".format), each.verdict)
        for name, of_arm in compared.items()
        for each in of_arm
    ]
    if rows:
        headers = ("difference, %", "mst is")
        Table("", ("mst minus", "of"), headers, rows, _NOTE_OF_DIFFERENCES).print()
    if "dense" in compared:
        print_lines(f"mst, without compromising performance of dense: {answer(compared['dense'])}")


def _costs(
    way: Arm, trained: Sequence[Trained], dense: Sequence[Trained] | None
) -> tuple[object, ...]:
    losses = np.array([each.loss for each in trained])
    tokens = way.steps * way.batch * way.shape.length
    return (
        *(len(trained), significant(tokens / 1e6, 3)),
        "-" if dense is None else f"{100 * _flops(trained) / _flops(dense):.1f}",
        with_interval(estimate([losses], lambda strata: iqm(strata[0])), "{:.4f}".format),
        f"{iqm(np.array([each.loss_as_trained for each in trained])):.4f}",
        significant(float(np.mean([each.cpu_seconds for each in trained])) / 60, 3),
    )


def _gaps(name: str, measured: Sequence[Quality]) -> tuple[str, ...]:
    of_counts = np.moveaxis(_ratios(measured), -1, 0)
    gaps = [estimate([ratios], lambda strata: 100 * (_mean(strata[0]) - 1)) for ratios in of_counts]
    samples = np.mean([each.samples for each in measured])
    return name, f"{samples:.0f}", *(with_interval(gap, _percent) for gap in gaps)


def _flops(trained: Sequence[Trained]) -> float:
    """Return the operations of a training, the mean over seeds."""
    return float(np.mean([each.flops for each in trained]))


def _ratios(measured: Sequence[Quality]) -> Floats:
    """Return value / optimum, float64[seeds, problems, counts]."""
    return np.array([each.ratios for each in measured])


def _mean(ratios: Floats) -> Floats:
    """Return the mean over seeds and problems, float64[...] of float64[S, ..., P]."""
    return log_mean(np.moveaxis(iqm(ratios), -1, 0))


def _percent(gap: float) -> str:
    return significant(gap, 3) if gap >= 1 else f"{gap:.2f}"


def _excess(strata: Sequence[Floats]) -> Floats:
    return 100 * (_mean(strata[0]) / _mean(strata[1]) - 1)


@dataclass(frozen=True)
class Pretrainings:
    """What is trained: each arm from each seed.

    Args:
        others: as in ``Setup``.
    """

    arms: Sequence[str]
    seeds: Sequence[int]
    steps: int
    rate: float
    size: Size
    source: Source

    def setups(self) -> list[Setup]:
        """Return all trainings, seed by seed, so that a part of them treats all arms alike.

        Raises:
            SparsityError, TransformerError, UnknownNameError, UsageError: some cannot be.
        """
        self.source.require()
        known = self.size.arms(self.steps)
        for arm in self.arms:
            look_up("arm", arm, known)
        return [
            Setup(arm, seed, self.steps, self.rate, self.size, self.source)
            for seed, arm in product(self.seeds, self.arms)
        ]

    def controls(self, directory: Path, versions: Versions) -> list[Control]:
        """Return what trainings are compared with."""
        return [
            Control(
                ControlSetup(control, seed, self.source.held),
                directory=directory,
                versions=versions,
            )
            for seed, control in product(self.seeds, CONTROLS)
        ]


def conduct(trainings: Pretrainings, config: Any) -> int:
    """Train what is not there yet, print tables, and return the exit status."""
    return run_setups(
        "sparse",
        config,
        asdict(trainings.source) | asdict(trainings.size),
        ("torch",),
        Pretraining,
        trainings.setups(),
        lambda works: _report(trainings, works, config.svg),
        lambda directory, here: [
            *shards(trainings.source, directory, here),
            *trainings.controls(directory, here),
        ],
    )


def _report(trainings: Pretrainings, works: Sequence[Pretraining], svg: bool) -> None:
    found: dict[str, list[Trained]] = {}
    for work in works:
        if (trained := work.read()) is not None:
            found.setdefault(work.setup.arm, []).append(trained)
    controls: dict[str, list[Quality]] = {}
    for control in trainings.controls(works[0].directory, works[0].versions):
        if (measured := control.read()) is not None:
            controls.setdefault(control.setup.control, []).append(measured)
    if found:
        print_tables(trainings.size.arms(trainings.steps), found, controls)
        curves = {arm: [each.curve for each in trained] for arm, trained in found.items()}
        png = works[0].directory / CURVES
        plot(png, lambda: draw_curves({"": curves}, "loss in training"), svg)
