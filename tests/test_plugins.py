"""Mappers from outside: registered by a program, or by entry points of installed packages."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from mapper_helpers import Recorder, problem

from maestro_env import mappers
from maestro_env.base.errors import ArgumentTypeError, UnknownNameError
from maestro_env.mappers import make_mapper, plugins, register_mapper
from maestro_env.mappers.plugins import MapperError
from maestro_env.mappers.random import LogRandomMapper, RandomMapper

ROOT = Path(__file__).parents[1]
CODE = """
from dataclasses import dataclass

from maestro_env.mappers.base import AskTellMapper
from maestro_env.mappers.base import setting


@dataclass(frozen=True)
class Config:
    step: int = setting(1, "of the first parameter", least=1)


class Sweep(AskTellMapper):
    DEFAULT = Config()

    def start(self, space, rng):
        super().start(space, rng)
        self.next = 0

    def ask(self, n):
        points = self._space.sample(1, self._rng)
        points[0, 0] = self.next % self._space.sizes[0]
        return points

    def tell(self, points, values):
        self.next += self.config.step


class Leaves(Sweep):
    def __init__(self, config):
        raise RuntimeError("no licence")


class Untold(AskTellMapper):
    def ask(self, n):
        return self._space.sample(1, self._rng)


class Plain(Sweep):
    DEFAULT = 3


NOTHING = 3
"""

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Install packages in a temporary folder, without pip: a module and a ``dist-info`` each."""

    def add(package: str, **entries: str) -> None:
        (tmp_path / f"{package}.py").write_text(CODE, encoding="utf-8")
        info = tmp_path / f"{package}-1.2.dist-info"
        info.mkdir()
        metadata = f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n"
        (info / "METADATA").write_text(metadata, encoding="utf-8")
        lines = [f"{name} = {place}\n" for name, place in entries.items()]
        text = "".join([f"[{plugins.GROUP}]\n", *lines])
        (info / "entry_points.txt").write_text(text, encoding="utf-8")

    monkeypatch.syspath_prepend(str(tmp_path))
    plugins.packaged.cache_clear()
    return add


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget the mappers of a test."""
    monkeypatch.setattr(mappers, "_registered", {})
    yield
    plugins.packaged.cache_clear()


def test_a_mapper_of_an_installed_package_searches_as_any_other(install: Install) -> None:
    install("toy_sweeps", sweep="toy_sweeps:Sweep")
    recorder = Recorder(problem(), "latency", 20)
    make_mapper("sweep:step=3").search(recorder, 20, np.random.default_rng(0))
    assert np.concatenate(recorder.points)[:, 0].tolist() == list(range(0, 60, 3))


def test_the_flag_of_commands_knows_the_mappers_of_installed_packages(
    install: Install, tmp_path: Path
) -> None:
    install("toy_sweeps", sweep="toy_sweeps:Sweep")
    script = "from maestro_env.experiments.search.named_mappers import find_mappers as find\n"
    script += "print(find('--mapper', ['sweep', 'ga'])[0])"
    ended = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": f"{ROOT}:{tmp_path}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout == "('sweep', 'ga')\n"


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"ga": "toy_sweeps:Sweep"}, "'ga' of package toy_sweeps 1.2: the name is that of maestro"),
        ({"all": "toy_sweeps:Sweep"}, "mapper 'all' of package toy_sweeps 1.2: the name is that"),
        ({"a,b": "toy_sweeps:Sweep"}, "mapper 'a,b' of package toy_sweeps 1.2: a name is a letter"),
        ({"sweep": "toy_sweeps:Gone"}, "'sweep' of package toy_sweeps 1.2 cannot be loaded: Attr"),
        ({"sweep": "toy_lost:Sweep"}, "'sweep' of package toy_sweeps 1.2 cannot be loaded: Module"),
        ({"sweep": "toy_sweeps:NOTHING"}, "of package toy_sweeps 1.2 is 3; allowed: a subclass of"),
        ({"sweep": "toy_sweeps:Config"}, "of package toy_sweeps 1.2 is <class 'toy_sweeps.Config'"),
        ({"sweep": "toy_sweeps:Untold"}, "of package toy_sweeps 1.2 lacks tell; define it in Unt"),
        ({"sweep": "toy_sweeps:Plain"}, "toy_sweeps 1.2: DEFAULT is 3; allowed: an instance of a"),
        ({"sweep": "toy_sweeps:Leaves"}, "mapper sweep cannot be made: RuntimeError: no licence"),
    ],
)
def test_a_package_whose_mapper_cannot_be_used_is_named(
    install: Install, entries: dict[str, str], message: str
) -> None:
    install("toy_sweeps", **entries)
    with pytest.raises(MapperError, match=message):
        make_mapper("sweep")


def test_a_package_that_ends_the_process_is_named(install: Install, tmp_path: Path) -> None:
    install("toy_exit", sweep="toy_exit:Sweep")
    (tmp_path / "toy_exit.py").write_text("raise SystemExit(5)", encoding="utf-8")
    with pytest.raises(MapperError, match=r"package toy_exit 1\.2 cannot be loaded: Sys"):
        make_mapper("sweep")


def test_two_packages_cannot_give_one_name(install: Install) -> None:
    install("toy_one", sweep="toy_one:Sweep")
    install("toy_two", sweep="toy_two:Sweep")
    with pytest.raises(MapperError, match=r"of package toy_... 1.2: the name is that of package"):
        make_mapper("sweep")


def test_the_projects_mappers_are_made_without_reading_packages(install: Install) -> None:
    install("toy_sweeps", ga="toy_sweeps:Sweep")
    assert type(make_mapper("random")) is RandomMapper


def test_a_program_registers_a_mapper() -> None:
    register_mapper("mine", LogRandomMapper)
    made = make_mapper("mine:draw=uniform")
    assert type(made) is LogRandomMapper
    assert made.config.draw == "uniform"


@pytest.mark.parametrize("name", ["ga", "all", "mine", "sweep"])
def test_a_name_that_exists_is_refused(install: Install, name: str) -> None:
    install("toy_sweeps", sweep="toy_sweeps:Sweep")
    register_mapper("mine", RandomMapper)
    with pytest.raises(MapperError, match=f"mapper '{name}': the name is that of another mapper"):
        register_mapper(name, RandomMapper)


@pytest.mark.parametrize("name", ["", "a:b", "a,b", "a b", "2", "x" * 65, "a\n"])
def test_a_name_that_flags_cannot_hold_is_refused(name: str) -> None:
    with pytest.raises(MapperError, match="a name is a letter and at most 63"):
        register_mapper(name, RandomMapper)


@pytest.mark.parametrize("found", [3, RandomMapper(), dict])
def test_what_is_no_class_of_mappers_is_refused(found: object) -> None:
    with pytest.raises(MapperError, match=r"a subclass of maestro_env\.mappers\.base"):
        register_mapper("mine", found)


def test_a_name_that_is_no_text_is_refused() -> None:
    for name in (3, None, b"ga"):
        with pytest.raises(ArgumentTypeError, match="allowed: a str, "):
            register_mapper(name, RandomMapper)
        with pytest.raises(ArgumentTypeError, match="allowed: a str, such as ga"):
            make_mapper(name)


def test_an_unknown_mapper_is_refused_with_those_from_outside(install: Install) -> None:
    install("toy_sweeps", sweep="toy_sweeps:Sweep")
    register_mapper("mine", RandomMapper)
    with pytest.raises(UnknownNameError, match="did you mean sweep") as error:
        make_mapper("sweeps")
    assert "mine" in str(error.value)


def test_importing_the_registry_reads_no_packages() -> None:
    script = "import sys, numpy, scipy; before = set(sys.modules); import maestro_env.mappers\n"
    script += "assert 'importlib.metadata' in before or 'importlib.metadata' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True)
