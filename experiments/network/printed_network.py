"""What ``map`` prints of a network: what it takes, its slowest layer, its layers, its front."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Any

import numpy as np

from maestro_env.evaluation.fronts import Front, representatives
from maestro_env.experiments.network.mapped_network import MappedNetwork
from maestro_env.experiments.pages.sections import Choice
from maestro_env.experiments.search.printed_result import found_line, take
from maestro_env.experiments.shell.printing import print_lines
from maestro_env.experiments.shown.tables import Table, printable_name, shown_gap, significant

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
    above = "the proven optimum" if gap < _ROUNDING else f"at most {gap:.2%} above the optimum"
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
