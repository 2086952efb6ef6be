"""Reads AccelForge's workloads: a network as Einsums, written as text or as projections."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from maestro_env.base.errors import LayerError, quoted
from maestro_env.base.yaml_file import Plain, entries, items, scalar
from maestro_env.workloads.affine import Rank, describe
from maestro_env.workloads.collection import Collection
from maestro_env.workloads.custom import integer
from maestro_env.workloads.lowering import Work
from maestro_env.workloads.network import Network

_LONGEST_EINSUM = 2000
_BOUND = re.compile(r"\s*0\s*<=\s*(\w+)\s*<\s*([0-9]{1,18})\s*")
_ACCESS = re.compile(r"\s*(\w+)\s*\[([^\[\]]*)\]\s*")
_NAME = re.compile(r"[^\W\d]\w*")

Access = dict[str, Rank]
"""What each rank of a tensor is accessed by."""


def read_workload(path: str | Path, workload: Plain) -> Network:
    """Return the network that the key ``workload`` of a file describes.

    Raises:
        NetworkError: no Einsum can be mapped.
    """
    collection = Collection(Path(path).stem)
    found = entries("workload", workload)
    bounds = _bounds(found.get("iteration_space_shape", found.get("shape", {})))
    sizes = entries("rank_sizes", found.get("rank_sizes", {}))
    repeats = _size(found.get("n_instances", "1"))
    for number, each in enumerate(items("einsums", found.get("einsums"))):
        einsum = {"einsum": each} if isinstance(each, str) else entries("an einsum", each)
        name = _written_by(einsum.get("einsum")) or f"einsum_{number}"
        name = scalar("the name of an einsum", einsum.get("name", name))
        times = _size(einsum.get("n_instances", "1")) * repeats
        collection.add(name, "Einsum", partial(_describe, einsum, bounds, sizes), times)
    return collection.network()


def _describe(
    einsum: Mapping[str, Plain], bounds: Mapping[str, int], sizes: Mapping[str, Plain]
) -> list[Work]:
    if _is_true(einsum, "is_copy_operation"):
        return []
    text = einsum.get("einsum")
    output, inputs = _from_text(text) if isinstance(text, str) else _from_accesses(einsum)
    known = {**sizes, **entries("rank_sizes", einsum.get("rank_sizes", {}))}
    extents = {
        variable: _size(known[name])
        for access in (output, *inputs)
        for name, rank in access.items()
        if name in known and list(rank.values()) == [1]
        for variable in rank
    }
    extents |= dict(bounds)
    extents |= _bounds(einsum.get("iteration_space_shape", einsum.get("shape", {})))
    return describe(extents, list(output.values()), [list(each.values()) for each in inputs])


def _bounds(shape: Plain) -> dict[str, int]:
    """Read bounds such as ``0 <= m < 128``."""
    found = {}
    for text in shape.values() if isinstance(shape, dict) else items("a shape", shape):
        bound = scalar("a bound", text)
        match = _BOUND.fullmatch(bound)
        if not match:
            raise LayerError(f"{quoted(bound)} is not of the form 0 <= VARIABLE < NUMBER")
        found[match[1]] = integer(match[2])
    return found


def _size(text: Plain) -> int:
    """Read a number, or a product of numbers such as ``96*128``."""
    return math.prod(integer(each.strip()) for each in scalar("a size", text).split("*"))


def _is_true(entry: Mapping[str, Plain], name: str) -> bool:
    return scalar(name, entry.get(name, "false")).lower() == "true"


def _written_by(text: Plain | None) -> str:
    match = _ACCESS.match(text) if isinstance(text, str) else None
    return match[1] if match else ""


def _from_text(text: str) -> tuple[Access, list[Access]]:
    """Read ``O[m, n] = A[m, k] * B[k, n]``."""
    if len(text) > _LONGEST_EINSUM:
        raise LayerError(f"an Einsum of more than {_LONGEST_EINSUM} characters")
    left, equals, right = text.partition("=")
    accesses = [_ACCESS.fullmatch(each) for each in (left, *re.split(r"\*(?![^\[]*\])", right))]
    if not equals or not all(accesses):
        raise LayerError(f"{quoted(text)} is not of the form O[m, n] = A[m, k] * B[k, n]")
    output, *inputs = [_ranks(match[2].split(",")) for match in accesses if match]
    return output, inputs


def _from_accesses(einsum: Mapping[str, Plain]) -> tuple[Access, list[Access]]:
    outputs: list[Access] = []
    inputs: list[Access] = []
    for each in items("tensor_accesses", einsum.get("tensor_accesses")):
        access = entries("a tensor access", each)
        projection = access.get("projection")
        if isinstance(projection, dict):
            ranks = {rank: _rank(scalar("a rank", text)) for rank, text in projection.items()}
        else:
            ranks = _ranks([scalar("a rank", text) for text in items("a projection", projection)])
        (outputs if _is_true(access, "output") else inputs).append(ranks)
    if len(outputs) != 1:
        raise LayerError(f"{len(outputs)} tensors are outputs; allowed: 1")
    return outputs[0], inputs


def _ranks(texts: list[str]) -> Access:
    """Read ``m`` (of rank M) or ``H: 2 * p + r`` (of rank H)."""
    found: Access = {}
    for text in texts:
        rank, colon, expression = text.partition(":")
        found[rank.strip() if colon else text.strip().upper()] = _rank(
            expression if colon else text
        )
    return found


def _rank(text: str) -> Rank:
    """Read a sum of variables times numbers, such as ``2 * p + r``."""
    terms: dict[str, int] = {}
    for term in text.split("+"):
        factors = [factor.strip() for factor in term.split("*")]
        names = [factor for factor in factors if _NAME.fullmatch(factor)]
        numbers = [factor for factor in factors if factor not in names]
        if len(names) != 1 or len(numbers) > 1:
            raise LayerError(f"{quoted(text)} is not a sum of variables times numbers")
        terms[names[0]] = integer(numbers[0]) if numbers else 1
    return terms
