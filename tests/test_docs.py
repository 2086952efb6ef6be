"""The documents against what the code does."""

from __future__ import annotations

import importlib.metadata
import pydoc
import re
import shlex
from dataclasses import fields
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import yaml

import maestro_env
import maestro_env.experiments.shell.flags
from maestro_env import clustering, mappers
from maestro_env.accelerators.finding import find_hardware
from maestro_env.accelerators.hardware import PRESETS
from maestro_env.base.errors import MissingExtraError
from maestro_env.evaluation.cost_and_status import OK, STATUSES, Cost
from maestro_env.evaluation.models import MODELS
from maestro_env.evaluation.problem import Problem
from maestro_env.experiments.shell import cli
from maestro_env.mappers import MAPPERS, own_mappers
from maestro_env.mapspace.mapping import Level, Loop, Mapping
from maestro_env.mapspace.two_level_space import SCHEMAS, MapSpace
from maestro_env.workloads.finding import find_layer

DOCS = Path(__file__).parents[1] / "docs"
README = DOCS.parent / "README.md"
PAGES = (README, DOCS.parent / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md")))
# A block of Python, and the output that may stand below it.
SNIPPET = re.compile(r"```python\n(.*?)```\n(?:\n```\n(.*?)```\n)?", re.DOTALL)
# These take seconds.
LONG = {"environments-3", "environments-4", "explaining-1", "explaining-3", "howto-1", "howto-4"}
LONG |= {"networks-3", "reports-1"}
SNIPPETS = [
    pytest.param(*found.groups(), id=name, marks=[pytest.mark.slow] * (name in LONG))
    for page in PAGES
    for number, found in enumerate(SNIPPET.finditer(page.read_text(encoding="utf-8")), start=1)
    for name in [f"{page.stem}-{number}"]
]


def commands(page: Path) -> list[tuple[str, str]]:
    """Return the commands of a page: name and flags."""
    text = re.sub(r"\\\n *", "", page.read_text(encoding="utf-8"))
    found = re.findall(r"^(?:python -m experiments\.|maestro-env )(\S+)(.*)$", text, re.MULTILINE)
    return [(name, flags) for name, flags in found if name in cli.command_names()]


COMMANDS = [
    pytest.param(module, flags, id=f"{page.stem}: {module} {' '.join(flags.split())}")
    for page in PAGES
    for module, flags in commands(page)
]
# What a block that has a text needs.
EXTRAS = {
    "stable_baselines3": "stable_baselines3",
    "parallel_env": "pettingzoo",
    "parallel_improve_env": "pettingzoo",
    "maestro_env.datasets.parquet": "pyarrow",
    "minari_view": "minari",
    "import onnx": "onnx",
    "import torch": "torch",
    "report.html": "vl_convert",
}
# A learner need not learn, nor a search find.
FEWER_STEPS = {"n_steps=512": "n_steps=64", "learn(1024)": "learn(64)", "maxiter=20": "maxiter=2"}
LINK = re.compile(r"\]\(([^)#:]*)(?:#([^)]*))?\)")
FILLED = {"x": True, "": False}


def cells(section: str) -> list[list[str]]:
    """Cells of the first table of a section, without its header."""
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def rows(heading: str) -> list[list[str]]:
    """Cells of the table of docs/models.md under a heading."""
    text = (DOCS / "models.md").read_text(encoding="utf-8")
    return cells(text.split(f"\n## {heading}\n")[1].split("\n## ")[0])


def names(heading: str) -> list[str]:
    return [row[0].strip("`") for row in rows(heading)]


def test_every_field_of_cost_is_listed_once_and_in_order() -> None:
    assert names("Fields of Cost") == [field.name for field in fields(Cost)]
    assert all(unit and meaning for _, unit, _, _, meaning in rows("Fields of Cost"))


@pytest.mark.parametrize(("model", "column"), [("maestro", 2), ("exact", 3)])
def test_the_fields_marked_are_those_a_model_fills(model: str, column: int) -> None:
    space = MapSpace(find_layer("mobilenetv2_l2"), find_hardware("paper"))
    points = space.sample(1000, np.random.default_rng(0))
    problem = Problem(space, model)
    valid = points[problem.evaluate(points).status == OK]
    cost, _ = problem.evaluate_mapping(space.decode(valid[0]))
    assert cost is not None
    filled = {name: figure is not None and figure != () for name, figure in cost.as_dict().items()}
    assert filled == {
        name: FILLED[row[column]]
        for name, row in zip(names("Fields of Cost"), rows("Fields of Cost"), strict=True)
    }


def test_every_status_is_listed_once_and_in_order() -> None:
    assert names("Statuses") == list(STATUSES)
    assert all(meaning for *_, meaning in rows("Statuses"))


def test_every_model_is_introduced() -> None:
    text = (DOCS / "models.md").read_text(encoding="utf-8")
    assert [model for model in MODELS if f"`{model}`" not in text] == []


def test_every_mapper_is_introduced_with_its_file() -> None:
    text = (DOCS / "mappers.md").read_text(encoding="utf-8").split("\n## ")[0]
    introduced = {row[0].strip("`"): row[1].strip("`") for row in cells(text)}
    assert list(introduced) == own_mappers()
    entries = importlib.metadata.entry_points(group="maestro_env.mappers")
    places = {**MAPPERS, **{entry.name: entry.value for entry in entries}}
    for name, file in introduced.items():
        module = file.removesuffix(".py").replace("/", ".")
        assert places[name].startswith(f"maestro_env.mappers.{module}:")


def headings(page: Path) -> set[str]:
    """Return the headings of a page as links name them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_pictures_lead_somewhere(page: Path) -> None:
    for path, heading in LINK.findall(page.read_text(encoding="utf-8")):
        target = page.parent / path if path else page
        assert target.exists(), path
        assert not heading or heading in headings(target), heading


def test_what_the_reference_shows_is_there() -> None:
    text = (DOCS / "reference.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\.\. auto\w+:: (\S+)$", text, re.MULTILINE)
    assert len(shown) > 50
    assert [name for name in shown if not is_there(name)] == []


def is_there(name: str) -> bool:
    """Whether a module or a part of one can be imported, or needs an extra for that."""
    try:
        return pydoc.locate(name) is not None
    except pydoc.ErrorDuringImport as error:
        return isinstance(error.value, MissingExtraError)


@pytest.mark.parametrize(
    "package", [maestro_env, mappers, clustering], ids=lambda package: package.__name__
)
def test_every_public_name_is_in_the_reference(package: ModuleType) -> None:
    text = (DOCS / "reference.md").read_text(encoding="utf-8")
    linked = r"(?!mappers|clustering)" if package is maestro_env else ""
    listed = re.findall(
        rf":: {re.escape(package.__name__)}\.{linked}(?:\w+\.)*(\w+)$", text, re.MULTILINE
    )
    assert [name for name in package.__all__ if name not in listed] == []
    assert sorted(set(listed)) == sorted(listed)


def test_the_citation_has_the_version() -> None:
    citation = yaml.safe_load((DOCS.parent / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == maestro_env.__version__


def test_the_readme_has_snippets() -> None:
    assert len(SNIPPETS) >= 5


def test_every_schema_is_in_the_glossary() -> None:
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    assert all(f"`{schema}`" in text for schema in SCHEMAS)


def test_every_preset_is_in_the_table_of_machines() -> None:
    text = (DOCS / "mapping.md").read_text(encoding="utf-8")
    assert all(re.search(rf"^\| `{preset}`", text, re.MULTILINE) for preset in PRESETS)


def test_the_hardware_file_is_read(tmp_path: Path) -> None:
    text = (DOCS / "mapping.md").read_text(encoding="utf-8")
    path = tmp_path / "chip.yaml"
    path.write_text(re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)[0])
    assert find_hardware(str(path)).num_pes == 256


@pytest.mark.parametrize(("module", "flags"), COMMANDS)
def test_the_commands_have_these_flags(
    module: str, flags: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = maestro_env.experiments.shell.flags.run
    monkeypatch.setattr(
        maestro_env.experiments.shell.flags,
        "run",
        lambda config, _, module, argv: run(config, lambda _: 0, module, argv),
    )
    assert cli.main(module, shlex.split(flags, comments=True)) == 0


def test_the_commands_of_the_page_on_exchange_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    level = Level((Loop("M", 2, 2, spatial=True), Loop("N", 8, 8), Loop("K", 16, 16)))
    Path("best_mapping.json").write_text(Mapping((level,)).to_json())
    for module, flags in commands(DOCS / "exchange.md"):
        assert cli.main(module, shlex.split(flags)) == 0
    assert Mapping.from_m(Path("mapping.m").read_text()) == Mapping((level,))


@pytest.mark.parametrize(("snippet", "output"), SNIPPETS)
def test_the_snippets_run(
    snippet: str,
    output: str | None,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for text, module in EXTRAS.items():
        if text in snippet:
            pytest.importorskip(module)
            if module in ("stable_baselines3", "torch"):
                request.getfixturevalue("one_torch_thread")
    # Here the id is registered already; in the process of a reader it is by an import.
    imports = re.findall(r"^(?:import|from) .*maestro_env", snippet, re.MULTILINE)
    assert imports or "MaestroEnv-v1" not in snippet
    for steps, fewer in FEWER_STEPS.items():
        snippet = snippet.replace(steps, fewer)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(mappers, "_registered", {})
    if "open_dataset" in snippet:
        (flags,) = (each for name, each in commands(DOCS / "howto.md") if "dataset" in name)
        assert cli.main("dataset", shlex.split(flags)) == 0
        capsys.readouterr()
    exec(snippet, {"__name__": "__main__"})
    printed = capsys.readouterr()
    assert printed.out
    assert printed.err == ""
    assert output is None or printed.out == output
