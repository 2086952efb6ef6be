"""How the parts depend on each other, read from the source."""

from __future__ import annotations

import ast
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from dataclasses import fields
from functools import cache
from pathlib import Path

import pytest

import maestro_env
from maestro_env import _native
from maestro_env.evaluation.cost_and_status import Cost
from maestro_env.mappers import MAPPERS

ROOT = Path(__file__).parents[1]
# What each folder may import of the project's own. All but the first are packages of it, by links.
ALLOWED = {
    "maestro_env": {"maestro_env"},
    "clustering": {"clustering"},
    "mappers": {"mappers", "maestro_env", "clustering"},
    "experiments": {"experiments", "mappers", "maestro_env", "clustering"},
}
LINKED = tuple(ALLOWED)[1:]
MOST_FILES = 16
SCIENCE = {"numpy", "scipy", "sklearn"}


def sources(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


@cache
def imported(path: Path) -> set[str]:
    """Full name of everything a module imports, wherever the import stands."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: the project's imports are absolute"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def folder_of(name: str) -> str:
    """The folder at the top that holds a module, or the package of another project."""
    first, _, inside = name.partition(".")
    below = inside.partition(".")[0]
    return below if first == "maestro_env" and below in LINKED else first


def roots(path: Path) -> set[str]:
    return {folder_of(name) for name in imported(path)}


# The rooms of a package, lowest first: a room may import those before it.
ROOMS = {
    "maestro_env": (
        *("base", "accelerators", "workloads", "hierarchy", "mapspace", "evaluation", "prior"),
        *("optimum", "explanation", "exchange", "models", "environments", "datasets", "compat"),
    ),
    "experiments": (
        *(
            "shell",
            "shown",
            "store",
            "search",
            "proving",
            "problems",
            "pages",
            "study",
            "network",
        ),
        "commands",
        "papers",
    ),
}
# What may lie loose in a package.
LOOSE = {
    "maestro_env": {"__init__"},
    "experiments": {"__init__", "__main__", "run"},
}
MODULES = {
    f"maestro_env.{'.'.join(path.relative_to(ROOT).with_suffix('').parts)}".replace(
        "maestro_env.maestro_env", "maestro_env"
    ).removesuffix(".__init__"): path
    for package in ALLOWED
    for path in sources(package)
}


def links(module: str) -> set[str]:
    """The modules of the project that a module imports: lazily, or for types, too.

    The C++ core is none, and what a package itself gives is in its ``__init__``.
    """
    found = set()
    for name in imported(MODULES[module]):
        parent = name.rpartition(".")[0]
        if name != "maestro_env._native" and not name.startswith("maestro_env._native."):
            found |= {each for each in (name, parent) if each in MODULES}
            if name in MODULES:
                found.discard(parent)
    return found - {module}


def test_the_rooms_of_a_package_are_its_folders() -> None:
    for package, rooms in ROOMS.items():
        folders = {path.parent for path in (ROOT / package).glob("*/__init__.py")}
        assert {each.name for each in folders if not each.is_symlink()} == set(rooms)
        assert {path.stem for path in (ROOT / package).glob("*.py")} == LOOSE[package]


@pytest.mark.parametrize("package", ROOMS)
def test_rooms_import_only_what_is_below(package: str) -> None:
    floors = ROOMS[package]

    def floor(module: str) -> int:
        """The height of a module's room; what lies loose in the package is above all."""
        inside = module.removeprefix("maestro_env.").removeprefix(f"{package}.")
        room = inside.partition(".")[0]
        return floors.index(room) if room in floors else len(floors)

    assert {
        f"{user} -> {used}"
        for user in MODULES
        for used in links(user)
        if folder_of(user) == folder_of(used) == package and floor(used) > floor(user)
    } == set()


def test_commands_take_nothing_from_each_other() -> None:
    commands = {
        name: name.split(".")[3]
        for name in MODULES
        if name.startswith(("maestro_env.experiments.commands.", "maestro_env.experiments.papers."))
    }
    assert {
        (user, used)
        for user in commands
        for used in links(user)
        if used in commands and commands[used] != commands[user]
    } == set()


def test_the_core_imports_nothing_of_the_wing() -> None:
    wing = {module for module in MODULES if "papers" in module.split(".")}
    assert {module.split(".")[1] for module in wing} == {"mappers", "experiments"}
    core = MODULES.keys() - wing
    assert {(user, used) for user in core for used in links(user) & wing} == set()


def in_circles(left: dict[str, set[str]]) -> dict[str, set[str]]:
    """Leave out what uses nothing that is left, again and again."""
    while free := {user for user, used in left.items() if not used & left.keys()}:
        left = {user: used for user, used in left.items() if user not in free}
    return left


def test_no_imports_run_in_a_circle() -> None:
    # The names of the package are imported on first use.
    assert in_circles({each: links(each) for each in MODULES} | {"maestro_env": set()}) == {}


def test_no_rooms_of_the_wing_use_each_other() -> None:
    inside = "maestro_env.mappers.papers."
    rooms: dict[str, set[str]] = {}
    for module in MODULES:
        if module.startswith(inside):
            room = rooms.setdefault(module.split(".")[3], set())
            room |= {used.split(".")[3] for used in links(module) if used.startswith(inside)}
    assert "sparse_networks" in rooms["value_based"]
    assert in_circles({room: used - {room} for room, used in rooms.items()}) == {}


def test_no_folder_is_crowded() -> None:
    files = [path for package in ("maestro_env", "experiments") for path in sources(package)]
    folders = {path.parent for path in (*files, *(ROOT / "native").rglob("*.?pp"))}
    full = {str(each): len(list(each.glob("*.*"))) for each in folders if each.name != "commands"}
    assert {folder: files for folder, files in full.items() if files > MOST_FILES} == {}


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


def test_only_the_bindings_include_python() -> None:
    native = [path for path in (ROOT / "native").rglob("*") if path.suffix in (".cpp", ".hpp")]
    including = {
        str(path.parent.relative_to(ROOT))
        for path in native
        if re.search(r"#include\s*[<\"](pybind11|Python\.h)", path.read_text(encoding="utf-8"))
    }
    assert len(native) > 10
    assert including == {"native/python"}


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
    script = "from maestro_env import mappers; mappers.make_mapper('random'); import sys\n"
    script += "print(*(name for name in sys.modules if name.startswith('maestro_env.mappers.')))"
    ended = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    others = {place.partition(":")[0] for place in MAPPERS.values()} - {
        "maestro_env.mappers.random"
    }
    assert others
    assert not others & set(ended.stdout.split())


def test_every_mapper_is_where_the_registry_says() -> None:
    for place in MAPPERS.values():
        module, _, class_name = place.partition(":")
        tree = ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8"))
        assert class_name in {node.name for node in tree.body if isinstance(node, ast.ClassDef)}


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
