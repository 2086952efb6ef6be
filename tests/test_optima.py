"""The table of known optima, how it is looked up, and the command that makes it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from commands import compare, optima, run
from compare_helpers import rows as csv_rows
from compare_helpers import section
from optimum_helpers import EDP, every_vector, problem
from run_helpers import load

import maestro_env.experiments.commands.optima
import maestro_env.experiments.proving.proof
from maestro_env import KnownOptimum, known_optimum, solve
from maestro_env.accelerators.accelerator import HELD
from maestro_env.accelerators.constraints import constrained
from maestro_env.accelerators.finding import find_hierarchy
from maestro_env.accelerators.hardware import PRESETS
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.base.errors import UnknownNameError
from maestro_env.environments.env import MaestroEnv
from maestro_env.evaluation.cost_and_status import OK, STATUSES
from maestro_env.evaluation.objectives import Objective, find_objective
from maestro_env.evaluation.problem import AUTO, Problem
from maestro_env.experiments.commands.optima import Config as OptimaConfig
from maestro_env.experiments.commands.optima import cells_of
from maestro_env.experiments.store.claims import Claim
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.models import make_problems
from maestro_env.optimum.known import KEY, accelerator_named, read_table
from maestro_env.optimum.solving import Limits
from maestro_env.workloads.finding import all_layers, find_layer
from maestro_env.workloads.layer import Layer

SHAPES = {layer.shape: layer for layer in all_layers()}
SMALL = "gemm:M=2,N=2,K=3"


def test_every_shape_of_the_zoo_is_there_once_and_in_order() -> None:
    assert len(SHAPES) == 92
    keys = [tuple(row[name] for name in KEY) for row in read_table()]
    for hardware, objective in product(("unlimited", "edge"), ("latency", "edp")):
        cells = {(layer, hardware, "legal13", "integers", objective) for layer in SHAPES}
        assert cells <= set(keys)
    assert keys == sorted(set(keys))


def test_every_mapping_has_exactly_its_value_and_none_is_below_its_bound() -> None:
    rng = np.random.default_rng(0)
    for row in read_table():
        machine = accelerator_named(row["hardware"])
        given = (machine, machine.MODEL, row["schema"] or AUTO, row["tiles"])
        (task,) = make_problems([SHAPES[row["layer"]]], *given)
        objective = find_objective(row["objective"])
        found = known_optimum(task, objective)
        assert found is not None
        points = np.array([row["point"].split()], dtype=np.int32)
        values, status = task.score(points, objective)
        assert (values[0], status[0]) == (found.value, OK)
        assert found.point.tolist() == points[0].tolist()
        least = task.bound(objective)
        assert least is not None
        # A certificate on any memories does not use the bounds of H10.
        assert found.bound <= found.value >= least
        assert least <= found.bound or "levels" not in task.abilities
        assert found.gap >= 0
        assert found.proven == (found.gap == 0)
        assert found.nodes >= 0 <= found.seconds
        assert len(found.certificate) in (0, 64)
        assert task.score(task.space.sample(50, rng), objective)[0].min() >= found.bound


CHIPS = {
    f"{row['layer']} on {row['hardware']}, {row['objective']}": row
    for row in read_table()
    if row["hardware"] not in (*PRESETS, HELD)
}
QUICK = "DSCONV C144 Y58 X58 R3 S3 on gemmini with cmos40 energies, latency"


@pytest.mark.parametrize(
    "name",
    [QUICK, *(pytest.param(each, marks=pytest.mark.slow) for each in CHIPS if each != QUICK)],
)
def test_a_search_on_a_chip_finds_the_bound_of_the_table_again(name: str) -> None:
    row = CHIPS[name]
    machine, objective = accelerator_named(row["hardware"]), find_objective(row["objective"])
    (task,) = make_problems([SHAPES[row["layer"]]], machine, machine.MODEL)
    found = solve(task, objective, Limits(nodes=int(row["nodes"])))
    # Rounding apart; a better search than that which made the table may find more.
    assert float(row["bound"]) * (1 - 1e-9) <= found.bound <= float(row["value"])


def test_chips_are_known_with_their_own_rules_and_energies_alone() -> None:
    gemmini = accelerator_named("gemmini with cmos40 energies")
    assert isinstance(gemmini, Hierarchy)
    layer = find_layer("mobilenetv2_l7")

    def known(accelerator: Hierarchy) -> bool:
        (task,) = make_problems([layer], accelerator, "hierarchy")
        return known_optimum(task, "latency") is not None

    assert known(gemmini)
    assert known(replace(gemmini, name="mine"))
    assert not known(replace(gemmini, mac=replace(gemmini.mac, pj=1.0)))
    assert not known(constrained(gemmini, "none"))
    assert not known(find_hierarchy("gemmini"))
    assert known_optimum("mobilenetv2_l7", "latency", "gemmini") is None


def test_names_do_not_matter_and_figures_do() -> None:
    found = known_optimum(problem("resnet18_l2"), EDP)
    assert found is not None
    layer, edge = find_layer("resnet18_l2"), PRESETS["edge"]
    mine = Objective("mine", "J s", ("energy_nj", "latency_cycles"), None)

    def value(space: MapSpace, objective: Objective = EDP) -> KnownOptimum | None:
        return known_optimum(Problem(space), objective)

    same = [
        value(MapSpace(replace(layer, name="mine", count=7), replace(edge, name="mine"))),
        value(MapSpace(layer, replace(edge, offchip_cost_macs=0))),
        value(MapSpace(layer, edge), mine),
    ]
    assert [each.value for each in same if each] == [found.value] * 3
    other = [
        value(MapSpace(Layer("CONV", {**layer.extents, "K": 65}), edge)),
        value(MapSpace(replace(layer, stride=(2, 2)), edge)),
        value(MapSpace(layer, replace(edge, num_pes=167))),
        value(MapSpace(layer, replace(edge, noc_hops=2))),
        value(MapSpace(layer, edge, "paper10")),
        value(MapSpace(layer, edge, "legal13", "divisors")),
        value(MapSpace(layer, edge), find_objective("area")),
        known_optimum(Problem(MapSpace(layer, edge), "maestro"), EDP),
    ]
    assert other == [None] * 8


def test_an_environment_tells_the_optimum_and_the_regret() -> None:
    found = known_optimum(problem("resnet18_l2"), EDP)
    assert found is not None
    env = MaestroEnv("resnet18_l2", hardware="edge", info="full")
    info = env.step(found.point)[-1]
    assert (info["optimum"], info["optimum_bound"], info["regret"]) == (found.value,) * 2 + (0.0,)
    info = env.step(np.zeros(13, dtype=np.int64))[-1]
    assert info["regret"] == info["latency_cycles"] * info["energy_nj"] / found.value - 1 > 0
    info = env.step(env.space.sizes - 1)[-1]
    assert (STATUSES[info["status"]], info["regret"]) == ("l1_overflow", np.inf)
    plain = MaestroEnv("resnet18_l2", hardware="edge").step(found.point)[-1]
    assert plain.keys() == {"status", "objective"}
    info = MaestroEnv(SMALL, info="full").step(np.zeros(11, dtype=np.int64))[-1]
    assert not {"optimum", "optimum_bound", "optimum_gap", "regret"} & info.keys()
    with pytest.raises(UnknownNameError, match="unknown info 'all': allowed: basic, full"):
        MaestroEnv(info="all")


def test_copies_of_an_environment_tell_the_same() -> None:
    arguments = {"layer": "resnet18_l2", "hardware": "edge", "info": "full"}
    single = MaestroEnv(**arguments)
    copies = gymnasium.make_vec(
        "MaestroEnv-v1", 20, vectorization_mode="vector_entry_point", **arguments
    )
    copies.action_space.seed(0)
    actions = copies.action_space.sample()
    info = copies.step(actions)[-1]
    told = [single.step(action)[-1] for action in actions]
    for name in ("optimum", "optimum_bound", "optimum_gap", "regret"):
        assert info[name].tolist() == [each[name] for each in told]
        assert info[f"_{name}"].all()


@pytest.mark.slow
def test_the_command_finds_what_the_table_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, table = tmp_path / "out", tmp_path / "table.csv"
    module = maestro_env.experiments.commands.optima
    monkeypatch.setattr(module, "TABLE", table)
    monkeypatch.setattr(module, "read_table", lambda: csv_rows(table))
    # Three names of two shapes.
    flags = ["--layers=mobilenetv2_l51,resnet18_l2,resnet18_l1", "--hardware=edge", f"--out={out}"]
    assert optima([*flags, "--objectives=latency", "--nodes=1000", "--write"]) == 0
    shown = capsys.readouterr().out
    assert "Not proven" in shown
    assert "resnet18_l2 on edge, latency" in shown
    assert "table: 2 optima" in shown
    first = csv_rows(table)
    assert len(list(out.glob("cells/*/*.json"))) == 2
    before = {path: path.read_bytes() for path in out.glob("cells/*/*.json")}
    assert optima([*flags, "--objectives=latency", "--nodes=1000", "--resume"]) == 0
    assert {path: path.read_bytes() for path in out.glob("cells/*/*.json")} == before
    capsys.readouterr()
    assert optima([*flags, "--objectives=latency,edp", "--resume", "--write"]) == 0
    assert "Not proven" not in capsys.readouterr().out
    last = csv_rows(table)
    kept = [row for row in read_table() if row["hardware"] == "edge" and row["schema"] == "legal13"]
    for row in last:
        same = [row[name] for name in (*KEY, "value", "bound")]
        assert same in [[each[name] for name in (*KEY, "value", "bound")] for each in kept]
        assert len(row["certificate"]) == 64
    assert (len(first), len(last)) == (2, 4)
    assert len(list(out.glob("cells/*/*.certificate.gz"))) == 4


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text("num_pes: 4\nl1_bytes: 24\nnoc_bw: 3\noffchip_bw: 2\n", encoding="utf-8")
    return path


@pytest.mark.slow
def test_tables_and_plots_of_a_comparison_show_the_optimum(
    tmp_path: Path, machine: Path, rendering: Any
) -> None:
    out = tmp_path / "out"
    flags = [f"--layers={SMALL}", f"--hardware={machine}", "--mappers=random", "--samples=50"]
    flags += ["--objectives=edp", f"--out={out}"]
    with rendering():
        assert compare([*flags, "--seeds=2", "--svg"]) == 0
    task = problem(SMALL, str(machine))
    truth = task.score(every_vector(task.space), EDP)[0].min()
    (row,) = csv_rows(out / "table.csv")
    assert float(row["optimum"]) == float(row["optimum_bound"]) == truth
    assert float(row["regret"]) == pytest.approx(float(row["best"]) / truth - 1)
    assert section(out, SMALL)["random"][3] == f"{float(row['regret']):.2%}"
    assert "(proven)" in (out / "table.md").read_text(encoding="utf-8")
    (plot,) = out.glob("convergence-*.svg")
    assert "<!-- optimum (proven) -->" in plot.read_text(encoding="utf-8")
    (record,) = out.glob("cells/*/*/optimum.json")
    before = record.read_bytes()
    assert compare([*flags, "--seeds=3", "--resume"]) == 0
    assert record.read_bytes() == before


def test_an_optimum_that_is_not_proven_is_an_interval(
    tmp_path: Path, machine: Path, monkeypatch: pytest.MonkeyPatch, rendered: None
) -> None:
    monkeypatch.setattr(
        maestro_env.experiments.proving.proof, "_LIMITS", Limits(nodes=10, samples=100)
    )
    out, layer = tmp_path / "out", "gemm:M=60,N=50,K=70"
    flags = [f"--layer={layer}", f"--hardware={machine}", "--mapper=random_log", "--samples=500"]
    assert run([*flags, f"--out={out}", "--svg"]) == 0
    summary = load(out / "summary.json")
    figures, optimum = summary["mappers"]["random_log"], summary["optimum"]
    assert summary["optimum_bound"] < optimum
    assert figures["regret"] == pytest.approx(figures["best"] / summary["optimum_bound"] - 1)
    svg = (out / "convergence.svg").read_text(encoding="utf-8")
    for line in ("optimum is at most", "optimum is at least"):
        assert f"<!-- {line} -->" in svg


def test_the_command_waits_for_cells_of_other_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = ["--layers=mobilenetv2_l43", "--hardware=edge", "--objectives=latency", "--resume"]
    (cell,) = cells_of(OptimaConfig("mobilenetv2_l43", "edge", "latency"))
    claim = Claim(cell.path(tmp_path))
    assert claim.take()
    waited = []

    def give_back(seconds: float) -> None:
        waited.append(cell.path(tmp_path).exists())
        claim.give_back()

    monkeypatch.setattr("time.sleep", give_back)
    assert optima([*flags, f"--out={tmp_path}"]) == 0
    assert waited == [False]
    assert load(cell.path(tmp_path))["proven"]


def test_the_command_refuses_what_it_cannot_prove(capsys: pytest.CaptureFixture[str]) -> None:
    for flag, message in (
        (
            "--hardware=mine.yaml",
            "unknown hardware 'mine.yaml': allowed: cloud, edge, eyeriss, gemmini",
        ),
        ("--objectives=power", "objective power has no bounds, as power_mw has none"),
        ("--layers=nothing", "unknown layer 'nothing'"),
        ("--schema=maestro", "allowed: auto, full17, legal13, paper10"),
    ):
        assert optima([flag]) == 2
        assert message in capsys.readouterr().err
