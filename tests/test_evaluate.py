"""The command ``evaluate``: a mapping file under both models."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from commands import evaluate, explain

from maestro_env import (
    Level,
    Loop,
    Mapping,
    MapSpace,
    Problem,
    find_hardware,
    find_layer,
    find_objective,
)
from maestro_env.exchange import to_timeloop
from maestro_env.experiments.shell import cli

LAYER = find_layer("conv:K=8,C=4,Y=10,X=10,R=3,S=3")
LAYER_TEXT = "--layer=conv:K=8,C=4,Y=10,X=10,R=3,S=3"
EDGE = find_hardware("edge")


@pytest.fixture(scope="module")
def mapping() -> Mapping:
    """The best for exact of some mappings that are valid under both models."""
    space = MapSpace(LAYER, EDGE)
    points = space.sample(3000, np.random.default_rng(0))
    latency = find_objective("latency")
    exact, maestro = (Problem(space, model).score(points, latency)[0] for model in MODELS)
    return space.decode(points[np.argmin(np.where(np.isfinite(maestro), exact, np.inf))])


MODELS = ("exact", "maestro")


def rows(text: str) -> dict[str, list[str]]:
    """Cells of the table by model."""
    lines = (line.split() for line in text.splitlines())
    return {cells[0]: cells[1:] for cells in lines if cells and cells[0] in MODELS}


@pytest.mark.parametrize("suffix", [".m", ".json"])
def test_both_models_are_shown(
    suffix: str, mapping: Mapping, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"mapping{suffix}"
    path.write_text(mapping.to_m(LAYER) if suffix == ".m" else mapping.to_json())
    layer = [] if suffix == ".m" else [LAYER_TEXT]
    assert evaluate([str(path), *layer, "--hardware=edge"]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert shown.out.startswith(f"{mapping}\n\n")
    found = rows(shown.out)
    assert list(found) == list(MODELS)
    for model in MODELS:
        cost, status = Problem(MapSpace(LAYER, EDGE), model).evaluate_mapping(mapping)
        assert cost is not None
        figures = [cost.latency_cycles, cost.energy_nj, cost.latency_cycles * cost.energy_nj]
        figures += [cost.area_um2, cost.l1_bytes, cost.l2_bytes, cost.macs_per_cycle]
        numbers = [float(cell.replace(",", "")) for cell in found[model][1:]]
        assert found[model][0] == status == "ok"
        np.testing.assert_allclose(numbers, figures, rtol=5e-4)
        assert f"\n{model}: ok: the mapping is valid" in shown.out


def test_a_given_layer_replaces_that_of_the_file(
    mapping: Mapping, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mapping.m"
    path.write_text(mapping.to_m(LAYER))
    assert evaluate([str(path), "--layer=resnet18_l2"]) == 0
    assert "\nresnet18_l2 (CONV K64 C64 " in capsys.readouterr().out


def test_every_layer_of_a_file_is_evaluated(
    mapping: Mapping, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, alone = tmp_path / "mapping.m", []
    texts = [mapping.to_m(LAYER), mapping.to_m(replace(LAYER, name="again", stride=(2, 2)))]
    for text in texts:
        path.write_text(text)
        assert evaluate([str(path), "--hardware=edge"]) == 0
        alone.append(capsys.readouterr().out)
    path.write_text("".join(texts))
    assert evaluate([str(path), "--hardware=edge"]) == 0
    assert capsys.readouterr().out == "".join(alone)
    for flag, message in {
        "--layer=resnet18_l2": "leave --layer out",
        "--write=a.m": "with one",
    }.items():
        assert evaluate([str(path), flag]) == 2
        assert message in capsys.readouterr().err
    assert explain([str(path)]) == 2
    assert "has several layers; give a file with one, or use evaluate" in capsys.readouterr().err


def test_the_stride_of_a_file_is_read(
    mapping: Mapping, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mapping.m"
    path.write_text(mapping.to_m(find_layer("conv:K=8,C=4,Y=21,X=11,R=3,S=3,stride=2x1")))
    assert evaluate([str(path)]) == 0
    shown = capsys.readouterr()
    assert "K8 C4 Y21 X11 R3 S3 stride 2x1" in shown.out
    assert shown.err.startswith("warning: maestro miscounts")


def test_an_invalid_mapping_is_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    space = MapSpace(LAYER, EDGE)
    path = tmp_path / "mapping.json"
    largest = np.array(space.sizes) - 1
    path.write_text(space.decode(largest).to_json())
    assert evaluate([str(path), LAYER_TEXT, "--hardware=edge"]) == cli.FAILED
    out = capsys.readouterr().out
    assert rows(out)["exact"][0] == "l1_overflow"
    assert "\nexact: l1_overflow: the tiles do not fit L1; " in out


BAD = {
    "other suffix": ("m.txt", "", "allowed: a file whose name ends in .json, .m, .yaml or .yml"),
    "no file": ("m.json", None, "cannot read m.json: No such file"),
    "no JSON": ("m.json", "{", "m.json: not a mapping: no JSON: "),
    "another form": ("m.json", "[]", "not a mapping: its form is not that of a run's best_mapping"),
    "no mapping": ("m.m", "Network n {}", "m.m: "),
    "no text": ("m.m", b"\xff\xfe", "cannot read m.m: "),
    "no key": ("m.yaml", "num_pes: 4", "YAML with the key architecture: (timeloop) or arch: ("),
    "another tool": ("m.yaml", "[{spatial_mapping: {}}]", "no mapping, but a mapping of ZigZag"),
    "a problem": ("m.yaml", "problem: {}", "no mapping, but a problem of Timeloop"),
    "no problem": ("m.yaml", "arch: {}", "m.yaml, line 1, arch: nodes is missing"),
    "no layer": ("m.json", "mapping", "m.json names no layer: give one with --layer"),
    "unknown operator": ("m.m", "operator", "a layer needs a Type"),
}


@pytest.mark.parametrize(("name", "content", "message"), BAD.values(), ids=BAD)
def test_bad_files_are_refused_in_one_line(
    name: str,
    content: str | bytes | None,
    message: str,
    mapping: Mapping,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    if content == "mapping":
        content = mapping.to_json()
    if content == "operator":
        content = mapping.to_m(LAYER).replace("CONV", "LSTM")
    if content is not None:
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    assert evaluate([name]) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert message in shown.err


def refusal(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The line by which a mapping is refused."""
    assert evaluate([str(path), LAYER_TEXT]) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    return shown.err


@pytest.mark.parametrize("dimension", ["K\nC", "\x1b[31mK", ""])
def test_a_dimension_that_a_terminal_would_obey_is_refused(
    dimension: str, mapping: Mapping, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mapping.json"
    path.write_text(mapping.to_json().replace('"K"', json.dumps(dimension)))
    message = f"a loop's dimension is {dimension!r}; give a name such as K"
    assert message in refusal(path, capsys)


def nested(mapping: Mapping, times: int) -> str:
    """A mapping whose outer level has a temporal loop again and again, as JSON."""
    outer, inner = mapping.levels
    again = [loop for loop in outer.loops if not loop.spatial][-1:] * times
    return Mapping((Level((*outer.loops, *again)), inner)).to_json()


def test_a_mapping_without_cycles_has_no_rate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mapping.json"
    path.write_text(nested(MapSpace(LAYER, EDGE).decode([0] * 13), 900))
    assert evaluate([str(path), LAYER_TEXT]) == cli.FAILED
    shown = capsys.readouterr()
    assert rows(shown.out)["exact"] == ["bad_tile"]
    assert rows(shown.out)["maestro"][0] == "mac_mismatch"
    assert "nan" not in shown.out


def test_a_mapping_of_too_many_loops_is_refused(
    mapping: Mapping, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mapping.json"
    path.write_text(nested(mapping, 5_000))
    assert "has 5,013 loops and clusters; allowed: at most 1,000" in refusal(path, capsys)


# --- Other formats ------------------------------------------------------------------------------


@pytest.fixture
def square(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mapping:
    """A mapping that every format can say, as JSON in ``mapping.json`` of the working directory."""
    outer = Level((Loop("K", 2, 2, spatial=True), Loop("Y'", 4, 4), Loop("C", 2, 2)))
    inner = Level((Loop("C", 1, 1, spatial=True), Loop("X'", 2, 2)), cluster_size=2)
    monkeypatch.chdir(tmp_path)
    Path("mapping.json").write_text(Mapping((outer, inner)).to_json())
    return Mapping((outer, inner))


WRITTEN = [("m", "out.m"), ("json", "out.json"), ("timeloop", "o.yaml"), ("accelforge", "o.yml")]


@pytest.mark.parametrize(("form", "name"), WRITTEN)
def test_a_mapping_is_written_in_another_format_and_scored_from_there(
    form: str, name: str, square: Mapping, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--hardware=num_pes=8,l1_bytes=512,l2_bytes=9000,noc_bw=4,offchip_bw=2", LAYER_TEXT]
    assert evaluate(["mapping.json", *given, f"--write={name}", f"--format={form}"]) == 0
    first = capsys.readouterr().out
    assert first.endswith(f"\nwrote {name}\n")
    # Layer and accelerator are in the file, as far as its format says them.
    again = {"m": given[:1], "json": given}.get(form, [])
    assert evaluate([name, *again]) == 0
    second = capsys.readouterr().out
    assert first.startswith(f"{square}\n\n")
    assert second.startswith(f"{square}\n\n")
    assert rows(second) == rows(first)
    assert evaluate([name, *again, "--model=exact"]) == 0
    assert rows(capsys.readouterr().out) == {"exact": rows(first)["exact"]}
    if not again:
        assert evaluate([name, "--model=hierarchy"]) == 0
        assert "\nmodel hierarchy: 8 MACs a cycle, DRAM, L2 9,000 B" in capsys.readouterr().out


def test_the_ending_says_the_format(square: Mapping) -> None:
    assert evaluate(["mapping.json", LAYER_TEXT, "--write=out.m"]) == 0
    assert Path("out.m").read_text() == square.to_m(LAYER)


def test_a_given_accelerator_replaces_that_of_the_file(
    square: Mapping, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("mapping.yaml").write_text(to_timeloop(square, Problem(MapSpace(LAYER, EDGE))))
    assert evaluate(["mapping.yaml", "--hardware=num_pes=4,name=tiny"]) == 0
    assert " on tiny" in capsys.readouterr().out


REFUSED = {
    "no file": (["--format=m"], "name it with --write FILE"),
    "ending": (["--write=out.txt"], "ends in .json, .m, .yaml or .yml"),
    "another ending": (["--write=out.m", "--format=timeloop"], "ends in .yaml or .yml"),
    "no format": (["--write=out.yaml"], "give one with --format"),
    "unknown format": (["--write=o.yaml", "--format=timelop"], "did you mean timeloop?"),
    "present": (["--write=mapping.json"], "exists: give another name"),
    "no directory": (["--write=none/out.m"], "cannot write none/out.m"),
    "no layer": (["--write=out.m", "--layer=conv:K=1"], "lacks C"),
    "unsayable": (
        ["--write=o.yaml", "--format=timeloop", "--hardware=num_pes=8,simd_lanes=2"],
        "Timeloop cannot express this mapping: the MAC unit has simd 2, which",
    ),
}


@pytest.mark.parametrize(("flags", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_written_is_refused_in_one_line(
    flags: list[str], message: str, square: Mapping, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evaluate(["mapping.json", LAYER_TEXT, *flags]) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert message in shown.err
    assert [path.name for path in Path().iterdir()] == ["mapping.json"]
    assert Mapping.from_json(Path("mapping.json").read_text()) == square
