"""Mappers whose settings do not fit the layer are refused before any search begins."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import cluster as cluster_main
from commands import compare as compare_main
from commands import run as run_main
from planted import LATENCY, planted

from maestro_env.experiments.study.study import read_all
from maestro_env.mappers import make_mapper

Refused = Callable[[str, str], str]

PROBLEM = planted()
NAMES = [each.name for each in PROBLEM.space.parameters]
# Every layer and mapper counts, the last one too.
COMMANDS = {
    "run": (run_main, "--layer={}", "--mapper=random,{}"),
    "compare": (compare_main, "--layers=vgg16_l2,{}", "--mappers=random,{}"),
    "cluster": (cluster_main, "--layer={}", "--policy={}"),
}


@pytest.fixture(params=COMMANDS)
def refused(
    request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Refused:
    """Return the one line with which a command refuses a mapper for a layer."""
    main, layer_flag, mapper_flag = COMMANDS[request.param]
    out = tmp_path / "out.json"

    def refuse(layer: str, mapper: str) -> str:
        flags = [layer_flag.format(layer), mapper_flag.format(mapper)]
        assert main([*flags, "--samples=40", f"--out={out}"]) == 2
        shown = capsys.readouterr()
        assert shown.out == ""
        assert not out.exists()
        (line,) = shown.err.splitlines()
        return line

    return refuse


def written(groups: dict[str, list[str]], directory: Path) -> Path:
    path = directory / "groups.json"
    path.write_text(json.dumps(groups))
    return path


def test_more_agents_than_parameters(refused: Refused) -> None:
    # A convolution has 13.
    assert refused("gpt2_l4", "marl:agents=12").startswith(
        "error: agents is 12; allowed: 0 (one per parameter) to 11, as layer gpt2_l4 has 11 "
        "parameters: l2_order, "
    )


def test_a_file_that_is_not_there(refused: Refused) -> None:
    line = refused("mobilenetv2_l2", "marl_clustered:groups=bad.json")
    assert line == "error: cannot read groups bad.json: No such file or directory"


def test_groups_of_other_parameters(refused: Refused, tmp_path: Path) -> None:
    path = written({"a": NAMES[1:]}, tmp_path)
    line = refused("mobilenetv2_l2", f"marl:groups={path}")
    # Of a comparison's layers, the first one is named.
    assert line.startswith(f"error: groups {path}, layer ")
    assert ": no agent has parameter l2_order: give it to one of a, or learn " in line


def test_groups_that_are_not_as_many_as_agents(refused: Refused, tmp_path: Path) -> None:
    path = written({"a": NAMES[:4], "b": NAMES[4:]}, tmp_path)
    for mapper, agents in (("marl", 3), ("marl_clustered", 0)):
        assert refused("mobilenetv2_l2", f"{mapper}:groups={path}:agents={agents}") == (
            f"error: agents is {agents}, but groups {path} has 2: "
            "leave agents out, as the file decides, or give another file"
        )


def test_a_run_can_be_read_without_its_file_of_groups(tmp_path: Path) -> None:
    path, out = written({"a": NAMES}, tmp_path), tmp_path / "out"
    assert run_main([f"--mapper=marl:groups={path}", "--samples=40", f"--out={out}"]) == 0
    path.unlink()
    ((_, (search,)),) = read_all(out)
    assert search.cell.mapper == f"marl:groups={path}"


@pytest.mark.parametrize("mapper", ["marl", "marl_clustered"])
def test_groups_decide_if_no_number_of_agents_is_given(mapper: str, tmp_path: Path) -> None:
    path = written({"a": NAMES[:4], "b": NAMES[4:]}, tmp_path)
    for agents in ("", ":agents=2"):
        make_mapper(f"{mapper}:groups={path}{agents}").require_fit(PROBLEM, LATENCY)
