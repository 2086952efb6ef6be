"""What the rules of published chips cost, and which dimensions their fan-outs then have.

``python tests/rules_of_chips.py [CHIP...]`` maps three networks to each chip, as it is and without
rules. Dimensions are those of the best mapping of each layer.
"""

from __future__ import annotations

import sys
from collections import defaultdict

from maestro_env import find_layer, find_network
from maestro_env.accelerators.constraints import constrained
from maestro_env.accelerators.elements import FanoutElement
from maestro_env.accelerators.finding import chips_with
from maestro_env.experiments.network.layer_search import SearchSettings
from maestro_env.experiments.network.networks import MappedNetwork, map_network
from maestro_env.hierarchy.broken_rules import broken_rule
from maestro_env.hierarchy.shape import cuts_of
from maestro_env.models import find_accelerator
from maestro_env.workloads.network import Network

# The distinct products of a block of Llama-3-8B, 128 tokens.
_SIZES = ((4096, 4096, 2), (1024, 4096, 2), (14336, 4096, 2), (4096, 14336, 1), (128, 128, 64))
LLAMA = [find_layer(f"gemm:M=128,N={n},K={k},count={times}") for n, k, times in _SIZES]
SETTINGS = SearchSettings.of("hierarchy")
NETWORKS = [*map(find_network, ("mobilenetv2", "resnet18")), Network("llama3_8b", tuple(LLAMA))]


def dims_of(mapped: MappedNetwork) -> str:
    """Return the dimensions that each fan-out has in some mapping; each obeys the rules."""
    dims: dict[str, set[str]] = defaultdict(set)
    for _, found in mapped.mapped:
        space = found.goal.problem.space
        mapping, shape = space.decode(found.front.points[found.best]), space.evaluator.shape
        assert broken_rule(space.hardware, shape, mapping) is None
        for element, cuts in zip(space.hardware.elements, cuts_of(shape, mapping), strict=True):
            if isinstance(element, FanoutElement):
                dims[element.name] |= {cut.dim for cut in cuts if cut.chunks > 1}
    return "; ".join(f"{name} {', '.join(sorted(found))}" for name, found in dims.items())


def main() -> None:
    """Print a row for each chip and network."""
    for chip in sys.argv[1:] or chips_with("memories"):
        accelerator = find_accelerator(chip, "hierarchy")
        for network in NETWORKS:
            ruled, free = (
                map_network(network, hardware=hardware, settings=SETTINGS)
                for hardware in (accelerator, constrained(accelerator, "none"))
            )
            ratio = ruled.best_of_network().edp / free.best_of_network().edp
            dims = f"{dims_of(ruled)} | {dims_of(free)}"
            sys.stdout.write(f"| `{chip}` | {network.name} | {ratio:.2f} | {dims} |\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
