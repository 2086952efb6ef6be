"""Reads Timeloop's problems (version 0.4): one layer a file, given by projections."""

from __future__ import annotations

from pathlib import Path

from maestro_env.base.errors import LayerError, quoted
from maestro_env.base.yaml_file import Plain, entries, items, scalar
from maestro_env.workloads.affine import Rank, describe
from maestro_env.workloads.collection import Collection
from maestro_env.workloads.custom import integer
from maestro_env.workloads.lowering import Work
from maestro_env.workloads.network import Network

_MOST_TERMS = 8


def read_problem(path: str | Path, problem: Plain) -> Network:
    """Return the network of one layer that the key ``problem`` of a file describes.

    Dimensions are extents of loops: outputs, not inputs. Padding is unknown to Timeloop.

    Raises:
        NetworkError: no layer can say it.
    """
    collection = Collection(Path(path).stem)
    collection.add(Path(path).stem, "problem", lambda: _describe(problem))
    return collection.network()


def _describe(problem: Plain) -> list[Work]:
    found = entries("problem", problem)
    shape = entries("the problem's shape", found.get("shape"))
    given = entries("the problem's instance", found.get("instance", problem))
    names = [scalar("a dimension", name) for name in items("dimensions", shape.get("dimensions"))]
    extents = {name: _number(name, given.get(name)) for name in names}
    coefficients = {}
    for each in items("coefficients", shape.get("coefficients", [])):
        entry = entries("a coefficient", each)
        name = scalar("the name of a coefficient", entry.get("name"))
        coefficients[name] = _number(name, given.get(name, entry.get("default", "1")))
    outputs: list[list[Rank]] = []
    inputs: list[list[Rank]] = []
    for each in items("data_spaces", shape.get("data_spaces", shape.get("data-spaces"))):
        space = entries("a data space", each)
        ranks = items("a projection", space.get("projection"))
        access = [_rank(rank, coefficients) for rank in ranks]
        written = space.get("read_write", space.get("read-write", "false"))
        is_output = scalar("read_write", written).lower() == "true"
        (outputs if is_output else inputs).append(access)
    if len(outputs) != 1:
        raise LayerError(f"{len(outputs)} data spaces are read_write; allowed: 1")
    return describe(extents, outputs[0], inputs)


def _rank(rank: Plain, coefficients: dict[str, int]) -> Rank:
    """Read a sum of products, such as ``[[R, Wdilation], [P, Wstride]]``."""
    if isinstance(rank, str):
        return {rank: 1}
    terms: dict[str, int] = {}
    summands = items("a sum of products", rank)
    if len(summands) > _MOST_TERMS:
        raise LayerError(f"a sum of {len(summands)} products; allowed: {_MOST_TERMS}")
    for term in summands:
        product = items("a product", term)
        if not 1 <= len(product) <= _MOST_TERMS:
            raise LayerError(f"a product of {len(product)} factors; allowed: 1 to {_MOST_TERMS}")
        variable, *factors = product
        coefficient = 1
        for factor in factors:
            name = scalar("a coefficient", factor)
            if name not in coefficients:
                raise LayerError(f"unknown coefficient {quoted(name)}")
            coefficient *= coefficients[name]
        terms[scalar("a dimension", variable)] = coefficient
    return terms


def _number(name: str, value: Plain | None) -> int:
    if not isinstance(value, str):
        raise LayerError(f"{quoted(name)} has no number in the problem's instance")
    return integer(value, f"{quoted(name)}: ")
