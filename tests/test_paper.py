"""What ``experiments.paper`` runs, keeps, refuses and writes."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from odd_mappers import ODD

import mappers
from experiments.cells import Finished, Work, run_cell
from experiments.csv_files import write_csv
from experiments.paper.__main__ import main
from experiments.paper.item import Claim, Item, Places, Run, Scale, Section
from experiments.paper.items import ITEMS
from experiments.paper.rows import read_rows
from experiments.paper.searches import in_turn, run_rest

LAYER = "gemm:M=64,N=64,K=64"


def tree(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }


class Bests(Item):
    """A small item: the best of every search."""

    name = "bests"
    title = "Bests"
    mapper = "ga"

    def prepare(self, scale: Scale, places: Places) -> None:
        places.work.mkdir(exist_ok=True)
        (places.work / "prepared").touch()

    def runs(self, scale: Scale) -> Iterator[Run]:
        for mapper in ("random", self.mapper):
            for seed in range(scale.seeds):
                yield Run(LAYER, "latency", mapper, seed, 60)

    def write(self, finished: Mapping[Run, Finished], scale: Scale, places: Places) -> None:
        assert (places.work / "prepared").is_file()
        rows = [(run.mapper, run.seed, each.values[-1]) for run, each in finished.items()]
        write_csv(places.results / "bests.csv", ("mapper", "seed", "best"), rows)

    def section(self, places: Places) -> Section:
        rows = read_rows(places.results / "bests.csv")
        best = min((float(row["best"]) for row in rows), default=math.inf)
        return Section(
            [Claim("one is best.", len(rows) > 3, f"{len(rows)} are.")],
            f"{len(rows)} searches, {best}",
        )


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def bests(monkeypatch: pytest.MonkeyPatch) -> type[Bests]:
    """Let there be one small item alone."""
    let_there_be(monkeypatch, Bests())
    monkeypatch.setattr("mappers.MAPPERS", {**mappers.MAPPERS, **ODD})
    return Bests


def let_there_be(monkeypatch: pytest.MonkeyPatch, *items: Bests) -> None:
    for module in ("config", "job", "page"):
        by_name = {item.name: item for item in items}
        monkeypatch.setattr(f"experiments.paper.{module}.ITEMS", by_name)


def make(out: Path, *flags: str) -> int:
    return main(["--quick", f"--out={out}", *(flags or ("--all",))])


def cells(out: Path) -> dict[str, bytes]:
    return {name: text for name, text in tree(out).items() if name.endswith(("0.json", "1.json"))}


def about(out: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((out / "results/bests/about.json").read_text())
    return found


# --- Everything ---------------------------------------------------------------------------------


def test_every_item_runs_at_the_quick_scale_and_the_page_is_made_of_results_alone(
    out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("stable_baselines3")
    assert make(out) == 0
    assert "failed" not in capsys.readouterr().err
    page = out / "results.md"
    text = page.read_text()
    assert "Not run yet" not in text
    for name, item in ITEMS.items():
        facts = json.loads((out / "results" / name / "about.json").read_text())
        assert facts["finished"] == facts["asked"]
        assert f"\n## {item.title}\n" in text
        assert f"--only {name} --quick" in text
    before = tree(page.parent / "images") if (page.parent / "images").exists() else {}
    elsewhere = tmp_path / "elsewhere" / "page.md"
    flags = [f"--results={out / 'results'}", f"--page={elsewhere}"]
    # Without --all and --only nothing is run: there is no directory of searches here.
    assert main([*flags, f"--out={tmp_path / 'none'}"]) == 0
    assert elsewhere.read_text() == text
    again = elsewhere.parent / "images"
    assert (tree(again) if again.exists() else {}) == before
    assert not (tmp_path / "none").exists()


# --- Searches -----------------------------------------------------------------------------------


def test_runs_are_taken_once_and_seed_by_seed() -> None:
    def run(mapper: str, seed: int) -> Run:
        return Run(LAYER, "latency", mapper, seed, 10)

    asked = [run("ga", 1), run("ga", 0), run("bo", 1), run("bo", 0), run("ga", 0)]
    assert in_turn(asked) == [run("ga", 0), run("bo", 0), run("ga", 1), run("bo", 1)]


def test_a_file_of_groups_lies_with_the_runs_and_its_place_changes_no_search(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Work] = []

    def run(works: Sequence[Work], *_: object) -> int:
        given.extend(works)
        return 0

    monkeypatch.setattr("experiments.paper.searches.run_cells", run)
    mapper = "marl_clustered:groups=overhead/groups.json:agents=3"
    run_rest(out, [Run(LAYER, "latency", mapper, 0, 60)], {}, 1, {})
    (work,) = given
    assert work.made == f"marl_clustered:groups={out}/overhead/groups.json:agents=3"
    # The cell's own text decides the random stream.
    assert work.cell.mapper == mapper


@pytest.mark.usefixtures("bests")
def test_finished_searches_are_not_run_again(out: Path) -> None:
    assert make(out) == 0
    before = cells(out)
    assert len(before) == 4
    lost = next(name for name in before if "/ga/" in name)
    (out / lost).unlink()
    assert make(out, "--only=bests") == 0
    after = cells(out)
    assert after.keys() == before.keys()
    # Their seconds differ whenever they are run.
    assert {name for name in before if after[name] != before[name]} == {lost}
    untimed = {"seconds": 0, "model_seconds": 0, "digest": ""}
    assert json.loads(after[lost]) | untimed == json.loads(before[lost]) | untimed


@pytest.mark.usefixtures("bests")
def test_searches_are_those_of_the_other_commands_and_keep_their_windows(out: Path) -> None:
    from experiments.compare.__main__ import main as compare

    assert make(out) == 0
    other = out.parent / "compared"
    flags = [f"--layers={LAYER}", "--objectives=latency", "--mappers=ga", "--samples=60"]
    assert compare([f"--out={other}", "--seeds=1", *flags]) == 0
    (theirs,) = (json.loads(text) for name, text in cells(other).items() if "/ga/" in name)
    ours = next(json.loads(text) for name, text in cells(out).items() if name.endswith("ga/0.json"))
    assert ours["improvements"] == theirs["improvements"]
    assert "windows" not in theirs
    assert len(ours["windows"]["returns"].split()) == 60


@pytest.mark.usefixtures("bests")
def test_jobs_do_not_change_results(out: Path, tmp_path: Path) -> None:
    two = tmp_path / "two"
    assert make(out) == 0
    assert make(two, "--all", "--jobs=2") == 0
    name = "results/bests/bests.csv"
    assert (out / name).read_bytes() == (two / name).read_bytes()


def test_missing_searches_are_told_and_run_by_the_same_command(
    out: Path,
    bests: type[Bests],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(bests, "mapper", "failing")
    assert make(out) == 1
    assert "the same command runs it again" in capsys.readouterr().err
    assert (about(out)["asked"], about(out)["finished"]) == (4, 2)
    page = (out / "results.md").read_text()
    assert "**2 of 4 searches** (missing: 2 of `failing`)" in page
    line = "The paper: one is best. Here: 2 are. Not decided yet (2 of 4 searches)."
    assert f"- **Not decided.** {line}" in page
    assert "claims that were decided" not in page
    monkeypatch.setitem(os.environ, "MENDED", "1")
    assert make(out) == 0
    page = (out / "results.md").read_text()
    assert "All 4 searches" in page
    assert "- **Holds.** The paper: one is best. Here: 4 are." in page
    assert "Not decided are those that intervals do not tell apart" in page


def test_an_item_without_a_finished_search_is_left_as_it_was(
    out: Path,
    bests: type[Bests],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(bests, "runs", lambda *_: iter([Run(LAYER, "latency", "failing", 0, 60)]))
    assert make(out) == 1
    assert "bests: no search has ended yet" in capsys.readouterr().err
    assert "Not run yet." in (out / "results.md").read_text()


@pytest.mark.usefixtures("bests")
def test_searches_under_other_settings_are_refused(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert make(out) == 0
    path = out / "mappers.json"
    settings = json.loads(path.read_text())
    assert settings["ga"]["population"] == 100
    settings["ga"]["population"] = 50
    path.write_text(json.dumps(settings))
    before = tree(out)
    capsys.readouterr()
    assert make(out) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "begun with ga population = 50, asked for 100" in error
    assert tree(out) == before


@pytest.mark.usefixtures("bests")
def test_a_damaged_search_is_named(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert make(out) == 0
    lost = out / min(cells(out))
    lost.write_text("{}")
    capsys.readouterr()
    assert make(out) == 2
    error = capsys.readouterr().err
    assert str(lost) in error
    assert error.endswith("delete it, and the same command runs it again\n")


@pytest.mark.usefixtures("bests")
@pytest.mark.parametrize("cut", [1, 5, 1000])
def test_a_result_file_that_was_cut_off_is_named(
    out: Path, cut: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert make(out) == 0
    path = out / "results/bests/bests.csv"
    path.write_text(path.read_text()[:-cut])
    assert_refused(out, str(path), capsys)


@pytest.mark.usefixtures("bests")
@pytest.mark.parametrize("row", ["ga,0,best", "ga,0,1.0,2.0", "ga"])
def test_a_result_file_of_something_else_is_refused(
    out: Path, row: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert make(out) == 0
    path = out / "results/bests/bests.csv"
    path.write_text(f"{path.read_text()}{row}\n")
    assert_refused(out, str(path.parent), capsys)


@pytest.mark.usefixtures("bests")
@pytest.mark.parametrize(
    "wrong",
    [
        {"asked": "4"},
        {"finished": None},
        {"seconds": "long"},
        {"own_seconds": None},
        {"seeds": []},
        {"budgets": ["60"]},
        {"missing": ["ga"]},
        {"commit": {"a": "b"}},
        {"command": 1},
    ],
)
def test_provenance_of_something_else_is_refused(
    out: Path, wrong: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    assert make(out) == 0
    path = out / "results/bests/about.json"
    path.write_text(json.dumps(about(out) | wrong))
    assert_refused(out, str(path), capsys)
    path.write_text("{}")
    assert_refused(out, str(path), capsys)


def assert_refused(out: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Make the page of results alone, which names what is wrong in one line."""
    capsys.readouterr()
    assert main([f"--results={out / 'results'}", f"--page={out / 'again.md'}"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert name in error
    assert not (out / "again.md").exists()


@pytest.mark.usefixtures("bests")
def test_ctrl_c_writes_what_is_finished_and_says_how_to_go_on(
    out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done: list[str] = []

    def run(work: Work) -> str | None:
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(str(work.cell))
        return run_cell(work)

    with monkeypatch.context() as patched:
        patched.setattr("experiments.cell_pool.run_cell", run)
        assert make(out) == 130
    # Seed by seed: what is lacking is of the last seed.
    assert [name.rsplit(" ", 1)[1] for name in done] == ["0", "0", "1"]
    assert about(out)["missing"] == {"ga": 1}
    command = f"continue with: python -m experiments.paper --all --quick --out={out}"
    assert command in capsys.readouterr().err
    assert make(out) == 0
    assert about(out)["missing"] == {}


@pytest.mark.usefixtures("bests")
def test_provenance_is_that_of_the_searches(out: Path) -> None:
    assert make(out) == 0
    facts = about(out)
    entries = [json.loads(text) for text in cells(out).values()]
    assert facts["command"] == "python -m experiments.paper --only bests --quick"
    assert facts["seeds"] == [0, 1]
    assert facts["budgets"] == [60]
    assert facts["evaluations"] == 4 * 60
    assert facts["seconds"] == round(sum(entry["seconds"] for entry in entries), 3) > 0
    for name in ("commit", "processor", "date"):
        assert facts[name] == {str(entries[0]["versions"][name]): 4}


class Again(Bests):
    name = "again"


@pytest.mark.usefixtures("bests")
def test_the_time_of_searches_that_sections_share_is_counted_once(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_there_be(monkeypatch, Bests(), Again())
    # Whichever is made first, and alone.
    for item in ("again", "bests"):
        assert make(out, f"--only={item}") == 0
    again = json.loads((out / "results/again/about.json").read_text())
    assert again["seconds"] == about(out)["seconds"] == about(out)["own_seconds"]
    assert again["own_seconds"] == 0
    page = (out / "results.md").read_text()
    assert f"took {about(out)['seconds']:,.0f} seconds of one core" in page


# --- Flags --------------------------------------------------------------------------------------

BAD_INPUT = {
    "item": (["--only=table3,table9"], "unknown item 'table9': did you mean"),
    "all and some": (["--all", "--only=table2"], "--all and --only table2 do not go together"),
    "colon": (["--all", "--quick", "--out=a:b"], "--out a:b: settings of mappers name files in it"),
    "comma": (["--out=a,b"], "cannot hold a colon or a comma; give a directory without"),
    "no jobs": (["--all", "--jobs=0"], "'0'; allowed: integers from 1 to 1024"),
    "flag of compare": (["--resume"], "--resume"),
}


@pytest.mark.parametrize(("flags", "message"), BAD_INPUT.values(), ids=BAD_INPUT)
def test_bad_input_is_one_line_and_nothing_is_done(
    flags: list[str], message: str, assert_refused: Callable[..., None]
) -> None:
    assert_refused(main, flags, message)
