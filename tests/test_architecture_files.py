"""Architectures of Timeloop and AccelForge as accelerators with any memories."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maestro_env.accelerators.elements import TENSORS, FanoutElement, MacElement, MemoryElement
from maestro_env.accelerators.files.accelforge import hardware_from_accelforge
from maestro_env.accelerators.finding import accelerator_notes, find_hardware, find_hierarchy
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.accelerators.hierarchy_file import hierarchy_text, read_hierarchy
from maestro_env.accelerators.loop_rules import LoopRules
from maestro_env.base.errors import HardwareError
from maestro_env.experiments.shell.flags import option, run
from maestro_env.models import find_accelerator, model_of

TIMELOOP = """
architecture:
  version: 0.4
  nodes:
  - !Container {name: chip, attributes: {datawidth: 8, global_cycle_seconds: 2e-9}}
  - !Component {name: main, class: DRAM, attributes: {depth: 64, width: 64, shared_bandwidth: 1.5}}
  - !Component
    name: glb
    class: smartbuffer_SRAM
    attributes: {depth: 1024, width: 64, n_banks: 4, read_bandwidth: 16, multiple_buffering: 2}
    constraints:
      dataspace: {keep: [Inputs, Outputs], bypass: [Weights]}
      temporal: {permutation: [C, M], no_reuse: [Inputs]}
  - !Container
    name: array
    spatial: {meshX: 4, meshY: 3}
    constraints: {spatial: {factors: [C=1], no_reuse: [Outputs]}}
  - !Parallel
    nodes:
    - !Component
      name: in_reg
      class: storage
      subclass: register
      attributes: {depth: 2, block_size: 3}
      constraints: {dataspace: {keep: [Inputs]}}
    - !Component
      name: sums
      class: regfile
      attributes: {depth: 16, width: 24, datawidth: 24}
      constraints: {dataspace: {keep: [Outputs]}}
    - !Nothing {constraints: {dataspace: {keep: [Weights]}}}
  - !Component
    name: taps
    class: regfile
    spatial: {meshX: 2}
    attributes: {depth: 1, width: 64, cluster_size: 8}
    constraints: {dataspace: {keep_only: [Weights]}}
  - !Component {name: hold, class: dummy_storage}
  - !Component {name: mac, class: intmac}
"""

ACCELFORGE = """
arch:
  nodes:
  - !Memory
    name: main
    size: inf
    tensors: {keep: ~Intermediates, may_keep: All}
    actions:
    - {name: read, energy: 8e-12, throughput: 2e9, bits_per_action: 4}
    - {name: write, energy: 4e-12, throughput: 2e9, bits_per_action: 4}
  - !Memory
    name: glb
    size: 8 * 1024 * 8
    total_latency: max(a.n_calls / a.throughput for a in actions)
    tensors: {keep: input | output}
    actions: [{name: read, throughput: 8 * 4e9}, {name: write, throughput: inf}]
  - !Container
    name: array
    spatial: [{name: X, fanout: 4, reuse: weight & ~glb}, {name: rows, fanout: 3, may_reuse: All}]
  - !Memory
    name: sums
    size: 3 * output.bits_per_value
    bits_per_value: {output: 3 * output.bits_per_value}
    total_latency: sum(a.n_calls for a in actions) / 2 / 500e6
    bits_per_action: 24
    tensors: {keep: ~glb.tensors | output}
  - !Memory
    name: taps
    spatial: [{name: Z, fanout: 2}]
    size: weight.bits_per_value if weight else 0
    tensors: {keep: weight}
  - !Compute {name: MAC, actions: [{name: compute, energy: 0.5e-12, throughput: 500e6}]}
"""

NO_CHANNELS = LoopRules(dims=list("NGKPQRS"))
ARRAY = [
    FanoutElement(name="array_X", size=4, apart=("output",), rules=NO_CHANNELS),
    FanoutElement(name="array_Y", size=3, axis="Y", apart=("output",), rules=NO_CHANNELS),
]
READ_FROM_TIMELOOP = Hierarchy(
    [
        MemoryElement(name="main", bw=12),
        MemoryElement(
            name="glb",
            keeps=("input", "output"),
            capacity_bits=2**16,
            buffers=2,
            read_bw=128,
            forgets=("input",),
            rules=LoopRules(innermost=["C", "K"]),
        ),
        *ARRAY,
        MemoryElement(name="in_reg", keeps=("input",), capacity_bits=48),
        MemoryElement(name="sums", keeps=("output",), capacity_bits=384, width_bits=24),
        FanoutElement(name="taps_X", size=2),
        MemoryElement(name="taps", keeps=("filter",), capacity_bits=8),
        MemoryElement(name="hold", keeps=()),
    ],
    MacElement(latches=TENSORS),
    name="chip",
    clock_mhz=500,
)
READ_FROM_ACCELFORGE = Hierarchy(
    [
        MemoryElement(name="main", bw=16, read_pj_per_bit=2, write_pj_per_bit=1),
        MemoryElement(name="glb", keeps=("input", "output"), capacity_bits=2**16, read_bw=64),
        FanoutElement(
            name="array_X",
            size=4,
            apart=("input", "output"),
            # Filters are reused over what does not index them.
            rules=LoopRules(dims=["N", "P", "Q"]),
        ),
        FanoutElement(name="array_rows", size=3, axis="Y"),
        MemoryElement(
            name="sums",
            keeps=("filter", "output"),
            capacity_bits=24,
            width_bits={"output": 24},
            bw=48,
        ),
        FanoutElement(name="taps_Z", size=2),
        MemoryElement(name="taps", keeps=("filter",), capacity_bits=8),
    ],
    MacElement(pj=0.5),
    name="chip",
    clock_mhz=500,
)


OF_TIMELOOP = {"input": "Inputs", "filter": "Weights", "output": "Outputs"}


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Hierarchy]:
    path = tmp_path_factory.mktemp("files") / "chip.yaml"

    def found(text: str) -> Hierarchy:
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        return find_hierarchy(str(path))

    return found


Read = Callable[[str], Hierarchy]


def test_all_that_an_architecture_says_is_read(read: Read) -> None:
    assert read(TIMELOOP) == READ_FROM_TIMELOOP
    assert read(ACCELFORGE) == READ_FROM_ACCELFORGE


TARGET = "{target: taps, type: datatype, keep_only: [Weights]}"
# What else says the same: pairs of a text and another one.
ALIKE = {
    "synonyms": (TIMELOOP, "depth: 1024", "data_storage_depth: 2**10"),
    "decimals": (TIMELOOP, "datawidth: 8, ", "word_bits: 8.0, "),
    "names": (TIMELOOP, "width: 24, datawidth: 24", "width: datawidth, datawidth: 3 * (10 - 2)"),
    "variables": (
        *(TIMELOOP, "\narchitecture:", "\nvariables: {x: y + 1, y: 3}\narchitecture:"),
        *("meshX: 4", "meshX: x"),
    ),
    "constraints": (
        *(TIMELOOP, "\narchitecture:", f"\nconstraints: {{targets: [{TARGET}]}}\narchitecture:"),
        *("constraints: {dataspace: {keep_only: [Weights]}}", ""),
    ),
    "aliases": (
        *(TIMELOOP, "keep: [Inputs]}", "keep: *a}"),
        *("no_reuse: [Inputs]", "no_reuse: &a [Inputs], <<: {permutation: [C, M]}"),
    ),
    "sparse tensors": (TIMELOOP, "subclass: register", "sparse_optimizations: {}"),
    "a bit of metadata": (TIMELOOP, "n_banks: 4", "metadata_datawidth: 1"),
    "enabled": (ACCELFORGE, "!Compute {", "!Compute {enabled: len(All) == 3, "),
    "not enabled": (ACCELFORGE, "  - !Con", "  - !Compute {enabled: len(All) < 3}\n  - !Con"),
    "latency": (ACCELFORGE, "energy: 8e-12, throughput: 2e9", "energy: 8e-12, latency: 1e-9 / 2"),
    "scales": (
        *(ACCELFORGE, "MAC, actions", "MAC, energy_scale: 5, actions_scale: 2, actions"),
        *("energy: 0.5e-12, throughput: 500e6", "energy: 0.05e-12, throughput: 100e6"),
        *("!Compute {", "!Compute {throughput_scale: 2, n_parallel_instances: 5, "),
    ),
    "values": (ACCELFORGE, "throughput: 8 * 4e9", "throughput: 4e9, values_per_action: {All: 1}"),
    "a time of its own": (ACCELFORGE, "name: sums", "name: sums\n    n_parallel_instances: 4"),
    "units that one value takes": (ACCELFORGE, "fanout: 4", "fanout: 9, usage_scale: 2"),
    "free tolls": (
        *(ACCELFORGE, "  - !Con", "  - !Toll {name: t, tensors: {keep: input}, direction: up}\n"),
        *("tainer", "  - !Container"),
    ),
    "bits of what is not kept": (ACCELFORGE, "value: {output", "value: {input: x, output"),
    "size of main memory": (ACCELFORGE, "size: inf", "size: 1e9"),
    "variables of arch": (
        *(ACCELFORGE, "arch:", "variables: {a: 3}\narch:\n  variables: {b: a + 1}"),
        *("fanout: 4", "fanout: b"),
    ),
}


@pytest.mark.parametrize("kind", ALIKE)
def test_other_words_say_the_same(read: Read, kind: str) -> None:
    text, *pairs = ALIKE[kind]
    found = text
    for old, new in zip(pairs[::2], pairs[1::2], strict=True):
        assert found.count(old) == 1
        found = found.replace(old, new)
    assert read(found) == read(text)


def test_a_toll_costs_energy_on_the_way(read: Read) -> None:
    toll = (
        "  - !Toll {name: toll, direction: up_and_down, tensors: {keep: All}, bits_per_action: 16, "
        "bits_per_value: {All: 4}, actions: [{name: read, energy: 100e-12}]}\n  - !Container"
    )
    # 100 pJ move 16 / 4 values; one of 8 bits costs 25.
    found = read(ACCELFORGE.replace("  - !Container", toll)).elements
    assert found[2] == FanoutElement(name="toll", size=1, pj_per_bit=3.125)
    one = read(ACCELFORGE.replace("energy: 8e-12", "energy: 1")).elements[0]
    assert isinstance(one, MemoryElement)
    assert one.read_pj_per_bit == 1e12 / 4


LIMITER = "!Toll {name: t, tensors: {keep: All}, direction: up, actions: [{throughput: 1e9}]}"
NOTED = (
    (TIMELOOP, "[C=1]", "[C>1]", "constraint factors of array is not read"),
    (TIMELOOP, "subclass: register", "sparse_optimizations: {}", "all count as dense"),
    (ACCELFORGE, "may_reuse: All", "may_reuse: All, min_usage: 1", "array: min_usage limit mapp"),
    (ACCELFORGE, "name: taps", "name: taps\n    leak_power: 1e-3", "leakage and areas"),
    (ACCELFORGE, "name: taps", "name: taps\n    component_class: SRAM", "of component models"),
    (ACCELFORGE, "energy: 8e-12, ", "", "actions without energy cost none"),
    (ACCELFORGE, "500e6}", "5000}", "5000 operations a second are read as one MAC at 0.005 MHz"),
    (ACCELFORGE, ", energy: 0.5e-12, throughput: 500e6", "", "no compute unit says how long a cyc"),
    (ACCELFORGE, "size: inf", "size: 64", "the size of main memory main is not read"),
    (ACCELFORGE, "!Compute {", "!Compute {skip_initial_output_write: False, ", "its first sum"),
    (ACCELFORGE, "!Compute {", "!Network {name: noc}\n  - !Compute {", "networks are not read"),
    (ACCELFORGE, "!Compute {", f"{LIMITER}\n  - !Compute {{", "the throughput of tolls"),
)


# A macro that computes in its memory: 8 bits of a weight in 3 columns of cells of 3 bits.
MACRO = """
arch:
  variables:
    cell: 3
    slices: ceil(weight.bits_per_value / cell)
    rows: counted(spec)
    inputs: rows * 2
  nodes:
  - !Toll {name: adc, tensors: {keep: output}, direction: up, component_class: ADC}
  - !Memory
    name: lines
    size: input.bits_per_value * inputs
    tensors: {keep: input, no_resend_to_below: input}
  - !Container
    name: array
    spatial: [{name: columns, fanout: 32, may_reuse: input, usage_scale: slices, min_usage: 1}]
  - !Container {name: array, spatial: [{name: rows, fanout: 16, reuse: output}]}
  - !Memory
    name: cells
    size: cell
    bits_per_value: {input: inputs, weight: weight.bits_per_value / slices}
    tensors: {keep: weight, no_refetch_from_above: weight}
  - !Compute {name: free, component_class: Dummy}
"""


def test_a_macro_without_main_memory_is_read_as_far_as_it_says(tmp_path: Path) -> None:
    path = tmp_path / "macro.yaml"
    path.write_text(MACRO)
    found = find_hierarchy(str(path))
    outside, lines, columns, rows, cells = found.elements
    assert outside == MemoryElement(name="outside")
    # What Python code counts has no limit.
    assert lines == MemoryElement(name="lines", keeps=("input",))
    # 32 columns hold 10 weights.
    apart = ("filter", "output")
    assert columns == FanoutElement(name="array_columns", size=10, apart=apart)
    assert rows == FanoutElement(
        name="array_rows",
        size=16,
        apart=("input", "filter"),
        rules=LoopRules(dims=["C", "R", "S"]),
    )
    # 8 bits in three parts are at most 3 each.
    kept = {"keeps": ("filter",), "capacity_bits": 3, "width_bits": {"filter": 3}}
    rules = LoopRules(stays=["filter"])
    assert cells == MemoryElement(name="cells", **kept, rules=rules)  # type: ignore[arg-type]
    notes = " ".join(accelerator_notes(str(path)))
    for told in (
        "no main memory",
        "what it counts has no limit: line ",
        "fractions of bits are rounded up",
        "models",
    ):
        assert told in notes
    path.write_text(path.read_text().replace("slices: ceil(", "slices: encoded("))
    with pytest.raises(HardwareError, match="usage_scale: is 'slices'; allowed: numbers"):
        find_hierarchy(str(path))


COUNTED = """
variables: {values: "([0] * 7 + [1] * 8)", inputs: values, weights: [1, 0, 3], cell: {bits: 4}}
arch:
  variables:
    columns: 64
    slices: 8 * (2 if is_hist_signed(WHICH) else 1) + log2(get_array_fanout_reuse_output(spec))
  nodes:
  - !Memory {name: main, size: inf, tensors: {keep: All}}
  - !Memory {name: lines, size: get_array_fanout_total(spec), tensors: {keep: input}}
  - !Container
    name: array
    spatial: [{name: a_ARRAY_COLUMNS, fanout: columns, may_reuse: input, usage_scale: slices}]
  - !Container {name: array, spatial: [{name: a_ARRAY_ROWS, fanout: 16, reuse: output}]}
  - !Compute {name: free}
"""


@pytest.mark.parametrize(("histogram", "slices"), [("inputs", 12), ("weights", 20)])
def test_what_known_functions_of_macros_count_is_read(
    tmp_path: Path, histogram: str, slices: int
) -> None:
    path = tmp_path / "macro.yaml"
    path.write_text(COUNTED.replace("WHICH", histogram))
    _, lines, columns, rows = find_hierarchy(str(path)).elements
    assert isinstance(lines, MemoryElement)
    assert lines.capacity_bits == 64 * 16
    sizes = [each.size for each in (columns, rows) if isinstance(each, FanoutElement)]
    assert sizes == [64 // slices, 16]


# As AccelForge flattens it: memories in order, each one, then the units.
ARRAY = """
arch:
  nodes:
  - !Memory {name: main, size: inf, tensors: {keep: All}}
  - !Array
    name: grid
    spatial: [{name: X, fanout: 4}, {name: Y, fanout: 2}]
    nodes:
    - !Memory
      name: rows
      size: 64
      tensors: {keep: input}
      actions: [{name: read, throughput: 1}, {name: write, throughput: inf}]
      spatial: [{name: X, fanout: 4}]
    - !Network {name: mesh, actions: [{name: hop, energy: 1}]}
  - !Compute {name: mac, actions: [{name: compute, energy: 1, throughput: inf}]}
"""


def test_the_memories_of_an_array_stand_above_its_units(tmp_path: Path) -> None:
    path = tmp_path / "array.yaml"
    path.write_text(ARRAY)
    _, rows, across, down = find_hierarchy(str(path)).elements
    assert rows == MemoryElement(name="rows", keeps=("input",), capacity_bits=64, read_bw=1)
    sizes = [each.size for each in (across, down) if isinstance(each, FanoutElement)]
    assert sizes == [4, 2]
    notes = " ".join(accelerator_notes(str(path)))
    assert "where memories stand in an array is not read" in notes
    path.write_text(ARRAY.replace("name: grid", "name: grid\n    enabled: false"))
    assert [each.name for each in find_hierarchy(str(path)).elements] == ["main"]
    assert "the fastest memory acts once in each" in notes


@dataclass(frozen=True)
class Config:
    """A command."""

    hardware: str = option("", "accelerator")


@pytest.mark.parametrize(("text", "old", "new", "told"), NOTED)
def test_what_is_not_read_is_said_once_by_commands(
    *, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, old: str, new: str, told: str
) -> None:
    path = tmp_path / "chip.yaml"
    path.write_text(text.replace(old, new) if old else text)
    assert run(Config, lambda config: 0, "run", ["--hardware", str(path)]) == 0
    said = capsys.readouterr().out
    assert said.count(told) == 1
    plain = "arch: {nodes: [!Memory {name: A, size: inf}, !Compute {name: B}]}"
    path.write_text(plain)
    assert accelerator_notes(str(path)) == ()


def test_every_door_gives_the_same_reason(tmp_path: Path) -> None:
    path = tmp_path / "chip.yaml"
    path.write_text(
        ACCELFORGE.replace("enabled", "").replace("name: taps", "name: taps\n    siz: 1")
    )
    told = set()
    for door in (
        find_hierarchy,
        find_hardware,
        partial(find_accelerator, model=model_of(str(path))),
    ):
        with pytest.raises(HardwareError) as caught:
            door(str(path))
        told.add(str(caught.value))
    with pytest.raises(HardwareError) as caught:
        hardware_from_accelforge(path.read_text(), str(path))
    assert told == {str(caught.value)}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("- {id: 0, operator_type: Conv}", "but a workload of ZigZag or Stream"),
        ("problem: {}", "but a problem of Timeloop"),
    ],
)
def test_files_of_others_are_named(read: Read, text: str, told: str) -> None:
    with pytest.raises(HardwareError, match=f"expected an accelerator, {told}"):
        read(text)


def test_a_compute_unit_of_few_operations_counts_in_cycles(read: Read) -> None:
    text = ACCELFORGE.replace("throughput: 500e6", "throughput: 8")
    found = read(text.replace("2e9", "4").replace("/ 2 / 500e6", "/ 2"))
    assert (found.mac.simd, found.clock_mhz) == (8, None)
    assert [each.bw for each in found.elements if isinstance(each, MemoryElement)][:3] == [
        *(16, None, 48),
    ]


def test_what_no_component_says_is_without_limit(read: Read) -> None:
    found = read("arch: {nodes: [!Memory {name: A, size: inf}, !Compute {name: B}]}")
    assert found == Hierarchy([MemoryElement(name="A")], name="chip")


@pytest.mark.parametrize("size", range(4))
def test_every_set_of_tensors_can_be_kept_and_shared(read: Read, size: int) -> None:
    for some in map(set, combinations(TENSORS, size)):
        kept = tuple(tensor for tensor in TENSORS if tensor in some)
        apart = tuple(tensor for tensor in TENSORS if tensor not in some)
        others = ", ".join(OF_TIMELOOP[tensor] for tensor in apart)
        text = TIMELOOP.replace("keep: [Inputs, Outputs], bypass: [Weights]", f"bypass: [{others}]")
        found = [read(text.replace("no_reuse: [Outputs]", f"no_reuse: [{others}]"))]
        union = " | ".join(tensor.replace("filter", "weight") for tensor in kept) or "Nothing"
        text = ACCELFORGE.replace("keep: input | output", f"keep: {union}")
        found.append(read(text.replace("reuse: weight & ~glb", f"reuse: {union}")))
        for _, glb, array, *_ in (each.elements for each in found):
            assert (glb.keeps, array.apart) == (kept, apart)  # type: ignore[union-attr]


# ---- Refusals -----------------------------------------------------------------------------------

REFUSED_OF_TIMELOOP = (
    ("nodes:\n  - !Con", "subtree:\n  - !Con", "nodes is missing; allowed: version 0.4"),
    ("n_banks: 4", "sizeKB: 8", "sizeKB: cannot be said; say the capacity as depth and width"),
    ("n_banks: 4", "network_fill_latency: 2", "networks take no time of their own"),
    ("n_banks: 4", "Depht: 4", "Depht: unknown attribute; did you mean depth"),
    ("shared_bandwidth", "shared_bandwith", "did you mean shared_bandwidth"),
    ("64, n_banks: 4", "65", "width: is 65; allowed: a multiple of 1 x 8 bits"),
    ("datawidth: 8, ", "", "datawidth is missing, of its attributes"),
    ("bandwidth: 16", "bandwidth: fast", "read_bandwidth: is 'fast'; allowed: numbers from 0"),
    ("buffering: 2", "buffering: 1.5", "multiple_buffering: is '1.5'; allowed: integers"),
    ("bypass: [Weights]", "bypass: [W]", "'W' is no tensor; allowed: Inputs, Weights, Outputs"),
    ("bypass: [Weights]", "no_coalesce: []", "'no_coalesce' is not supported here; allowed: keep"),
    ("permutation: [C, M]", "rmw_first_update: []", "'rmw_first_update' is not supported"),
    ("factors: [C=1]", "no_link_transfer: [Inputs]", "'no_link_transfer' is not supported"),
    ("dataspace: {keep: [Outputs]}", "temporal: {}", "keep is missing; memories side by side"),
    ("{keep: [Outputs]}", "{keep: [Inputs]}", "input is kept by two memories side by side"),
    ("!Nothing {", "!Container {name: N, ", "stands beside others; allowed: !Component"),
    ("subclass: register", "subclas: register", "'subclas' is not supported here; did you mean"),
    ("depth: 2,", "depth: 2, memory_depth: 9,", "depth and memory_depth are given; allowed: one"),
    ("depth: 2,", "depth: depth,", "depth: is 'depth'; allowed: integers"),
    ("register\n", "register\n      spatial: {meshX: 2}\n", "stands beside others; allowed: !"),
    ("class: intmac}", "class: storage, attributes: {datawidth: 8}}", "no compute unit at its end"),
    ("name: glb", "name: main", "two elements are called 'main'"),
    ("seconds: 2e-9", "seconds: 0", "global_cycle_seconds: is '0'; allowed: numbers above 0"),
    ("meshX: 4", "meshZ: 4", "'meshZ' is not supported here; did you mean"),
    ("\narchitecture", "\nvariable: {a: 1}\narchitecture", "variable: unknown key; did you mean"),
    (
        "\narchitecture",
        "\nconstraints: {targets: [{target: gbl, type: temporal}]}\narchitecture",
        "'gbl', which is no node; did you mean glb",
    ),
)
READ = "energy: 8e-12"
TOLL = "!Toll {name: t, tensors: {keep: input}, direction: up, actions: [{name: read, energy: 1}]}"
REFUSED_OF_ACCELFORGE = (
    ("keep: input | output", "keep: input | T0", "keep: 'T0' is no tensor or memory; allowed: All"),
    ("keep: input | output", "back: output", "'back' is not supported here; allowed: keep"),
    ("size: 8 * 1024 * 8", "size: 0.5", "size: is '0.5'; allowed: integers from 1 to"),
    ("8 * 4e9", "8 ** 4e9", "or a product such as 8 * 1.5e9"),
    ("8 * 4e9", "1e99 * 1e99", "allowed: numbers from 0 to 1e+30"),
    ("8 * 4e9", "0", "throughput: is '0'; allowed: numbers above 0"),
    ("max(a", "min(a", "total_latency: cannot be said; allowed: sum(a.n_calls"),
    ("{name: write, throughput: inf}", "", "actions: has 0 actions write; allowed: one"),
    ("energy: 4e-12, throughput: 2e9", "throughput: 1e9", "has one port, but bits a cycle of"),
    ("energy: 4e-12", "latency: 1", "has a throughput and a latency"),
    ("throughput: 500e6", "throughput: 1.5", "does 1.5 operations a cycle; allowed: whole"),
    ("!Compute {", "!Compute {enabled: len(All) == 2, ", "has no compute unit at its end"),
    (
        "!Container",
        "!Array {name: a, nodes: [!Compute {name: b}]}\n  - !Container",
        "as nodes of an",
    ),
    ("!Compute {", "!Compute {enabled: len(All) == x, ", "allowed: true, false, or such as len"),
    (READ, f"{READ}, values_per_action: {{weight: 1, output: 2}}", "not said of all tensors alike"),
    (READ, f"{READ}, values_per_action: {{output: 2}}", "not said of all tensors alike; allowed"),
    ("fanout: 4", "fanout: 4, usage_scale: 0.5", "is 0.5; allowed: numbers from 1 to 4"),
    ("fanout: 4", "fanout: 4, usage_scale: 5", "is 5; allowed: numbers from 1 to 4"),
    (
        "  - !Con",
        f"  - {TOLL}\n  - !Con",
        "energy for some tensors or one direction; allowed: All",
    ),
    ("size: inf", "siz: inf", "'siz' is not supported here; did you mean size"),
    ("fanout: 4", "fanout: 4, usage_scale: slices(spec)", "usage_scale: is 'slices(spec)'"),
)


@pytest.mark.parametrize(
    ("text", "old", "new", "told"),
    [
        *((TIMELOOP, *each) for each in REFUSED_OF_TIMELOOP),
        *((ACCELFORGE, *each) for each in REFUSED_OF_ACCELFORGE),
    ],
)
def test_what_cannot_be_said_is_refused(
    read: Read, text: str, old: str, new: str, told: str
) -> None:
    assert text.count(old) == 1
    with pytest.raises(HardwareError, match=r"chip\.yaml, line \d+, ") as caught:
        read(text.replace(old, new))
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


PIECES = ["", "9" * 30, "-1", "0", "x", "[]", "{}", "inf", "1e99", "~", "|", "'", "main", "!Memory"]


@given(st.sampled_from([TIMELOOP, ACCELFORGE]), st.data())
def test_damaged_files_end_in_an_error_of_ours(read: Read, text: str, data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(1, 3))):
        words = list(re.finditer(r"\w+|\n.*", text))
        first, second = data.draw(st.sampled_from(words)), data.draw(st.sampled_from(words))
        piece = data.draw(st.sampled_from([*PIECES, second[0]]))
        text = text[: first.start()] + piece + text[first.end() :]
    with contextlib.suppress(HardwareError):
        found = read(text)
        assert read_hierarchy(hierarchy_text(found)) == found


def test_aliases_of_nodes_in_nodes_are_refused_at_once(tmp_path: Path) -> None:
    nodes = "&a0 [!Container {name: a}]"
    for depth in range(28):
        nodes = (
            f"&a{depth + 1} [!Hierarchical {{nodes: {nodes}}}, !Hierarchical {{nodes: *a{depth}}}]"
        )
    path = tmp_path / "bomb.yaml"
    path.write_text(f"architecture: {{nodes: {nodes}}}")
    with pytest.raises(HardwareError, match=r"alias|blocks in each other"):
        find_hierarchy(str(path))


@pytest.mark.parametrize(
    ("constraints", "rules"),
    [
        # By hand: factor 1 is no loop, 0 is all that is left, orders begin inside; groups are as M.
        ("factors: [N=1, M=1, P=1, Q=1], permutation: [S, R]", {"dims": "CRS", "innermost": "SR"}),
        ("factors: R0 C1", {"dims": "NGKPQRS", "whole": "R"}),
        ("factors_only: [C=1]", {"dims": ""}),
        ("no_iteration_over_dataspaces: [Weights]", {"dims": "NPQ"}),
        ("factors: [M=4]", {}),
        ("factors: [M=1, K=1, N=1]", {}),
    ],
)
def test_constraints_of_timeloop_become_rules(
    constraints: str, rules: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "chip.yaml"
    path.write_text(TIMELOOP.replace("permutation: [C, M]", constraints))
    wanted = {key: list(letters) for key, letters in rules.items()}
    glb = find_hierarchy(str(path)).elements[1]
    assert glb.rules == LoopRules(**wanted)  # type: ignore[arg-type]
    assert bool(rules) or "of glb is not read" in " ".join(accelerator_notes(str(path)))


def test_factors_of_units_are_the_most_and_a_last_memory_gets_single_words(read: Read) -> None:
    text = TIMELOOP.replace("[C=1]", "[C<=3, M=2, P=1]").replace(
        "  - !Component {name: hold, class: dummy_storage}\n", ""
    )
    text = text.replace("{keep_only: [Weights]}", "{keep_only: [Weights]}, temporal: {factors: K1}")
    *_, array, _, _, _, taps = read(text).elements
    assert array.rules == LoopRules(dims=list("NGKCQRS"), units={"C": 3, "K": 2})
    assert taps.rules == LoopRules(dims=list("NCPQRS"), tiles={"G": 1, "K": 1})
