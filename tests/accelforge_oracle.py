"""Makes tests/data/accelforge_gemms.json: what AccelForge counts for mappings that we wrote.

AccelForge needs Python 3.12, so there are two steps. Ours draws GEMMs and writes the files:

    python tests/accelforge_oracle.py draw CASES.json

A Python with AccelForge (pip install accelforge==1.0.467) evaluates them:

    python3.12 tests/accelforge_oracle.py evaluate CASES.json tests/data/accelforge_gemms.json
"""

from __future__ import annotations

import datetime
import hashlib
import importlib.metadata
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

GEMMS = {1: 200, 2: 60}
"""How many by the number of levels."""

EXTENTS = (4, 6, 8, 12, 16, 24, 32, 48, 64)
PES = (1, 2, 3, 4, 6, 8, 12, 16, 32)
COMPONENTS = {"DRAM": "offchip", "L2": "l2", "Cluster1": "cluster", "L1": "l1"}
TENSORS = {"I": "input", "W": "filter", "O": "output"}


def draw(target: str) -> None:
    """Write GEMMs with loops in any order, perfect factors, and groups of tiles."""
    from drawn import Draws

    from maestro_env.base.errors import MappingError
    from maestro_env.exchange import to_accelforge

    cases: list[dict[str, Any]] = []
    number = 0
    for levels, count in GEMMS.items():
        wanted = len(cases) + count
        while len(cases) < wanted:
            case = _case(Draws(number), levels)
            number += 1
            try:
                cases.append(case | {"text": to_accelforge(*of_case(case))})
            except MappingError:
                continue
    Path(target).write_text(json.dumps(cases))


def _case(draws: Any, levels: int) -> dict[str, Any]:
    extents = {dim: draws.one_of(EXTENTS) for dim in "MNK"}
    case: dict[str, Any] = {"extents": extents, "pes": draws.one_of(PES), "levels": []}
    for level in range(levels):
        tiles = {
            dim: draws.one_of(
                [size for size in range(1, extents[dim] + 1) if not extents[dim] % size]
            )
            for dim in draws.shuffled("MNK")
        }
        cluster = draws.one_of((1, 2, 4, 8)) if level else None
        case["levels"].append({"cluster": cluster, "parallel": draws.one_of("MNK"), "tiles": tiles})
        extents = tiles
    return case


def of_case(case: dict[str, Any]) -> tuple[Any, Any]:
    """Return mapping and problem of a case."""
    from maestro_env import Hardware, Layer, Level, Loop, Mapping, MapSpace, Problem

    problem = Problem(MapSpace(Layer("GEMM", case["extents"]), Hardware(case["pes"])))
    levels = []
    for level in case["levels"]:
        tiles, parallel = level["tiles"].items(), level["parallel"]
        loops = tuple(Loop(dim, size, size, dim == parallel) for dim, size in tiles)
        levels.append(Level(loops, level["cluster"]))
    return Mapping(tuple(levels)), problem


def digest(text: str) -> str:
    """Return by which a row names the text that AccelForge read."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def evaluate(source: str, target: str) -> None:
    """Count the accesses and compute cycles of every case."""
    from accelforge.frontend.spec import Spec
    from accelforge.model.main import evaluate_mapping

    rows = []
    for case in json.loads(Path(source).read_text()):
        text = case.pop("text")
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(text)
            file.flush()
            found = evaluate_mapping(Spec.from_yaml(file.name))
        counts = {}
        for (component, tensor, action), count in found.actions(
            per_component=True, per_tensor=True
        ).items():
            if component in COMPONENTS:
                name = f"{TENSORS[tensor]}_{COMPONENTS[component]}_{action}s"
                counts[name] = _integer(count)
        counts["compute_cycles"] = _integer(found.latency(per_component=True)["MAC"])
        rows.append(case | {"text": digest(text), "counts": counts})
    about = {
        "source": "AccelForge, evaluate_mapping",
        "version": importlib.metadata.version("accelforge"),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "script": "tests/accelforge_oracle.py",
    }
    lines = ",\n".join(json.dumps(row) for row in rows)
    Path(target).write_text(f'{{"about": {json.dumps(about)}, "rows": [\n{lines}\n]}}\n')


def _integer(count: Any) -> int:
    if int(count) != count:
        raise ValueError(f"{count} is no count")
    return int(count)


if __name__ == "__main__":
    {"draw": draw, "evaluate": evaluate}[sys.argv[1]](*sys.argv[2:])
