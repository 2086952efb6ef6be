"""A mapping written to a file or put in a batch stays itself and keeps its cost."""

from __future__ import annotations

import contextlib
import csv
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from map_space_helpers import points, spaces, spaces_and_points

from maestro_env.accelerators.hardware import Hardware
from maestro_env.base.errors import MappingError
from maestro_env.compat.program import main
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.mapping import Loop, Mapping
from maestro_env.mapspace.two_level_space import MapSpace


@given(spaces_and_points)
def test_a_mapping_survives_its_files(case: tuple[MapSpace, np.ndarray]) -> None:
    space, point = case
    mapping = space.decode(point)
    assert Mapping.from_json(mapping.to_json()) == mapping
    cut = any(loop.size != space.extents[loop.dim] for loop in windows(mapping))
    if cut:
        with pytest.raises(MappingError):
            Mapping.from_m(mapping.to_m(space.layer))
    else:
        assert Mapping.from_m(mapping.to_m(space.layer)) == mapping


def windows(mapping: Mapping) -> list[Loop]:
    return [loop for level in mapping.levels for loop in level.loops if loop.dim in ("R", "S")]


def run_compat(text: str, hardware: Hardware) -> tuple[int, dict[str, str]]:
    """Exit status and the CSV's only row of a mapping file."""
    options = [
        f"--num_pes={hardware.num_pes}",
        f"--noc_bw_cstr={hardware.noc_bw}",
        f"--noc_hops={hardware.noc_hops}",
        f"--noc_hop_latency={hardware.noc_hop_latency}",
        f"--offchip_bw_cstr={hardware.offchip_bw}",
        f"--num_simd_lanes={hardware.simd_lanes}",
    ]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("mapping.m").write_text(text)
        status = main(["--Mapping_file=mapping.m", *options])
        if status:
            return status, {}
        header, row = csv.reader(Path("mapping.csv").read_text().splitlines())
    return status, {name.strip(): cell.strip() for name, cell in zip(header, row, strict=True)}


EXITS = {"exit": 255, "sigfpe": 136, "abort": 134, "segv": 139}


@given(spaces(schemas=("legal13",)).flatmap(lambda s: st.tuples(st.just(s), points(s))))
def test_the_m_file_costs_what_the_mapping_costs(case: tuple[MapSpace, np.ndarray]) -> None:
    space, point = case
    mapping = space.decode(point)
    cost, status = Problem(space, "maestro", guard=False).evaluate_mapping(mapping)
    exit_status, row = run_compat(mapping.to_m(space.layer), space.hardware)
    if cost is None:
        assert exit_status == EXITS[status.removeprefix("reference_")]
        return
    assert exit_status == 0
    assert cost.latency_cycles == float(row["Runtime (Cycles)"])
    assert cost.macs == float(row["Num MACs"])
    energy = float(row["Activity count-based Energy (nJ)"])
    assert cost.csv_energy_nj == pytest.approx(energy, rel=6e-6)
