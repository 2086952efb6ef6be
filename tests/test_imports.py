"""How the parts depend on each other, read from the source."""

from __future__ import annotations

import ast
import importlib.metadata
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

import maestro_env
from maestro_env import _native
from maestro_env.evaluation.cost import Cost
from mappers import MAPPERS

ROOT = Path(__file__).parents[1]
# What each package may import of the project's own.
ALLOWED = {
    "maestro_env": {"maestro_env"},
    "clustering": {"clustering"},
    "mappers": {"mappers", "maestro_env", "clustering"},
    "experiments": {"experiments", "mappers", "maestro_env", "clustering"},
}
SCIENCE = {"numpy", "scipy", "sklearn"}


def sources(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    """Full name of everything a module imports, wherever the import stands."""
    package = path.relative_to(ROOT).parts[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            # Relative imports stay inside their package.
            module = f"{package}.{node.module or ''}" if node.level else node.module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def roots(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imported(path)}


@pytest.mark.parametrize("package", ALLOWED)
def test_imports_go_one_way(package: str) -> None:
    wrong = {
        str(path): names
        for path in sources(package)
        if (names := roots(path) & ALLOWED.keys() - ALLOWED[package])
    }
    assert wrong == {}


def test_clustering_knows_arrays_and_nothing_else() -> None:
    allowed = SCIENCE | sys.stdlib_module_names | {"clustering"}
    assert {str(path): roots(path) - allowed for path in sources("clustering")} == {
        str(path): set() for path in sources("clustering")
    }


@pytest.mark.parametrize("package", ["mappers", "clustering", "experiments"])
def test_the_core_is_reached_through_maestro_env_alone(package: str) -> None:
    users = [path for path in sources(package) for name in imported(path) if "_native" in name]
    assert users == []
    assert any("maestro_env._native" in imported(path) for path in sources("maestro_env"))


def test_a_cost_has_a_field_for_every_metric() -> None:
    assert tuple(field.name for field in fields(Cost)) == (*_native.METRICS, "clusters")
    row = [float(index) for index in range(len(_native.METRICS))]
    assert list(Cost.from_row(row).as_dict().values()) == [*row, ()]


def test_the_installed_version_is_the_projects() -> None:
    assert importlib.metadata.version("maestro-env") == maestro_env.__version__


def loaded_after(script: str) -> set[str]:
    """Top-level modules a fresh interpreter holds after ``script``."""
    tail = "\nimport sys; print(*{name.split('.')[0] for name in sys.modules})"
    ended = subprocess.run(
        [sys.executable, "-c", script + tail], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(ended.stdout.splitlines()[-1].split())


def test_one_mapper_does_not_load_the_others() -> None:
    script = "import mappers; mappers.make_mapper('random'); import sys\n"
    script += "print(*(name for name in sys.modules if name.startswith('mappers.')))"
    ended = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    others = {place.partition(":")[0] for place in MAPPERS.values()} - {"mappers.random"}
    assert others
    assert not others & set(ended.stdout.split())


def test_every_mapper_is_where_the_registry_says() -> None:
    for place in MAPPERS.values():
        module, _, class_name = place.partition(":")
        tree = ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8"))
        assert class_name in {node.name for node in tree.body if isinstance(node, ast.ClassDef)}


def test_random_search_loads_neither_torch_nor_stable_baselines() -> None:
    script = """
import numpy, maestro_env, mappers
from maestro_env.evaluation.evaluator import Evaluator
layer, hardware = maestro_env.find_layer("mobilenetv2_l2"), maestro_env.find_hardware("paper")
problem = maestro_env.Problem(maestro_env.MapSpace(layer, hardware))
evaluator = Evaluator(problem, maestro_env.find_objective("edp"), 10)
mappers.make_mapper("random").search(evaluator, 10, numpy.random.default_rng(0))
assert evaluator.used == 10
"""
    assert not {"torch", "stable_baselines3"} & loaded_after(script)


def test_the_main_job_with_random_search_loads_no_torch(tmp_path: Path) -> None:
    script = f"""
import runpy, sys
sys.argv = ["run", "--layer", "mobilenetv2_l2", "--objective", "edp", "--mapper", "random",
            "--samples", "200", "--out", {str(tmp_path / "run")!r}]
try:
    runpy.run_module("experiments.run", run_name="__main__")
except SystemExit as end:
    assert not end.code, end.code
"""
    assert not {"torch", "stable_baselines3"} & loaded_after(script)
    assert any((tmp_path / "run").iterdir())


def test_the_table_of_optima_is_read_when_it_is_asked_for() -> None:
    loaded_after("""
import maestro_env, maestro_env.optimum.known
maestro_env.optimum.known.TABLE = None
env = maestro_env.MaestroEnv("resnet18_l2")
try:
    maestro_env.MaestroEnv("resnet18_l2", info="full").reset()
except AttributeError:
    pass
else:
    raise AssertionError("the table was read before")
""")


def test_a_clone_that_is_not_built_says_how_to_build_it(tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("_native.*.so", "_native.*.pyd", "__pycache__")
    shutil.copytree(ROOT / "maestro_env", tmp_path / "maestro_env", ignore=ignored)
    # An editable install would lend the clone its core.
    script = """
import sys
from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder
sys.meta_path[:] = BuiltinImporter, FrozenImporter, PathFinder
from maestro_env import MaestroEnv
"""
    command = [sys.executable, "-c", script]
    ran = subprocess.run(
        command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": ""}, capture_output=True, text=True
    )
    assert ran.returncode == 1
    last = ran.stderr.splitlines()[-1]
    assert last.startswith(f"ImportError: the C++ core of maestro-env is not built in {tmp_path}: ")
    assert "pip install -e ." in last
