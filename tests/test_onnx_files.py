"""ONNX files that are damaged, hostile, large, open or partly unknown."""

from __future__ import annotations

import io
import pickle
import time
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from commands import layers as command
from onnx_models import model, node, onnx, save

from maestro_env.base.errors import ArgumentTypeError, MissingExtraError, NetworkError
from maestro_env.workloads.finding import find_network, parse_dims
from maestro_env.workloads.network import LeftOut

SHAPES = {"x": [1, 4, 9, 9], "w": [6, 4, 3, 3]}
CONV = [node("Conv", "x w")]
TENSOR = onnx.TensorProto


def data(nodes: list[Any], inputs: Any = SHAPES, **more: Any) -> bytes:
    return bytes(model(nodes, inputs, **more).SerializeToString())


def refused(path: str, message: str, dims: Any = None) -> None:
    with pytest.raises(NetworkError, match=message) as caught:
        find_network(path, dims)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 700


def test_a_damaged_file_is_refused_wherever_it_ends(tmp_path: Path) -> None:
    content = data(CONV)
    path = tmp_path / "net.onnx"
    for end in range(len(content)):
        path.write_bytes(content[:end])
        with suppress(NetworkError):
            # Only what nobody needs is missing.
            assert find_network(str(path)).macs == 6 * 4 * 49 * 9


def archive() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("model.onnx", data(CONV))
    return file.getvalue()


class Bomb:
    def __reduce__(self) -> Any:
        return pytest.fail, ("a file was unpickled",)


SMALL, LARGE = {"x": [1, 4, 2, 2]}, {"x": [2**62, 2**62, 2**62, 8], "w": [4, 2**62, 3, 3]}
CYCLE = [node("Add", "x b", "a"), node("Add", "x a", "b"), node("Conv", "b w")]
NONE = "no operator that can be mapped"
BAD = {
    "empty": (b"", "is empty; allowed: an ONNX model"),
    "text": (b"no model at all, by far", "is not an ONNX model, or is truncated"),
    "zip": (archive(), "is not an ONNX model"),
    "pickle": (pickle.dumps(Bomb()), "is not an ONNX model"),
    "zeros": (bytes(5000), "is not an ONNX model"),
    "no nodes": (data([]), "is an ONNX model without nodes"),
    "opset": (
        data(CONV, opset=999),
        "has opset 999; onnx .* knows 1 to .*; export the model for one of these, or upgrade onnx",
    ),
    "cyclic": (
        data(CYCLE),
        "Add 'a' reads 'b', which nothing before it writes; the graph is cyclic",
    ),
    "no weights": (data(CONV, {"x": [1, 4, 9, 9]}), "Conv 'y' reads 'w', which nothing"),
    "huge": (data(CONV, LARGE), f"{NONE} .left out: Conv .*allowed: integers from 1 to"),
    "unknown": (
        data([node("Mix", "x w", domain="my.ops")], domains=["my.ops"]),
        f"{NONE} .left out: Mix .*an operator of my.ops",
    ),
    "nothing to map": (data([node("Relu", "x")]), f"{NONE}$"),
    "window": (
        data(CONV, SHAPES | SMALL),
        "a window of 3 .dilation 1. is larger than the padded input of 2",
    ),
    "channels": (data(CONV, SHAPES | {"x": [1, 5, 9, 9]}), "filters of 4 channels for 5"),
    "stride": (
        data([node("Conv", "x w", strides=[0, 1])]),
        "Conv .y., .*strides must only contain positive",
    ),
    "pads": (data([node("Conv", "x w", pads=[1, 1])]), "Conv .y., .*pads has incorrect size"),
    "inner": (data([node("MatMul", "x w")]), "shapes|Incompatible"),
    "result": (data([node("Einsum", "x", equation="abcd->z")]), "contains a label missing"),
    "name": (
        data([node("Conv", "x w", name="called")]).replace(b"called", b"cal\xff\xfed"),
        "has a name that is not text; it is damaged",
    ),
}


@pytest.mark.parametrize(("content", "message"), BAD.values(), ids=BAD)
def test_other_files_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(content)
    refused(str(path), message)


@pytest.mark.parametrize("ending", ["pt", "pth", "pkl", "zip", "safetensors", "PT2"])
def test_files_that_may_hold_code_are_not_opened(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"net.{ending}"
    path.write_bytes(pickle.dumps(Bomb()))
    refused(str(path), "may hold code and is not opened; export the model to ONNX")


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("/dev/zero", "it is not a regular file"),
        (".", "it is not a regular file"),
        ("/nowhere", "no such file"),
    ],
)
def test_what_is_no_file_is_not_read(tmp_path: Path, target: str, why: str) -> None:
    link = tmp_path / "net.onnx"
    link.symlink_to(target)
    refused(str(link), f"net.onnx' cannot be read: {why}")


def test_the_command_refuses_them_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "net.onnx"
    for name in ("pickle", "cyclic"):
        path.write_bytes(BAD[name][0])
        assert command([f"--network={path}"]) == 2
        shown = capsys.readouterr()
        assert (shown.out, shown.err.count("\n")) == ("", 1)


def function(name: str, *nodes: onnx.NodeProto) -> onnx.FunctionProto:
    opsets = [onnx.helper.make_opsetid("", 23), onnx.helper.make_opsetid("own", 1)]
    return onnx.helper.make_function("own", name, ["a", "b"], ["y"], nodes, opsets)


def test_functions_of_the_model_are_inlined(tmp_path: Path) -> None:
    made = model([node("twice", "x w", domain="own")], {"x": [4, 4], "w": [4, 4]}, domains=["own"])
    inner = node("MatMul", "a b", "c"), node("MatMul", "c b")
    made.functions.append(function("twice", *inner))
    (layer,) = find_network(save(tmp_path, made)).layers
    assert (layer.count, dict(layer.extents)) == (2, {"M": 4, "N": 4, "K": 4})


def test_functions_that_call_themselves_or_grow_without_bound_are_refused(tmp_path: Path) -> None:
    calls = [node("f0", "x w", domain="own")]
    made = model(calls, {"x": [4, 4], "w": [4, 4]}, domains=["own"])
    made.functions.append(function("f0", node("f0", "a b", domain="own")))
    refused(save(tmp_path, made), "nests more than 50 functions, or calls itself")
    del made.functions[:]
    for level in range(12):
        body = [node(f"f{level + 1}", "a b", f"c{i}", domain="own") for i in range(10)]
        made.functions.append(function(f"f{level}", *body, node("Add", "c0 c1")))
    made.functions.append(function("f12", node("MatMul", "a b")))
    refused(save(tmp_path, made), "has more than 1,000,000 nodes")


def test_what_is_not_mapped_is_listed_with_its_macs(tmp_path: Path) -> None:
    nodes = [
        *CONV,
        node("Conv", "z k", "solid", name="solid"),
        node("Mix", "x", "m", domain="my.ops", name="mixer"),
        node("MatMul", "m m", "n", name="mixed"),
        node("DFT", "x", "f", name="wave"),
        node("DeformConv", "x w o", "d", name="bent"),
    ]
    shapes = SHAPES | {"z": [1, 2, 5, 5, 5], "k": [3, 2, 2, 2, 2], "o": [1, 18, 7, 7]}
    # A file may leave out which version of others' operators it means.
    network = find_network(save(tmp_path, model(nodes, shapes)))
    assert network.left_out == (
        LeftOut("solid", "Conv", 3 * 64 * 16, "a convolution over 3 axes; allowed: 1 or 2"),
        LeftOut("mixer", "Mix", None, "an operator of my.ops; its MACs are unknown"),
        LeftOut("mixed", "MatMul", None, "the shape of 'm' is not known"),
        LeftOut("wave", "DFT", None, "no rule for this operator"),
        LeftOut("bent", "DeformConv", network.macs, "its inputs are gathered at computed offsets"),
    )
    assert network.left_out_macs == 3 * 64 * 16 + network.macs
    assert network.macs == 6 * 49 * 36


def test_bodies_are_left_out(tmp_path: Path) -> None:
    body = onnx.helper.make_graph([node("MatMul", "x x", "b", name="inner")], "body", [], [])
    body.output.append(onnx.helper.make_tensor_value_info("b", TENSOR.FLOAT, None))
    nodes = [
        node("If", "c", "i", then_branch=body, else_branch=body),
        node("MatMul", "x x"),
    ]
    network = find_network(save(tmp_path, model(nodes, {"x": [4, 4], "c": []})))
    reason = "in a body of If; whether it is executed is computed"
    assert network.left_out == (LeftOut("inner", "MatMul", None, reason),) * 2
    assert network.macs == 64


OPEN = {"x": ["batch", 4, "rows", 9], "w": [6, 4, 3, 3]}


def test_open_dimensions_are_asked_for_by_name(tmp_path: Path) -> None:
    path = save(tmp_path, model(CONV, OPEN))
    refused(
        path, "leaves the dimensions batch, rows open; .*--dim batch=1,rows=1, or dims=.'batch'"
    )
    refused(path, "leaves the dimension rows open; .*--dim rows=1", {"batch": 2})
    refused(
        path,
        "has no open dimension 'columns'; open: batch, rows",
        dict.fromkeys(("batch", "rows", "columns"), 3),
    )
    refused(path, "dimension batch is -1; allowed: integers from 0", {"batch": -1, "rows": 9})
    with pytest.raises(ArgumentTypeError, match=r"dimension rows is 1\.5; allowed: integers"):
        find_network(path, {"batch": 2, "rows": 1.5})
    (layer,) = find_network(path, {"batch": 2, "rows": 9}).layers
    assert dict(layer.extents) == {"N": 2, "K": 6, "C": 4, "Y": 9, "X": 9, "R": 3, "S": 3}


@pytest.mark.parametrize(
    ("shapes", "dims", "batch"),
    [
        (OPEN, {"batch": 4, "rows": 9}, 4),
        ({"x": [5, 4, 9, 9]}, {}, 5),
        ({"times": [7], "x": [5, 4, 9, 9]}, {}, 5),
        ({"past": [2, 5], "x": ["Batch_size", 4, 9, 9]}, {"Batch_size": 3}, 3),
    ],
)
def test_the_batch_is_called_so_or_comes_first(
    tmp_path: Path, shapes: Any, dims: dict[str, int], batch: int
) -> None:
    path = save(tmp_path, model(CONV, {**shapes, "w": SHAPES["w"]}))
    assert find_network(path, dims).batch == batch


@pytest.mark.parametrize("size", [None, -1, 0])
def test_a_dimension_without_a_name_has_that_of_its_place(tmp_path: Path, size: Any) -> None:
    path = save(tmp_path, model(CONV, SHAPES | {"x": [size, 4, 9, 9]}))
    refused(path, "leaves the dimension x_0 open")
    assert find_network(path, {"x_0": 3}).macs == 3 * 6 * 49 * 36


def test_weights_in_other_files_are_not_opened(tmp_path: Path) -> None:
    weights = TENSOR(name="w", data_type=TENSOR.FLOAT, dims=[6, 4, 3, 3], data_location=1)
    weights.external_data.add(key="location", value="/dev/zero")
    made = model(CONV, {"x": [1, 4, 9, 9]}, weights=[weights])
    assert find_network(save(tmp_path, made)).macs == 6 * 49 * 36


def test_names_are_one_line_and_differ(tmp_path: Path) -> None:
    names = ["a", "a", "a\nb\x1b[31m", "a" * 500, ""]
    nodes = [node("Conv", f"x w{i}", f"y{i}", name=name) for i, name in enumerate(names)]
    shapes = {"x": [1, 4, 9, 9]} | {f"w{i}": [6 + i, 4, 3, 3] for i in range(len(names))}
    found = [layer.name for layer in find_network(save(tmp_path, model(nodes, shapes))).layers]
    assert found == ["a", "a_2", r"a\nb\x1b[31m", "a" * 200, "Conv_4"]


@pytest.mark.slow
def test_ten_thousand_nodes_take_no_time(tmp_path: Path) -> None:
    nodes = [node("MatMul", f"a{number} w", f"a{number + 1}") for number in range(10_000)]
    path = save(tmp_path, model(nodes, {"a0": [4, 4], "w": [4, 4]}))
    start = time.process_time()
    (layer,) = find_network(path).layers
    assert layer.count == 10_000
    assert time.process_time() - start < 5


def test_the_command_lists_layers_and_what_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [node("Conv", "z k", "solid", name="solid"), node("Conv", "x w", name="flat")]
    shapes = {
        "x": ["batch", 4, 9, 9],
        "w": [6, 4, 3, 3],
        "z": [1, 2, 5, 5, 5],
        "k": [3, 2, 2, 2, 2],
    }
    path = save(tmp_path, model(nodes, shapes))
    assert command([f"--network={path}"]) == 2
    assert "--dim batch=1" in capsys.readouterr().err
    assert command([f"--network={path}", "--dim=batch=2"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "flat CONV K6 C4 Y9 X9 R3 S3 N2 21,168 1" in lines
    assert "solid Conv a convolution over 3 axes; allowed: 1 or 2 3,072 12.7%" in lines
    assert "21,168 MACs in all" in lines


@pytest.mark.parametrize("text", ["batch", "=3", "batch=x", "a=1,a=2", "a=-1", "a=1.5"])
def test_dims_are_names_and_numbers(text: str) -> None:
    with pytest.raises(
        NetworkError, match="gives no dimension its number; write them like batch=1"
    ):
        parse_dims(text)
    assert parse_dims("a=1,b c=2,d=e=3") == {"a": 1, "b c": 2, "d=e": 3}
    assert parse_dims("") == {}


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "maestro_env.workloads.files.onnx_network", None)
    with pytest.raises(MissingExtraError, match=r"pip install -e '.\[onnx\]' in a clone"):
        find_network("net.onnx")
