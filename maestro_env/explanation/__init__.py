"""Why a mapping costs what it does.

``explain_mapping`` puts together what the modules find out, one question a file; on an accelerator
with any memories ``explain_hierarchy`` does it. ``text`` and ``rendering`` show it.
"""

from maestro_env.accelerators.elements import TENSORS
from maestro_env.explanation.bottleneck import (
    PARTS,
    RESOURCES,
    Bottleneck,
    Cycles,
    Delay,
    StepTimes,
    Utilization,
    count_cycles,
    find_bottleneck,
    time_steps,
)
from maestro_env.explanation.dataflows import Dataflow, textbook_dataflows
from maestro_env.explanation.explanation import Explanation, explain_mapping
from maestro_env.explanation.hierarchy import (
    HierarchyExplanation,
    explain_hierarchy,
    nest_bottleneck,
    nest_status,
)
from maestro_env.explanation.neighbours import Neighbour, better, better_with_room, find_neighbours
from maestro_env.explanation.traffic import (
    Buffer,
    Buffers,
    Energy,
    Stage,
    Traffic,
    count_energy,
    count_reuse,
    count_traffic,
    fill_buffers,
)
from maestro_env.hierarchy.evaluation import Fill

__all__ = [
    "PARTS",
    "RESOURCES",
    "TENSORS",
    "Bottleneck",
    "Buffer",
    "Buffers",
    "Cycles",
    "Dataflow",
    "Delay",
    "Energy",
    "Explanation",
    "Fill",
    "HierarchyExplanation",
    "Neighbour",
    "Stage",
    "StepTimes",
    "Traffic",
    "Utilization",
    "better",
    "better_with_room",
    "count_cycles",
    "count_energy",
    "count_reuse",
    "count_traffic",
    "explain_hierarchy",
    "explain_mapping",
    "fill_buffers",
    "find_bottleneck",
    "find_neighbours",
    "nest_bottleneck",
    "nest_status",
    "textbook_dataflows",
    "time_steps",
]
