"""Names of layers and hardware that are no plain text, in pictures, tables and messages."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from commands import audit, cluster
from compare_helpers import compare
from gate import few
from run_helpers import run

from maestro_env.base.errors import printable
from maestro_env.experiments.shell.files import run_directory
from maestro_env.experiments.shown.plots import in_picture
from maestro_env.experiments.shown.progress import Bar
from maestro_env.experiments.shown.tables import Table, printable_name

# What breaks the mathematics of a picture, colours a terminal, is markup and an emoji.
ODD = r"a$\frac{1}$b$" + "\x1b[31m[bold]a[|bold][|b]:smile:"
ONE_DOLLAR = "5$_{"


def machine(directory: Path, name: str) -> Path:
    path = directory / f"{name}.yaml"
    path.write_text("num_pes: 64\n")
    return path


def network(directory: Path, name: str) -> Path:
    path = directory / f"{name}.csv"
    path.write_text("K,C,Y,X,R,S,T\n16,16,8,8,3,3,1\n")
    return path


def test_run_directories_have_plain_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = "layer-latency_cycles-area_um2"
    assert run_directory(None, "layer-latency_cycles*area_um2") == Path("runs") / f"{name}-1"


@pytest.mark.parametrize("name", few([ODD, ONE_DOLLAR]), ids=["odd", "one dollar"])
def test_names_of_any_text_are_drawn_and_shown(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str], rendered: None
) -> None:
    hardware, layer = machine(tmp_path, name), network(tmp_path, name)
    out = tmp_path / "out\x1b[31m"
    flags = [f"--hardware={hardware}", "--samples=20"]
    assert run(out, f"--layer={layer}:0", "--mapper=random", "--svg", *flags) == 0
    assert audit([str(out)]) == 0
    shown_here = capsys.readouterr()
    assert "\x1b" not in shown_here.out + shown_here.err
    assert printable(name) in shown_here.out
    assert f"on {printable(name)}: EDP" in (out / "convergence.svg").read_text()


@pytest.mark.slow
def test_comparisons_and_groups_are_drawn_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layer = network(tmp_path, ODD)
    flags = [f"--hardware={machine(tmp_path, ODD)}"]
    compared = [f"--layers={layer}:0", "--mappers=random", *flags]
    assert compare(tmp_path / "out", *compared, samples=20, seeds=1) == 0
    groups = [f"--out={tmp_path / 'groups.json'}", f"--cache={tmp_path}", "--samples=200"]
    assert cluster([f"--layer={layer}:0", *groups, *flags]) == 0
    assert (tmp_path / "groups.png").exists()
    assert "\x1b" not in capsys.readouterr().out


def test_a_long_name_is_cut() -> None:
    assert len(printable_name("a" * 5_000_000)) == 200
    assert in_picture("$" * 5_000_000).count("$") == 197


def test_a_message_holds_nothing_a_terminal_obeys(capsys: pytest.CaptureFixture[str]) -> None:
    assert audit(["no\x1b[31m\udcff"]) == 2
    assert capsys.readouterr().err.count("\x1b") == 0


def test_a_bar_shows_names_on_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def show() -> str:
        with Bar("[b]all[/b]", 4, done=1) as bar:
            bar.show(3, "ga on \x1b]0;title\x07[/x]")
        return capsys.readouterr().err

    assert show() == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    shown_there = show()
    assert "\x1b]0;" not in shown_there
    for part in ("[b]all[/b]", "3/4", r"ga on \x1b]0;title\x07[/x]"):
        assert part in shown_there


def test_a_name_in_markdown_is_no_html() -> None:
    table = Table("<b>n", ("layer",), ("gap",), [("<script>a</script>", "< 1 %")], "L1 for </i>.")
    text = table.markdown()
    assert "| &lt;script>a&lt;/script> | < 1 % |" in text
    assert "## &lt;b>n" in text
    assert "L1 for &lt;/i>." in text
