"""The zoo against published figures, and the readers against files and texts written here."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maestro_env.errors import LayerError
from maestro_env.layer import Layer
from maestro_env.workloads import all_layers, find_layer, models, parse_layer, read_gamma_csv

CNNS = ("mobilenetv2", "resnet18", "resnet50", "vgg16", "alexnet")


def conv(k: int, c: int, padded: int, window: int, stride: int = 1) -> Layer:
    extents = {"K": k, "C": c, "Y": padded, "X": padded, "R": window, "S": window}
    return Layer("CONV", extents, (stride, stride))


def depthwise(c: int, padded: int, stride: int = 1) -> Layer:
    extents = {"C": c, "Y": padded, "X": padded, "R": 3, "S": 3}
    return Layer("DSCONV", extents, (stride, stride))


def gemm(m: int, n: int, k: int, count: int = 1) -> Layer:
    return Layer("GEMM", {"M": m, "N": n, "K": k}, count=count)


def same(layer: Layer, expected: Layer) -> bool:
    """Whether two layers differ in nothing but their names."""
    facts = [(x.operator, x.extents, x.stride, x.count) for x in (layer, expected)]
    return facts[0] == facts[1]


def weights(layer: Layer) -> int:
    e = layer.extents
    if layer.operator == "GEMM":
        return e["N"] * e["K"]
    return e.get("K", 1) * e["C"] * e["R"] * e["S"]


def outputs(layer: Layer) -> int:
    """Output channels."""
    return layer.extents["C" if layer.operator == "DSCONV" else "K"]


def convolutions(model: str) -> list[Layer]:
    return [layer for layer in models()[model] if layer.is_convolution]


# --- The zoo ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "layers", "gmacs"),
    [
        ("mobilenetv2", 53, 0.30),
        ("resnet18", 21, 1.81),
        ("resnet50", 54, 4.09),
        ("vgg16", 16, 15.47),
        ("alexnet", 8, 0.71),
    ],
)
def test_macs_are_the_published_ones(model: str, layers: int, gmacs: float) -> None:
    assert len(models()[model]) == layers
    assert round(sum(layer.macs * layer.count for layer in models()[model]) / 1e9, 2) == gmacs


@pytest.mark.parametrize(
    ("model", "parameters"),
    [("mobilenetv2", 3_504_872), ("resnet18", 11_689_512), ("resnet50", 25_557_032)],
)
def test_parameters_are_those_torchvision_publishes_batch_norm(model: str, parameters: int) -> None:
    batch_norm = sum(2 * outputs(layer) for layer in convolutions(model))
    classifier_bias = 1000
    counted = sum(map(weights, models()[model])) + batch_norm + classifier_bias
    assert counted == parameters


@pytest.mark.parametrize(("model", "parameters"), [("vgg16", 138_357_544), ("alexnet", 61_100_840)])
def test_parameters_are_those_torchvision_publishes_bias(model: str, parameters: int) -> None:
    biases = [x.extents["K" if x.is_convolution else "N"] for x in models()[model]]
    assert sum(map(weights, models()[model])) + sum(biases) == parameters


@pytest.mark.parametrize("model", ["gpt2", "bert_base"])
def test_a_transformer_layer_has_the_published_parameters(model: str) -> None:
    biases, norms = 9 * 768, 4 * 768
    with_weights = [layer for layer in models()[model] if layer.count == 1]
    assert sum(map(weights, with_weights)) + biases + norms == 7_087_872


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mobilenetv2_l0", conv(32, 3, 226, 3, stride=2)),
        ("mobilenetv2_l1", depthwise(32, 114)),
        ("mobilenetv2_l2", conv(16, 32, 112, 1)),
        ("mobilenetv2_l3", conv(96, 16, 112, 1)),
        ("mobilenetv2_l4", depthwise(96, 114, stride=2)),
        ("mobilenetv2_l50", conv(320, 960, 7, 1)),
        ("mobilenetv2_l51", conv(1280, 320, 7, 1)),
        ("mobilenetv2_l52", gemm(1, 1000, 1280)),
        ("resnet18_l0", conv(64, 3, 230, 7, stride=2)),
        ("resnet18_l5", conv(128, 64, 58, 3, stride=2)),
        ("resnet18_l6", conv(128, 128, 30, 3)),
        ("resnet18_l7", conv(128, 64, 56, 1, stride=2)),
        ("resnet18_l16", conv(512, 512, 9, 3)),
        ("resnet18_l17", conv(512, 256, 14, 1, stride=2)),
        ("resnet18_l20", gemm(1, 1000, 512)),
        ("resnet50_l0", conv(64, 3, 230, 7, stride=2)),
        ("resnet50_l1", conv(64, 64, 56, 1)),
        ("resnet50_l3", conv(256, 64, 56, 1)),
        ("resnet50_l4", conv(256, 64, 56, 1)),
        ("resnet50_l11", conv(128, 256, 56, 1)),
        ("resnet50_l12", conv(128, 128, 58, 3, stride=2)),
        ("resnet50_l14", conv(512, 256, 56, 1, stride=2)),
        ("resnet50_l53", gemm(1, 1000, 2048)),
        ("vgg16_l0", conv(64, 3, 226, 3)),
        ("vgg16_l2", conv(128, 64, 114, 3)),
        ("vgg16_l12", conv(512, 512, 16, 3)),
        ("vgg16_l13", gemm(1, 4096, 512 * 7 * 7)),
        ("vgg16_l14", gemm(1, 4096, 4096)),
        ("vgg16_l15", gemm(1, 1000, 4096)),
        ("alexnet_l0", conv(64, 3, 228, 11, stride=4)),
        ("alexnet_l1", conv(192, 64, 31, 5)),
        ("alexnet_l2", conv(384, 192, 15, 3)),
        ("alexnet_l5", gemm(1, 4096, 256 * 6 * 6)),
        ("alexnet_l7", gemm(1, 1000, 4096)),
        ("gpt2_l0", gemm(1024, 2304, 768)),
        ("gpt2_l1", gemm(1024, 1024, 64, count=12)),
        ("gpt2_l2", gemm(1024, 64, 1024, count=12)),
        ("gpt2_l3", gemm(1024, 768, 768)),
        ("gpt2_l4", gemm(1024, 3072, 768)),
        ("gpt2_l5", gemm(1024, 768, 3072)),
        ("bert_base_l1", gemm(384, 384, 64, count=12)),
        ("bert_base_l2", gemm(384, 64, 384, count=12)),
        ("bert_base_l5", gemm(384, 768, 3072)),
    ],
)
def test_known_layers(name: str, expected: Layer) -> None:
    assert same(find_layer(name), expected)


@pytest.mark.parametrize("model", ["mobilenetv2", "vgg16", "alexnet"])
def test_channels_chain(model: str) -> None:
    for before, after in pairwise(convolutions(model)):
        assert after.extents["C"] == outputs(before), after.name


def test_channels_chain_past_shortcuts() -> None:
    for model, shortcuts in {"resnet18": (7, 12, 17), "resnet50": (4, 14, 27, 46)}.items():
        layers = convolutions(model)
        for index in shortcuts:
            shortcut = layers.pop(index - (len(convolutions(model)) - len(layers)))
            assert (shortcut.name, shortcut.extents["R"]) == (f"{model}_l{index}", 1)
        for before, after in pairwise(layers):
            assert after.extents["C"] == outputs(before), after.name


@pytest.mark.parametrize("model", CNNS)
def test_the_last_convolution_sees_the_published_resolution(model: str) -> None:
    last = convolutions(model)[-1]
    rows = (last.extents["Y"] - last.extents["R"]) // last.stride[0] + 1
    assert rows == {"vgg16": 14, "alexnet": 13}.get(model, 7)


def test_names_count_from_zero_in_every_model() -> None:
    for model, layers in models().items():
        assert [layer.name for layer in layers] == [f"{model}_l{i}" for i in range(len(layers))]


def test_every_listed_layer_is_found_by_its_name() -> None:
    assert len(all_layers()) == 53 + 21 + 54 + 16 + 8 + 6 + 6
    assert all(find_layer(layer.name) is layer for layer in all_layers())


def test_unknown_name_suggests_near_ones_and_the_list() -> None:
    with pytest.raises(LayerError) as error:
        find_layer("MOBILNETV2_L2")
    assert "mobilenetv2_l2" in str(error.value)
    assert "python -m experiments.run --list-layers" in str(error.value)


def test_workloads_need_neither_numpy_nor_gymnasium() -> None:
    code = (
        "import sys, maestro_env.workloads as w; w.all_layers(); "
        "sys.exit(str({'numpy', 'gymnasium', 'torch'} & sys.modules.keys() or ''))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stderr.strip() == ""


# --- Layers as text -----------------------------------------------------------------------------


@st.composite
def convolution_layers(draw: st.DrawFn) -> Layer:
    operator = draw(st.sampled_from(["CONV", "TRCONV", "DSCONV", "NGCONV"]))
    size = st.integers(1, 64)
    window = {"R": draw(size), "S": draw(size)}
    image = {"Y": window["R"] + draw(size), "X": window["S"] + draw(size)}
    names = {"DSCONV": ["C"], "NGCONV": ["G", "K", "C"]}.get(operator, ["K", "C"])
    names += draw(st.sampled_from([[], ["N"]]))
    extents = {name: draw(size) for name in names} | image | window
    return Layer(operator, extents, (draw(size), draw(size)))


@given(layer=convolution_layers(), data=st.data())
def test_convolution_text_round_trips(layer: Layer, data: st.DataObject) -> None:
    pieces = [f"{name}={extent}" for name, extent in layer.extents.items()]
    pieces.append("stride={}x{}".format(*layer.stride))
    operator = data.draw(st.sampled_from([layer.operator, layer.operator.lower()]))
    text = f"{operator}:{','.join(data.draw(st.permutations(pieces)))}"
    assert same(find_layer(text), layer)
    assert find_layer(text).name == text


@given(st.integers(1, 4096), st.integers(1, 4096), st.integers(1, 4096))
def test_gemm_text_round_trips(m: int, n: int, k: int) -> None:
    assert same(parse_layer(f"gemm:M={m},N={n},K={k}"), gemm(m, n, k))


@pytest.mark.parametrize(
    ("text", "stride"), [("", (1, 1)), (",stride=2", (2, 2)), (",stride=2x1", (2, 1))]
)
def test_stride_is_of_y_then_of_x(text: str, stride: tuple[int, int]) -> None:
    layer = parse_layer("conv:K=64,C=3,Y=58,X=59,R=3,S=5" + text)
    assert layer.stride == stride
    assert layer.extents == {"K": 64, "C": 3, "Y": 58, "X": 59, "R": 3, "S": 5}


def test_blanks_in_a_text_do_not_matter() -> None:
    assert parse_layer(" gemm: M=1, N=2,\tK=3\n") == parse_layer("gemm:M=1,N=2,K=3")


@pytest.mark.parametrize(
    ("text", "fault", "allowed"),
    [
        ("pool:K=1", "'pool'", "conv, trconv, dsconv, ngconv, gemm"),
        (":M=1,N=1,K=1", "''", "conv, trconv, dsconv, ngconv, gemm"),
        ("gemm:", "''", "NAME=NUMBER"),
        ("gemm:M=1,N=2,K", "'K'", "NAME=NUMBER"),
        ("gemm:M=1,N=2,K=", "'K='", "NAME=NUMBER"),
        ("gemm:M=1,N=2,=3", "'=3'", "NAME=NUMBER"),
        ("gemm:M=1,N=2,K=3,", "''", "NAME=NUMBER"),
        ("gemm:M=1,N=2,K=3,K=4", "'K=4'", "once"),
        ("gemm:M=1,N=2,K=3.5", "'3.5'", "integer"),
        ("gemm:M=1,N=2,K=0", "K is 0", "1 to"),
        ("gemm:M=1,N=2,K=" + "9" * 5000, "'K=999", "integer"),
        ("gemm:M=1,N=2,K=1_0", "'1_0'", "digits 0 to 9"),
        ("gemm:M=1,N=2,K=+5", "'+5'", "digits 0 to 9"),
        ("gemm:M=1,N=2,K=-5", "'-5'", "digits 0 to 9"),
        ("gemm:M=1,N=2,K=٣", "'٣'", "digits 0 to 9"),
        ("gemm:M=1,N=2,K=1 0", "'gemm:M=1,N=2,K=1 0'", "a blank inside a number"),
        ("conv:K=1,C=8,Y=8,X=8,R=3,S=3,stride=٢", "'stride=٢'", "stride=2x1"),
        ("gemm:M=1,N=2", "lacks K", "M, N, K"),
        ("gemm:M=1,N=2,K=3,C=4", "'C'", "M, N, K"),
        ("gemm:M=1,N=2,K=3,stride=1", "stride", "only convolutions"),
        ("dsconv:K=1,C=8,Y=8,X=8,R=3,S=3", "'K'", "C, Y, X, R, S"),
        ("conv:K=1,C=8,Y=8,X=8,R=9,S=3", "R = 9", "Y = 8"),
        ("conv:K=1,C=8,Y=8,X=8,R=3,S=3,stride=2x", "'stride=2x'", "stride=2x1"),
        ("conv:K=1,C=8,Y=8,X=8,R=3,S=3,stride=1x2x3", "'stride=1x2x3'", "stride=2x1"),
        ("conv:K=1,C=8,Y=8,X=8,R=3,S=3,stride=-1", "'stride=-1'", "stride=2x1"),
        ("conv:K=1,C=8,Y=8,X=8,R=3,S=3,stride=0", "stride of Y is 0", "1 to"),
    ],
)
def test_malformed_text_names_fault_allowed_and_example(
    text: str, fault: str, allowed: str
) -> None:
    with pytest.raises(LayerError) as error:
        find_layer(text)
    message = str(error.value)
    assert fault in message
    assert allowed in message
    assert "conv:K=64,C=64,Y=58,X=58,R=3,S=3,stride=1" in message
    assert len(message.splitlines()) == 1


PIECES = [
    "conv:",
    "gemm:",
    "M=1",
    "N=2,",
    "K=3,",
    "K",
    "stride=",
    "=",
    ",",
    "x",
    "3",
    "-",
    "é",
    "\n",
]


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
def test_any_text_is_a_layer_or_one_line_of_error(text: str) -> None:
    try:
        message = str(parse_layer(text))
    except LayerError as error:
        message = str(error)
    assert len(message.splitlines()) == 1


# --- GAMMA files --------------------------------------------------------------------------------

ROWS = "64,3,226,226,3,3,1\n1,32,112,112,3,3,2\n512,64,128,1,1,1,3\n256,128,1,1,1,1,0\n"
LAYERS = (
    conv(64, 3, 226, 3),
    depthwise(32, 112),
    gemm(512, 64, 128),
    gemm(1, 256, 128),
)


def write(folder: Path, text: str) -> Path:
    path = folder / "net.csv"
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("header", ["K,C,Y,X,R,S,T", "M,N,K,0,0,0,T", "O,I,0,0,0,0,T"])
def test_a_row_means_what_its_type_code_says(tmp_path: Path, header: str) -> None:
    layers = read_gamma_csv(write(tmp_path, f"{header}\n{ROWS}"))
    assert [layer.name for layer in layers] == [f"net_l{i}" for i in range(4)]
    assert all(map(same, layers, LAYERS))


@pytest.mark.parametrize(
    "text",
    [
        f"K,C,Y,X,R,S,T\n{ROWS.rstrip()}",
        f"K,C,Y,X,R,S,T\n{ROWS}\n\n",
        f"\ufeffK,C,Y,X,R,S,T\n{ROWS}",
        f"K,C,Y,X,R,S,T\n{ROWS}".replace("\n", "\r\n"),
        f"K, C, Y, X, R, S, T\n{ROWS}".replace(",", ", "),
    ],
    ids=["no-last-newline", "blank-lines", "byte-order-mark", "crlf", "spaces"],
)
def test_how_a_file_was_saved_does_not_matter(tmp_path: Path, text: str) -> None:
    layers = read_gamma_csv(write(tmp_path, text))
    assert len(layers) == len(LAYERS)
    assert all(map(same, layers, LAYERS))


def test_stride_column(tmp_path: Path) -> None:
    path = write(tmp_path, "K,C,Y,X,R,S,T,stride\n64,3,230,230,7,7,1,2\n512,64,128,1,1,1,3,1\n")
    strided, plain = read_gamma_csv(path)
    assert same(strided, conv(64, 3, 230, 7, stride=2))
    assert same(plain, gemm(512, 64, 128))


@pytest.mark.parametrize(
    ("text", "line", "fault"),
    [
        ("64,3,226,226,3,3,1\n64,3,226,226,3,3,1\n", 1, "64,3,226,226,3,3,1"),
        ("K,C,Y,X,R,S\n64,3,226,226,3,3\n", 1, "K,C,Y,X,R,S"),
        ("K,C,Y,X,R,S,T,pad\n64,3,226,226,3,3,1,1\n", 1, "pad"),
        ("K,C,Y,X,R,S,T\n64,3,226,226,3,3,1\n\n64,3,16.1,16,3,3,1\n", 4, "'16.1'"),
        ("K,C,Y,X,R,S,T\n64,3,,16,3,3,1\n", 2, "''"),
        ("K,C,Y,X,R,S,T\n32,32,16,16.1,1,1\n", 2, "6 cells"),
        ("K,C,Y,X,R,S,T\n64,3,226,226,3,3,1,2\n", 2, "8 cells"),
        ("K,C,Y,X,R,S,T\n64,3,226,226,3,3,4\n", 2, "T = 4"),
        ("K,C,Y,X,R,S,T\n64,3,226,226,3,3,-1\n", 2, "'-1'"),
        ("K,C,Y,X,R,S,T\n4_0,3,226,226,3,3,1\n", 2, "'4_0' is not an integer"),
        ("K,C,Y,X,R,S,T\n+5,3,226,226,3,3,1\n", 2, "'+5' is not an integer"),
        ("K,C,Y,X,R,S,T\n٣,3,226,226,3,3,1\n", 2, "'٣' is not an integer"),
        ("K,C,Y,X,R,S,T\n0,3,226,226,3,3,1\n", 2, "K is 0"),
        ("K,C,Y,X,R,S,T\n64,3,2,2,3,3,1\n", 2, "R = 3"),
        ("K,C,Y,X,R,S,T\n2,32,112,112,3,3,2\n", 2, "cell 1 is 2"),
        ("M,N,K,0,0,0,T\n64,64,58,58,3,3,3\n", 2, "cell 4 is 58"),
        ("M,N,K,0,0,0,T,stride\n64,64,58,1,1,1,3,2\n", 2, "stride"),
    ],
)
def test_malformed_file_names_file_line_and_fault(
    tmp_path: Path, text: str, line: int, fault: str
) -> None:
    path = write(tmp_path, text)
    with pytest.raises(LayerError) as error:
        read_gamma_csv(path)
    message = str(error.value)
    assert f"{str(path)!r}, line {line}: " in message
    assert fault in message.partition(f"line {line}: ")[2]
    assert len(message.splitlines()) == 1


@pytest.mark.parametrize("text", ["", "\n\n", "K,C,Y,X,R,S,T\n"])
def test_a_file_without_layers_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(LayerError, match=r"net\.csv': no layers"):
        read_gamma_csv(write(tmp_path, text))


def test_unreadable_files_are_named(tmp_path: Path) -> None:
    binary = tmp_path / "binary.csv"
    binary.write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "absent.csv", tmp_path, binary):
        with pytest.raises(LayerError) as error:
            read_gamma_csv(path)
        assert f"{str(path)!r} cannot be read" in str(error.value)


def test_the_reason_a_file_is_unreadable_has_no_number(tmp_path: Path) -> None:
    with pytest.raises(LayerError, match=r"as a CSV file: No such file or directory$"):
        read_gamma_csv(tmp_path / "absent.csv")


LONG = "9" * 5000


@pytest.mark.parametrize("row", [f"{LONG},3,226,226,3,3,1", f"64,3,{LONG}x,226,3,3,1"])
@pytest.mark.parametrize("header", ["K,C,Y,X,R,S,T", LONG])
def test_long_cells_are_cut_in_messages(tmp_path: Path, header: str, row: str) -> None:
    path = write(tmp_path, f"{header}\n{row}\n")
    with pytest.raises(LayerError) as error:
        read_gamma_csv(path)
    assert f"'{'9' * 37}...'" in str(error.value)
    assert len(str(error.value)) < len(str(path)) + 200


@pytest.mark.parametrize(
    "text", [f"gemm:M={LONG}", f"gemm:{LONG}", f"{LONG}:M=1", f"conv:stride={LONG}", LONG]
)
def test_long_texts_are_cut_in_messages(text: str) -> None:
    with pytest.raises(LayerError) as error:
        find_layer(text)
    assert "999..." in str(error.value)
    assert len(str(error.value)) < 350


def test_find_layer_picks_a_row(tmp_path: Path) -> None:
    path = write(tmp_path, f"K,C,Y,X,R,S,T\n{ROWS}")
    assert [find_layer(f"{path}:{row}") for row in range(4)] == list(read_gamma_csv(path))


@pytest.mark.parametrize("row", ["", ":", ":4", ":-1", ":one"])
def test_find_layer_refuses_a_row_that_is_not_there(tmp_path: Path, row: str) -> None:
    path = write(tmp_path, f"K,C,Y,X,R,S,T\n{ROWS}")
    with pytest.raises(LayerError, match=r"names no row; allowed: FILE\.csv:0 to FILE\.csv:3"):
        find_layer(f"{path}{row}")


def test_a_file_with_one_layer_needs_no_row(tmp_path: Path) -> None:
    path = write(tmp_path, "K,C,Y,X,R,S,T\n64,3,226,226,3,3,1\n")
    assert find_layer(str(path)) == find_layer(f"{path}:0") == read_gamma_csv(path)[0]
    with pytest.raises(LayerError, match="names no row"):
        find_layer(f"{path}:1")
