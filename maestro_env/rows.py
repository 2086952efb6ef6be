"""Evaluates rows of mappings, one JSON object a line, as the MAESTRO binary would.

A row has ``type``, ``stride`` ([of Y, of X] or null), ``dims`` (extents by name), ``dataflow``
(directives as they stand in a mapping file) and ``hw`` (``num_pes``, ``noc_bw``, ``hop_latency``,
``offchip_bw``, ``simd``). Evaluated rows have ``out`` (CSV cells by header) or ``error`` besides.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, TypeVar

from maestro_env import _native
from maestro_env.binary import EXIT_STATUS, SIGNALS, Machine, equal_nocs, run
from maestro_env.m_file import ReferenceDeath, parse

_USAGE_STATUS = 2
_STRIDED = ("Y", "X")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*'?")
_HARDWARE = ("num_pes", "noc_bw", "hop_latency", "offchip_bw", "simd")


class RowError(Exception):
    """A file of rows that cannot be read or written."""


def main(arguments: list[str]) -> int:
    """Evaluate a file of rows as the command line says; returns the exit status."""
    try:
        paths = _parse_arguments(arguments)
        run_jsonl(Path(paths["jsonl"]), Path(paths["out"]))
    except RowError as error:
        print(f"maestro-compat: {error}", file=sys.stderr)
        return _USAGE_STATUS
    except KeyboardInterrupt:
        print("maestro-compat: interrupted, nothing written", file=sys.stderr)
        return 128 + signal.SIGINT
    return 0


def _parse_arguments(arguments: list[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.removeprefix("--").partition("=")
        if name not in ("jsonl", "out", "model") or not argument.startswith("--"):
            raise RowError(f"unknown argument '{argument}'; allowed: --jsonl, --out, --model")
        values[name] = value if equals else next(rest, "")
    missing = [name for name in ("jsonl", "out") if not values.get(name)]
    if missing:
        raise RowError(f"--{missing[0]} needs a file name")
    if values.get("model", "maestro") != "maestro":
        raise RowError(f"unknown model '{values['model']}'; allowed: maestro")
    return values


def run_jsonl(source: Path, target: Path) -> None:
    """Write the rows of ``source`` with ``out`` or ``error``; all of them or no file.

    Raises:
        RowError: a file or row that cannot be read or written; the message names file and line.
    """
    if target.is_dir() or not target.parent.is_dir():
        raise RowError(f"cannot write {target}: give the name of a file in a folder that exists")
    partial = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with _open_text(source, "rt") as lines, _open_text(partial, "wt", target) as results:
            for number, row in _rows(source, lines):
                results.write(json.dumps(_evaluated(row, source, number)) + "\n")
        partial.replace(target)
    except OSError as error:
        raise RowError(f"{error.filename or source}: {error.strerror or error}") from None
    except (EOFError, UnicodeDecodeError) as error:
        raise RowError(f"{source}: {error}") from None
    finally:
        partial.unlink(missing_ok=True)


def _open_text(path: Path, mode: str, named: Path | None = None) -> IO[str]:
    opener: Any = gzip.open if (named or path).suffix == ".gz" else open
    opened: IO[str] = opener(path, mode, encoding="utf-8")
    return opened


def _rows(source: Path, lines: IO[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise RowError(f"{source}, line {number}: not JSON: {error}") from None
        if not isinstance(row, dict):
            raise RowError(f"{source}, line {number}: a row must be a JSON object")
        yield number, row


def _evaluated(row: dict[str, Any], source: Path, number: int) -> dict[str, Any]:
    inputs = {key: value for key, value in row.items() if key not in ("out", "error")}
    try:
        return {**inputs, **evaluate_row(inputs)}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        problem = f"missing key {error}" if isinstance(error, KeyError) else str(error)
        raise RowError(f"{source}, line {number}: {' '.join(problem.split())}") from None


def evaluate_row(row: dict[str, Any]) -> dict[str, Any]:
    """Evaluate one row of the reference format: ``{"out": cells}`` or ``{"error": death}``."""
    given = _require("hw", row["hw"], dict)
    hw = {name: _int32(f"hw.{name}", given[name]) for name in _HARDWARE}
    nocs = equal_nocs(hw["noc_bw"], hw["hop_latency"])
    machine = Machine(hw["num_pes"], hw["simd"], hw["offchip_bw"], nocs)
    try:
        (cells,) = run(parse(_row_text(row)), machine)
    except ReferenceDeath as death:
        code = -SIGNALS[death.kind] if death.kind in SIGNALS else EXIT_STATUS
        return {"error": {"exit": code, "message": str(death)}}
    return {"out": dict(zip(_CELL_NAMES, cells, strict=True))}


def _int32(name: str, value: object) -> int:
    if type(value) is not int or not -(2**31) <= value < 2**31:
        raise ValueError(f"{name} is {value!r}; allowed: 32-bit integers")
    return value


def _row_text(row: dict[str, Any]) -> str:
    dims = _require("dims", row["dims"], dict)
    for name, extent in dims.items():
        if not _NAME.fullmatch(name):
            raise ValueError(f"dims has the name {name!r}; allowed: a letter, letters, digits, '")
        _int32(f"dims.{name}", extent)
    flow = "\n".join(_require("dataflow", row["dataflow"], list))
    operator = _require("type", row["type"], str)
    return (
        f"Network n {{ Layer l {{ Type: {operator} {_stride_text(row['stride'])}\n"
        f"Dimensions {{ {' '.join(f'{name}: {extent}' for name, extent in dims.items())} }}\n"
        f"Dataflow {{\n{flow}\n}} }} }}"
    )


def _stride_text(stride: object) -> str:
    if stride is None:
        return ""
    if not isinstance(stride, list) or len(stride) != len(_STRIDED):
        raise ValueError(f"stride is {stride!r}; allowed: null or [of Y, of X]")
    of_y, of_x = (_int32("stride", each) for each in stride)
    return f"Stride {{ X: {of_x} Y: {of_y} }}"


_Kind = TypeVar("_Kind")


def _require(name: str, value: object, kind: type[_Kind]) -> _Kind:
    if not isinstance(value, kind):
        raise ValueError(f"{name} is {value!r}; allowed: a {kind.__name__}")
    return value


def _cell_names() -> list[str]:
    """Headers without network and layer name; the second of two equal ones is the maximum."""
    names = [name.strip() for name in _native.CSV_HEADER.split(",")][2:]
    names[names.index("Compute Delay (Min)", names.index("Compute Delay (Min)") + 1)] = (
        "Compute Delay (Max)"
    )
    return names


_CELL_NAMES = _cell_names()
