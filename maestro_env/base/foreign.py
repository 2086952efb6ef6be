"""Knows files by their keys, those that are not read too, so that errors can say what they are."""

from __future__ import annotations

from collections.abc import Mapping

from maestro_env.base.yaml_file import Part

_KINDS: Mapping[str, tuple[str, ...]] = {
    "a hardware file of ZigZag": ("operational_array", "memories"),
    "a hardware file of Stream": ("cores",),
    "a workload of ZigZag or Stream": ("operator_type", "loop_dims"),
    "a mapping of ZigZag": ("spatial_mapping",),
    "a mapping of Stream": ("core_allocation",),
    "an architecture of Timeloop": ("architecture",),
    "an architecture of AccelForge": ("arch",),
    "a problem of Timeloop": ("problem",),
    "a workload of AccelForge": ("workload",),
    "a mapping of Timeloop or AccelForge": ("mapping",),
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
        for kind, keys in _KINDS.items():
            if any(key in value for key in keys):
                return f", but {kind}"
        value = value.get("layers", "")
    return ""
