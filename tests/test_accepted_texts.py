"""What people write for layers, accelerators, objectives: accepted, or told what to write."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import optimum, run

from maestro_env.accelerators.finding import find_hardware
from maestro_env.base.errors import HardwareError, LayerError, MaestroEnvError
from maestro_env.evaluation.objectives import FIGURE_BOUNDS, find_objective
from maestro_env.workloads.finding import find_layer

CONV = "K=64,C=32,R=3,S=5"


@pytest.mark.parametrize(
    ("text", "operator", "dimensions"),
    [
        (f"conv:{CONV},H=56,W=28", "CONV", "K64 C32 Y56 X28 R3 S5"),
        (f"conv:{CONV},H=56,W=28,padding=1", "CONV", "K64 C32 Y58 X30 R3 S5"),
        (f"conv:{CONV},Y=56,X=28,pad=1x2", "CONV", "K64 C32 Y58 X32 R3 S5"),
        (f"conv:{CONV},Y=56,X=28,padding=0", "CONV", "K64 C32 Y56 X28 R3 S5"),
        (f"conv2d:{CONV},H=56,W=28,stride=2", "CONV", "K64 C32 Y56 X28 R3 S5 stride 2x2"),
        ("Conv2D:K=1,C=1,H=1,W=1,R=3,S=3,pad=1", "CONV", "K1 C1 Y3 X3 R3 S3"),
        ("dsconv:C=8,H=7,X=9,R=3,S=3,padding=1", "DSCONV", "C8 Y9 X11 R3 S3"),
        ("matmul:M=8,N=9,K=10", "GEMM", "M8 N9 K10"),
    ],
)
def test_layers_are_read_as_they_are_meant(text: str, operator: str, dimensions: str) -> None:
    layer = find_layer(text)
    assert (layer.operator, layer.dimensions, layer.name) == (operator, dimensions, text)


@pytest.mark.parametrize("size", [7, 8])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("padding", [0, 1, 2])
def test_a_padded_convolution_has_the_outputs_of_the_textbook(
    size: int, stride: int, padding: int
) -> None:
    layer = find_layer(f"conv:K=1,C=1,H={size},W=9,R=3,S=3,stride={stride},padding={padding}")
    assert layer.loop_extents["Y'"] == (size + 2 * padding - 3) // stride + 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("attention:heads=8,L=128", "gemm:M=L,N=S,K=E,count=HEADS"),
        ("attention:heads=8,L=128", "gemm:M=L,N=E,K=S,count=HEADS"),
        ("resnet18", "resnet18 is a network: its layers are resnet18_l0 to resnet18_l20"),
        ("resnet18", "`maestro-env map resnet18 --hardware NAME`"),
        ("BERT_base", "bert_base is a network"),
        ("bert_base_conv", "bert_base has no layer 'bert_base_conv'"),
        ("resnet50_conv1", "resnet50 has no layer 'resnet50_conv1': did you mean resnet50_l"),
        ("resnet50_conv1", "its layers are resnet50_l0 to resnet50_l53"),
        (f"conv:{CONV},H=9,W=9,padding=same", "padding is 'same'; allowed: padding=1"),
        (f"conv:{CONV},H=9,Y=9,W=9", "Y is given twice"),
        (f"conv:{CONV},H=9,W=9,groups=2", "unknown key 'groups'; allowed: K, C, Y, X, R, S"),
        ("gemm:M=1,N=1,K=1,padding=1", "unknown key 'padding'; allowed: M, N, K, count"),
    ],
)
def test_other_layers_are_refused_with_what_to_write(text: str, told: str) -> None:
    with pytest.raises(LayerError) as caught:
        find_layer(text)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("l1_bytes=2KB", {"l1_bytes": 2048}),
        ("l1_bytes=2KiB", {"l1_bytes": 2048}),
        ("l1_bytes=64B,l2_bytes=1MB", {"l1_bytes": 64, "l2_bytes": 2**20}),
        ("l2_bytes=1.5MiB", {"l2_bytes": 3 * 2**19}),
        ("offchip_bw=12.8GB/s,clock_mhz=200", {"offchip_bw": 64}),
        ("clock_mhz=800,noc_bw=12.8GB/s,word_bytes=2", {"noc_bw": 8}),
        ("offchip_bw=256MB/s,clock_mhz=12.8", {"offchip_bw": 20}),
    ],
)
def test_accelerators_are_read_as_they_are_meant(text: str, fields: dict[str, int]) -> None:
    found = find_hardware(f"num_pes=4,{text}")
    assert {name: getattr(found, name) for name in fields} == fields


@pytest.mark.parametrize(
    "text", ["pe_array=12x14", "pe_array=[12,14]", "pe_array=[12, 14],noc_bw=3"]
)
def test_an_array_is_as_many_pes(text: str) -> None:
    assert find_hardware(text).num_pes == 168


def test_a_file_says_the_same(tmp_path: Path) -> None:
    path = tmp_path / "chip.yaml"
    path.write_text(
        "pe_array: [16, 16]\nl1_bytes: 2 KB\nl2_bytes: 1MB\noffchip_bw: 12.8GB/s\nclock_mhz: 800\n"
    )
    found = find_hardware(str(path))
    assert (found.num_pes, found.l1_bytes, found.l2_bytes) == (256, 2048, 2**20)
    assert found.offchip_bw == 16
    path.write_text("num_pes: 4\nl1_bytes: 2\noffchip_bw: 12.8\n")
    with pytest.raises(HardwareError, match=r"line 3.*offchip_bw is '12.8'.*: 12 or 13"):
        find_hardware(str(path))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "offchip_bw=12.8GB/s,clock_mhz=700",
            "18.2857 words per cycle; give a whole number: 18 or",
        ),
        ("offchip_bw=12.8", "12.8 words per cycle; give a whole number: 12 or 13"),
        ("offchip_bw=0.5", "give a whole number: 1"),
        ("offchip_bw=12.8GB/s", "needs clock_mhz"),
        ("offchip_bw=12.8GB/s,clock_mhz=0", "clock_mhz"),
        ("noc_bw=fast", "allowed: integers from 1 to 2147483647, or such as 12.8GB/s"),
        ("l2_bytes=108kB", "1 KB is 1 KiB, 1,024 B"),
        ("l1_bytes=2Kb", "1 KB is 1 KiB, 1,024 B"),
        ("l1_bytes=0.3KB", "'0.3KB'"),
        ("l3_bytes=1MB", "give it as l2_bytes"),
        ("dram_bandwidth_gbps=12.8", "offchip_bw=12.8GB/s with clock_mhz"),
        ("weight_bits=8", "word_bytes=1 for 8 bits"),
        ("dataflow=weight_stationary", "search with --keep weight-stationary"),
        ("clusters=16", "cluster_size"),
        ("pe_array=2x2", "pe_array and num_pes: give one of them"),
        ("pe_array=2by2", "16x16"),
    ],
)
def test_other_accelerators_are_refused_with_what_to_write(text: str, told: str) -> None:
    for written in (f"num_pes=4,{text}", f"{text},num_pes=4"):
        with pytest.raises(MaestroEnvError) as caught:
            find_hardware(written)
        assert told in str(caught.value)


@pytest.mark.parametrize(
    ("text", "value", "bounded"),
    [
        ("ed2p", 3.0 * 3.0 * 5.0, True),
        ("throughput", 3.0, True),
        ("power", 7.0, False),
        ("latency*energy*area", 3.0 * 5.0 * 11.0, True),
        ("edp * edp", (3.0 * 5.0) ** 2, True),
        ("area_um2*latency", 3.0 * 11.0, True),
        ("latency*power", 3.0 * 7.0, False),
    ],
)
def test_objectives_are_products_of_what_they_name(text: str, value: float, bounded: bool) -> None:
    objective = find_objective(text)
    figures = {"latency_cycles": 3.0, "energy_nj": 5.0, "power_mw": 7.0, "area_um2": 11.0}
    assert objective.of(figures) == value
    assert (objective.bound is not None) == bounded
    layer, hardware = find_layer("gemm:M=8,N=8,K=8"), find_hardware("edge")
    if objective.bound is not None:
        bounds = FIGURE_BOUNDS.items()
        least = {name: of(layer, hardware) for name, of in bounds}
        assert objective.bound(layer, hardware) == pytest.approx(objective.of(least))


@pytest.mark.parametrize("text", ["latency^2*energy", "latency*", "speed", "edp*speed"])
def test_other_objectives_are_refused_with_the_names_there_are(text: str) -> None:
    with pytest.raises(MaestroEnvError, match=r"allowed: .*ed2p.*edp.*latency.*power.*throughput"):
        find_objective(text)


def test_files_of_products_have_plain_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for command in ("run.draw_convergence", "optimum._draw"):
        monkeypatch.setattr(f"maestro_env.experiments.commands.{command}", lambda *_: None)
    layer = ["--layer=gemm:M=4,N=3,K=2", "--objective=latency*area"]
    assert run([*layer, "--mapper=random", "--samples=20"]) == 0
    assert optimum([*layer, "--start=0"]) == 0
    assert not [path for path in tmp_path.rglob("*") if "*" in path.name]
