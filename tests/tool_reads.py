"""Reads files that we wrote with the Python package of another tool, and prints what it finds.

AccelForge needs Python 3.12 (pip install accelforge==1.0.467). Timeloop's front end is the folder
pytimeloop/timeloopfe of Accelergy-Project/timeloop-python; it needs accelergy.

    PYTHON tests/tool_reads.py accelforge FILE.yaml ...
"""

from __future__ import annotations

import json
import sys
from typing import Any


def accelforge(file: str) -> dict[str, Any]:
    """Evaluate a mapping; return actions by component, tensor and name, and joules."""
    from accelforge.frontend.spec import Spec
    from accelforge.model.main import evaluate_mapping

    found = evaluate_mapping(Spec.from_yaml(file))
    actions = found.actions(per_component=True, per_tensor=True)
    counts = {" ".join(map(str, key)): float(count) for key, count in actions.items()}
    return {"counts": counts, "joules": float(found.energy())}


def timeloop(file: str) -> dict[str, Any]:
    """Return what the front end hands to Timeloop's model."""
    import yaml
    from pytimeloop.timeloopfe import v4
    from pytimeloop.timeloopfe.common.backend_calls import _specification_to_yaml_string

    text = _specification_to_yaml_string(v4.Specification.from_yaml_files(file), for_model=True)
    found: dict[str, Any] = yaml.safe_load(text)
    return found


if __name__ == "__main__":
    read = {"accelforge": accelforge, "timeloop": timeloop}[sys.argv[1]]
    sys.stdout.write(json.dumps([read(file) for file in sys.argv[2:]]))
