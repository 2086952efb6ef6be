"""Files of other tools: written by hand, refused with the reason, damaged."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maestro_env import (
    Hardware,
    Layer,
    Level,
    Loop,
    Mapping,
    MapSpace,
    Problem,
    find_hardware,
    find_layer,
)
from maestro_env.base.errors import (
    ArgumentTypeError,
    HardwareError,
    LayerError,
    MaestroEnvError,
    MappingError,
)
from maestro_env.exchange import (
    FORMATS,
    from_accelforge,
    from_timeloop,
    hardware_from_accelforge,
    hardware_from_timeloop,
    to_accelforge,
    to_m,
    to_timeloop,
)

LAYER = find_layer("conv:K=16,C=8,Y=10,X=10,R=3,S=3,stride=2x1")
MACHINE = Hardware(num_pes=16, l1_bytes=512, l2_bytes=4096, noc_bw=8, offchip_bw=4)
PROBLEM = Problem(MapSpace(LAYER, MACHINE))


def loops(text: str) -> tuple[Loop, ...]:
    """Read loops such as ``K4* Y'3 C4/2``: sizes, * if spatial, / before another offset."""
    found = []
    for each in text.split():
        match = re.fullmatch(r"([A-Z]'?)([0-9]+)(?:/([0-9]+))?(\*?)", each)
        assert match is not None
        size = int(match[2])
        found.append(Loop(match[1], size, int(match[3] or size), bool(match[4])))
    return tuple(found)


def mapping(outer: str, inner: str, cluster: int = 4) -> Mapping:
    return Mapping((Level(loops(outer)), Level(loops(inner), cluster)))


MAPPING = mapping("K4* Y'3 C4", "K1* X'1 C1")
TEXTS = {name: form.write(MAPPING, PROBLEM) for name, form in FORMATS.items()}
CHANNELS = "C2*"


# --- Refused when written -------------------------------------------------------------------------

UNSAYABLE: dict[str, tuple[Callable[[Mapping, Problem], str], Mapping, str]] = {
    "invalid": (to_timeloop, mapping("K4* K2", CHANNELS), "bad_tile"),
    "too many PEs": (to_accelforge, mapping("K4*", CHANNELS, 99), "cluster_exceeds_pes"),
    "input rows": (to_timeloop, mapping("K4* Y5/4", CHANNELS), "write it over Y'"),
    "another offset": (to_accelforge, mapping("K16/2*", CHANNELS), "overlap or leave gaps"),
    "a tile too large": (to_timeloop, mapping("K4* C9", CHANNELS), "make it tiles of 8"),
    "an inner rest": (to_timeloop, mapping("K9*", "K2*"), "each tile has to divide the one around"),
    "idle units": (to_timeloop, mapping("K8*", "K1*", 3), "leave some idle in every round"),
    "idle units in the last round": (
        to_accelforge,
        mapping("K3*", "C2*"),
        "leave some idle in the last of 2 rounds",
    ),
    "windows that overlap": (to_accelforge, mapping("X'1*", "C2*"), "where windows overlap"),
    "a tiled window": (to_m, mapping("K4* R1", CHANNELS), "all of R"),
    "no dimension": (to_m, mapping("K4* G1", CHANNELS), "no dimension G"),
}


@pytest.mark.parametrize(("write", "said", "message"), UNSAYABLE.values(), ids=UNSAYABLE)
def test_what_a_format_cannot_say_is_refused(
    write: Callable[[Mapping, Problem], str], said: Mapping, message: str
) -> None:
    with pytest.raises(MappingError, match=r"^\w+ cannot say this mapping: ") as caught:
        write(said, PROBLEM)
    assert message in str(caught.value)


def test_lanes_are_said_by_accelforge_alone() -> None:
    lanes = Problem(MapSpace(LAYER, Hardware(16, simd_lanes=4)))
    with pytest.raises(MappingError, match="simd_lanes is 4"):
        to_timeloop(MAPPING, lanes)
    found = from_accelforge(to_accelforge(MAPPING, lanes)).hardware
    assert found is not None
    assert found.simd_lanes == 4


@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
def test_arguments_of_other_types_are_refused(form: object) -> None:
    for arguments in ((None, PROBLEM), (MAPPING, LAYER)):
        with pytest.raises(ArgumentTypeError):
            form.write(*arguments)  # type: ignore[attr-defined]
    with pytest.raises(ArgumentTypeError):
        form.read(b"", "file")  # type: ignore[attr-defined]


# --- Written by hand ------------------------------------------------------------------------------

TIMELOOP = """
architecture:
  version: 0.4
  nodes:
  - !Container {name: system, attributes: {technology: 45nm}}
  - !Component {name: Main, class: DRAM, attributes: {width: 64, datawidth: 8}}
  - !Component
    name: Buffer
    class: smartbuffer_SRAM
    attributes: {depth: 128 * 16, width: 64, datawidth: 8, n_banks: 4}
  - !Container {name: PE, spatial: {meshX: 4, meshY: 2}}
  - !Component {name: Registers, class: regfile, attributes: {depth: 64, width: 8, datawidth: 8}}
  - !Component {name: mac, class: intmac}
problem:
  version: 0.4
  shape:
    name: pointwise
    dimensions: [C, M, R, S, P, Q]
    coefficients: [{name: step, default: 1}]
    data_spaces:
    - {name: Weights, projection: [[[C]], [[M]], [[R]], [[S]]]}
    - {name: Inputs, projection: [[[C]], [[R], [P, step]], [[S], [Q, step]]]}
    - {name: Outputs, projection: [[[M]], [[P]], [[Q]]], read_write: True}
  instance: {C: 12, M: 10, R: 3, S: 3, P: 7, Q: 14, step: 2}
mapping:
- {target: Main, type: dataspace, keep: [Weights, Inputs, Outputs], bypass: []}
- {target: Main, type: temporal, factors: C=1 M=1, permutation: CM}
- {target: Buffer, type: temporal, factors: P7 Q2 C3, permutation: CQP}
- {target: inter_PE_spatial, type: datatype, bypass: [Weights]}
- {target: inter_PE_spatial, type: temporal, factors: C1}
- {target: PE, type: spatial, factors: ['M=5'], permutation: M, split: 1}
- {target: Registers, type: temporal, factors: 'R=0 S=0 M2 C4 Q7', permutation: MCQRS}
"""

ACCELFORGE = """
arch:
  nodes:
  - !Memory
    name: Main
    component_class: LPDDR4
    size: inf
    tensors: {keep: ~Intermediates, may_keep: All}
    actions:
    - {name: read, energy: 1e-12, throughput: 16, bits_per_action: 8}
    - {name: write, energy: 1e-12, throughput: 16, bits_per_action: 8}
  - !Memory
    name: Buffer
    size: 1024 * 8
    tensors: {keep: All}
    actions: [{name: read, throughput: inf}, {name: write, throughput: inf}]
  - !Container {name: PE, spatial: [{name: x, fanout: 2}, {name: y, fanout: 4}]}
  - !Memory
    name: Registers
    size: 64 * 8
    tensors: {keep: All}
    actions: [{name: read, throughput: inf}, {name: write, throughput: inf}]
  - !Compute {name: MAC, actions: [{name: compute, throughput: 1}]}
workload:
  rank_sizes: {M: 16, N0: 12, N1: 20}
  einsums:
  - name: Matmul1
    tensor_accesses:
    - {name: T0, projection: [m, n0]}
    - {name: W0, projection: [n0, n1]}
    - {name: T1, projection: [m, n1], output: True}
mapping:
  nodes:
  - !Storage {tensors: [T0, T1], component: Main}
  - !Storage {tensors: [W0], component: Main}
  - !Storage {tensors: [T0, W0, T1], component: Buffer}
  - !Spatial {rank_variable: m, tile_shape: 4, name: y, component: PE}
  - !Temporal {rank_variable: n0, tile_shape: 3}
  - !Storage {tensors: [T0], component: Registers}
  - !Temporal {rank_variable: n1, tile_shape: 5}
  - !Storage {tensors: [T1, W0], component: Registers}
  - !Temporal {rank_variable: n1, tile_shape: 1}
  - !Temporal {rank_variable: m, tile_shape: 1}
  - !Temporal {rank_variable: n0, tile_shape: 1}
  - !Compute {einsum: Matmul1, component: MAC}
"""


def test_a_timeloop_file_is_read() -> None:
    found = from_timeloop(TIMELOOP)
    extents = {"C": 12, "K": 10, "R": 3, "S": 3, "Y": 15, "X": 29}
    assert found.layer == Layer("CONV", extents, (2, 2), "pointwise")
    assert found.hardware == Hardware(8, l1_bytes=64, l2_bytes=2**14)
    assert found.mapping == Mapping((Level(loops("K2* Y'1 X'7 C4")),))


def test_an_accelforge_file_is_read() -> None:
    found = from_accelforge(ACCELFORGE)
    assert found.layer == Layer("GEMM", {"M": 16, "K": 12, "N": 20}, name="Matmul1")
    assert found.hardware == Hardware(8, l1_bytes=64, l2_bytes=1024, offchip_bw=16)
    assert found.mapping == Mapping((Level(loops("M4* K3 N5")),))


UNREADABLE = {
    "loops at main memory": (TIMELOOP, "C=1 M=1", "C=2 M=1", MappingError, "the loops at Main"),
    "factors that do not multiply": (TIMELOOP, "P7 Q2", "P6 Q2", MappingError, "at Buffer"),
    "bypass": (TIMELOOP, "bypass: []", "bypass: [Inputs]", MappingError, "bypasses a memory"),
    "another type": (TIMELOOP, "type: spatial", "type: skew", MappingError, "skew loops of 'PE'"),
    "idle units": (TIMELOOP, "['M=5']", "['M=2']", MappingError, "below Buffer"),
    "two spatial loops": (
        TIMELOOP,
        "['M=5'], permutation: M",
        "['M=2', 'Q=2'], permutation: MQ",
        MappingError,
        "2 spatial loops",
    ),
    "no such place": (TIMELOOP, "target: PE", "target: PEs", MappingError, "no such place"),
    "a bound": (TIMELOOP, "['M=5']", "['M<=5']", MappingError, "is no factor"),
    "no order": (TIMELOOP, "permutation: CQP", "permutation: CQ", MappingError, "lacks P"),
    "no mapping": (TIMELOOP, "\nmapping:", "\nmaps:", MappingError, "mapping is missing"),
    "long names": (TIMELOOP, "[C, M,", "[CC, M,", LayerError, "CC is missing"),
    "no extent": (TIMELOOP, "{C: 12, ", "{", LayerError, "C is missing"),
    "a term of nothing": (TIMELOOP, "[[S], [Q", "[[], [Q", LayerError, "no rank, nor a rank"),
    "no word for a rank": (TIMELOOP, "{C: 12, M: 10", "{C: 12, M: 0", LayerError, "is '0'"),
    "dilation": (TIMELOOP, "[[R], [P", "[[R, step], [P", LayerError, "dilation 2"),
    "two inputs more": (TIMELOOP, ", read_write: True", "", LayerError, "3 inputs and 0 outputs"),
    "memories side by side": (
        TIMELOOP,
        "  - !Component\n    name: Buffer\n",
        "  - !Parallel\n    name: Buffer\n",
        HardwareError,
        "side by side",
    ),
    "wide words": (
        TIMELOOP,
        "width: 8, datawidth: 8",
        "width: 8, datawidth: 16",
        HardwareError,
        "8 bits",
    ),
    "constraints": (
        TIMELOOP,
        "n_banks: 4}",
        "n_banks: 4}\n    constraints: {dataspace: {bypass: [Weights]}}",
        HardwareError,
        "take them out",
    ),
    "an expression": (TIMELOOP, "128 * 16", "2 ** 11", HardwareError, "allowed: integers"),
    "a word for a number": (TIMELOOP, "meshX: 4", "meshX: four", HardwareError, "'four'"),
    "no compute": (
        TIMELOOP,
        "class: intmac",
        "class: SRAM, attributes: {datawidth: 8}",
        HardwareError,
        "no compute unit",
    ),
    "bandwidth of L1": (
        TIMELOOP,
        "{depth: 64,",
        "{read_bandwidth: 2, depth: 64,",
        HardwareError,
        "Registers has 64 words, 2 reads a cycle, and 1 of",
    ),
    "unknown tag": (TIMELOOP, "!Container {name: PE", "!Array {name: PE", MappingError, "'!Array'"),
    "alias": (TIMELOOP, "name: system", "name: *a", MappingError, "alias"),
    "stored too high": (
        ACCELFORGE,
        "[T0], component: Registers",
        "[T0, W0], component: Registers",
        MappingError,
        "Registers holds input, filter where",
    ),
    "stored too low": (
        ACCELFORGE,
        "  - !Storage {tensors: [T0], component: Registers}\n"
        "  - !Temporal {rank_variable: n1, tile_shape: 5}\n"
        "  - !Storage {tensors: [T1, W0]",
        "  - !Temporal {rank_variable: n1, tile_shape: 5}\n  - !Storage {tensors: [T0, T1, W0]",
        MappingError,
        "near has: Registers holds input",
    ),
    "not stored": (
        ACCELFORGE,
        "  - !Storage {tensors: [T0], component: Registers}\n",
        "",
        MappingError,
        "already has a loop over it",
    ),
    "MACs left out": (
        ACCELFORGE,
        "m, tile_shape: 1}",
        "m, tile_shape: 2}",
        MappingError,
        "no loop over m has the tile_shape 1",
    ),
    "one name twice": (ACCELFORGE, "name: Buffer", "name: Main", HardwareError, "called 'Main'"),
    "no tensor": (ACCELFORGE, "[T1, W0]", "[T1, W9]", MappingError, "no memory or tensor"),
    "no rank": (
        ACCELFORGE,
        "variable: n1, tile_shape: 5",
        "variable: q, tile_shape: 5",
        MappingError,
        "no rank q",
    ),
    "no fan-out": (ACCELFORGE, "name: y, component", "name: z, component", MappingError, "fan-out"),
    "first tile": (
        ACCELFORGE,
        "tile_shape: 5",
        "tile_shape: 5, initial_tile_shape: 2",
        MappingError,
        "'initial_tile_shape' cannot be said",
    ),
    "split": (ACCELFORGE, "!Compute {einsum", "!Nested {einsum", MappingError, "'!Nested'"),
    "no size": (ACCELFORGE, "N0: 12, ", "", LayerError, "the extent of n0 is not known"),
    "16 bits": (
        ACCELFORGE,
        "  einsums:",
        "  bits_per_value: {All: 16}\n  einsums:",
        LayerError,
        "8 bits",
    ),
    "in seconds": (ACCELFORGE, "throughput: 1}", "throughput: 1000000000}", HardwareError, "cycle"),
    "reuse": (ACCELFORGE, "fanout: 4}", "fanout: 4, reuse: T0}", HardwareError, "'reuse'"),
    "a tensor kept apart": (
        ACCELFORGE,
        "size: 64 * 8\n    tensors: {keep: All}",
        "size: 64 * 8\n    tensors: {keep: T1}",
        HardwareError,
        "does not keep All",
    ),
    "no throughput": (
        ACCELFORGE,
        "[{name: compute, throughput: 1}]",
        "[]",
        HardwareError,
        "compute",
    ),
}


@pytest.mark.parametrize("case", UNREADABLE.values(), ids=UNREADABLE)
def test_what_is_none_of_ours_is_refused(
    case: tuple[str, str, str, type[MaestroEnvError], str],
) -> None:
    text, old, new, kind, message = case
    assert text.count(old) == 1
    read = from_timeloop if text is TIMELOOP else from_accelforge
    with pytest.raises(MaestroEnvError) as caught:
        read(text.replace(old, new), "F.yaml")
    assert type(caught.value) is kind
    assert str(caught.value).startswith("F.yaml")
    assert message in str(caught.value)


# --- Damaged --------------------------------------------------------------------------------------

PIECES = [
    "",
    "-1",
    "0",
    "9" * 30,
    "x",
    "[]",
    "{}",
    "inf",
    "!Container x",
    "*a",
    "K",
    "1e9",
    "'",
    "L2",
]


@settings(max_examples=300)
@given(st.sampled_from(list(FORMATS)), st.data())
def test_damaged_files_end_in_an_error_of_ours(name: str, data: st.DataObject) -> None:
    text = TEXTS[name]
    for _ in range(data.draw(st.integers(1, 3))):
        words = list(re.finditer(r"\w+|\n.*", text))
        first, second = data.draw(st.sampled_from(words)), data.draw(st.sampled_from(words))
        piece = data.draw(st.sampled_from([*PIECES, second[0]]))
        text = text[: first.start()] + piece + text[first.end() :]
    try:
        FORMATS[name].read(text, "file")
    except MaestroEnvError:
        return


BOMBS = {
    "alias of itself": "architecture: &a [*a]",
    "aliases": "architecture:\n  a: &a [x, x]\n  b: [*a, *a]",
    "deep list": "architecture: " + "[" * 500_000,
    "deep block": "architecture: " + "{a: " * 100_000,
    "object": "architecture: !!python/object/apply:os.system ['true']",
    "long": "architecture: " + "a" * 2**21,
    "large number": "architecture: " + "9" * 10**6,
    "many units": "architecture:\n  nodes:\n"
    + "  - !Component {name: a, class: SRAM, attributes: {datawidth: 8}}\n"
    + "  - !Container {name: a, spatial: {meshX: 9999999999}}\n" * 10_000,
    "documents": "architecture: 1\n---\na: 2",
    "nothing": "",
    "control": "architecture: \0",
    "merge": "architecture:\n  <<: {nodes: []}",
    "no list": "architecture:\n  nodes: 5",
}


@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS)
@pytest.mark.parametrize(
    "read", [from_timeloop, hardware_from_timeloop, from_accelforge, hardware_from_accelforge]
)
def test_bombs_are_refused(text: str, read: Callable[[str, str], object]) -> None:
    if "accelforge" in read.__name__:
        text = text.replace("architecture:", "arch:")
    with pytest.raises((MappingError, HardwareError), match=r"^F\.yaml") as caught:
        read(text, "F.yaml")
    assert len(str(caught.value)) < 400


# --- Accelerators ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["timeloop", "accelforge"])
def test_an_architecture_is_an_accelerator(name: str, tmp_path: Path) -> None:
    path = tmp_path / "chip.yaml"
    path.write_text(TEXTS[name].partition("\nmapping:")[0])
    found = find_hardware(str(path))
    assert found == Hardware(16, 512, 4096, noc_bw=8, offchip_bw=4, name="chip")
    path.write_text(TEXTS[name].replace("fanout: 4", "fanout: 0").replace("meshX: 4", "meshX: 0"))
    with pytest.raises(HardwareError, match=r"chip\.yaml.*is '0'; allowed: integers from 1"):
        find_hardware(str(path))
