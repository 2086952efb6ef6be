"""Networks in files of MAESTRO, GAMMA, SCALE-Sim, Timeloop and AccelForge."""

from __future__ import annotations

from pathlib import Path

import pytest
from workload_helpers import facts

from maestro_env.base.errors import NetworkError
from maestro_env.workloads.finding import find_layer, find_network
from maestro_env.workloads.network import Network


def read(folder: Path, name: str, text: str) -> Network:
    path = folder / name
    path.write_text(text)
    return find_network(str(path))


def named(network: Network) -> dict[str, str]:
    """Return the facts of every layer by its name."""
    names = [layer.name for layer in network.layers]
    return dict(zip(names, facts(network).split(", "), strict=True))


def refused(folder: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(NetworkError, match=message) as caught:
        read(folder, name, text)
    assert "\n" not in str(caught.value)


MAESTRO = """
Network net {
  Layer first { Type: CONV Stride { X: 2, Y: 2 }
    Dimensions { K: 64, C: 3, R: 7, S: 7, Y: 224, X: 224 } }
  Layer again { Type: CONV Stride { X: 2, Y: 2 }
    Dimensions { N: 1, K: 64, C: 3, R: 7, S: 7, Y: 224, X: 224 }
    Dataflow { TemporalMap(1,1) K; Cluster(8, P); SpatialMap(1,1) C; } }
  Layer depthwise { Type: DSCONV Dimensions { K: 1, C: 32, R: 3, S: 3, Y': 14, X': 12 } }
  Layer product { Type: GEMM Dimensions { M: 4, N: 5, K: 6 } }
  Layer grouped { Type: NGCONV Dimensions { G: 2, K: 3, C: 4, R: 1, S: 1, Y: 7, X: 7 } }
}
"""


def test_mapping_files_of_maestro(tmp_path: Path) -> None:
    network = read(tmp_path, "net.m", MAESTRO)
    assert named(network) == {
        "first": "2 CONV K64 C3 Y224 X224 R7 S7 stride 2x2",
        "depthwise": "1 DSCONV C32 Y16 X14 R3 S3",
        "product": "1 GEMM M4 N5 K6",
        "grouped": "1 NGCONV G2 K3 C4 Y7 X7 R1 S1",
    }
    assert network.notes == ()


@pytest.mark.parametrize(
    "dataflow", ["TemporalMap(3,1) Y; Anything at all;", "Cluster(Sz(Q), Z);", "TemporalMap(0,9) S"]
)
def test_dataflows_are_passed_over(tmp_path: Path, dataflow: str) -> None:
    text = MAESTRO.replace("TemporalMap(1,1) K; Cluster(8, P); SpatialMap(1,1) C;", dataflow)
    assert text != MAESTRO
    assert read(tmp_path, "net.m", text) == read(tmp_path, "net.m", MAESTRO)


def test_transposed_layers_of_maestro_are_said(tmp_path: Path) -> None:
    network = read(tmp_path, "net.m", MAESTRO.replace("NGCONV", "TRCONV").replace("G: 2, ", ""))
    assert network.notes == (
        "TRCONV: computed as CONV by the cost model maestro, refused by exact",
    )


def test_files_of_gamma(tmp_path: Path) -> None:
    text = "K,C,Y,X,R,S,T\n64,3,226,226,3,3,1\n1,32,112,112,3,3,2\n64,3,226,226,3,3,1\n"
    network = read(tmp_path, "net.csv", text)
    assert named(network) == {
        "net_l0": "2 CONV K64 C3 Y226 X226 R3 S3",
        "net_l1": "1 DSCONV C32 Y112 X112 R3 S3",
    }


TITLES = (
    "Layer, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Stride"
)
TOPOLOGY = f"{TITLES},\n"


def test_topologies_of_scalesim(tmp_path: Path) -> None:
    rows = "Conv1, 224, 225, 7, 7, 3, 64, 2,\nConv2_DP, 58, 58, 3, 3, 32, 1, 1,\n\n"
    rows += "FC,1,1,1,1,512,10,1,\n"
    network = read(tmp_path, "net.csv", TOPOLOGY + rows)
    assert named(network) == {
        "Conv1": "1 CONV K64 C3 Y225 X225 R7 S7 stride 2x2",
        "Conv2_DP": "1 DSCONV C32 Y58 X58 R3 S3",
        "FC": "1 CONV K10 C512 Y1 X1 R1 S1",
    }
    # Its own count: outputs are ceil((input - filter + stride) / stride).
    assert network.macs == 110 * 110 * 49 * 3 * 64 + 56 * 56 * 9 * 32 + 5120
    assert network.notes == ("Conv1: the last window: the input is enlarged to hold it",)


def test_products_of_scalesim(tmp_path: Path) -> None:
    rows = "a, 4, 5, 6,\nb, 4, 5, 6, 12,\nc, 7, 5, 6, 2:4,\n"
    network = read(tmp_path, "net.csv", "Layer, M, N, K,\n" + rows)
    assert named(network) == {"a": "13 GEMM M4 N5 K6", "c": "1 GEMM M7 N5 K6"}
    assert network.notes == ("c: sparsity: a layer is read as dense",)


def test_one_filter_of_scalesim_is_said(tmp_path: Path) -> None:
    network = read(tmp_path, "net.csv", TOPOLOGY + "Conv2_dw, 58, 58, 3, 3, 32, 1, 1,\n")
    assert network.macs == 56 * 56 * 9 * 32
    assert "Conv2_dw: one filter: read as a convolution with one output" in network.notes[0]


# Of 20 x 22 inputs, 3 x 3 windows, 4 channels and 8 filters: 18 x 20 outputs of 36 MACs, 8 times.
LAYER = "c1, 20, 22, 3, 3, 4, 8, 1,"
MACS = 18 * 20 * 36 * 8
TOPOLOGIES: dict[str, tuple[str, int, str]] = {
    "other titles": (f"net,H,W,R,S,C,K,s\n{LAYER}", MACS, ""),
    "tabs": (f"{TITLES}\n{LAYER}".replace(",", "\t"), MACS, ""),
    "headings": (f"{TITLES}\nAlexNet,,,\n{TITLES}\n{LAYER}", MACS, "AlexNet and 1 more: a row"),
    "a comment": (f"{TITLES}\n{LAYER} first of all", MACS, ""),
    "more columns": (f"{TITLES},,,Eh\n{LAYER},,18", MACS, "c1: the column eh is passed over"),
    "a batch": (f"{TITLES},Batch Size\n{LAYER}4", 4 * MACS, ""),
    "a ratio": (f"{TITLES}, Sparsity\n{LAYER}2:4", MACS, "c1: sparsity: a layer is read as dense"),
    "a batch of products": ("x,M,N,K,batch\na,4,5,6,7\n", 840, ""),
}


@pytest.mark.parametrize(("text", "macs", "note"), TOPOLOGIES.values(), ids=TOPOLOGIES)
def test_topologies_in_other_forms(tmp_path: Path, text: str, macs: int, note: str) -> None:
    network = read(tmp_path, "net.csv", text)
    assert network.macs == macs
    assert [each.startswith(note) for each in network.notes] == [True] * bool(note)


def test_columns_of_gamma_behind_a_name_are_no_product(tmp_path: Path) -> None:
    with pytest.raises(NetworkError, match=r"line 1: K, C and Y behind a name: .* K,C,Y,X,R,S,T"):
        read(tmp_path, "net.csv", "name,K,C,Y,X,R,S\na,8,8,9,9,3,3\n")


def test_names_in_files_have_their_numbers_by_dims(tmp_path: Path) -> None:
    (tmp_path / "net.csv").write_text(f"{TITLES}\nc1, H, 22, 3, 3, C, 8, 1,")
    (tmp_path / "part.yaml").write_text("sizes: {rank_sizes: {M: {{M}}, K: 5, N: 6}}")
    (tmp_path / "net.yaml").write_text(
        "{% set PART = include('part.yaml', '') %}\n"
        "workload:\n  <<<: {{PART}}.sizes\n  einsums: ['O[m,n] = A[m,k] * B[k,n]']\n"
    )
    files = {"net.csv": ({"H": 20, "C": 4}, MACS), "net.yaml": ({"M": 4}, 120)}
    for name, (dims, macs) in files.items():
        assert find_network(str(tmp_path / name), dims).macs == macs
        with pytest.raises(NetworkError, match=f"--dim {next(iter(dims))}=1$"):
            find_network(str(tmp_path / name))
        for unknown in ("Q", "3", "Stride"):
            with pytest.raises(NetworkError, match=rf"has no .*'{unknown}'"):
                find_network(str(tmp_path / name), {**dims, unknown: 1})


TIMELOOP = """
problem:
  version: 0.4
  shape:
    name: CNN_Layer
    dimensions: [R, S, P, Q, C, K, N]
    coefficients:
    - {name: Wstride, default: 1}
    - {name: Hstride, default: 1}
    - {name: Wdilation, default: 1}
    - {name: Hdilation, default: 1}
    data_spaces:
    - {name: Weights, projection: [[[C]], [[K]], [[R]], [[S]]]}
    - name: Inputs
      projection:
      - [[N]]
      - [[C]]
      - [[R, Wdilation], [P, Wstride]]
      - [[S, Hdilation], [Q, Hstride]]
    - {name: Outputs, projection: [[[N]], [[K]], [[Q]], [[P]]], read_write: True}
  instance: {R: 3, S: 3, P: 12, Q: 10, C: 8, K: 4, N: 2, Wstride: 2, Wdilation: 1, densities: {}}
"""


def test_problems_of_timeloop(tmp_path: Path) -> None:
    network = read(tmp_path, "layer.yaml", TIMELOOP)
    assert named(network) == {"layer": "1 CONV K4 C8 Y25 X12 R3 S3 N2 stride 2x1"}
    assert network.macs == 3 * 3 * 12 * 10 * 8 * 4 * 2
    dilated = read(tmp_path, "layer.yaml", TIMELOOP.replace("Wdilation: 1, d", "Wdilation: 4, d"))
    assert dilated.macs == network.macs
    assert "dilation" in dilated.notes[0]


def test_a_product_of_timeloop(tmp_path: Path) -> None:
    text = """
problem:
  shape: &shape
    dimensions: [M, N, K]
    data_spaces:
    - {name: A, projection: [[[M]], [[K]]]}
    - {name: B, projection: [[[N]], [[K]]]}
    - {name: Z, projection: [[[M]], [[N]]], read_write: true}
  <<: {instance: {M: 4, N: 5, K: 6}}
"""
    assert named(read(tmp_path, "gemm.yml", text)) == {"gemm": "1 GEMM M4 N5 K6"}
    column = text.replace("M: 4, N: 5, K: 6", "M: 64, N: 1, K: 1")
    assert named(read(tmp_path, "gemm.yml", column)) == {"gemm": "1 GEMM M64 N1 K1"}


FLAT = "C: 3, K: 4, R: 3, S: 3, P: 5, Q: 6, N: 2, Wstride: 2"
PROBLEMS = {
    "by name": (f"problem: {{shape: cnn-layer, {FLAT}}}", ""),
    "of no shape": (f"problem: {{{FLAT}}}", "net.yaml: no shape is given: read as cnn_layer"),
    "not dilated": (
        f"problem: {{shape: cnn_layer, {FLAT}, Hdilation: 0}}",
        "net.yaml: a dilation of 0",
    ),
    "an unused 1": (f"problem: {{shape: cnn_layer, instance: {{{FLAT}, G: 1}}}}", ""),
    "sparse": (
        f"problem: {{shape: cnn_layer, {FLAT}, densities: {{A: 0.5}}}}",
        "net.yaml: densities",
    ),
    "of inputs": (
        f"problem: {{shape: cnn_layer, {FLAT}, H: 11, Hpad: 1}}",
        "net.yaml: H, W, Hpad and",
    ),
}


@pytest.mark.parametrize(("text", "note"), PROBLEMS.values(), ids=PROBLEMS)
def test_problems_in_other_forms(tmp_path: Path, text: str, note: str) -> None:
    """Timeloop ships the shape ``cnn_layer``: P goes with Wstride."""
    network = read(tmp_path, "net.yaml", text)
    assert facts(network) == "1 CONV K4 C3 Y11 X8 R3 S3 N2 stride 2x1"
    assert network.macs == 3 * 4 * 3 * 3 * 5 * 6 * 2
    assert [each.startswith(note) for each in network.notes] == [True] * bool(note)


def test_a_row_of_a_topology_is_a_layer(tmp_path: Path) -> None:
    (tmp_path / "net.csv").write_text(f"{TITLES}\n{LAYER}\n{LAYER}\nc3{LAYER[2:-2]}2")
    assert find_layer(f"{tmp_path}/net.csv:2").stride == (2, 2)


ACCELFORGE = """
workload:
  iteration_space_shape: {m: 0 <= m < 128}
  rank_sizes: {P1: 28, N0: 24, T0: 2*96, B: 1, A: 1}
  bits_per_value: {All: 8}
  einsums:
  - name: expand
    tensor_accesses:
    - {name: T, projection: [p1, n0, b]}
    - {name: W, projection: [n0, t0]}
    - {name: O, projection: [p1, t0, b], output: True}
    renames: {weight: W}
  - name: depthwise
    tensor_accesses:
    - {name: O, projection: {Q: 2 * p1 + r0, T0: t0}}
    - {name: V, projection: [r0, t0]}
    - {name: D, projection: [p1, t0], output: true}
    iteration_space_shape: [0 <= r0 < 3]
    n_instances: 2
  - "S[m, n0] = A[m, h, e] * W[h, e, n0]"
  - einsum: "QK[b, h, m, p] = Q[b, h, m, e] * K[b, h, M: p, e]"
    rank_sizes: {H: 2, E: 8, P: 64}
  - einsum: "C[m] = QK[m]"
    is_copy_operation: True
  - "column[p1, b] = D[p1, a] * E[a, b]"
  - "scaled[p1, a] = D[p1, a] * F[p1]"
"""


def test_workloads_of_accelforge(tmp_path: Path) -> None:
    network = read(tmp_path, "net.yaml", ACCELFORGE)
    assert named(network) == {
        "expand": "1 GEMM M28 N192 K24",
        "depthwise": "2 DSCONV C192 Y57 X1 R3 S1 stride 2x1",
        "QK": "2 GEMM M128 N64 K8",
        "column": "1 GEMM M28 N1 K1",
    }
    (left,) = network.left_out
    assert (left.name, left.macs, left.reason) == ("S", None, "the extent of e is not known")


def test_published_networks_of_accelforge_have_their_macs(tmp_path: Path) -> None:
    """The first layers of its ResNet18, as its examples write them."""
    text = """
workload:
  rank_sizes: {N: 1}
  einsums:
  - einsum: "T0[p0, q0, n, m0] = I0[n, c0, H: p0 * 2 + r0, W: q0 * 2 + s0] * W0[r0, s0, c0, m0]"
    iteration_space_shape:
    - 0 <= p0 < 112
    - 0 <= q0 < 112
    - 0 <= c0 < 3
    - 0 <= m0 < 64
    - 0 <= r0 < 7
    - 0 <= s0 < 7
"""
    (layer,) = read(tmp_path, "net.yaml", text).layers
    assert (layer.macs, layer.stride) == (find_network("resnet18").layers[0].macs, (2, 2))


def test_all_limits_of_a_variable_hold(tmp_path: Path) -> None:
    text = (
        "workload: {rank_sizes: {M: 4, N: 9, K: 6, P: 3}, shape: {m: 0 <= m < 9, n: 0 <= n < 2}, "
    )
    text += "einsums: ['O[m, n] = A[m, k] * B[P: k, n]']}"
    assert facts(read(tmp_path, "net.yaml", text)) == "1 GEMM M4 N2 K3"


def test_a_rank_smaller_than_its_reach_is_said(tmp_path: Path) -> None:
    """Of 4 outputs, stride 2 and 3 taps, the last one is at 2 * 3 + 2 = 8, the ninth."""
    text = "workload: {rank_sizes: {P: 4, R: 3, C: 2, K: 5, H: 7}, einsums: ['O[k, p] = "
    network = read(tmp_path, "net.yaml", text + "I[c, H: 2 * p + r] * W[k, c, r]']}")
    assert network.macs == 4 * 3 * 2 * 5
    assert network.notes == ("net.yaml: the rank H is 7, but its variables reach 9, which counts",)


BAD_M = {
    "unclosed": ("Network n { Layer a { Type: CONV", "read as a network: line 1: the file"),
    "without layers": ("Network n { }", "net: no operator that can be mapped"),
    "binary": ("\x00\x01", "is neither Constant nor Network"),
    "window": (
        "Network n { Layer a { Type: DSCONV Dimensions { C: 3, R: 5, S: 5, Y: 3, X: 9 } } }",
        "layer a: .*the window R = 5 is larger than the input Y = 3",
    ),
    **{
        size: (f"Network n {{ Layer a {{ Type: GEMM Dimensions {{ K: {size} }} }} }}", told)
        for size, told in {
            **dict.fromkeys(("1e2", "5.9", "1_000", "4294967301"), "is no size; allowed"),
            "2**3": "is no size; allowed: integers from 0 to 2147483647, or the name",
            "-5": "line 1: .*-5' has a sign; allowed: integers",
            "5, K: 6": "line 1: K is given twice, as 5 and 6",
        }.items()
    },
    "stride": ("Network n { Layer a { Type: CONV Stride { x: 2 } } }", "of 'x'; allowed: X and Y"),
    "outside": (f"{MAESTRO}Netwrk q {{}}", "'Netwrk' is neither Constant nor Network"),
    "missing": (
        "Network n { Layer a { Type: GEMM Dimensions { M: 3, N: 5 } } }",
        "layer a: .*a GEMM lacks K",
    ),
}
BAD_CSV = {
    "empty": ("", "no layers; write a header"),
    "header": ("K,C,Y\n1,2,3\n", "line 1: unknown header 'K,C,Y'; allowed: K,C,Y,X,R,S,T or"),
    "cells": (TOPOLOGY + "a, 3, 3, 1,\n", "line 2: .* has too few cells, or an empty one"),
    "more cells": (TOPOLOGY + "a, 3, 3, 1, 1, 1, 1, 1, 5,\n", "line 2: '5' is a cell too many"),
    "two strides": (
        f"{TITLES},Stride Width\n{LAYER}1,",
        "line 2: '1' is a cell too many: SCALE-Sim",
    ),
    "order": ("Layer,M,K,N\na,1,2,3,\n", "line 1: m, n and k are in another order"),
    "swapped": (
        f"{TITLES.replace('Channels', 'Filters')} of Channels\n{LAYER}",
        "channel is not column 6",
    ),
    "no header": (f"{LAYER}\n{LAYER}\n", "line 1: a layer, which SCALE-Sim passes over"),
    "an empty cell": (TOPOLOGY + LAYER.replace("22", ""), "line 2: .* too few cells, or an empty"),
    "number": (TOPOLOGY + "a, 3, 3, 1, x, 1, 1, 1,\n", "line 2: 'x' is not an integer"),
    **{
        sign: (f"{TITLES}\na{f', {sign}' * 7}", f"line 2: '{each}8' is not an integer")
        for sign, each in (("+8", "."), ("-8", "-"))
    },
    "zero": (TOPOLOGY + "a, 3, 3, 1, 1, 1, 1, 0,\n", "line 2: a number is 0; least: 1"),
    "window": (TOPOLOGY + "a, 3, 3, 5, 5, 1, 1, 1,\n", "line 2: a window of 5"),
    "no rows": (TOPOLOGY, "net: no operator that can be mapped"),
}
BAD_YAML = {
    "neither": ("a: 1", "neither a problem .Timeloop., a workload"),
    "empty": ("", "net.yaml: it is empty"),
    "list": ("[1, 2]", "net.yaml: neither a problem .Timeloop., .* nor layers .ZigZag.$"),
    "template": ("workload: {{N}}", "'N' is undefined; give its number, such as --dim N=1$"),
    "syntax": ("\na: [", "net.yaml, line 3: .*node content"),
    "cycle": ("problem: &a {shape: *a}", "line 1: .a is a part that contains itself"),
    "deep": ("[" * 5000, "line 1: more than 30 blocks in each other"),
    "python": ("problem: !!python/object/apply:os.abort []", "line 1, problem: expected .name: v"),
    "size": (
        TIMELOOP.replace("C: 8", "D: 8"),
        "line 21, problem, instance, D: nothing here uses D",
    ),
    "coefficient": (
        TIMELOOP.replace("name: Wstride", "name: stride"),
        "unknown coefficient 'Wstride'",
    ),
    "a name": (TIMELOOP.replace("N: 2,", "N: 2, B: 16,"), "instance, B: nothing here uses B"),
    "a case": (TIMELOOP.replace("Wstride: 2", "WStride: 2"), "did you mean Wstride or Hstride"),
    "a key": (TIMELOOP.replace("coefficients:", "coefficient:"), "did you mean coefficients"),
    "twice": (TIMELOOP.replace("  instance:", "  N: 2\n  instance:"), "problem: 'N' is not supp"),
    "an idle loop": (
        TIMELOOP.replace("[R, S", "[T, R, S").replace("N: 2,", "N: 2, T: 4,"),
        "T runs",
    ),
    "a workload key": (ACCELFORGE.replace("rank_sizes", "rank_size"), "did you mean rank_sizes"),
    "an einsum key": (
        "workload: {einsums: [{name: a, n_instance: 4}]}",
        "did you mean n_instances",
    ),
    "an idle bound": (
        "workload: {rank_sizes: {M: 4, N: 2}, einsums: [{einsum: 'O[n] = A[m] * B[m, n]', shape: "
        "[0 <= z < 4]}]}",
        "no tensor has the variable 'z'; allowed: m, n",
    ),
    **{
        given: (
            f"workload: {{{given}, einsums: ['O[k, p] = I[c, H: 2 * p + r] * W[k, c, r]']}}",
            told,
        )
        for given, told in {
            "rank_sizes: {P: 4, MM: 2}": "no tensor has the rank 'MM'",
            "shape: [0 <= pp < 4]": "no tensor has the variable 'pp'; did you mean p",
            "shape: [], iteration_space_shape: []": "iteration_space_shape and shape are given",
        }.items()
    },
    "not true": (
        "workload: {einsums: [{einsum: 'O[m] = A[m]', is_copy_operation: ture}]}",
        "is_copy_operation: is 'ture'; allowed: true or false",
    ),
    "a text and tensors": (
        "workload: {einsums: [{einsum: 'O[m] = A[m]', tensor_accesses: []}]}",
        "tensor_accesses and einsum are given; allowed: one",
    ),
    "yes": (TIMELOOP.replace("True", "yes"), "read_write: is 'yes'; allowed: true or false"),
    "an unused coefficient": (
        TIMELOOP.replace("[R, Wdilation]", "[R]").replace("Wdilation: 1, d", "Wdilation: 2, d"),
        "nothing here uses Wdilation",
    ),
    "both": ("problem: {}\nworkload: {}", "problem and workload are given; allowed: one"),
    "a note alone": ("{# a note #}\na: 1", "neither a problem"),
    "ZigZag": ("operational_array: {}\nmemories: {}", ", but a hardware file of ZigZag$"),
    "its layers": ("- {id: 0, operator_type: Conv}", "line 1 1: has no equation and no loop_dims"),
    "its mapping": ("- {name: default, spatial_mapping: {}}", ", but a mapping of ZigZag$"),
    "Stream": ("{name: a, cores: {0: a.yaml}}", ", but a hardware file of Stream$"),
    "its mapping in layers": (
        "layers: [{name: a, core_allocation: [0]}]",
        ", but a mapping of Str",
    ),
    "an architecture": ("architecture: {nodes: []}", ", but an architecture of Timeloop$"),
    "no output": (TIMELOOP.replace("True", "False"), "0 tensors are outputs; allowed: 1"),
    "no input": (
        "problem: {shape: {dimensions: [M], data_spaces: [{projection: [[[M]]], read_write: true}]}"
        ", instance: {M: 3}}",
        "no tensor is read",
    ),
    "named shape": (
        "problem: {shape: cnn_bwd, C: 3}",
        "line 1, problem, shape: unknown shape 'cnn_bwd'; allowed: cnn_layer, or name",
    ),
    "bound": (ACCELFORGE.replace("0 <= m < 128", "m < 128"), "'m < 128' is not of the form 0 <="),
    "three axes": (
        "workload: {rank_sizes: {P: 4, K: 3, C: 2}, einsums: [{einsum: 'O[p,q,t,k] = I[c, H: p+r,"
        " W: q+s, D: t+u] * W[c,k,r,s,u]', rank_sizes: {Q: 4, T: 4, R: 3, S: 3, U: 3}}]}",
        "a convolution over 3 axes",
    ),
    "einsum": (
        "workload: {rank_sizes: {M: 4}, einsums: ['O[m] = f(A[m]) * B[m]']}",
        "is not of the form O.m, n. = A",
    ),
    "two windows of one variable": (
        "workload: {rank_sizes: {P: 4}, einsums: [{einsum: 'O[p] = I[H: p+r, W: p+s] * W[r,s]',"
        " rank_sizes: {R: 3, S: 3}}]}",
        "p is in more than one axis",
    ),
}
BAD = {
    f"{ending}, {name}": (f"net.{ending}", *case)
    for ending, cases in (("m", BAD_M), ("csv", BAD_CSV), ("yaml", BAD_YAML))
    for name, case in cases.items()
}


@pytest.mark.parametrize(("name", "text", "message"), BAD.values(), ids=BAD)
def test_bad_files_are_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    refused(tmp_path, name, text, message)


def test_a_small_file_does_not_become_a_large_one(tmp_path: Path) -> None:
    levels = "\n".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 30))
    text = f"a0: &a0 [[x]]\n{levels}\nproblem: {{shape: {{dimensions: *a29}}}}\n"
    refused(tmp_path, "net.yaml", text, "line 5: aliases stand for more values than the text has")
    keys = ", ".join(f"k{i}: 1" for i in range(3000))
    text = f"a: &a {{{keys}}}\nb:\n" + "- {<<: *a}\n" * 2000
    refused(tmp_path, "net.yaml", text, "line 19: aliases stand for more values than the text has")


@pytest.mark.parametrize("ending", ["m", "csv", "yaml"])
def test_missing_files_are_named(tmp_path: Path, ending: str) -> None:
    with pytest.raises(NetworkError, match=rf"missing\.{ending} cannot be read: No such file"):
        find_network(str(tmp_path / f"missing.{ending}"))


def test_only_onnx_files_have_open_dimensions(tmp_path: Path) -> None:
    with pytest.raises(
        NetworkError, match="'resnet18' has no open dimensions; only ONNX files, top"
    ):
        find_network("resnet18", {"batch": 1})
