"""Accelerators as Timeloop v4 writes them: ``architecture``, and ``ERT`` for energies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from maestro_env.accelerators.elements import FanoutElement, MacElement, MemoryElement
from maestro_env.accelerators.files.nodes import FANOUT_PJ, Node, hierarchy_of_nodes
from maestro_env.accelerators.files.timeloop_constraints import (
    kept_tensors,
    rules_of,
    tensors_without_reuse,
    with_innermost,
)
from maestro_env.accelerators.hardware import Hardware
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.accelerators.two_buffers import WORD_BITS, two_buffers
from maestro_env.base.errors import HardwareError, close_matches, quoted
from maestro_env.base.yaml_blocks import YamlBlock
from maestro_env.base.yaml_file import Part, read_yaml

TAGS = ("Container", "Component", "Parallel", "Hierarchical", "Nothing", "Network")
"""Tags of nodes."""

_OF_NODES = (
    *("name", "class", "subclass", "attributes", "spatial", "constraints"),
    *("required_actions", "area_share"),
)

CYCLE = "global_cycle_seconds"
DUMMY = "dummy_storage"
"""The class of what keeps nothing."""

UNLIMITED = 2**31 - 1
"""Depth of a memory without limit: the front end wants one, and Timeloop takes 32 bits."""

# Words a cycle, whatever the tool's sheet says (src/model/buffer.cpp of NVlabs/timeloop).
RATES = {"read_bandwidth": "read_bw", "write_bandwidth": "write_bw", "shared_bandwidth": "bw"}
"""Attributes of bandwidths, and our field of each."""

# Actions of an ``ERT`` for each of ours, in the order in which Timeloop looks for them.
_ACTIONS = {
    "read": ("random_read", "read"),
    "write": ("random_fill", "random_write", "fill", "write"),
    "compute": ("mac_random", "mult_random", "mac", "mult", "compute"),
}

# Names that Timeloop has for one attribute (src/model/buffer.cpp).
_SYNONYMS = {
    "datawidth": ("datawidth", "word_bits", "word_width"),
    "width": ("width", "memory_width", "data_storage_width"),
    "depth": ("depth", "memory_depth", "data_storage_depth"),
    "block_size": ("block_size", "n_words"),
}

_USED = (
    *(name for names in _SYNONYMS.values() for name in names),
    *(*RATES, "cluster_size", "multiple_buffering", CYCLE),
)

# Attributes that Timeloop counts with, and that are said otherwise here or not at all.
_INSTEAD = {
    **dict.fromkeys(("entries", "sizeKB"), "say the capacity as depth and width"),
    **dict.fromkeys(
        ("bandwidth", "rw_bandwidth"), "say read_bandwidth and write_bandwidth, or shared_bandwidth"
    ),
    "per_dataspace_bandwidth_consumption_scale": "all words of a memory take the same of a port",
    **dict.fromkeys(
        ("network_fill_latency", "network_drain_latency"), "networks take no time of their own"
    ),
}

_OF_SPARSE = (
    *("metadata_datawidth", "metadata_word_bits", "metadata_block_size", "metadata_width"),
    *("metadata_storage_width", "metadata_depth", "metadata_storage_depth"),
    *("metadata_counter_width", "compression_supported", "decompression_supported"),
    *("concordant_compressed_tile_traversal", "tile_partition_supported"),
)

# Estimates of energy and area, and names, in public files: of no effect here.
_OF_ESTIMATES = (
    *("technology", "latency", "cycle_time", "type", "multiplier_width", "adder_width"),
    *("num_banks", "n_banks", "num_ports", "n_ports", "nports", "n_rd_ports", "n_wr_ports"),
    *("n_rdwr_ports", "update_fifo_depth", "n_pipeline_stages", "cluster_area", "action_name"),
    *("per_datatype_ERT", "multicast_factor_argument", "network_read", "network_fill"),
    *("network_drain", "network_update", "network_operand", "network_result"),
    *("n_PE_cols", "n_PE_rows", "n_DAC_cycles", "DAC_datawidth", "ADC_datawidth"),
    *("cell_datawidth", "vector_access_energy", "addr_gen_energy"),
)

_COMPUTE = re.compile(r"mac|intmac|fpmac|compute", re.IGNORECASE)
_ROOT = (
    *("architecture", "variables", "constraints", "mapspace_constraints", "mapspace", "problem"),
    *("mapping", "mapper", "globals", "components", "compound_components", "sparse_optimizations"),
    *("ERT", "ART"),
)
_INSTANCES = re.compile(r"\[[0-9.]*\]")
_KINDS = ("dataspace", "temporal", "spatial")
_BYPASS = ("datatype", "bypass", "bypassing")
_SPARSE = "sparse tensors are not modelled; all count as dense"


def container_of(fanout: FanoutElement) -> str:
    """Return what an architecture calls the container of a fan-out, one for each of its axes."""
    return fanout.name.removesuffix(f"_{fanout.axis}")


def hardware_from_timeloop(text: str, source: str = "architecture", name: str = "") -> Hardware:
    """Read the ``architecture`` of a Timeloop v4 YAML text as an accelerator.

    Raises:
        HardwareError: other levels, widths or limits than two buffers have; begins with ``source``.
    """
    root = read_yaml(text, source, HardwareError, TAGS)
    return two_buffers(read_hierarchy(root, name), root)


def read_hierarchy(root: Part, name: str = "") -> Hierarchy:
    """Read the ``architecture`` of a document, of any memories.

    What components are made of is not read.

    Raises:
        HardwareError: it cannot be read, or says what no ``Hierarchy`` can be.
    """
    part, leaves = _all_leaves(root)
    energies = _energies(root)
    nodes = [_node(leaf, energies.get(leaf.part["name"].text(), {})) for leaf in leaves]
    widths = [node.memory.width_bits for node in nodes if node.memory and node.memory.keeps]
    seconds = [each.given[CYCLE] for each in leaves if CYCLE in each.given]
    clock = float(1 / (seconds[-1].positive() * 10**6)) if seconds else None
    word_bits = widths[0] if widths and isinstance(widths[0], int) else WORD_BITS
    return with_innermost(hierarchy_of_nodes(part, nodes, name, word_bits, clock))


@dataclass(frozen=True)
class _Leaf:
    """A container or component.

    Args:
        part: of the file.
        given: attributes, those of the containers around it included.
        elsewhere: constraints on it by kind, which do not stand in the part.
        beside: it stands beside others that keep other tensors.
    """

    part: Part
    given: Mapping[str, Part]
    elsewhere: Mapping[str, Part]
    beside: bool = False

    def constraints(self, kind: str) -> Part:
        """Return the constraints of a kind."""
        own = self.part.get("constraints", YamlBlock())
        own.only(*_KINDS)
        return own[kind] if kind in own else self.elsewhere.get(kind, own.get(kind, YamlBlock()))

    def number(self, attribute: str) -> Part | None:
        """Return an attribute by any of its names, whose expression may name others."""
        for name in _SYNONYMS.get(attribute, (attribute,)):
            if name in self.given:
                return self.given[name].knowing(self.given)
        return None


def _all_leaves(root: Part) -> tuple[Part, list[_Leaf]]:
    """Return the architecture of a document and its nodes."""
    part = root["architecture"]
    if "nodes" not in part:
        part.fail("nodes is missing; allowed: version 0.4, which has them")
    part.only("version", "nodes")
    root.spelt(*_ROOT)
    if "sparse_optimizations" in root:
        root.note(_SPARSE)
    variables = root.get("variables", YamlBlock()).named()
    given = {key: each for key, each in variables.items() if key == CYCLE}
    targets = _targets(root)
    leaves = list(_leaves(part.knowing(variables), given, targets))
    names = {leaf.part["name"].text() for leaf in leaves}
    for name, kinds in targets.items():
        if name not in names:
            hint = close_matches(name, names)
            next(iter(kinds.values())).fail(f"is of {quoted(name)}, which is no node; {hint}")
    return part, leaves


def _targets(root: Part) -> dict[str, dict[str, Part]]:
    """Return the constraints that do not stand at their nodes, by node and kind."""
    found: dict[str, dict[str, Part]] = {}
    for key in ("constraints", "mapspace_constraints"):
        said = root.get(key, YamlBlock())
        for target in said.get("targets", []).items() if said.value else ():
            kind = target["type"].text()
            kinds = found.setdefault(target["target"].text(), {})
            kinds["dataspace" if kind in _BYPASS else kind] = target
    return found


def _leaves(
    part: Part,
    inherited: Mapping[str, Part],
    targets: Mapping[str, Mapping[str, Part]],
    beside: bool = False,
) -> Iterator[_Leaf]:
    for node in part["nodes"].items():
        given = {**inherited, **node.get("attributes", YamlBlock()).named()}
        if node.tag == "Nothing":
            continue
        if beside and (node.tag != "Component" or "spatial" in node):
            node.fail("stands beside others; allowed: !Component without spatial, and !Nothing")
        if node.tag == "Hierarchical":
            yield from _leaves(node, inherited, targets)
        elif node.tag == "Parallel":
            yield from _side_by_side(list(_leaves(node, inherited, targets, beside=True)))
        elif node.tag in ("Container", "Component"):
            elsewhere = targets.get(node["name"].text(), {})
            yield _Leaf(node, given, elsewhere, beside)
        else:
            node.fail("has no tag !Container or !Component")
        if node.tag == "Container":
            inherited = given


def _side_by_side(leaves: list[_Leaf]) -> list[_Leaf]:
    """Return memories side by side, or refuse them if two keep a tensor."""
    kept: set[str] = set()
    for leaf in leaves:
        memory = _node(leaf, {}).memory
        for tensor in memory.keeps if memory else ():
            if tensor in kept:
                leaf.part.fail(f"{tensor} is kept by two memories side by side")
            kept.add(tensor)
    return leaves


def _energies(root: Part) -> dict[str, dict[str, Fraction]]:
    """Return energies by node and action, as Accelergy writes them; the largest of several."""
    found: dict[str, dict[str, Fraction]] = {}
    for table in root.get("ERT", YamlBlock()).get("tables", []).items():
        name = _INSTANCES.sub("", table["name"].text()).rpartition(".")[2]
        actions = found.setdefault(name, {})
        for each in table["actions"].items():
            action, energy = each["name"].text(), each["energy"].number()
            actions[action] = max(energy, actions.get(action, energy))
    return found


def _node(leaf: _Leaf, energies: Mapping[str, Fraction]) -> Node:
    """Return a node, whose actions have energies in pJ."""
    part = leaf.part
    pj = {
        ours: next((energies[name] for name in names if name in energies), Fraction(0))
        for ours, names in _ACTIONS.items()
    }
    if "sparse_optimizations" in part:
        part.note(_SPARSE)
    part.only(*_OF_NODES, "sparse_optimizations")
    _check_attributes(part.get("attributes", YamlBlock()))
    fanouts = list(_fanouts(leaf))
    if part.tag == "Container":
        return Node(part, fanouts)
    if _COMPUTE.fullmatch(part["class"].text()):
        return Node(part, fanouts, mac=MacElement(pj=float(pj["compute"])))
    return Node(part, fanouts, _memory(leaf, pj))


def _check_attributes(part: Part) -> None:
    """Refuse attributes that are neither read nor known to cost nothing; note what is sparse."""
    for synonyms in _SYNONYMS.values():
        if len({part[key].text() for key in synonyms if key in part}) > 1:
            part.one_of(*synonyms)
    for key, each in part.named().items():
        if key in _INSTEAD:
            each.fail(f"cannot be said; {_INSTEAD[key]}")
        if key in _OF_SPARSE:
            part.note(_SPARSE)
        elif key not in (*_USED, *_OF_ESTIMATES):
            hint = close_matches(key, _USED)
            each.fail(
                f"unknown attribute; {hint}allowed: {', '.join(_USED)}, and names of estimates"
            )


def _fanouts(leaf: _Leaf) -> Iterator[FanoutElement]:
    meshes = leaf.part.get("spatial", YamlBlock())
    meshes.only("meshX", "meshY")
    name, limits = leaf.part["name"].text(), leaf.constraints("spatial")
    apart = tensors_without_reuse(limits, "no_multicast_no_reduction")
    rules = rules_of(limits, name, spatial=True)
    for key, each in meshes.knowing(leaf.given).named().items():
        axis: Literal["X", "Y"] = "X" if key == "meshX" else "Y"
        full = f"{name}_{axis}"
        pj = float(leaf.part.names(full + FANOUT_PJ) or 0)
        yield FanoutElement(
            name=full, size=each.integer(), axis=axis, apart=apart, pj_per_bit=pj, rules=rules
        )


def _memory(leaf: _Leaf, pj: Mapping[str, Fraction]) -> MemoryElement:
    part = leaf.part
    name = part["name"].text()
    limits = leaf.constraints("temporal")
    rules = rules_of(limits, name, spatial=False)
    if part["class"].text() == DUMMY:
        return MemoryElement(name=name, keeps=(), rules=rules)
    if (datawidth := leaf.number("datawidth")) is None:
        part.fail("datawidth is missing, of its attributes")
    width = datawidth.integer()
    rates = {
        field: float(width * rate.positive())
        for key, field in RATES.items()
        if (rate := leaf.number(key)) is not None
    }
    buffers = leaf.number("multiple_buffering")
    # An access moves a line.
    line = (leaf.number("width") or datawidth).integer()
    return MemoryElement(
        name=name,
        keeps=kept_tensors(leaf.constraints("dataspace"), leaf.beside),
        capacity_bits=_capacity(leaf, width),
        width_bits=width,
        buffers=1 if buffers is None else buffers.integer(),
        forgets=tensors_without_reuse(limits, "no_temporal_reuse"),
        rules=rules,
        read_pj_per_bit=float(pj["read"] / line),
        write_pj_per_bit=float(pj["write"] / line),
        **rates,  # type: ignore[arg-type]
    )


def _capacity(leaf: _Leaf, width: int) -> int | None:
    """Return the bits of ``depth`` lines; a line is of all instances of a cluster."""
    depth, block, line = map(leaf.number, ("depth", "block_size", "width"))
    if depth is None or depth.integer() == UNLIMITED:
        return None
    words = 1
    if block is not None:
        words = block.integer()
    elif line is not None:
        clusters = leaf.number("cluster_size")
        cluster = 1 if clusters is None else clusters.integer()
        words, rest = divmod(line.integer(), cluster * width)
        if rest:
            line.fail(f"is {line.integer()}; allowed: a multiple of {cluster} x {width} bits")
    return depth.integer() * words * width
