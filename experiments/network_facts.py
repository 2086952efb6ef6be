"""What tables and reports tell of a network: what is left out, what bounds a layer."""

from __future__ import annotations

from collections.abc import Iterator

from maestro_env.cost import Cost
from maestro_env.hardware import Hardware
from maestro_env.workloads.network import Network


def left_out_lines(network: Network) -> Iterator[str]:
    """Yield a line for every operator that no layer stands for."""
    total = network.macs + network.left_out_macs
    for each in network.left_out:
        share = "unknown MACs" if each.macs is None else f"{each.macs / total:.1%} of MACs"
        yield f"left out: {each.name} ({each.operator}, {share}): {each.reason}"


def bottleneck(cost: Cost, hardware: Hardware) -> str:
    """Return what takes most of the time of a mapping, as other parts run at the same time.

    ``off-chip`` are the words of main memory at its bandwidth; the others are sums over the
    outermost steps: transfers into the clusters, transfers out of them, and the clusters' work.
    """
    words = (cost.offchip_read_words or 0.0) + (cost.offchip_write_words or 0.0)
    parts = {
        "compute": cost.compute_sum_cycles or 0.0,
        "network in": cost.ingress_sum_cycles or 0.0,
        "network out": cost.egress_sum_cycles or 0.0,
        "off-chip": words / hardware.offchip_bw,
    }
    return max(parts, key=lambda name: parts[name])
