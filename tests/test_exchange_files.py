"""Files of other tools: written by hand, refused with the reason, damaged."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
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
    "idle units": (
        to_timeloop,
        mapping("K8*", "K1*", 3),
        "8 of K in tiles of 3 leave a remainder",
    ),
    "idle last units": (to_accelforge, mapping("K3*", "C2*"), "idle in the last of 2 rounds"),
    "windows that overlap": (to_accelforge, mapping("X'1*", "C2*"), "where windows overlap"),
    "a tiled window": (to_m, mapping("K4* R1", CHANNELS), "all of R"),
    "no dimension": (to_m, mapping("K4* G1", CHANNELS), "no dimension G"),
}


@pytest.mark.parametrize(("write", "said", "message"), UNSAYABLE.values(), ids=UNSAYABLE)
def test_what_a_format_cannot_say_is_refused(
    write: Callable[[Mapping, Problem], str], said: Mapping, message: str
) -> None:
    with pytest.raises(MappingError, match=r"^\w+ cannot express this mapping: ") as caught:
        write(said, PROBLEM)
    assert message in str(caught.value)


def test_lanes_are_said_by_accelforge_alone() -> None:
    lanes = Problem(MapSpace(LAYER, Hardware(16, simd_lanes=4)))
    with pytest.raises(MappingError, match="the MAC unit has simd 4"):
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
    limits = "n_banks: 4}\n    constraints: {temporal: {permutation: [C, M]}}"
    assert from_timeloop(TIMELOOP.replace("n_banks: 4}", limits)) == found


def test_an_accelforge_file_is_read() -> None:
    found = from_accelforge(ACCELFORGE)
    assert found.layer == Layer("GEMM", {"M": 16, "K": 12, "N": 20}, name="Matmul1")
    assert found.hardware == Hardware(8, l1_bytes=64, l2_bytes=1024, offchip_bw=16)
    assert found.mapping == Mapping((Level(loops("M4* K3 N5")),))
    in_seconds = ACCELFORGE.replace("throughput: 16,", "throughput: 16e9,")
    again = hardware_from_accelforge(in_seconds.replace("throughput: 1}", "throughput: 1e9}"))
    assert again == replace(found.hardware, clock_mhz=1000)


# What is changed in a file, to what, and what the message says.
Changes = tuple[tuple[str, str, str], ...]

AT_BUFFER = "permutation: CM}\n- {target: Buffer, type: temporal, factors: P7 Q2 C"
TIMELOOP_MAPPINGS: Changes = (
    (
        f"C=1 M=1, {AT_BUFFER}3",
        f"C=3 M=1, {AT_BUFFER}1",
        "the loops at Main are C in tiles of 4; in",
    ),
    ("inter_PE_spatial, type: datatype", "Buffer, type: datatype", "a tensor bypasses Buffer"),
    ("C=1 M=1", "C=2 M=1", "the factors of C make 24 of 12"),
    ("P7 Q2", "P6 Q2", "the factors of P make 6 of 7"),
    ("bypass: []", "bypass: [Inputs]", "the first memory, does not hold all tensors"),
    ("type: spatial", "type: skew", "skew loops of 'PE'"),
    ("['M=5']", "['M=2']", "the factors of M make 4 of 10"),
    ("['M=5'], permutation: M", "['M=5', 'Q=2'], permutation: MQ", "Q make 28 of 14"),
    ("target: PE", "target: PEs", "no such place"),
    ("['M=5']", "['M<=5']", "is not a factor"),
    ("permutation: CQP", "permutation: CQ", "lacks P"),
    ("\nmapping:", "\nmaps:", "mapping is missing"),
    ("!Container {name: PE", "!Array {name: PE", "'!Array'"),
    ("name: system", "name: *a", "names nothing before it"),
)
TIMELOOP_LAYERS: Changes = (
    ("{C: 12, ", "{", "C is missing"),
    ("[[S], [Q", "[[], [Q", "no rank, nor a rank"),
    ("{C: 12, M: 10", "{C: 12, M: 0", "is '0'"),
    ("[[R], [P", "[[R, step], [P", "dilation 2"),
    ("[[R], [P", "[[R], [Q", "Q is in more than one axis"),
    (", read_write: True", "", "3 inputs and 0 outputs"),
    ("[C, M, R", "[C, M, step, R", "step runs more than once, and indexes no tensor"),
)
TIMELOOP_MACHINES: Changes = (
    ("!Component\n    name: Buffer", "!Parallel\n    name: Buffer", "nodes is missing"),
    ("width: 8, datawidth: 8", "width: 16, datawidth: 16", "Registers has width_bits 16"),
    ("128 * 16", "2 ** -11", "allowed: integers"),
    ("meshX: 4", "meshX: four", "'four'"),
    ("class: intmac", "class: SRAM, attributes: {datawidth: 8}", "no compute unit"),
    ("{depth: 64,", "{read_bandwidth: 2, depth: 64,", "Registers has read_bw 16.0"),
)
SECOND = "  - !Spatial {rank_variable: n0, tile_shape: 3, name: x, component: PE}\n"
HELD = "  - !Storage {tensors: [T0], component: Registers}\n"
LOOP = "  - !Temporal {rank_variable: n1, tile_shape: 5}\n"
ACCELFORGE_MAPPINGS: Changes = (
    ("[T0], component: R", "[T0, W0], component: R", "Registers holds filter twice"),
    (f"{HELD}{LOOP}", f"{LOOP}{HELD}", "here has !Storage {tensors: [I], component: Registers}"),
    ("  - !Temporal {rank_variable: n0, tile_shape: 3}\n", SECOND, "2 spatial loops"),
    (HELD, "", "a tensor bypasses Registers"),
    ("m, tile_shape: 1}", "m, tile_shape: 2}", "no loop over m has the tile_shape 1"),
    ("[T1, W0]", "[T1, W9]", "'W9' is no tensor"),
    ("variable: n1, tile_shape: 5", "variable: q, tile_shape: 5", "no rank 'q'"),
    ("name: y, component", "name: z, component", "fan-out"),
    ("shape: 5", "shape: 5, initial_tile_shape: 2", "'initial_tile_shape' is not supported"),
    ("!Compute {einsum", "!Nested {einsum", "'!Nested'"),
)
ACCELFORGE_LAYERS: Changes = (("N0: 12, ", "", "the extent of n0 is not known"),)
ACCELFORGE_MACHINES: Changes = (
    ("  einsums:", "  bits_per_value: {All: 16}\n  einsums:", "words of 16 bits; two"),
    ("name: Buffer", "name: Main", "called 'Main'"),
    ("throughput: 1}", "throughput: 1000000000}", "cycle"),
    ("fanout: 4}", "fanout: 4, reuse: input}", "shares no filter or output"),
    ("64 * 8\n    tensors: {keep: All}", "64\n    tensors: {keep: output}", "does not keep all"),
    ("[{name: compute, throughput: 1}]", "[]", "compute"),
    (
        "fanout: 4}]}",
        "fanout: 4}]}\n  - !Memory {name: Pool, size: 8, tensors: {keep: All}, "
        "actions: [{name: read, throughput: inf}, {name: write, throughput: inf}]}",
        "it has 512",
    ),
)
UNREADABLE = [
    (text, kind, *change)
    for text, kind, changes in (
        (TIMELOOP, MappingError, TIMELOOP_MAPPINGS),
        (TIMELOOP, LayerError, TIMELOOP_LAYERS),
        (TIMELOOP, HardwareError, TIMELOOP_MACHINES),
        (ACCELFORGE, MappingError, ACCELFORGE_MAPPINGS),
        (ACCELFORGE, LayerError, ACCELFORGE_LAYERS),
        (ACCELFORGE, HardwareError, ACCELFORGE_MACHINES),
    )
    for change in changes
]


@pytest.mark.parametrize(("text", "kind", "old", "new", "message"), UNREADABLE)
def test_what_two_levels_cannot_say_is_refused(
    text: str, kind: type[MaestroEnvError], old: str, new: str, message: str
) -> None:
    assert text.count(old) == 1
    read = from_timeloop if text is TIMELOOP else from_accelforge
    with pytest.raises(MaestroEnvError, match=r"^F\.yaml") as caught:
        read(text.replace(old, new), "F.yaml")
    assert type(caught.value) is kind
    assert message in str(caught.value)


# --- Damaged --------------------------------------------------------------------------------------

PIECES = [
    "",
    "9" * 30,
    *["-1", "0", "x", "[]", "{}", "inf", "*a", "K", "1e9", "'", "L2"],
    "!Container x",
]


@settings(max_examples=200)
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
    + "  - !Container {name: a, spatial: {meshX: 9999999999}}\n" * 1000,
    "documents": "architecture: 1\n---\na: 2",
    "nothing": "",
    "control": "architecture: \0",
    "merge": "architecture:\n  <<: {nodes: []}",
    "no list": "architecture:\n  nodes: 5",
}


@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS)
def test_bombs_are_refused(text: str) -> None:
    for read in (from_timeloop, hardware_from_timeloop):
        with pytest.raises((MappingError, HardwareError), match=r"^F\.yaml") as caught:
            read(text, "F.yaml")
        assert len(str(caught.value)) < 400
    with pytest.raises(HardwareError, match=r"^F\.yaml"):
        hardware_from_accelforge(text.replace("architecture:", "arch:"), "F.yaml")


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
