"""What an ONNX file executes: shapes follow from its inputs, small values are computed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from onnx_models import body, model, node, numbers, onnx, save, value, weights

from maestro_env.base.errors import NetworkError
from maestro_env.workloads.finding import find_network

CONVS = [node("Conv", "x w", "a"), node("Conv", "a v")]
FILTERS = [weights("w", 4, 3, 3, 3), weights("v", 5, 4, 3, 3)]
ONE_IMAGE = 36 * 4 * 27 + 16 * 5 * 36
STALE = "the file has another shape than the one that follows"


def network(folder: Path, made: Any, dims: Any = None) -> Any:
    return find_network(save(folder, made), dims)


# The shapes of files that were changed, by hand counts of outputs x filter words, or rows x inner x
# columns.
GEMMS = [node("Gemm", "x w", "a"), node("Gemm", "a v")]
MATRICES = [weights("w", 8, 16), weights("v", 16, 8)]
CHANGED = {
    "batch": (CONVS, ["n", 3, 8, 8], FILTERS, {"a": [1, 4, 6, 6]}, {"n": 7}, 7 * ONE_IMAGE),
    "rows": (
        CONVS,
        [1, 3, "h", 8],
        FILTERS,
        {"a": [1, 4, 6, 6], "y": [1, 5, 4, 4]},
        {"h": 10},
        8 * 6 * 4 * 27 + 6 * 4 * 5 * 36,
    ),
    "fixed": (GEMMS, [32, 8], MATRICES, {"a": [1, 16], "y": [1, 8]}, None, 2 * 32 * 8 * 16),
    "ranks": (GEMMS, [32, 8], MATRICES, {"a": [1, 1, 16]}, None, 2 * 32 * 8 * 16),
}


@pytest.mark.parametrize("case", CHANGED.values(), ids=CHANGED)
def test_shapes_follow_from_the_inputs(tmp_path: Path, case: Any) -> None:
    nodes, shape, tensors, stated, dims, macs = case
    found = network(tmp_path, model(nodes, {"x": shape}, weights=tensors, stated=stated), dims)
    assert found.macs == macs
    (note,) = found.notes
    assert re.match(f"a.*: {STALE}", note)


def test_a_stale_shape_in_a_body_does_not_count(tmp_path: Path) -> None:
    inner = body([node("MatMul", "x w", "b"), node("MatMul", "b v", "c")], (), ["c"])
    inner.value_info.append(value("b", [1, 16]))
    made = model(
        [node("If", "yes", "y", then_branch=inner, else_branch=inner)],
        {"x": [32, 8]},
        weights=[*MATRICES, numbers("yes", 1, shape=())],
    )
    assert network(tmp_path, made).macs == 2 * 32 * 8 * 16


def test_a_shape_in_the_file_counts_where_none_follows(tmp_path: Path) -> None:
    nodes = [node("Mix", "x", "a", domain="my.ops"), node("MatMul", "a w")]
    made = model(nodes, {"x": ["n", 8]}, weights=MATRICES[:1], stated={"a": ["n", 8]})
    found = network(tmp_path, made, {"n": 3})
    assert found.macs == 3 * 8 * 16
    assert found.notes == ("a: the shape is that in the file, since none follows from the inputs",)


# Sizes that onnxruntime refuses too: by hand, what does not fit what.
IMPOSSIBLE = {
    "Reshape": ("x t", [numbers("t", 1, 144)], {}, r"576 values do not fit the shape \[1, 144\]"),
    "Expand": ("x t", [numbers("t", 3, 144)], {}, "Incompatible dimensions"),
    "Concat": ("x w", [weights("w", 3, 100)], {"axis": 1}, "they differ. Inferred=3 Declared=4"),
    "Gemm": ("x w", [weights("w", 100, 5)], {}, "between 100 and 144"),
}


@pytest.mark.parametrize("operator", IMPOSSIBLE)
def test_sizes_that_cannot_be_are_refused(tmp_path: Path, operator: str) -> None:
    inputs, tensors, attributes, message = IMPOSSIBLE[operator]
    made = model(
        [node(operator, inputs, name="it", **attributes)], {"x": ["n", 144]}, weights=tensors
    )
    with pytest.raises(NetworkError, match=rf"{operator} 'it', of shapes \[4, 144\].*{message}"):
        network(tmp_path, made, {"n": 4})


# x of [n, 12] becomes r by a shape that is computed, and is multiplied by w of 3 columns: the
# nodes, and the shape of r for n = 6, by hand.
SIZE = [node("Shape", "x", "s"), node("Gather", "s zero", "n")]
TO = [node("Concat", "m rest", "t", axis=0), node("Reshape", "x t", "r")]
HALF = body([node("Div", "n two", "d")], (), ["d"])
FOUR = body([node("Identity", "four", "b")], (), ["b"])
ARITHMETIC = {
    "Div": ([*SIZE, node("Div", "n two", "m"), *TO], 3, 24),
    "Mod": ([*SIZE, node("Mod", "n four", "m"), *TO], 2, 36),
    "Max": ([*SIZE, node("Max", "n two", "m"), *TO], 6, 12),
    "ReduceProd": ([*SIZE, node("ReduceProd", "s", "p"), node("Div", "p four", "m"), *TO], 18, 4),
    "Size": ([node("Size", "x", "p"), node("Div", "p four", "m"), *TO], 18, 4),
    "Where": ([*SIZE, node("Equal", "n two", "e"), node("Where", "e n four", "m"), *TO], 4, 18),
    "Slice": ([*SIZE, node("Div", "n two", "m"), node("Slice", "x zero m", "r")], 3, 12),
    "Range": (
        [*SIZE, node("Squeeze", "n", "q"), node("Range", "o q i", "p"), node("Gather", "x p", "r")],
        6,
        12,
    ),
    "Tile": ([*SIZE, node("Tile", "one n", "p"), node("ReduceSum", "p", "m"), *TO], 6, 12),
    "If": (
        [
            *(*SIZE, node("Less", "n four", "c")),
            *(node("If", "c", "m", then_branch=FOUR, else_branch=HALF), *TO),
        ],
        3,
        24,
    ),
}
SMALL = [numbers(each, i) for i, each in enumerate(("zero", "one", "two", "three", "four"))]
SMALL += [numbers("rest", -1), numbers("o", 0, shape=()), numbers("i", 1, shape=())]


@pytest.mark.parametrize("name", ARITHMETIC)
@pytest.mark.parametrize("size", ["n", 6])
def test_shapes_are_computed(tmp_path: Path, name: str, size: Any) -> None:
    nodes, rows, inner = ARITHMETIC[name]
    made = model([*nodes, node("MatMul", "r w")], {"x": [size, 12]}, weights=SMALL)
    made.graph.initializer.append(weights("w", inner, 3))
    found = network(tmp_path, made, {"n": 6} if size == "n" else None)
    assert (found.macs, found.left_out) == (rows * inner * 3, ())


@pytest.mark.parametrize("place", ["target", "../target", "gone", "inside", "folder"])
def test_small_values_are_read_beside_the_file_alone(tmp_path: Path, place: str) -> None:
    folder = tmp_path / "net"
    (folder / "folder").mkdir(parents=True)
    for path in (folder / "target", tmp_path / "target"):
        path.write_bytes(b"ab" + (4).to_bytes(8, "little") + (6).to_bytes(8, "little"))
    (folder / "inside").symlink_to(tmp_path / "target")
    target = onnx.TensorProto(name="t", data_type=7, dims=[2], data_location=1)
    for key, text in {"location": place, "offset": "2", "length": "16"}.items():
        target.external_data.add(key=key, value=text)
    nodes = [node("Reshape", "x t", "r"), node("MatMul", "r w"), node("MatMul", "x k", "z")]
    made = model(nodes, {"x": [2, 12]}, weights=[target, weights("w", 6, 5), weights("k", 12, 3)])
    found = network(folder, made)
    # 4 x 6 x 5 of the product behind the shape, 2 x 12 x 3 of the other.
    assert (found.macs, len(found.left_out)) == ((192, 0) if place == "target" else (72, 1))


HOSTILE = {"ConstantOfShape": "h", "Tile": "four h", "Pow": "h h", "Div": "h zero"}


def test_no_large_tensor_is_computed(tmp_path: Path) -> None:
    nodes = [node(operator, inputs, operator) for operator, inputs in HOSTILE.items()]
    nodes += [node("Range", "o end i", "r"), node("MatMul", "x w", "z")]
    huge = [numbers("h", 10**12), numbers("end", 10**12, shape=())]
    made = model(nodes, {"x": [4, 5]}, weights=[*SMALL, *huge, weights("w", 5, 6)])
    assert network(tmp_path, made).macs == 120


PRODUCT = [node("Concat", "p k", "keys", axis=3), node("MatMul", "q keys")]
SCORES = {"q": [1, 4, 5, 16], "k": [1, 4, 16, 5], "p": [1, 4, 16, 0]}
EMPTY = {
    "open": (PRODUCT, SCORES | {"p": [1, 4, 16, "past"]}, {"past": 0}, 4 * 5 * 16 * 5),
    "asked for": (PRODUCT, SCORES, {"p_3": 2}, 4 * 5 * 16 * 7),
    "attention": (
        [node("Attention", "q k v _ p p", "y a b")],
        {"q": [2, 3, 7, 4], "k": [2, 3, 9, 4], "v": [2, 3, 9, 4], "p": [2, 3, 0, 4]},
        None,
        2 * 6 * 7 * 9 * 4,
    ),
}


@pytest.mark.parametrize("case", EMPTY.values(), ids=EMPTY)
def test_a_size_may_be_0(tmp_path: Path, case: Any) -> None:
    nodes, inputs, dims, macs = case
    found = network(tmp_path, model(nodes, inputs), dims)
    assert (found.macs, found.left_out) == (macs, ())


# What is computed before, or never; 4 x 8 x 32 is left each time.
FIXED = [weights("a", 8, 16), weights("b", 16, 32), weights("c", 8, 32)]
USED = node("MatMul", "x c")
NEVER = {
    "unread": [node("MatMul", "x a", "u"), node("MatMul", "u b", "unread"), USED],
    "constant": [node("MatMul", "a b", "e"), node("Relu", "e", "f"), node("MatMul", "x f")],
    "moved": [node("Transpose", "b", "e"), node("MatMul", "a b", "f"), node("Gemm", "x f")],
    "branch": [
        node("MatMul", "x a", "u"),
        node(
            "If",
            "zero",
            "y",
            then_branch=body([node("MatMul", "u b", "d")], (), ["d"]),
            else_branch=body([node("MatMul", "x c", "d")], (), ["d"]),
        ),
    ],
}


@pytest.mark.parametrize("nodes", NEVER.values(), ids=NEVER)
def test_what_no_output_needs_and_what_is_constant_is_not_counted(
    tmp_path: Path, nodes: Any
) -> None:
    made = model(nodes, {"x": [4, 8]}, weights=[*FIXED, *SMALL], results=["y"])
    found = network(tmp_path, made)
    assert (found.macs, found.left_out) == (4 * 8 * 32, ())


def loop(operator: str, inputs: str, inner: Any, outputs: str = "last y", **more: Any) -> Any:
    return node(operator, inputs, outputs, body=inner, **more)


# A step multiplies [1, 8] by [8, 8], 64 MACs, whatever is around it.
STEP = node("MatMul", "h w", "n")
SCAN = body([STEP, node("Add", "n t", "o")], ["h", "t"], ["n", "o"])
GOES_ON = node("Identity", "go", "more")
REPEAT = body([STEP, GOES_ON], ["i", "go", "h"], ["more", "n"])
TESTED = body([STEP, node("Less", "n h", "more")], ["i", "go", "h"], ["more", "n"])
GROWS = body([STEP, GOES_ON, node("Concat", "n n", "g", axis=0)], ["i", "go", "h"], ["more", "g"])
NESTED = body([loop("Loop", "three yes h", REPEAT, "n"), GOES_ON], ["i", "go", "h"], ["more", "n"])
BODIES = {
    "Scan": (loop("Scan", "h x", SCAN, num_scan_inputs=1), 12, ""),
    "Loop": (loop("Loop", "four yes h", REPEAT, "y"), 4, ""),
    "without a condition": (loop("Loop", "four _ h", REPEAT, "y"), 4, ""),
    "for the length of an input": (loop("Loop", "length yes h", REPEAT, "y"), 12, ""),
    "nested": (loop("Loop", "four yes h", NESTED, "y"), 12, ""),
    "tested": (loop("Loop", "four yes h", TESTED, "y"), 0, "a condition ends it"),
    "open": (loop("Loop", "count yes h", REPEAT, "y"), 0, "its number of steps is not known"),
    "grows": (loop("Loop", "four yes h", GROWS, "y"), 0, "its sizes change from step to step"),
}


@pytest.mark.parametrize("case", BODIES.values(), ids=BODIES)
def test_bodies_count_as_often_as_they_are_executed(tmp_path: Path, case: Any) -> None:
    repeated, times, reason = case
    length = [node("Shape", "x", "s"), node("Gather", "s zero", "length")]
    nodes = [*length, repeated, node("Relu", "y", "r"), node("MatMul", "x k", "u")]
    inputs = {"h": [1, 8], "x": [12, 1, 8], "count": []}
    yes = onnx.TensorProto(name="yes", data_type=9, dims=[1], int32_data=[1])
    tensors = [*SMALL, yes, weights("w", 8, 8), weights("k", 8, 2)]
    found = network(tmp_path, model(nodes, inputs, weights=tensors))
    assert found.macs == times * 64 + 12 * 8 * 2
    assert [each.reason for each in found.left_out] == (
        [f"in the body of Loop; {reason}"] if reason else []
    )
