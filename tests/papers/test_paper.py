"""What ``maestro-env paper`` runs, keeps, refuses and writes."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from commands import paper as main
from odd_mappers import ODD
from same_results import TIMES

from maestro_env import mappers
from maestro_env.experiments.papers.paper import ITEMS
from maestro_env.experiments.papers.paper.ledger import Run, in_turn
from maestro_env.experiments.search.cells import SearchRecord
from maestro_env.experiments.shell.files import distinct_name
from maestro_env.experiments.store.records import Show

REPOSITORY = Path(__file__).parents[2]
LAYER = "gemm:M=64,N=64,K=64"
MAPPERS = "maestro_env.experiments.papers.paper.items.table3.MAPPERS"


def tree(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Table III have two mappers."""
    monkeypatch.setattr(MAPPERS, ("random", "marl"))


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Table III of two mappers."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(MAPPERS, ("random", "marl"))
        directory = tmp_path_factory.mktemp("paper")
        assert make(directory) == 0
        yield directory


@pytest.fixture
def made(made_once: Path, out: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(made_once, out)


def make(out: Path, *flags: str) -> int:
    return main(["--quick", f"--out={out}", *(flags or ("--only=table3",))])


def cells(out: Path) -> dict[str, bytes]:
    return {name: text for name, text in tree(out).items() if name.endswith(("0.json", "1.json"))}


def about(out: Path, item: str = "table3") -> dict[str, object]:
    found: dict[str, object] = json.loads((out / f"results/{item}/about.json").read_text())
    return found


# --- The page -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_item_is_made_at_the_quick_scale(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("stable_baselines3")
    assert make(out, "--all") == 0
    assert "failed" not in capsys.readouterr().err
    text = (out / "results.md").read_text()
    assert "Not run yet" not in text
    assert "nan" not in text.lower().split()
    for name in ITEMS:
        assert about(out, name)["finished"] == about(out, name)["asked"]
        assert f"--only {name} --quick" in text
    shown = set(re.findall(r"\((images/.*?)\)", text))
    assert shown == {name for name in tree(out) if name.endswith(".png")}


def test_the_published_page_is_that_of_the_published_results(tmp_path: Path) -> None:
    page = tmp_path / "results.md"
    # Without --all and --only nothing is run: there is no directory of searches here.
    flags = [f"--results={REPOSITORY / 'experiments/results'}", f"--out={tmp_path / 'none'}"]
    assert main([*flags, f"--page={page}"]) == 0
    assert not (tmp_path / "none").exists()
    text = page.read_text()
    assert text == (REPOSITORY / "docs/results.md").read_text()
    lines = text.partition("| claim |")[2].partition("\n\n")[0].splitlines()[2:]
    claims = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert len(claims) > 25
    # Each claim once, in a line that is read at a glance, with a verdict.
    assert len({claim[0] for claim in claims}) == len(claims)
    assert all(len(" ".join(claim).split()) <= 25 for claim in claims)
    assert {"Holds", "Does not hold", "Not decided"} <= {claim[-1] for claim in claims}


# --- Searches -----------------------------------------------------------------------------------


def test_runs_are_taken_once_and_seed_by_seed() -> None:
    def run(mapper: str, seed: int) -> Run:
        return Run(LAYER, "latency", mapper, seed, 10)

    asked = [run("ga", 1), run("ga", 0), run("bo", 1), run("bo", 0), run("ga", 0)]
    assert in_turn(asked) == [run("ga", 0), run("bo", 0), run("ga", 1), run("bo", 1)]


def test_groups_are_learnt_before_they_are_reused_and_their_place_changes_no_search(
    out: Path,
) -> None:
    assert make(out, "--only=overhead") == 0
    name = "overhead/resnet18_l2-latency.json"
    assert (out / name).read_bytes() == (out / "results" / name).read_bytes()
    # A cell's own text decides its random stream.
    assert sum(distinct_name(f"marl_clustered:groups={name}") in cell for cell in cells(out)) == 2


def test_results_tell_where_they_come_from(made: Path) -> None:
    facts = about(made)
    entries = [json.loads(text) for text in cells(made).values()]
    assert facts["command"] == "maestro-env paper --only table3 --quick"
    assert (facts["seeds"], facts["budgets"]) == ([0, 1], [128])
    assert facts["finished"] == len(entries)
    assert facts["evaluations"] == sum(entry["evaluations"] for entry in entries)
    assert facts["seconds"] == round(sum(entry["seconds"] for entry in entries), 3) > 0
    for name in ("commit", "processor", "date"):
        assert facts[name] == {str(entries[0]["versions"][name]): len(entries)}


@pytest.mark.usefixtures("few")
def test_finished_searches_are_not_run_again_and_jobs_change_no_result(made: Path) -> None:
    before, results = cells(made), tree(made / "results/table3")
    lost = next(name for name in before if "/marl/" in name)
    (made / lost).unlink()
    assert make(made, "--only=table3", "--jobs=2") == 0
    after = cells(made)
    assert after.keys() == before.keys()
    # Their seconds differ whenever they are run.
    assert {name for name in before if after[name] != before[name]} == {lost}
    untimed = dict.fromkeys((*TIMES, "digest"))
    assert json.loads(after[lost]) | untimed == json.loads(before[lost]) | untimed
    again = tree(made / "results/table3")
    assert {name for name in results if again[name] != results[name]} <= {"about.json"}


def test_missing_searches_are_told_and_decide_nothing(
    out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("maestro_env.mappers.MAPPERS", {**mappers.MAPPERS, **ODD})
    monkeypatch.setattr(MAPPERS, ("random", "failing", "marl"))
    assert make(out) == 1
    assert "the same command runs it again" in capsys.readouterr().err
    facts = about(out)
    assert facts["missing"] == {"failing": 5}
    page = (out / "results.md").read_text()
    assert f"**{facts['finished']} of {facts['asked']} searches** (missing: failing)" in page
    assert "Holds" not in page
    monkeypatch.setitem(os.environ, "MENDED", "1")
    assert make(out) == 0
    page = (out / "results.md").read_text()
    assert f"All {facts['asked']} searches" in page
    assert "| Holds |" in page


@pytest.mark.usefixtures("few")
def test_searches_under_other_settings_are_refused(
    made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = made / "mappers.json"
    settings = json.loads(path.read_text())
    settings["marl"]["batch"] = 50
    path.write_text(json.dumps(settings))
    before = tree(made)
    assert make(made) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "has marl batch = 50, asked for 16" in error
    assert tree(made) == before


@pytest.mark.usefixtures("few")
def test_ctrl_c_writes_what_is_finished_and_says_how_to_continue(
    out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done, search = list[int](), SearchRecord.run

    def run(work: SearchRecord, show: Show) -> str | None:
        if len(done) == 8:
            raise KeyboardInterrupt
        done.append(work.cell.seed)
        return search(work, show)

    with monkeypatch.context() as patched:
        patched.setattr(SearchRecord, "run", run)
        assert make(out) == 130
    # Seed by seed: those of the last seed are missing.
    assert done == sorted(done)
    assert about(out)["finished"] == 8
    command = f"continue with: maestro-env paper --only=table3 --quick --out={out}"
    assert command in capsys.readouterr().err
    assert make(out) == 0
    assert about(out)["missing"] == {}


# --- Result files -------------------------------------------------------------------------------


@pytest.mark.usefixtures("few")
def test_damaged_files_are_named_in_one_line(
    made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results, page = made / "results", made / "again.md"

    def refused(path: Path, text: str, name: str) -> None:
        whole = path.read_text()
        path.write_text(text)
        capsys.readouterr()
        assert main([f"--results={results}", f"--page={page}"]) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert name in error
        assert not page.exists()
        path.write_text(whole)

    ratios, facts = results / "table3/ratios.csv", results / "table3/about.json"
    whole = ratios.read_text()
    for text in (whole[:-1], whole[:-9], whole + "exact,2\n", whole.replace("ratio,", "other,")):
        refused(ratios, text, str(ratios.parent))
    for wrong in ({"asked": "4"}, {"seconds": None}, {"seeds": 3}, {"missing": []}):
        refused(facts, json.dumps(about(made) | wrong), str(facts))
    refused(facts, "{}", str(facts))
    lost = made / min(cells(made))
    lost.write_text("{}")
    assert make(made) == 2
    assert str(lost) in capsys.readouterr().err


# --- Flags --------------------------------------------------------------------------------------

BAD_INPUT = {
    "item": (["--only=table3,table9"], "unknown item 'table9': did you mean"),
    "all and some": (["--all", "--only=table2"], "--all and --only table2 cannot be combined"),
    "colon": (["--all", "--quick", "--out=a:b"], "--out a:b: settings of mappers name files in it"),
    "comma": (["--out=a,b"], "which allow no colon or comma; give a directory without"),
    "no results": (["--results=empty", "--page=page.md"], "empty has no results; make them with"),
    "no jobs": (["--all", "--jobs=0"], "'0'; allowed: integers from 1 to 1024"),
}


@pytest.mark.parametrize(("flags", "message"), BAD_INPUT.values(), ids=BAD_INPUT)
def test_bad_input_is_one_line_and_nothing_is_done(
    flags: list[str], message: str, assert_refused: Callable[..., None]
) -> None:
    assert_refused(main, flags, message)
