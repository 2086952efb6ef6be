"""What accelforge_chips.py asks of AccelForge, in a Python that has it.

python3.12 accelforge_side.py chips WORKLOAD.yaml
python3.12 accelforge_side.py map FILE.yaml energy|edp even|uneven SECONDS
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CHIPS = ("eyeriss", "simba")
KEPT = {"~Intermediates": "All", "~MainMemory": "Nothing, may_keep: All"}
"""Sets of tensors of one layer."""


def chips(workload: str) -> None:
    """Write the chips to this folder, with the numbers of AccelForge's component models.

    Least usage and leakage are left out.
    """
    import accelforge

    folder = Path(accelforge.__file__).parent.parent / "examples" / "arches"
    for chip in CHIPS:
        spec = accelforge.Spec.from_yaml(folder / f"{chip}.yaml", workload)
        einsum = spec.workload.einsums[0].name
        costs = spec.calculate_component_costs(einsum_name=einsum).arch.nodes
        lines = [_node(*both) for both in zip(spec.arch.nodes, costs, strict=True)]
        Path(f"{chip}.yaml").write_text("\n".join(["arch:", "  nodes:", *lines, ""]))


def _node(node: Any, cost: Any) -> str:
    """Return the line of a node."""
    kind, own = type(node).__name__, {"name": node.name}
    if kind == "Container":
        return f"  - !Container {_flow(own | {'spatial': [*map(_fanout, node.spatial)]})}"
    if kind == "Memory":
        enabled = "weight.bits_per_value if weight else 0"
        own["size"] = enabled if enabled in str(node.size) else cost.size
        own["tensors"] = f"{{keep: {KEPT.get(node.tensors.keep, node.tensors.keep)}}}"
        if node.bits_per_value:
            own["bits_per_value"] = _flow(dict.fromkeys(node.bits_per_value, 24))
    actions = []
    for each in cost.actions:
        action = {"name": each.name, "energy": float(each.energy)}
        action["throughput"] = float(each.throughput)
        if kind == "Memory":
            action["bits_per_action"] = each.bits_per_action
        actions.append(_flow(action))
    own |= {"leak_power": 0, "area": 0, "total_latency": cost.total_latency, "actions": actions}
    return f"  - !{kind} {_flow(own)}"


def _fanout(each: Any) -> str:
    own = {"name": each.name, "fanout": each.fanout}
    return _flow(own if str(each.reuse).startswith("<") else own | {"reuse": each.reuse})


def _flow(values: dict[str, Any]) -> str:
    shown = (
        f"{key}: [{', '.join(each)}]" if isinstance(each, list) else f"{key}: {each}"
        for key, each in values.items()
    )
    return f"{{{', '.join(shown)}}}"


def best(file: str, goal: str, way: str, limit: str) -> dict[str, Any]:
    """Return the best mapping of a file's layer, and CPU-seconds without imports."""
    from accelforge import Spec, mapper
    from accelforge.frontend.mapper.metrics import Metrics
    from accelforge.util.parallel import set_n_parallel_jobs

    set_n_parallel_jobs(1)
    spec, column = Spec.from_yaml(file), {"edp": "energy_delay_product"}.get(goal, goal)
    spec.mapper.metrics = Metrics[column.upper()]
    spec.mapper._timeloop_style_even = way == "even"
    began = time.process_time()
    resource.setrlimit(resource.RLIMIT_CPU, (int(began + float(limit)),) * 2)
    call = mapper.FFM.map_workload_to_arch
    found = call(spec, print_progress=False, eval_in_detail=False).data
    values = found[f"Total<SEP>{column}"]
    mapping = found.iloc[int(values.argmin())]["Total<SEP>mapping"](_for_model=True)
    lines = ["mapping:", "  nodes:", *_lines(mapping.nodes), ""]
    seconds = time.process_time() - began
    return {"value": float(values.min()), "seconds": seconds, "mapping": "\n".join(lines)}


def _lines(nodes: Any) -> Iterator[str]:
    for node in nodes:
        kind, own = type(node).__name__, {}
        if kind in ("Temporal", "Spatial"):
            own = {"rank_variable": node.rank_variable, "tile_shape": node.tile_shape}
        if kind == "Storage":
            own = {"tensors": sorted(map(str, node.tensors))}
        if kind == "Spatial":
            own["name"] = node.name
        if kind in ("Storage", "Spatial"):
            own["component"] = node.component
        if kind == "Compute":
            own = {"einsum": node.einsum, "component": node.component}
        if own:
            yield f"  - !{kind} {_flow(own)}"


if __name__ == "__main__":
    if sys.argv[1] == "chips":
        chips(sys.argv[2])
    else:
        sys.stdout.write(json.dumps(best(*sys.argv[2:])) + "\n")
