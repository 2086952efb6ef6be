"""Reports: what they tell of networks, searches, sweeps and fronts, and what they refuse."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from commands import codesign, compare
from commands import map_network as map_command
from commands import report as main
from run_helpers import edit
from sweep_helpers import sweep

from maestro_env.base.errors import MissingExtraError
from maestro_env.evaluation.fronts import Front
from maestro_env.experiments.commands.report import read_section
from maestro_env.experiments.network.layer_search import SearchedLayer, SearchSettings
from maestro_env.experiments.network.mapped_network import MappedNetwork, section_of
from maestro_env.experiments.network.networks import map_network
from maestro_env.experiments.pages import writer
from maestro_env.experiments.pages.charts import charts_of
from maestro_env.experiments.pages.sections import Section
from maestro_env.experiments.pages.writer import write_report
from maestro_env.experiments.shell.files import RecordError
from maestro_env.mapspace.mapping import Mapping
from maestro_env.workloads.layer import Layer
from maestro_env.workloads.network import LeftOut, Network

ROOT = Path(__file__).parents[1]
HARDWARE = (
    "num_pes=16,l1_bytes=256,l2_bytes=8192,noc_bw=8,offchip_bw=4,offchip_cost_macs=200,"
    "clock_mhz=250"
)
QUICK = SearchSettings(samples=40, nodes=500, front=20)
FLAGS = ("--samples=40", "--nodes=500", "--front=20", f"--hardware={HARDWARE}")
ODD = "<script>window.broken = 1</script>|`&\"'"
NETWORK = Network(
    f"net {ODD}",
    (
        Layer("CONV", {"K": 8, "C": 3, "Y": 10, "X": 10, "R": 3, "S": 3}, name=ODD, count=2),
        Layer("GEMM", {"M": 4, "N": 10, "K": 32}, name="</script><!--"),
        Layer("DSCONV", {"C": 4, "Y": 8, "X": 8, "R": 3, "S": 3}, name="a.b[0]['c']"),
    ),
    (LeftOut(ODD, "Conv3d", 100, ODD),),
    (f"An approximation: {ODD}.",),
)


class Page(HTMLParser):
    """What a browser would take for scripts, links and text."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.scripts: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self._inside = ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag
        if tag == "script":
            self.scripts.append(dict(attrs).get("type") or "")
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "srcset")]

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside not in ("script", "style"):
            self.text += data


@pytest.fixture(scope="module")
def mapped() -> MappedNetwork:
    return map_network(NETWORK, hardware=HARDWARE, settings=QUICK)


@pytest.fixture(scope="module")
def section(mapped: MappedNetwork) -> Section:
    return section_of(mapped)


@pytest.fixture
def network(tmp_path: Path) -> str:
    path = tmp_path / "net.csv"
    path.write_text("K,C,Y,X,R,S,T\n8,3,10,10,3,3,1\n16,8,8,8,1,1,1\n16,8,8,8,1,1,1\n")
    return str(path)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_files_tell_what_was_mapped(network: str, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    out = tmp_path / "out"
    assert map_command([network, *FLAGS, f"--out={out}"]) == 0
    assert main([str(out)]) == 0
    found = json.loads((out / "network.json").read_text())
    told = rows(out / "report.csv")
    assert [row["layer"] for row in told] == [row["layer"] for row in found["layers"]]
    total = found["choices"][-1]
    for name in ("latency_cycles", "energy_nj"):
        figure = sum(int(row["count"]) * float(row[name]) for row in told)
        assert figure == pytest.approx(total[name])
    milliseconds = float(told[0]["latency_cycles"]) / 250_000
    assert float(told[0]["latency_ms"]) == pytest.approx(milliseconds)
    nest = str(Mapping.from_json((out / "mappings" / f"{told[0]['layer']}.json").read_text()))
    command = f"maestro-env map {network} --samples=40"
    for name in ("report.html", "report.md"):
        path = out / name
        text = Page(path).text if path.suffix == ".html" else path.read_text(encoding="utf-8")
        assert nest in text
        assert command in text
        assert "Real units" in text
        assert all(row["layer"] in text for row in told)


@pytest.mark.slow
def test_the_same_input_makes_the_same_bytes(network: str, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    out = tmp_path / "out"
    assert map_command([network, *FLAGS, f"--out={out}"]) == 0
    assert main([str(out), f"--out={tmp_path / 'one'}"]) == 0
    command = [
        sys.executable,
        "-m",
        "maestro_env.experiments",
        "report",
        str(out),
        f"--out={tmp_path / 'two'}",
    ]
    environment = os.environ | {"PYTHONHASHSEED": "1"}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    for each in ("report.html", "report.md", "report.csv"):
        assert (tmp_path / "one" / each).read_bytes() == (tmp_path / "two" / each).read_bytes()


def test_the_page_needs_nothing_else_and_names_are_text(
    mapped: MappedNetwork, tmp_path: Path
) -> None:
    pytest.importorskip("vl_convert")
    mapped.report(tmp_path / "deep" / "report.html")
    page = Page(tmp_path / "deep" / "report.html")
    assert all(link.startswith(("#", "data:")) for link in page.links)
    charts = page.scripts.count("application/json")
    assert charts == len(list(charts_of(section_of(mapped))))
    # The library, and our own.
    assert page.scripts.count("module") == len(page.scripts) - charts == 2
    for layer in NETWORK.layers:
        assert layer.name in page.text
    assert f"left out: {ODD} (Conv3d" in page.text


def test_names_are_text_in_markdown(mapped: MappedNetwork, tmp_path: Path) -> None:
    mapped.report(tmp_path / "report.md")
    lines = (tmp_path / "report.md").read_text(encoding="utf-8").splitlines()
    tables = [line for line in lines if line.startswith("|")]
    widths = {line.replace(r"\|", "").count("|") for line in tables}
    assert not [line for line in lines if line.startswith("#") and "<" in line]
    # Totals, layers, real units, and pairs of name and value.
    assert widths == {11, 14, 8, 3}


def test_the_parts_of_the_energy_add_up(section: Section) -> None:
    for found in section.found:
        assert sum(found.energy.values()) == pytest.approx(found.cost.energy_nj)
        assert found.energy["off-chip", "filter"] > 0


def test_no_point_is_above_the_roof(section: Section) -> None:
    charts = {chart.title: chart.spec for chart in charts_of(section)}
    assert list(charts) == [
        *("Roofline", "Energy by layer", "Energy by memory and tensor", "Convergence")
    ]
    roof, points = (layer["data"]["values"] for layer in charts["Roofline"]["layer"])
    assert len(points) == len(section.found)
    peak, bandwidth = 16, 4
    assert {corner["throughput"] for corner in roof} == {
        min(peak, bandwidth * corner["intensity"]) for corner in roof
    }
    for point in points:
        # The first fill and the last write-back are not at full bandwidth, nor faster.
        assert point["throughput"] <= min(peak, bandwidth * point["intensity"]) * (1 + 1e-12)
    low, high = charts["Roofline"]["layer"][1]["encoding"]["x"]["scale"]["domain"]
    assert all(low < point["intensity"] < high for point in points)
    energy = sum(bar["energy"] for bar in charts["Energy by layer"]["data"]["values"])
    assert section.total is not None
    assert energy == pytest.approx(section.total.energy_nj)


def test_the_curves_end_at_the_best_of_the_search(section: Section) -> None:
    for found in section.found:
        (curve,) = found.curves
        at, values = zip(*curve.improvements, strict=True)
        assert list(at) == sorted(set(at))
        assert list(values) == sorted(set(values), reverse=True)
        assert at[-1] <= curve.samples == found.samples >= QUICK.samples
        # The proof may find a better one, and the network may be better off with another one.
        assert values[-1] >= found.best
        assert found.value >= found.best
        if found.gap == 0:
            assert found.best == pytest.approx(found.bound)


@pytest.mark.slow
def test_several_directories_are_compared(
    network: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("vl_convert")
    outs = [tmp_path / name for name in ("one", "two", "searches")]
    assert map_command([network, *FLAGS, f"--out={outs[0]}"]) == 0
    assert map_command([network, *FLAGS, "--objective=latency", f"--out={outs[1]}"]) == 0
    layer = "gemm:M=4,N=10,K=32"
    flags = (f"--layers={layer}", "--objectives=edp", "--mappers=random,ga_log")
    size = ("--samples=60", "--seeds=2", f"--hardware={HARDWARE}")
    assert compare([*flags, *size, f"--out={outs[2]}"]) == 0
    capsys.readouterr()
    assert main([*map(str, outs), f"--out={tmp_path}"]) == 0
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    (totals,) = [part for part in text.split("\n## ") if part.startswith("Totals")]
    lines = [line for line in totals.splitlines() if line.startswith("| net on")]
    assert len(lines) == 3
    assert sum(f"({outs[1]})" in line for line in lines) == 1
    again = "maestro-env compare --layers=gemm:M=4,N=10,K=32 --objectives=edp"
    assert f"{again} --mappers=ga_log,random --samples=60 --seed=0 --seeds=2" in text
    (row,) = [each for each in rows(tmp_path / "report.csv") if each["layer"] == layer]
    cells = [json.loads(path.read_text()) for path in outs[2].glob("cells/*/*/*/*.json")]
    assert len(cells) == 4
    assert float(row["value"]) == min(each["improvements"][-1][1] for each in cells)
    assert capsys.readouterr().out.count("report: ") == 3


def test_other_models_have_no_roofline(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    out = tmp_path / "out"
    flags = ("--layers=gemm:M=4,N=10,K=32", "--objectives=latency", "--mappers=random")
    assert compare([*flags, "--samples=20", "--model=maestro", f"--out={out}"]) == 0
    assert main([str(out)]) == 0
    text = Page(out / "report.html").text
    for title in ("roofline", "energy by memory and tensor"):
        assert f"No {title}: cost model and hardware of this section have no figures" in text
    assert not [name for name in rows(out / "report.csv")[0] if name.endswith("_energy_nj")]


def test_what_is_no_result_is_refused(
    network: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "none")]) == 2
    assert (
        "has no config.json: give what map, run, compare, optimum, sweep or codesign"
        in capsys.readouterr().err
    )
    out = tmp_path / "out"
    assert map_command([network, *FLAGS, f"--out={out}"]) == 0
    lost = sorted((out / "layers").glob("*.json"))[0]
    lost.unlink()
    assert main([str(out)]) == 2
    assert "1 of 2 layers are mapped; continue with" in capsys.readouterr().err
    (out / "config.json").write_text("{}")
    assert main([str(out)]) == 2
    assert "has no digest" in capsys.readouterr().err


SWEEP = """
layers: ["gemm:M=64,N=64,K=64", "gemm:M=4,N=10,K=32"]
hardware: {num_pes: [32, 64], l1_bytes: [65536], l2_bytes: [4194304]}
objectives: [edp]
mappers: [random_log, ga_log]
samples: 20
seeds: 2
"""


def test_a_sweep_is_told_as_far_as_it_is_searched(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("vl_convert")
    out = tmp_path / "out"
    assert sweep(out, text=SWEEP) == 0
    assert main([str(out)]) == 0
    text = (out / "report.md").read_text(encoding="utf-8")
    assert (out / "summary.md").read_text(encoding="utf-8") in text
    assert f"maestro-env sweep ... --resume --out {out}" in text
    page = Page(out / "report.html")
    cells, found = rows(out / "results.csv"), rows(out / "report.csv")
    keys = ("layer", "hardware", "objective")
    assert len(found) == len({tuple(each[key] for key in keys) for each in found}) == 4
    for each in found:
        searches = [cell for cell in cells if all(cell[key] == each[key] for key in keys)]
        best = min(searches, key=lambda cell: float(cell["value"]))
        for name in ("value", "latency_cycles", "energy_nj"):
            assert float(each[name]) == float(best[name])
        assert each["vector"] == best["vector"]
        assert int(each["samples"]) == sum(int(cell["evaluations"]) for cell in searches) == 80
        assert each["hardware"] in page.text
    # Roofline and energy are those of one accelerator.
    assert "application/json" not in page.scripts
    assert "No roofline" not in page.text
    lost, *others = sorted((out / "chunks").glob("*/*.json"))
    cells_lost = len(json.loads(lost.read_text())["cells"]["value"])
    lost.unlink()
    assert main([str(out)]) == 0
    text = (out / "report.md").read_text(encoding="utf-8")
    assert f"## {len(cells) - cells_lost} of {len(cells)} cells" in text
    for chunk in others:
        chunk.unlink()
    capsys.readouterr()
    assert main([str(out)]) == 2
    assert "no search has finished; continue with maestro-env sweep ... " in capsys.readouterr().err


def test_a_sweep_of_one_accelerator_has_a_roofline(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert sweep(out, text=SWEEP.replace("[32, 64]", "[32]")) == 0
    titles = [chart.title for chart in charts_of(read_section(out))]
    assert titles == ["Roofline", "Energy by layer", "Energy by memory and tensor"]


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a co-design for two networks that share a layer."""
    directory = tmp_path_factory.mktemp("codesign")
    (directory / "one.csv").write_text("K,C,Y,X,R,S,T\n8,3,10,10,3,3,1\n16,8,8,8,1,1,1\n")
    (directory / "two.csv").write_text("K,C,Y,X,R,S,T\n16,8,8,8,1,1,1\n16,8,8,8,1,1,1\n")
    grid = ("--num-pes=2,4,16", "--l1-bytes=128,256", "--l2-bytes=2048,16384", "--area=0.2")
    networks = f"{directory / 'one.csv'},{directory / 'two.csv'}"
    base, search = "--hardware=num_pes=4,offchip_bw=4", ("--mapper=random_log", "--samples=40")
    assert codesign([networks, base, *grid, *search, f"--out={directory / 'out'}"]) == 0
    return directory / "out"


def test_a_front_is_told_with_the_mappings_of_its_least_edp(front: Path, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    assert main([str(front), f"--out={tmp_path}"]) == 0
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert (front / "front.md").read_text(encoding="utf-8") in text
    assert f"maestro-env codesign ... --resume --out {front}" in text
    least = min(rows(front / "front.csv"), key=lambda each: float(each["edp"]))
    found = rows(tmp_path / "report.csv")
    assert [int(each["count"]) for each in found] == [1, 3]
    assert {each["hardware"] for each in found} == {least["hardware"]}
    for name in ("latency_cycles", "energy_nj"):
        total = sum(int(each["count"]) * float(each[name]) for each in found)
        assert total == pytest.approx(float(least[name]))


def test_the_picture_of_a_front_has_all_accelerators(front: Path) -> None:
    charts = {chart.title: chart.spec for chart in charts_of(read_section(front))}
    assert [*charts][:3] == ["Latency and energy", "Area and EDP", "Roofline"]
    names = ("hardware", "latency_cycles", "energy_nj", "edp", "area_um2")
    table = [each for each in rows(front / "accelerators.csv") if each["workload"] == "all"]
    assert {each["front"] for each in table} == {"0", "1"}
    for title in ("Latency and energy", "Area and EDP"):
        points = charts[title]["data"]["values"]
        told = {tuple(str(point[name]) for name in names): point["kind"] for point in points}
        assert {row: "01"[kind != "not on the front"] for row, kind in told.items()} == {
            tuple(each[name] for name in names): each["front"] for each in table
        }
        (least,) = [point for point in points if point["kind"] == "least EDP"]
        assert least["edp"] == min(point["edp"] for point in points)


def test_a_front_that_was_changed_or_is_not_there_is_refused(
    front: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = Path(shutil.copytree(front, tmp_path / "out"))
    edit(out / "codesign.json", lambda entry: entry["front"].clear(), sealed=False)
    assert main([str(out)]) == 2
    assert "does not fit its digest" in capsys.readouterr().err
    (out / "codesign.json").unlink()
    assert main([str(out)]) == 2
    assert "has no front yet; continue with maestro-env codesign ..." in capsys.readouterr().err


def test_other_endings_are_refused(section: Section, tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"ends with one of \.html, \.md, \.csv"):
        write_report([section], tmp_path / "report.pdf")


def test_the_page_needs_the_extra(
    section: Section, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    # What is kept of it stays, for others.
    monkeypatch.setattr(writer, "_library", writer._library.__wrapped__)
    write_report([section], tmp_path / "report.csv")
    with pytest.raises(MissingExtraError, match=r"pip install -e '.\[report\]' in a clone"):
        write_report([section], tmp_path / "report.html")


def without_mapping(layer: SearchedLayer) -> SearchedLayer:
    front = layer.front
    return replace(layer, front=Front(front.points[:0], front.figures[:0]))


def test_a_layer_without_a_mapping_is_told(mapped: MappedNetwork, tmp_path: Path) -> None:
    first, *rest = mapped.layers
    replace(mapped, layers=(without_mapping(first), *rest)).report(tmp_path / "report.md")
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    shown = ODD.replace("<", "&lt;")
    assert f"- No valid mapping, excluded from totals: {shown}" in text
    assert f"### {NETWORK.layers[0].name}" not in text
    none = tuple(map(without_mapping, mapped.layers))
    with pytest.raises(RecordError, match="no valid mapping of any layer"):
        replace(mapped, layers=none).report(tmp_path / "none.md")
