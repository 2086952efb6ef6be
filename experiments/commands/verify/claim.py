"""Reads the files of certificates within limits, and what they claim: a header, a line of JSON."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike, NDArray

from maestro_env.accelerators.finding import named_hardware
from maestro_env.accelerators.hardware import LATER, Hardware
from maestro_env.base.errors import MaestroEnvError, quoted
from maestro_env.evaluation.any_problem import AnyProblem
from maestro_env.evaluation.objectives import Objective, find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.layer import Layer

_LONGEST_HEADER = 2**16


class CertificateError(MaestroEnvError, ValueError):
    """A certificate that cannot be read or does not prove what it claims."""


class Stream:
    """The content of a certificate, read from its beginning to its end.

    Attributes:
        size: bytes of the file, at least 1.
    """

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._file, self._gzip = file, gzip.GzipFile("", "rb", fileobj=file)
        self._digest = hashlib.sha256()
        self.size = max(path.stat().st_size, 1)

    @property
    def position(self) -> int:
        """Bytes of the file that were read."""
        return self._file.tell()

    @property
    def digest(self) -> str:
        """SHA-256 of what was read."""
        return self._digest.hexdigest()

    def line(self) -> bytes:
        """Read the header."""
        line = self._gzip.readline(_LONGEST_HEADER)
        if not line.endswith(b"\n"):
            raise CertificateError(
                f"the header is not a line of at most {_LONGEST_HEADER:,} bytes; allowed: JSON"
            )
        self._digest.update(line)
        return line

    def lines(self, most: int) -> Iterator[bytes]:
        """Read the lines that follow, until the end."""
        for _ in range(most + 1):
            line = self._gzip.readline(_LONGEST_HEADER)
            if not line:
                return
            if not line.endswith(b"\n"):
                raise CertificateError(f"a line is not of at most {_LONGEST_HEADER:,} bytes")
            self._digest.update(line)
            yield line
        raise CertificateError(f"more than {most:,} lines")

    def array(self, count: int, dtype: DTypeLike) -> NDArray[Any]:
        """Read so many numbers, least byte first."""
        kind = np.dtype(dtype).newbyteorder("<")
        wanted = count * kind.itemsize
        content = self._gzip.read(wanted)
        if len(content) < wanted:
            raise CertificateError("the stream ends in the middle")
        self._digest.update(content)
        return np.frombuffer(content, dtype=kind).astype(dtype)

    def end(self) -> None:
        """Require that nothing is left."""
        if self._gzip.read(1):
            raise CertificateError("the stream continues after its end")


@contextmanager
def open_stream(path: Path) -> Iterator[Stream]:
    """Open a certificate; whatever is wrong with its file is a ``CertificateError``."""
    try:
        if path.exists() and not path.is_file():
            raise CertificateError("it is not a regular file")
        with open(path, "rb") as file:
            yield Stream(path, file)
    except OSError as error:
        # Damage to a gzip file has no strerror.
        reason = error.strerror or f"no gzip file: {error}"
        raise CertificateError(f"cannot read it: {reason}") from None
    except (EOFError, zlib.error) as error:
        raise CertificateError(f"no whole gzip file: {error}") from None


FORMAT = "maestro-env certificate 2"
_KEYS = {"format", "layer", "hardware", "schema", "tiles", "objective", "optimum", "bound"}
_FACTORS = ("latency_cycles", "energy_nj", "area_um2")
# Counts above are not exact as doubles.
_MOST_COUNTED = 2**53
_MOST_SIZES = 2**20


@dataclass(frozen=True)
class ProofClaim:
    """What a certificate claims.

    Args:
        problem: the space.
        objective: what is minimised.
        value: of the best vector; infinite if there is none.
        point: the vector.
        bound: no mapping has a lower value; infinite if none is valid.
    """

    problem: AnyProblem
    objective: Objective
    value: float
    point: list[int] | None
    bound: float

    @property
    def least(self) -> float:
        """No mapping that is evaluated may cost less."""
        return self.bound if self.point is None else self.value


def read_header(line: bytes) -> dict[str, Any]:
    """Return the header of a certificate, which has a format.

    Raises:
        CertificateError: it cannot be read, or is not written as certificates are.
    """
    try:
        header = json.loads(line)
    except (ValueError, RecursionError):
        raise CertificateError(f"the header is not JSON; allowed: {FORMAT!r}") from None
    if not isinstance(header, dict) or "format" not in header:
        given = header.get("format") if isinstance(header, dict) else header
        raise CertificateError(f"format is {quoted(given)}; allowed: {FORMAT!r}")
    if json.dumps(header, sort_keys=True).encode() + b"\n" != line:
        raise CertificateError("the header is not written as JSON with sorted keys, each once")
    return header


def read_claim(header: dict[str, Any]) -> ProofClaim:
    """Return what a header claims of two levels.

    Raises:
        CertificateError: it cannot be read, or its vector does not have its value, to the last bit.
    """
    if header["format"] != FORMAT:
        raise CertificateError(f"format is {quoted(header['format'])}; allowed: {FORMAT!r}")
    require_keys("the header", header, _KEYS)
    problem = _problem(header)
    objective = read_objective(header["objective"])
    bound = math.inf if header["bound"] is None else read_number("bound", header["bound"])
    if header["optimum"] is None:
        return ProofClaim(problem, objective, math.inf, None, bound)
    require_keys("optimum", header["optimum"], {"value", "point"})
    value = read_number("the optimum's value", header["optimum"]["value"])
    if bound > value:
        raise CertificateError(f"the bound {bound} is above the optimum {value}")
    point = read_point(problem, header["optimum"]["point"])
    cost = float(problem.score(problem.space.as_points([point], 1), objective)[0][0])
    if cost != value:
        raise CertificateError(f"the optimum's point costs {cost}, but claimed is {value}")
    return ProofClaim(problem, objective, value, point, bound)


def _problem(header: dict[str, Any]) -> Problem:
    layer, hardware = header["layer"], header["hardware"]
    require_keys("layer", layer, {"operator", "extents", "stride"})
    given = set(hardware) if isinstance(hardware, dict) else set()
    unsaid = LATER.keys() - given
    require_keys("hardware", hardware, {field.name for field in fields(Hardware)} - unsaid)
    kind = str(header["schema"]), str(header["tiles"])
    try:
        space = MapSpace(Layer(**layer), Hardware(**hardware), *kind)
        problem = Problem(space, "exact")
    except MaestroEnvError as error:
        raise CertificateError(str(error)) from None
    named = named_hardware(space.hardware.name) or space.hardware
    if named != space.hardware:
        raise CertificateError(f"the hardware is called {named.name}, and has other figures")
    _require_within_reach(space)
    return problem


def _require_within_reach(space: MapSpace) -> None:
    """Refuse what the bounds do not cover."""
    if space.layer.operator == "TRCONV":
        raise CertificateError("operator TRCONV has no cost under exact")
    # Of a MAC, every level may move three words in and one out, each in a transfer of its own.
    if space.layer.macs * max(16, 5 + 4 * space.hardware.noc_latency) >= _MOST_COUNTED:
        raise CertificateError(
            f"{space.layer.macs:,} MACs with a latency of {space.hardware.noc_latency:,} cycles "
            "make counts that doubles cannot hold"
        )
    for each in space.parameters:
        if each.is_size and each.choices > _MOST_SIZES:
            raise CertificateError(
                f"{each.name} has {each.choices:,} choices; allowed: {_MOST_SIZES:,}"
            )
    for dim in space.extents:
        outer, inner = (
            tile if isinstance(tile, int) else tile.values
            for tile in (space.tile("l2", dim), space.tile("l1", dim))
        )
        if inner not in (outer, 1):
            raise CertificateError(
                f"schema {space.schema} has other tiles of {dim} in L1 than in L2; "
                "allowed: the same ones, or only 1"
            )


def read_objective(given: Any, allowed: Sequence[str] = _FACTORS) -> Objective:
    """Return the objective of a header, a product of some factors."""
    require_keys("objective", given, {"name", "factors"})
    name, factors = given["name"], given["factors"]
    known = isinstance(factors, list) and all(each in allowed for each in factors)
    if not known or not factors:
        raise CertificateError(
            f"factors are {quoted(factors)}; allowed: some of {', '.join(allowed)}"
        )
    with suppress(MaestroEnvError):
        if (objective := find_objective(name)).factors == tuple(factors):
            return objective
    raise CertificateError(f"objective {quoted(name)} is not a product of {', '.join(factors)}")


def read_point(problem: AnyProblem, point: Any) -> list[int]:
    """Return the vector of a header."""
    sizes = problem.space.sizes.tolist()
    if isinstance(point, list) and len(point) == len(sizes):
        pairs = zip(point, sizes, strict=True)
        if all(type(each) is int and 0 <= each < size for each, size in pairs):
            return point
    raise CertificateError("the optimum's point is not a vector of the space")


def require_keys(what: str, given: Any, keys: set[str]) -> None:
    """Refuse what is no dict of these keys."""
    if not isinstance(given, dict) or set(given) != keys:
        found = ", ".join(map(quoted, given)) if isinstance(given, dict) else quoted(given)
        raise CertificateError(f"{what} has {found}; allowed: {', '.join(sorted(keys))}")


def read_number(what: str, value: Any) -> float:
    """Return a number above 0."""
    if type(value) not in (int, float) or not 0 < value <= sys.float_info.max:
        raise CertificateError(f"{what} is {quoted(value)}; allowed: numbers above 0")
    return float(value)
