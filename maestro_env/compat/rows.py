"""Evaluates mappings given as JSON, one object a line; results are added (``evaluation``)."""

from __future__ import annotations

import gzip
import json
import os
import signal
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from maestro_env.base.errors import ModelError, TooLongError, complain, quoted
from maestro_env.base.reading import open_bytes, read_lines
from maestro_env.compat.evaluation import evaluate_exact, evaluate_hierarchy, evaluate_maestro
from maestro_env.evaluation.models import MODELS, find_model

_USAGE_STATUS = 2
_Evaluate = Callable[[dict[str, Any]], dict[str, Any]]

_EVALUATORS: dict[str, _Evaluate] = {
    "maestro": evaluate_maestro,
    "exact": evaluate_exact,
    "hierarchy": evaluate_hierarchy,
}
_MAX_LINE = 2**20
_RESULTS = ("out", "error", "status", "traffic")


class RowError(Exception):
    """A file of rows that cannot be read or written."""


def main(arguments: list[str]) -> int:
    """Evaluate the file of rows that the arguments name; return the exit status."""
    try:
        paths = _parse_arguments(arguments)
        run_jsonl(Path(paths["jsonl"]), Path(paths["out"]), paths["model"])
    except RowError as error:
        complain(str(error))
        return _USAGE_STATUS
    except KeyboardInterrupt:
        complain("interrupted, nothing written")
        return 128 + signal.SIGINT
    return 0


def _parse_arguments(arguments: list[str]) -> dict[str, str]:
    values = {"model": "maestro"}
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.removeprefix("--").partition("=")
        if name not in ("jsonl", "out", "model") or not argument.startswith("--"):
            raise RowError(f"unknown argument {quoted(argument)}; allowed: --jsonl, --out, --model")
        values[name] = value if equals else next(rest, "")
    missing = [name for name in ("jsonl", "out") if not values.get(name)]
    if missing:
        raise RowError(f"--{missing[0]} needs a file name")
    if (model := values["model"]) not in _EVALUATORS:
        raise RowError(f"unknown model {quoted(model)}; allowed: {', '.join(_EVALUATORS)}")
    try:
        if model in MODELS:
            find_model(model)
    except ModelError as error:
        raise RowError(str(error)) from None
    return values


def run_jsonl(source: Path, target: Path, model: str) -> None:
    """Write the rows of ``source`` with their results; at a ``RowError`` write nothing."""
    target = target.resolve()  # A link stays, its file is replaced.
    if not target.parent.is_dir() or (target.exists() and not target.is_file()):
        raise RowError(f"cannot write {target}: give the name of a file in a folder that exists")
    partial = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with open_bytes(source) as file, _open(partial, target) as results:
            lines = gzip.GzipFile(fileobj=file) if _is_gzip(source) else file
            for number, line in enumerate(read_lines(lines, _MAX_LINE), start=1):
                if not line.strip():
                    continue
                try:
                    evaluated = json.dumps(_evaluated(line, _EVALUATORS[model]))
                except RowError as error:
                    message = " ".join(str(error).split())
                    raise RowError(f"{source}, line {number}: {message}") from None
                results.write(f"{evaluated}\n".encode())
        partial.replace(target)
    except OSError as error:
        raise RowError(f"{error.filename or source}: {error.strerror or error}") from None
    except (EOFError, TooLongError, zlib.error) as error:
        raise RowError(f"{source}: {error}") from None
    finally:
        partial.unlink(missing_ok=True)


def _open(partial: Path, target: Path) -> IO[bytes]:
    """Open a file to write what becomes the target."""
    opener: Any = gzip.open if _is_gzip(target) else open
    opened: IO[bytes] = opener(partial, "wb")
    return opened


def _is_gzip(path: Path) -> bool:
    return path.suffix == ".gz"


def _evaluated(line: bytes, evaluate: _Evaluate) -> dict[str, Any]:
    """Return a line's row with its results."""
    try:
        row = json.loads(line.decode())
    except (ValueError, RecursionError) as error:
        raise RowError(f"not JSON: {error}") from None
    if not isinstance(row, dict):
        raise RowError("a row must be a JSON object")
    inputs = {key: value for key, value in row.items() if key not in _RESULTS}
    try:
        return {**inputs, **evaluate(inputs)}
    except KeyError as error:
        raise RowError(f"missing key {error}") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise RowError(str(error)) from None
