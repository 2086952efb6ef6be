"""``maestro-env cluster``: its files, what it says, and what it refuses."""

from __future__ import annotations

import json
import pkgutil
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clustering_helpers import layer_samples, partition, sizes_samples
from commands import cluster as main
from gate import few
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.image import imread
from planted import LATENCY, PARTITION, planted

from maestro_env.clustering import AgentGroups, Clustering, cluster
from maestro_env.experiments.search.goals import Goal
from maestro_env.experiments.shown.clustering import cut, draw_clustering, row_order
from maestro_env.experiments.shown.plots import save
from maestro_env.mappers.agents.grouping import read_groups

LAYER = "resnet18_l2"
FILES = ["groups.json", "groups.png"]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "maestro-env" / "samples"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out" / "groups.json"


def run(out: Path, *flags: str, samples: int = 600) -> int:
    return main([f"--layer={LAYER}", f"--samples={samples}", f"--out={out}", *flags])


def files(out: Path) -> list[str]:
    return sorted(path.name for path in out.parent.iterdir())


def is_png(path: Path) -> bool:
    return path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n") and np.ptp(imread(path)) > 0


@pytest.mark.usefixtures("rendered")
def test_planted_groups_end_up_in_the_file(
    cache: Path, out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    problem = planted()
    monkeypatch.setattr(
        "maestro_env.experiments.commands.cluster.make_goal",
        lambda *_: Goal(problem, LATENCY, None),
    )
    assert run(out, "--agents=5", "--svg", samples=6000) == 0
    assert files(out) == [*FILES, "groups.svg"]
    assert partition(read_groups(str(out), problem.space)) == PARTITION
    assert is_png(out.with_suffix(".png"))
    svg = out.with_suffix(".svg").read_text()
    shown = capsys.readouterr()
    for name in AgentGroups.of(PARTITION).names:
        assert f"<!-- {name} -->" in svg
        assert name in shown.out
    lines = dict(line.split(": ", 1) for line in shown.out.splitlines() if ": " in line)
    assert lines["measure"] == "pearson: Pearson's r among the best samples (the paper's)"
    assert lines["linkage"].startswith("ward_rows: ")
    assert lines["stability"].startswith("groups of half the samples agree 1.00 with these, 1.00 ")
    assert lines["valid"] == "6,000 of 6,000 samples"
    assert lines["samples"].startswith("6,000 spent (policy random, seed 0), kept in ")
    assert (lines["groups"], lines["plot"]) == (str(out), str(out.with_suffix(".png")))


@pytest.mark.slow
def test_samples_are_spent_once_whatever_is_made_of_them(
    cache: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(out) == 0
    capsys.readouterr()
    other = out.with_name("other.json")
    assert run(other, "--threshold=0", "--measure=cramers_v", "--linkage=average") == 0
    shown = capsys.readouterr()
    assert "samples: 0 spent, 600 from " in shown.out
    assert "measure: cramers_v: " in shown.out
    assert shown.err == ""
    assert len(json.loads(out.read_text())) == 6
    assert len(json.loads(other.read_text())) == 13
    next(cache.iterdir()).write_bytes(b"damaged")
    assert run(out.with_name("third.json")) == 0
    shown = capsys.readouterr()
    assert "warning: cannot read samples " in shown.err
    assert "samples: 600 spent " in shown.out
    assert out.with_name("third.json").read_bytes() == out.read_bytes()


@pytest.mark.slow
def test_default_files_are_counted_and_the_cache_can_be_elsewhere(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for n in (1, 2):
        flags = [f"--layer={LAYER}", "--samples=600", "--objective=edp", "--cache=here"]
        assert main(flags) == 0
        assert files(tmp_path / "runs" / f"{LAYER}-edp-groups-{n}" / "groups.json") == FILES
    assert len(list((tmp_path / "here").iterdir())) == 1
    assert not cache.exists()


def test_groups_that_half_the_samples_do_not_make_are_unknown_to_be_stable(
    cache: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(out, samples=20) == 0
    assert "stability: unknown, as half the samples make no groups: " in capsys.readouterr().out


BAD_INPUT = {
    "policy": (["--policy=gaa"], "did you mean ga or gamma?"),
    "setting": (["--policy=ga:people=3"], "unknown setting 'people'"),
    "policies": (["--policy=ga,random"], "--policy ga,random: allowed: one of random"),
    "all": (["--policy=all"], "--policy all: allowed: one of random"),
    "no agents": (["--agents=0"], "agents is 0; allowed: 1 to 13"),
    "agents": (["--agents=14"], "as layer resnet18_l2 has 13 parameters: l2_order, "),
    "both": (["--agents=3", "--threshold=2.5"], "--agents 3 and --threshold 2.5: give one"),
    "measure": (["--measure=person"], "unknown measure 'person': did you mean pearson?"),
    "linkage": (["--linkage=ward"], "unknown linkage 'ward': did you mean ward_rows?"),
    "suffix": (["--out=groups.txt"], "--out groups.txt: allowed: a name that ends in .json"),
    "directory": (["--out=none/groups.json"], "there is no directory none"),
}


@pytest.mark.parametrize(("flags", "message"), BAD_INPUT.values(), ids=BAD_INPUT)
@pytest.mark.usefixtures("cache")
def test_bad_input_is_one_line_and_nothing_is_spent(
    flags: list[str], message: str, assert_refused: Callable[..., None]
) -> None:
    assert_refused(main, [f"--layer={LAYER}", *flags], message)


@pytest.mark.parametrize("taken", ["groups.json", "groups.png", "groups.svg"])
def test_existing_files_are_never_overwritten(
    taken: str, cache: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out.with_name(taken).write_text("mine")
    assert run(out) == 2
    assert f"{out.with_name(taken)} exists: give another --out" in capsys.readouterr().err
    assert files(out) == [taken]
    assert out.with_name(taken).read_text() == "mine"
    assert not cache.exists()


def test_samples_that_say_nothing_are_an_error(
    cache: Path, out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    impossible = tmp_path / "tiny.yaml"
    impossible.write_text("num_pes: 16\nl1_bytes: 1\nl2_bytes: 1\n")
    assert run(out, f"--hardware={impossible}") == 2
    expected = (
        "error: 0 of 600 samples are valid, too few to tell groups from chance; allowed: 500 "
    )
    assert expected in capsys.readouterr().err
    assert files(out) == []


def test_ctrl_c_while_the_picture_is_drawn_leaves_all_of_it(
    cache: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawing = "maestro_env.experiments.commands.cluster.draw_clustering"
    draw = pkgutil.resolve_name(drawing)

    def press_and_draw(*arguments: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return draw(*arguments)

    monkeypatch.setattr(drawing, press_and_draw)
    # A job in the background ignores Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert run(out) == 130
    finally:
        signal.signal(signal.SIGINT, before)
    assert files(out) == FILES


# The picture


def small(agents: int) -> Clustering:
    """Clustering of a, b and c, of which a and b are nearly the same, beside d and e."""
    rng = np.random.default_rng(0)
    points = rng.integers(0, 100, size=(500, 5))
    points[:, 1] = points[:, 0] + rng.integers(0, 3, size=500)
    points[:, 2] = points[:, 0] + rng.integers(0, 30, size=500)
    points[:, 4] = 7
    return cluster(sizes_samples(points), agents, fraction=1)


def test_rows_stand_as_the_tree_does_with_still_parameters_last() -> None:
    order = row_order(small(2))
    assert order[-1] == "e"
    assert set(order[:4]) == set("abcd")
    # What merges stands together.
    assert abs(order.index("a") - order.index("b")) == 1
    assert order.index("d") in (0, 3)


@given(st.integers(1, 5))
def test_the_cut_leaves_as_many_groups_as_the_picture_says(agents: int) -> None:
    found = small(agents)
    leaves = set(found.tree.leaves)
    groups = sum(not leaves.isdisjoint(group) for group in found.groups.values())
    merged, height = cut(found)
    assert merged == (found.tree.merges[:, 2] < height).sum()
    assert len(leaves) - merged == groups


@pytest.mark.usefixtures("rendered")
@pytest.mark.parametrize("agents", few([5, 1]))
def test_pictures_are_drawn_for_any_number_of_agents(agents: int, tmp_path: Path) -> None:
    save(draw_clustering(small(agents), "a title"), tmp_path / "picture.png", svg=True)
    assert is_png(tmp_path / "picture.png")
    svg = (tmp_path / "picture.svg").read_text()
    assert f"<!-- agents: {agents} -->" in svg
    assert "<!-- a title -->" in svg


def test_a_tree_of_one_leaf_is_drawn(tmp_path: Path, rendered: None) -> None:
    points = np.full((10, 2), 3)
    points[:, 1] = range(10)
    found = cluster(sizes_samples(points), 1, fraction=1)
    assert row_order(found) == ["b", "a"]
    save(draw_clustering(found, "one"), tmp_path / "picture.png")
    assert is_png(tmp_path / "picture.png")


@pytest.mark.slow
def test_the_matrix_shown_is_pearsons_with_its_rows_named(tmp_path: Path, rendered: None) -> None:
    samples = layer_samples(LAYER, "latency", 600)
    found = cluster(samples, 4)
    save(draw_clustering(found, LAYER), tmp_path / "picture.png", svg=True)
    shown = re.findall(r"<!-- (\S+) -->", (tmp_path / "picture.svg").read_text())
    order = row_order(found)
    rows = [samples.names.index(name) for name in order]
    best = np.argsort(-samples.rewards)[:90]
    r = np.corrcoef(samples.points[best][:, rows], rowvar=False)
    assert [name for name in shown if name in order] == order * 2
    assert " ".join(f"{value:z.2f}" for value in r.flat) in " ".join(shown)
