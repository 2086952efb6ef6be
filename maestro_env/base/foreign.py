"""Knows files of tools that are not read, so that errors can say what they are."""

from __future__ import annotations

from collections.abc import Mapping

from maestro_env.base.yaml_file import Part

_KEYS: Mapping[str, str] = {
    "operational_array": "a hardware file of ZigZag",
    "memories": "a hardware file of ZigZag",
    "cores": "a hardware file of Stream",
    "operator_type": "a workload of ZigZag or Stream",
    "loop_dims": "a workload of ZigZag or Stream",
    "core_allocation": "a mapping of Stream",
    "spatial_mapping": "a mapping of ZigZag",
    "architecture": "an architecture of Timeloop",
    "arch": "an architecture of AccelForge",
    "problem": "a problem of Timeloop",
    "workload": "a workload of AccelForge",
    "mapping": "a mapping of Timeloop or AccelForge",
}


def kind_of(root: Part) -> str:
    """Return what a document is, such as ``, but a mapping of ZigZag``; empty if it is unknown.

    Of a list, the first entry tells; of a block with ``layers``, the first of them.
    """
    value = root.value
    while not isinstance(value, str) and value:
        if isinstance(value, list):
            value = value[0]
            continue
        for key, kind in _KEYS.items():
            if key in value:
                return f", but {kind}"
        value = value.get("layers", "")
    return ""
