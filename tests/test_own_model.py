"""The recipe for a cost model in CONTRIBUTING.md: a room of its own, and a line of ``MODELS``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import compare, evaluate, run

from maestro_env import METRICS, MaestroEnv, find_layer
from maestro_env.accelerators.finding import find_hardware
from maestro_env.accelerators.hardware import Hardware
from maestro_env.base.errors import ModelError
from maestro_env.evaluation.any_problem import AnyProblem
from maestro_env.evaluation.cost_and_status import Rows
from maestro_env.evaluation.models import MODELS, CostModel
from maestro_env.evaluation.problem import AUTO
from maestro_env.mapspace.mapping import Mapping
from maestro_env.mapspace.space import Points
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.models import Room
from maestro_env.workloads.layer import Layer

LATENCY, ENERGY = (METRICS.index(name) for name in ("latency_cycles", "energy_nj"))


@dataclass(frozen=True)
class IdealProblem(AnyProblem):
    """Every PE that has a tile works in every cycle; energy is one nJ a MAC."""

    space: MapSpace

    @property
    def model(self) -> str:
        return "ideal"

    def evaluate(self, points: Points, threads: int = 1) -> Rows:
        metrics = np.full((len(points), len(METRICS)), np.nan)
        for row, point in zip(metrics, points, strict=True):
            row[LATENCY], row[ENERGY] = self.layer.macs / self.busy(point), self.layer.macs
        return Rows(metrics, np.zeros(len(points), dtype=np.uint8))

    def busy(self, point: Points) -> int:
        """PEs that have a tile of the parallel loop of each level."""
        whole, pes = dict(self.space.extents), 1
        for level in self.space.decode(point).levels:
            (loop,) = (each for each in level.loops if each.spatial)
            pes *= -(-whole[loop.dim] // loop.size)
            whole |= {each.dim: each.size for each in level.loops}
        return min(pes, self.space.hardware.num_pes)


class Ideal(Room):
    """The room of the model."""

    def find(self, text: str | Hardware) -> Hardware:
        return find_hardware(text)

    def problems(
        self,
        layers: Sequence[Layer],
        accelerator: str | Hardware,
        schema: str = AUTO,
        tiles: str = "integers",
        guard: bool = True,
        constraints: str | None = None,
    ) -> list[AnyProblem]:
        hardware = self.find(accelerator)
        return [IdealProblem(MapSpace(each, hardware, tiles=tiles)) for each in layers]

    def text(self, accelerator: Any) -> str:
        return str(accelerator.text())


@pytest.fixture(autouse=True)
def ideal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODELS, "ideal", CostModel("ideal", f"{__name__}:Ideal"))  # type: ignore[arg-type]


def test_it_is_searched_compared_and_played(tmp_path: Path) -> None:
    flags = ["--hardware=edge", "--model=ideal", "--samples=60"]
    layer = "gemm:M=64,N=48,K=32"
    asked = [*flags, f"--layer={layer}", "--objective=edp", "--mapper=random,ga,marl"]
    assert run([*asked, f"--out={tmp_path / 'run'}"]) == 0
    best = json.loads((tmp_path / "run" / "best_cost.json").read_text())
    macs, pes = find_layer(layer).macs, find_hardware("edge").num_pes
    assert macs / pes <= best["cost"]["latency_cycles"] < macs / 20
    assert best["cost"]["energy_nj"] == macs
    written = (tmp_path / "run" / "best_mapping.json").read_text()
    assert Mapping.from_json(written).to_json() == written
    # The records are read back under the same model.
    assert run([*asked, "--resume", f"--out={tmp_path / 'run'}"]) == 0
    contest = [*flags, f"--layers={layer},resnet18_l2", "--mappers=random,ga", "--seeds=2"]
    assert compare([*contest, "--objectives=latency", f"--out={tmp_path / 'compare'}"]) == 0
    assert "ideal" in (tmp_path / "compare" / "table.md").read_text()


def test_what_it_does_not_compute_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--hardware=edge", "--model=ideal", "--samples=9", "--objective=area"]) == 2
    shown = capsys.readouterr().err
    assert "objective area needs area_um2, which model ideal does not compute for edge" in shown
    assert evaluate(["nowhere.m", "--model=ideal"]) == 2
    assert "reads no files of mappings; allowed: exact, maestro, hier" in capsys.readouterr().err
    env = MaestroEnv(layer="resnet18_l2", hardware="edge", model="ideal")
    with pytest.raises(ModelError, match="model ideal has no masks; allowed: exact, maestro, hier"):
        env.action_masks()


def test_environments_show_its_figures() -> None:
    env = MaestroEnv(layer="resnet18_l2", hardware="edge", model="ideal", objective="latency")
    env.reset(seed=0)
    point = env.action_space.sample()
    *_, info = env.step(point)
    assert info["objective"] == env.problem.layer.macs / env.problem.busy(point)
