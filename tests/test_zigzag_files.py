"""Files of ZigZag: hardware, workloads and mappings, each field as counted by hand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from maestro_env import find_layer, find_network
from maestro_env.accelerators.files.zigzag import LayerMapping, read_mappings
from maestro_env.accelerators.finding import accelerator_notes, find_hierarchy, is_hierarchy
from maestro_env.accelerators.hierarchy_file import read_hierarchy
from maestro_env.base.errors import MaestroEnvError, MappingError
from maestro_env.base.yaml_file import read_yaml_file
from maestro_env.hierarchy.evaluation import HierarchyEvaluator

HARDWARE = re.sub(
    r"<(\w+) (\d+)-(\d+)>",
    r"{name: p, type: \1, bandwidth_min: \2, bandwidth_max: \3, allocation: []}",
    """
name: small
memories:
  taps: {size: 8, r_cost: 0.5, w_cost: 1, area: 0, latency: 1, operands: [I2],
    served_dimensions: [D3], ports: [<read 8-8>, <write 8-8>]}
  sums: {size: 64, r_cost: 2, w_cost: 4, latency: 1, operands: [O], served_dimensions: [D2],
    ports: [<read 16-16>, <read 16-16>, <write 16-16>]}
  sram: {size: 8192, r_cost: 32, w_cost: 64, latency: 1, operands: [I1, O], served_dimensions:
    [D1, D2, D3], force_double_buffering: True, ports: [<read 64-128>, <read_write 64-64>]}
  dram: {size: 10000000000, r_cost: 640, w_cost: 704, latency: 9, operands: [I1, I2, O], r_bw: 64,
    w_bw: 64, r_port: 0, w_port: 0, rw_port: 1, ports: [], served_dimensions: [D1, D2]}
operational_array: {input_precision: [8, 8], unit_energy: 0.04, unit_area: 1,
  dimensions: [D1, D2, D3], sizes: [4, 8, 2]}
""",
)
# An access of sram costs 32 pJ at each of two ports, of 192 bits together. The sums serve the 8
# units of D2, the taps the 2 of D3: what serves less stands below what it serves, and 1 tap of 8
# bits at 0.5 pJ becomes 2 of 0.25 pJ.
HERE = """
name: small
memories:
- {memory: dram, bw: 64, read_pj_per_bit: 10, write_pj_per_bit: 11}
- {memory: sram, keeps: [input, output], capacity_bits: 8192, buffers: 2, read_bw: 192,
   write_bw: 64, read_pj_per_bit: 0.3333333333333333, write_pj_per_bit: 1}
- {fanout: D1, size: 4}
- {fanout: D3, size: 2}
- {memory: sums, keeps: [output], capacity_bits: 64, width_bits: 16, read_bw: 32, write_bw: 16,
   read_pj_per_bit: 0.125, write_pj_per_bit: 0.25}
- {fanout: D2, size: 8}
- {memory: taps, keeps: [filter], capacity_bits: 8, read_bw: 8, write_bw: 8,
   read_pj_per_bit: 0.03125, write_pj_per_bit: 0.0625}
mac: {latches: [input, filter], pj: 0.04}
"""
NOTES = """partial sums, in memories of outputs alone, have 16 bits
ports of one way are one of all their bits
a bit of ports of several widths costs their mean
a port for both ways that is not the only one has all its bits for each way
dram serves D3 too
taps serves D3, but stands below"""
WORKLOAD = """
- {id: 0, name: first, operator_type: Conv, dimension_relations: [ix=2*ox+1*fx, iy=1*oy+3*fy],
   equation: 'O[b][k][oy][ox] += W[k][c][fy][fx] * I[b][c][iy][ix]',
   loop_dims: [B, K, C, OY, OX, FY, FX], loop_sizes: [1, 6, 3, 9, 5, 3, 3],
   operand_precision: {W: 8, I: 8, O: 16, O_final: 8}, padding: [[0, 1], [0, 0]]}
- {id: 1, operator_type: Pooling, equation: 'O[g][o]+=W[f]*I[g][i]', loop_dims: [G, O, F],
   dimension_relations: [i=o+f], loop_sizes: [4, 5, 2], operand_precision: {W: 0, I: 8, O: 8}}
- {id: 2, operator_type: Add, equation: 'O[g]=W[g]+I[g]', loop_dims: [G], loop_sizes: [4],
   operand_precision: {W: 8, I: 8, O: 8}}
- {id: 3, operator_type: Gemm, equation: 'O[d0][d1]+=I[d0][d2]*W[d2][d1]',
   loop_dims: [D0, D1, D2], loop_sizes: [5, 6, 7], operand_precision: {W: 8, I: 8, O: 8}}
"""
MAPPING = """
- name: default
  spatial_mapping: {D1: ['K, 4'], D2: ['C, 2', 'FX, 3']}
  spatial_mapping_hint: {D3: [OY, OX]}
  temporal_ordering: [[OX, 5], [D0, '*']]
  memory_operand_links: {O: O, W: I2, I: I1}
- {name: Add, spatial_mapping: {D1: ['G, 4']}}
"""
READ = {
    HARDWARE: find_hierarchy,
    WORKLOAD: find_network,
    MAPPING: lambda path: read_mappings(read_yaml_file(path, MappingError)),
}


def written(folder: Path, text: str) -> str:
    (folder / "a.yaml").write_text(text)
    return str(folder / "a.yaml")


def test_hardware_is_read_field_by_field(tmp_path: Path) -> None:
    path = written(tmp_path, HARDWARE)
    assert find_hierarchy(path) == read_hierarchy(HERE)
    assert is_hierarchy(path)
    notes = accelerator_notes(path)
    assert all(any(said in note for note in notes) for said in NOTES.splitlines())
    path = written(tmp_path, HARDWARE.replace("[8, 8]", "[8, 4]"))
    widths = getattr(find_hierarchy(path).elements[0], "width_bits", None)
    assert widths == {"input": 8, "filter": 4, "output": 8}


def test_served_dimensions_share_words_and_add_sums(tmp_path: Path) -> None:
    # 4 filters on D1, 8 channels on D2, 2 rows on D3, all in one cycle: an input serves the 4
    # units of D1, a filter the 2 of D3, and the 8 products along D2 are added into one of 8 sums.
    path = written(tmp_path, HARDWARE)
    layer = find_layer("conv:K=4,C=8,Y=2,X=1,R=1,S=1")
    mapping = [[], [], [("K", 1)], [("Y'", 1)], [], [("C", 1)], []]
    cost, status = HierarchyEvaluator(layer, find_hierarchy(path)).evaluate(mapping)
    assert cost is not None, status
    moved = {(each.tensor, each.parent): each.parent_words for each in cost.traffic}
    assert (moved["input", "sram"], moved["filter", "dram"]) == (8 * 2, 4 * 8)
    assert (moved["filter", "taps"], moved["output", "sums"]) == (4 * 8 * 2, 4 * 2)


def test_workloads_have_the_macs_of_their_loops(tmp_path: Path) -> None:
    network = find_network(written(tmp_path, WORKLOAD))
    assert network.macs == 6 * 3 * 9 * 5 * 3 * 3 + 5 * 6 * 7  # of first and layer_3
    assert {each.name: each.stride[1] for each in network.layers} == {"first": 2, "layer_3": 1}
    notes = [note.partition(": ")[2].partition(" ")[0] for note in network.notes]
    assert notes == ["dilation:", "padding", "operand_precision"]


def test_mappings_are_returned_as_they_are(tmp_path: Path) -> None:
    units = {"D1": {"K": 4}, "D2": {"C": 2, "S": 3}}
    assert READ[MAPPING](written(tmp_path, MAPPING)) == [
        LayerMapping("default", units, {"D3": ["P", "Q"]}, [("Q", 5), ("D0", None)]),
        LayerMapping("Add", {"D1": {"G": 4}}, {}, []),
    ]


BAD = [
    (HARDWARE, "unit_e", "is_imc: True, unit_e", "line 12, operational_array, is_imc: .*in memory"),
    (HARDWARE, "latency: 9", "latenzy: 9", "dram: 'latenzy' is not supported here; did you mean"),
    (HARDWARE, "[4, 8, 2]", "[4, 8]", "has dimensions D1, D2, D3 and 2 sizes"),
    (HARDWARE, "[I1, O]", "[I3]", "sram, operands: 'I3' is unknown; .*allowed: I1, I2, O"),
    (HARDWARE, "r_cost: 32", "auto_cost_extraction: true", "CACTI is not run; allowed: false"),
    (HARDWARE, "r_cost: 32, ", "", "sram: r_cost is missing"),
    (HARDWARE, "rw_port: 1", "rw_port: 0", "dram: has no port that reads"),
    (WORKLOAD, "[5, 6, 7]", "[5, 6]", "loop_sizes: 2 sizes for D0, D1, D2; allowed: one each"),
    (WORKLOAD, "loop_sizes:", "loop_dim_sizes:", "'loop_dim_sizes' is not supported"),
    (
        WORKLOAD,
        "operand_precision: {W: 8, I: 8, O: 16, O_final: 8}, ",
        "",
        "no operand_precision, as a layer of ZigZag's",
    ),
    (WORKLOAD, "O[g]=W[g]", "O[g]=2", "'.*' is not of the form O"),
    (MAPPING, "K, 4", "K, 2.5", "D1: has 'K, 2.5'; allowed: a dimension, once, and whole units"),
    (MAPPING, "'*'", "all", "temporal_ordering 2: allowed: a dimension, and how often its loop"),
    (MAPPING, "W: I2", "W: I1", "memory_operand_links, W: is 'I1'; allowed: O: O, W: I2 and I: I1"),
    (MAPPING, "Add", "Add, core_allocation: 1", "'core_allocation' is not supported"),
]


@pytest.mark.parametrize(("text", "old", "new", "told"), BAD, ids=[each[3][:40] for each in BAD])
def test_what_cannot_be_said_is_refused(
    tmp_path: Path, text: str, old: str, new: str, told: str
) -> None:
    path = written(tmp_path, text.replace(old, new, 1))
    with pytest.raises(MaestroEnvError, match=told):
        READ[text](path)
