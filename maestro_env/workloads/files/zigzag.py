"""ZigZag's workloads: networks as a list of layers, each an equation over loops of given sizes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from maestro_env.base.errors import quoted
from maestro_env.base.yaml_blocks import YamlBlock
from maestro_env.base.yaml_file import Part
from maestro_env.workloads.affine import Axis, Loops, Tensor, describe
from maestro_env.workloads.files.accelforge import axis_of
from maestro_env.workloads.network import Collection, Network

_KEYS = (
    *("id", "name", "operator_type", "equation", "dimension_relations", "loop_dims", "loop_sizes"),
    *("operand_precision", "operand_source", "padding", "pr_loop_dims", "pr_loop_sizes"),
)
_NEEDED = ("operator_type", "equation", "loop_dims", "loop_sizes", "operand_precision")
_TENSOR = r"(\w+)((?:\[\w*\])+)"
_EQUATION = re.compile(rf"{_TENSOR}\+?={_TENSOR}[*+]{_TENSOR}")


def is_workload(root: Part) -> bool:
    """Whether a document is a list of layers."""
    first = root.value[0] if isinstance(root.value, list) and root.value else None
    return isinstance(first, YamlBlock) and "operator_type" in first


def layers_network(root: Part, name: str) -> Network:
    """Return the network of the layers of a file.

    Sums of two tensors have no MACs, nor have pools, whose second operand has no bits.

    Raises:
        LayerError: a layer that cannot be read.
        NetworkError: no layer can be mapped.
    """
    collection = Collection(name)
    for part in root.items():
        part.only(*_KEYS)
        if missing := [key for key in _NEEDED if key not in part]:
            part.fail(
                f"has no {' and no '.join(missing)}, as a layer of ZigZag's workloads; allowed: "
                "those, problems of Timeloop, workloads of AccelForge"
            )
        layer = part["name"].text() if "name" in part else f"layer_{part['id'].text()}"
        loops = _loops(part, layer)
        if _multiplies(part, loops):
            collection.add(layer, part["operator_type"].text(), partial(describe, loops))
    return collection.network()


def _loops(part: Part, name: str) -> Loops:
    dims, sizes = part["loop_dims"].texts(), [*part["loop_sizes"].items()]
    if len({*dims}) < len(dims) or len(dims) != len(sizes):
        part["loop_sizes"].fail(f"{len(sizes)} sizes for {', '.join(dims)}; allowed: one each")
    if any(each != "0" for pair in part.get("padding", []).items() for each in pair.texts()):
        part.note("padding is passed over: it counts as words of the input")
    extents = {dim.lower(): size.integer() for dim, size in zip(dims, sizes, strict=True)}
    relations = dict(map(_relation, part.get("dimension_relations", []).items()))
    tensors = [
        Tensor(tensor, tuple(_axes(indices, relations)), is_output=number == 0)
        for number, (tensor, indices) in enumerate(_terms(part["equation"]))
    ]
    return Loops(name, extents, tensors)


def _multiplies(part: Part, loops: Loops) -> bool:
    bits = part["operand_precision"].named()
    part.note("operand_precision is passed over: words have the bits of the accelerator's")
    has_all = all(bits[each.name].number() for each in loops.tensors if each.name in bits)
    return has_all and "*" in part["equation"].text()


def _terms(part: Part) -> list[tuple[str, str]]:
    """Read ``O[b][k]+=W[k][c]*I[b][c]``: tensors and their indices, the output first."""
    text = "".join(part.text().split())
    if not _EQUATION.fullmatch(text):
        part.fail(f"{quoted(part.text())} is not of the form O[b][k]+=W[k][c]*I[b][c]")
    return re.findall(_TENSOR, text)


def _relation(part: Part) -> tuple[str, Axis]:
    """Read ``ix=2*ox+1*fx``."""
    variable, _, expression = part.text().lower().partition("=")
    return variable.strip(), axis_of(expression, part)


def _axes(indices: str, relations: dict[str, Axis]) -> Iterator[Axis]:
    for name in filter(None, indices.lower().strip("[]").split("][")):
        yield relations.get(name, {name: 1})
