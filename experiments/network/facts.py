"""What tables and reports tell of a network: what is left out, what bounds a layer."""

from __future__ import annotations

from collections.abc import Iterator

from maestro_env.base.errors import ModelError
from maestro_env.evaluation.problem import Problem
from maestro_env.explanation import find_bottleneck
from maestro_env.mapspace.mapping import Mapping
from maestro_env.workloads.network import Network


def left_out_lines(network: Network) -> Iterator[str]:
    """Yield a line for every operator that no layer stands for."""
    total = network.macs + network.left_out_macs
    for each in network.left_out:
        share = "unknown MACs" if each.macs is None else f"{each.macs / total:.1%} of MACs"
        yield f"left out: {each.name} ({each.operator}, {share}): {each.reason}"


def bottleneck(problem: Problem, mapping: Mapping) -> str:
    """Return the resource of which more would save most cycles; ``-`` where none is known."""
    try:
        return next(iter(find_bottleneck(problem, mapping).names), "-")
    except ModelError:
        return "-"
