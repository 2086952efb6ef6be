"""The public names of ``maestro_env``: what type checkers know of them, and wrong types refused."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maestro_env
from maestro_env import (
    Evaluator,
    Hardware,
    Layer,
    Level,
    Loop,
    MaestroEnvError,
    Mapping,
    MapSpace,
    Masks,
    Objective,
    ObjectiveFunction,
    OptimumSearch,
    Problem,
    explain_mapping,
)

ROOT = Path(__file__).parents[1]
USER = ROOT / "tests" / "typed_user.py"


def checked_names() -> dict[str, str]:
    """What type checkers import: module by name."""
    tree = ast.parse((ROOT / "maestro_env" / "__init__.py").read_text(encoding="utf-8"))
    (block,) = (
        node
        for node in tree.body
        if isinstance(node, ast.If) and "not" not in ast.unparse(node.test)
    )
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def revealing(path: Path) -> Path:
    """Write the user's script so that it asks for the type of its names and all public ones."""
    text = USER.read_text(encoding="utf-8")
    outside = [each for each in ast.parse(text).body if not isinstance(each, ast.FunctionDef)]
    names = {
        node.id
        for node in ast.walk(ast.Module(outside, []))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    asked = sorted(names) + [f"maestro_env.{name}" for name in dir(maestro_env)]
    path.write_text(text + "".join(f"reveal_type({name})\n" for name in asked))
    return path


def test_type_checkers_see_the_names_that_are_imported_on_first_use() -> None:
    assert sorted([*checked_names(), "__version__"]) == dir(maestro_env)
    for name, module in checked_names().items():
        if module == "maestro_env.parallel" and find_spec("pettingzoo") is None:
            continue
        assert getattr(maestro_env, name) is getattr(sys.modules[module], name)


def test_the_script_uses_every_public_name_and_runs() -> None:
    used = set(re.findall(r"\w+", USER.read_text(encoding="utf-8")))
    assert set(dir(maestro_env)) <= used
    subprocess.run([sys.executable, USER], cwd=ROOT, check=True)


def run_mypy(script: Path) -> tuple[int, str]:
    """Check a script as its user would; return the exit status and what was said."""
    # The project's own cache, as numpy's stubs take long to read. A user would not be told of an
    # extra that an installed package lacks.
    flags = ["--strict", "--config-file=", f"--cache-dir={ROOT / '.mypy_cache'}"]
    flags += ["--disable-error-code=import-not-found", "--disable-error-code=import-untyped"]
    command = [sys.executable, "-m", "mypy", *flags, str(script)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return ended.returncode, ended.stdout


@pytest.mark.slow
def test_mypy_accepts_the_script_and_knows_every_type(tmp_path: Path) -> None:
    status, told = run_mypy(revealing(tmp_path / "user.py"))
    assert status == 0, told
    revealed = re.findall(r'Revealed type is "(.*)"', told)
    assert len(revealed) > 2 * len(maestro_env.__all__)
    assert [each for each in revealed if each in ("Any", "builtins.object")] == []


@pytest.mark.skipif(shutil.which("pyright") is None, reason="pyright is not installed")
def test_pyright_accepts_the_script_and_knows_every_type(tmp_path: Path) -> None:
    revealing(tmp_path / "user.py")
    (tmp_path / "pyrightconfig.json").write_text(
        f'{{"typeCheckingMode": "strict", "extraPaths": ["{ROOT}"], "include": ["user.py"]}}'
    )
    ended = subprocess.run(
        ["pyright", "--pythonpath", sys.executable], cwd=tmp_path, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stdout
    revealed = re.findall(r'Type of ".*" is "(.*)"', ended.stdout)
    assert len(revealed) > 2 * len(maestro_env.__all__)
    assert [each for each in revealed if each in ("Any", "Unknown", "object")] == []


@pytest.mark.slow
def test_a_name_that_there_is_not_has_no_type(tmp_path: Path) -> None:
    script = tmp_path / "user.py"
    script.write_text("from maestro_env import MaestorEnv\n")
    status, told = run_mypy(script)
    assert (status, '"MaestorEnv"' in told) == (1, True)


# --- Names or objects -----------------------------------------------------------------------------


def test_objects_are_found_as_they_are() -> None:
    for find, each in (
        (maestro_env.find_layer, SPACE.layer),
        (maestro_env.find_hardware, SPACE.hardware),
        (maestro_env.find_objective, EDP),
    ):
        assert find(each) is each


def test_an_optimum_is_known_by_names_and_by_objects() -> None:
    layer, edge = maestro_env.find_layer("resnet18_l2"), maestro_env.PRESETS["edge"]
    values = {
        known.value
        for known in (
            maestro_env.known_optimum("resnet18_l2", "edp", "edge"),
            maestro_env.known_optimum(layer, EDP, edge),
            maestro_env.known_optimum(Problem(MapSpace(layer, edge)), EDP),
        )
        if known is not None
    }
    assert len(values) == 1
    unlimited = maestro_env.known_optimum(layer, "edp", "unlimited")
    assert unlimited is not None
    by_default = maestro_env.known_optimum(layer, "edp")
    assert by_default is not None
    assert by_default.value == unlimited.value not in values


def test_a_problem_has_its_own_hardware() -> None:
    with pytest.raises(TypeError, match="hardware is 'edge'; allowed: None, as the problem"):
        maestro_env.known_optimum(PROBLEM, EDP, "edge")


# --- Arguments of wrong types ---------------------------------------------------------------------

SPACE = MapSpace(Layer("GEMM", {"M": 2, "N": 2, "K": 2}), Hardware(4))
PROBLEM = Problem(SPACE)
EDP = maestro_env.find_objective("edp")
POINTS = SPACE.sample(1, np.random.default_rng(0))
MAPPING = SPACE.decode(POINTS[0])
NAMED = {
    each.name: each.values[choice]
    for each, choice in zip(SPACE.parameters, POINTS[0].tolist(), strict=True)
}
CALLS: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (
        Layer,
        {
            "operator": "GEMM",
            "extents": {"M": 2, "N": 2, "K": 2},
            "stride": (1, 1),
            "name": "a",
            "count": 1,
        },
    ),
    (Hardware, {"num_pes": 4, "l1_bytes": 8, "noc_hops": 1, "offchip_cost_macs": 1.0, "name": "a"}),
    (Loop, {"dim": "K", "size": 1, "offset": 1, "spatial": True}),
    (Level, {"loops": (Loop("K", 1, 1),), "cluster_size": 2}),
    (Mapping, {"levels": MAPPING.levels}),
    (Mapping.from_m, {"text": MAPPING.to_m(SPACE.layer)}),
    (Mapping.from_json, {"text": MAPPING.to_json()}),
    (MAPPING.to_m, {"layer": SPACE.layer}),
    (
        MapSpace,
        {
            "layer": SPACE.layer,
            "hardware": SPACE.hardware,
            "schema": "legal13",
            "tiles": "integers",
        },
    ),
    (SPACE.sample, {"n": 1, "rng": np.random.default_rng(0)}),
    (Masks, {"problem": PROBLEM}),
    (Masks(PROBLEM).sample, {"n": 1, "rng": np.random.default_rng(0)}),
    (SPACE.encode, {"mapping": MAPPING}),
    (SPACE.from_values, {"values": NAMED}),
    (SPACE.parameter, {"name": "l2_order"}),
    (Problem, {"space": SPACE, "model": "exact", "guard": True}),
    (PROBLEM.objective, {"objective": EDP}),
    (explain_mapping, {"problem": PROBLEM, "mapping": MAPPING, "objective": EDP}),
    (ObjectiveFunction, {"problem": PROBLEM, "metric": EDP}),
    (PROBLEM.score, {"points": None, "objective": EDP, "threads": 1}),
    (PROBLEM.typical, {"objective": EDP}),
    (PROBLEM.evaluate_mapping, {"mapping": MAPPING}),
    (PROBLEM.explain, {"mapping": MAPPING}),
    (Objective, {"name": "a", "unit": "b", "factors": ("energy_nj",), "bound": None}),
    (Evaluator, {"problem": PROBLEM, "objective": EDP, "budget": 3, "threads": 1}),
    (maestro_env.solve, {"problem": PROBLEM, "objective": EDP}),
    (OptimumSearch, {"problem": PROBLEM, "objective": EDP}),
    (maestro_env.find_layer, {"text": "resnet18_l2"}),
    (maestro_env.find_network, {"text": "resnet18", "dims": {}}),
    (maestro_env.Network, {"name": "a", "layers": (SPACE.layer,), "left_out": (), "notes": ()}),
    (maestro_env.find_hardware, {"text": "edge"}),
    (maestro_env.find_model, {"name": "exact"}),
    (maestro_env.find_objective, {"name": "edp", "energy": "total"}),
    (maestro_env.known_optimum, {"problem": "resnet18_l2", "objective": "edp", "hardware": "edge"}),
]
WRONG = [
    pytest.param(call, {**arguments, name: wrong}, id=f"{call.__qualname__} {name} {kind}")
    for call, arguments in CALLS
    for name in arguments
    if arguments[name] is not None or name == "bound"
    for kind, wrong in (("object", object()), ("tuple", (0.5, 0.5)), ("list", [0.5, 0.5]))
]


@pytest.mark.parametrize(("call", "arguments"), WRONG)
def test_an_argument_of_a_wrong_type_is_named_with_what_is_allowed(
    call: Callable[..., Any], arguments: dict[str, Any]
) -> None:
    with pytest.raises(TypeError, match="allowed: ") as caught:
        call(**arguments)
    assert isinstance(caught.value, MaestroEnvError)


@pytest.mark.parametrize("call", [call for call, _ in CALLS], ids=lambda call: call.__qualname__)
def test_the_right_types_are_accepted(call: Callable[..., Any]) -> None:
    (arguments,) = (given for each, given in CALLS if each == call)
    call(**{name: POINTS if name == "points" else each for name, each in arguments.items()})
