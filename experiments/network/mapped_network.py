"""A network whose layers are mapped: one mapping for every layer, and what they take together.

``map`` prints what it takes, its slowest layer, its layers and its front.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np

from maestro_env.accelerators.accelerator import Accelerator
from maestro_env.base.real_units import RealFigures
from maestro_env.evaluation.cost_and_status import Cost
from maestro_env.evaluation.fronts import (
    Front,
    Powers,
    front_of_choices,
    least_product,
    representatives,
)
from maestro_env.experiments.network.layer_search import SearchedLayer
from maestro_env.experiments.pages.sections import Choice, Curve, Found, Section, distinct
from maestro_env.experiments.pages.writer import write_report
from maestro_env.experiments.search.goals import Goal
from maestro_env.experiments.search.printed_result import found_line, take
from maestro_env.experiments.shell.files import RecordError
from maestro_env.experiments.shell.printing import print_lines
from maestro_env.experiments.shown.tables import (
    Table,
    at_most,
    printable_name,
    shown_gap,
    significant,
)
from maestro_env.mapspace.space import Points
from maestro_env.models import room_of
from maestro_env.optimum.lines import powers_of
from maestro_env.workloads.layer import Layer
from maestro_env.workloads.network import Network

_MAY_HELP = "give more --samples, or other hardware"


@dataclass(frozen=True, eq=False)
class MappedNetwork:
    """A network whose layers are mapped.

    Args:
        network: the layers, and what is left out.
        hardware: they are mapped to.
        layers: what was found for each.
        settings: that decide the result, by the names of their flags, as JSON holds them.
    """

    network: Network
    hardware: Accelerator
    layers: tuple[SearchedLayer, ...]
    settings: dict[str, Any]

    @property
    def objective(self) -> str:
        """What was minimised for every layer: a product of latency and energy."""
        return self.layers[0].goal.objective.name

    @property
    def powers(self) -> Powers:
        """How often latency and energy are factors of it."""
        return powers_of(self.layers[0].goal.objective)

    @cached_property
    def mapped(self) -> list[tuple[Layer, SearchedLayer]]:
        """The layers that have a valid mapping, with what was found."""
        return [pair for pair in self._pairs if pair[1].best is not None]

    @property
    def unmapped(self) -> list[str]:
        """Names of the layers that have none; they are in no choice."""
        return [layer.name for layer, found in self._pairs if found.best is None]

    @property
    def why_unmapped(self) -> dict[str, list[str]]:
        """The names of those that have none, by why, or what may help."""
        found: dict[str, list[str]] = {}
        for layer, each in self._pairs:
            if each.best is None:
                why = each.goal.problem.why_nothing_fits() or _MAY_HELP
                found.setdefault(why, []).append(layer.name)
        return found

    @property
    def _pairs(self) -> Iterable[tuple[Layer, SearchedLayer]]:
        return zip(self.network.layers, self.layers, strict=True)

    @property
    def bound(self) -> float | None:
        """What no choice of mappings goes below, from the bounds of the layers; None without one.

        Of EDP, a product of sums, it is (sum of count x sqrt(bound))^2, by Cauchy and Schwarz; of
        other products the root is of as many factors as there are, by Hoelder.
        """
        power = 1 / sum(self.powers)
        parts = [layer.count * (found.bound or 0.0) ** power for layer, found in self.mapped]
        return math.fsum(parts) ** (1 / power) if all(parts) else None

    def choices(self) -> list[Choice]:
        """Return the best of every layer and, for a product, the best of the network."""
        best = self.best_of_layers()
        return [best, self.best_of_network()] if all(self.powers) else [best]

    def best_of_layers(self) -> Choice:
        """Return each layer's best mapping; at least one layer must have one."""
        return self._choice("best of every layer", [found.best or 0 for _, found in self.mapped])

    def best_of_network(self) -> Choice:
        """Return the mappings of the layers' fronts whose product of totals is least."""
        return self._choice("best of the network", least_product(*self._fronts, self.powers))

    def front(self) -> Front:
        """Return the choices of mappings that no other one beats in both latency and energy.

        ``front_of_choices`` says what it may lack; its points are rows of the layers' fronts.
        """
        return front_of_choices(*self._fronts)

    @property
    def _fronts(self) -> tuple[list[np.ndarray], list[int]]:
        """The figures of the fronts of the layers, and their counts."""
        layers, found = zip(*self.mapped, strict=True)
        return [each.front.figures for each in found], [each.count for each in layers]

    def report(self, path: Path | str) -> None:
        """Write a report: a page for ``.html`` (extra ``report``), else ``.md`` or ``.csv``.

        Raises:
            RecordError: another ending, no layer that has a mapping, or a file that cannot be
                written.
            MissingExtraError: the page needs the extra ``report``.
        """
        write_report([section_of(self)], Path(path))

    def _choice(self, name: str, rows: Sequence[int]) -> Choice:
        layers = [found for _, found in self.mapped]
        points = [each.front.points[row] for each, row in zip(layers, rows, strict=True)]
        costs = [_cost(each.goal, point) for each, point in zip(layers, points, strict=True)]
        counts = [layer.count for layer, _ in self.mapped]
        executed = list(zip(counts, costs, strict=True))
        latency_cycles = math.fsum(count * cost.latency_cycles for count, cost in executed)
        energy_nj = math.fsum(count * cost.energy_nj for count, cost in executed)
        buffers = room_of(self.hardware.MODEL).buffers(self.hardware, costs)
        return Choice(
            name,
            tuple(costs),
            tuple(tuple(each.tolist()) for each in points),
            *(latency_cycles, energy_nj),
            RealFigures.of(
                *(latency_cycles, energy_nj),
                sum(layer.count * layer.macs for layer, _ in self.mapped),
                self.hardware.clock_mhz,
                self._moved_bits(points),
                self.network.batch,
            ),
            *buffers,
        )

    def _moved_bits(self, points: Sequence[Points]) -> dict[str, float]:
        """Return the bits that each memory sends and takes for all executions of all layers."""
        moved: dict[str, float] = {}
        for (layer, found), point in zip(self.mapped, points, strict=True):
            problem = found.goal.problem
            for memory, bits in problem.moved_bits(problem.space.decode(point)).items():
                moved[memory] = moved.get(memory, 0.0) + layer.count * bits
        return moved


def _cost(goal: Goal, point: np.ndarray) -> Cost:
    cost, _ = goal.problem.evaluate_mapping(goal.problem.space.decode(point))
    assert cost is not None
    return cost


def section_of(mapped: MappedNetwork, title: str = "", command: str = "") -> Section:
    """Return the section of a mapped network.

    Args:
        mapped: layers without a mapping are named, and in no table.
        title: by default the names of network and hardware.
        command: makes the same again.

    Raises:
        RecordError: no layer has a mapping.
    """
    network = mapped.network
    if not mapped.mapped:
        raise RecordError(f"no valid mapping of any layer of {network.name} was found")
    choices = mapped.choices()
    unmapped = [f"No valid mapping, excluded from totals: {each}" for each in mapped.unmapped]
    found = tuple(
        Found(
            layer.name,
            each.goal,
            vector,
            float(each.values[each.best or 0]),
            each.bound,
            each.found_by,
            each.samples,
            layer.count,
            (Curve(layer.name, each.improvements, each.samples),) if each.improvements else (),
        )
        for (layer, each), vector in zip(mapped.mapped, choices[-1].vectors, strict=True)
    )
    return Section(
        title or f"{network.name} on {mapped.hardware.name or 'hardware'}",
        mapped.hardware,
        found,
        (*unmapped, *left_out_lines(network), *network.notes),
        command,
        mapped.settings,
        distinct([each.versions for each in mapped.layers]),
        mapped.objective,
        tuple(choices),
        mapped.bound,
        network.macs,
    )


def left_out_lines(network: Network) -> Iterator[str]:
    """Yield a line for every operator that no layer stands for."""
    total = network.macs + network.left_out_macs
    for each in network.left_out:
        share = "unknown MACs" if each.macs is None else f"{each.macs / total:.1%} of MACs"
        yield f"left out: {each.name} ({each.operator}, {share}): {each.reason}"


Row = dict[str, Any]
"""What tables tell of the mapping of a layer."""

# Of a terminal; and lines of a table: its headers and the one below them.
_LINES, _WIDTH, _HEADERS = 40, 80, 3
# Rows of the layers for which the loop nest gives way, and of the front.
_LEAST_LAYERS, _MOST_FRONT = 6, 4
# Of the sums over layers.
_ROUNDING = 1e-12


def print_network(
    mapped: MappedNetwork,
    rows: Sequence[Sequence[Row]],
    choice: Choice,
    front: Front | None,
    closing: Sequence[str],
) -> None:
    """Print a network in one screen, as far as it fits; files have all of it.

    Args:
        mapped: the network.
        rows: of every choice of mappings, and layer.
        choice: the last of these.
        front: of all choices; None where only one is known.
        closing: the last lines.
    """
    head, nest = list(_headline(mapped, choice)), list(_slowest(mapped, rows[-1]))
    below = 0 if front is None else min(len(front.points), _MOST_FRONT) + _HEADERS + 2
    room = _LINES - len(head) - _HEADERS - below - len(closing) - 3
    if room - len(nest) < min(len(rows[-1]), _LEAST_LAYERS):
        nest = [f"{nest[0]} network.md has its loop nest"]
    print_lines(*head, "", *nest, "")
    _print_layers(rows, max(room - len(nest), _LEAST_LAYERS))
    if front is not None:
        print_lines("")
        _print_front(mapped, front)
    print_lines("", *closing)


def _headline(mapped: MappedNetwork, choice: Choice) -> Iterator[str]:
    """Yield the lines that say what was found."""
    network, hardware, bound = mapped.network, mapped.hardware, mapped.bound
    objective, value = mapped.layers[0].goal.objective, choice.value(mapped.objective)
    gap = value / bound - 1 if bound else math.nan
    above = "the proven optimum" if gap < _ROUNDING else f"at most {at_most(gap)} above the optimum"
    if mapped.unmapped:
        # A part of a network has no optimum to be near to.
        above = f"without {len(mapped.unmapped)} of {len(mapped.layers)} layers"
    yield found_line(objective, value, above if bound or mapped.unmapped else "")
    executions = sum(layer.count for layer in network.layers)
    layers = f"{executions} executions of {len(network.layers)} layers"
    batch = f", batch of {network.batch:,}" * (network.batch > 1)
    line = printable_name(f"{network.name} on {hardware.name}: {layers}{batch}")
    yield from wrap(line, _WIDTH, break_on_hyphens=False, break_long_words=False)
    macs = sum(layer.count * layer.macs for layer, _ in mapped.mapped)
    peak = choice.latency_cycles * hardware.peak_macs_per_cycle
    utilization = macs / peak if math.isfinite(peak) else None
    yield from take(choice.latency_cycles, choice.energy_nj, utilization, hardware, choice.real)
    if mapped.unmapped:
        yield printable_name(
            f"in no total, as no valid mapping was found: {', '.join(mapped.unmapped)}"
        )
    if choice.area_um2 is not None:
        area = f"area {significant(choice.area_um2 / 1e6, 3)} mm^2"
        yield f"needs {choice.l1_bytes:,.0f} B of L1 per PE, {choice.l2_bytes:,.0f} B of L2; {area}"


def _slowest(mapped: MappedNetwork, rows: Sequence[Row]) -> Iterator[str]:
    """Yield the layer that takes most of the time, and its loop nest."""
    (_, found), row = max(
        zip(mapped.mapped, rows, strict=True), key=lambda each: each[1]["latency_share"]
    )
    yield printable_name(f"{row['layer']}, which takes {row['latency_share']:.0%} of the time:")
    problem = found.goal.problem
    for line in problem.show(problem.space.decode(np.array(row["vector"]))).split("\n"):
        yield from wrap(line, _WIDTH, subsequent_indent="  ")


def _print_layers(rows: Sequence[Sequence[Row]], room: int) -> None:
    """Print the layers in so many lines; if these are too few, those that take most time."""
    every = list(zip(rows[0], rows[-1], strict=True))
    shown = every
    if len(every) > room:
        shown = sorted(every, key=lambda each: -each[1]["latency_share"])[: room - 1]
    cells = [
        (
            *(row["layer"], row["bottleneck"], row["found_by"], row["count"]),
            *(f"{row[share]:.1%}" for share in ("latency_share", "energy_share")),
            shown_gap(best["gap"]),
        )
        for best, row in shown
    ]
    columns = ("count", "latency", "energy", "best above\nbound")
    Table("", ("layer", "bottleneck", "found by"), columns, cells).print()
    if len(shown) < len(every):
        print_lines(f"layers that take most time: {len(shown)} of {len(every)}; layers.csv has all")


def _print_front(mapped: MappedNetwork, front: Front) -> None:
    """Print some of the front, the best of the network among them."""
    figures = front.figures
    best = int((figures ** np.array(mapped.powers)).prod(axis=1).argmin())
    told, distance = representatives(figures, best, _MOST_FRONT)
    names = {0: "least latency", len(figures) - 1: "least energy"} | {best: "best of the network"}
    rows = [
        (names.get(row, ""), f"{latency:,.0f}", f"{energy:,.0f}", significant(latency * energy, 5))
        for row in told
        for latency, energy in [figures[row].tolist()]
    ]
    columns = ("latency\ncycles", "energy\nnJ", "EDP\ncycles x nJ")
    Table("", ("choice of mappings",), columns, rows).print()
    print_lines(
        f"front.csv has all {len(figures):,}; for each, one here takes at most {distance:.1%} more "
        "of both"
    )
