"""Files that are written whole or not at all, and read with errors that name them."""

from __future__ import annotations

import csv
import hashlib
import io
import itertools
import json
import os
import re
import reprlib
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import count, zip_longest
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from maestro_env.base.errors import MaestroEnvError, TooLongError, printable, quoted
from maestro_env.base.reading import open_regular, open_text
from maestro_env.evaluation.models import FIGURES_VERSION
from maestro_env.experiments.shell.printing import print_errors

_DIGEST = "digest"
COST_MODELS = "cost models"
"""Among the versions of a record that of the figures; older ones have none, and the first."""

_MOST_BYTES = 2**30
# Where a text begins as a formula does, or as a quoted one; numbers are none.
_FORMULA = re.compile(r"'|[=@](?!$)|[+-](?![\d.]*(e[+-]?\d+)?$)")
_UNSAFE = re.compile(r"[^A-Za-z0-9._]+")
_TEMPORARY = re.compile(r"\..*\.(\d+)(?:@(.+))?\.tmp")
LOCK = ".lock"
"""How the names of claims end."""

_Read = TypeVar("_Read")

BRIEF = reprlib.Repr()
"""Shows values of any length."""

BRIEF.maxstring = 80


class RecordError(MaestroEnvError, ValueError):
    """A file or directory that cannot be written or read; the message names it."""


class DamagedError(RecordError):
    """A record that is of no use; the message says what it is and the way out of it."""

    def __init__(self, what: str, way_out: str) -> None:
        super().__init__(f"{what}; {way_out}")
        self.what = what


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path, and rename it to ``path`` once the block has succeeded.

    Should the power fail, ``path`` is what it was before or what the block wrote.
    """
    refuse_irregular(path)
    if path.is_symlink():
        path = path.resolve()
    # Another process may be writing the same file, on another machine too.
    temporary = path.parent / f".{path.name}.{os.getpid()}@{_host()}.tmp"
    try:
        yield temporary
        _sync(temporary)
        temporary.replace(path)
        with suppress(OSError):  # Some file systems cannot do it with a directory.
            _sync(path.parent)
    except OSError as error:
        raise RecordError(f"cannot write {path}: {error.strerror}") from error
    finally:
        with suppress(OSError):  # Where a folder of the path is a file, there is none.
            temporary.unlink()


def refuse_irregular(path: Path) -> None:
    """Refuse to replace what is no file: a directory, a device, a pipe, links in a circle.

    Raises:
        RecordError: it is one.
    """
    try:
        path.resolve()
    except RuntimeError:
        raise RecordError(f"cannot write {path}: its links lead in a circle") from None
    if path.exists() and not path.is_file():
        raise RecordError(f"cannot write {path}: it is no regular file; give another name")


def remove_temporary(directory: Path) -> None:
    """Remove the temporary files of processes of this machine that have died."""
    for path in directory.rglob(".*.tmp"):
        made = _TEMPORARY.fullmatch(path.name)
        # Older versions did not name the machine.
        if made and made[2] in (None, _host()) and not _lives(int(made[1])):
            with suppress(OSError):
                path.unlink()


def cannot_read(path: Path, error: Exception) -> RecordError:
    """Make the error that names a file and why it cannot be read."""
    reason: object = getattr(error, "strerror", None) or error
    if isinstance(error, RecursionError):
        reason = "it is nested too deeply"
    return RecordError(f"cannot read {path}: {reason}")


@contextmanager
def _opened(path: Path) -> Iterator[io.BufferedReader]:
    """Open a regular file to read it; whatever the block finds wrong with it names it."""
    try:
        with open_regular(path) as file:
            yield file
    except (OSError, ValueError, RecursionError) as error:
        raise cannot_read(path, error) from None


def write_text(path: Path, text: str) -> None:
    """Write a text file, or replace it."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file, or replace it."""
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def write_json(path: Path, value: object) -> None:
    """Write a JSON file, or replace it."""
    write_text(path, json.dumps(value, indent=2, allow_nan=False) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object of at most 1 GiB."""
    with _opened(path) as file:
        if os.fstat(file.fileno()).st_size > _MOST_BYTES:
            raise TooLongError(f"it has more than {_MOST_BYTES:,} bytes, which is the limit")
        value = json.loads(file.read().decode(), parse_constant=_refuse_constant)
    if not isinstance(value, dict):
        raise RecordError(f"cannot read {path}: not a JSON object")
    return value


def _refuse_constant(name: str) -> NoReturn:
    """Refuse NaN and infinities, which ``write_json`` never writes."""
    raise ValueError(f"it has the number {name}")


def require_counts(**counts: Any) -> None:
    """Refuse what a record cannot have counted: all but ``seconds`` are whole, none is negative."""
    for name, given in counts.items():
        kinds = (int, float) if name == "seconds" else (int,)
        if type(given) not in kinds or given < 0:
            raise ValueError(f"{name} is {quoted(given)}; allowed: numbers from 0 on")


def write_csv(path: Path, header: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Write a CSV file, or replace it."""
    buffer = io.StringIO()
    cells = (map(csv_cell, row) for row in rows)
    csv.writer(buffer, lineterminator="\n").writerows([header, *cells])
    write_text(path, buffer.getvalue())


def csv_cell(value: object) -> object:
    """Return a cell that is printable and no formula in a spreadsheet: what would be, quoted."""
    text = printable(value) if isinstance(value, str) else value
    return f"'{text}" if isinstance(text, str) and _FORMULA.match(text) else text


def read_csv(path: Path) -> list[dict[str, str]]:
    """Read a CSV file: its rows by the names of its header, as before ``csv_cell``.

    Lines above the header that begin with ``#`` are comments.
    """
    try:
        with open_text(path, newline="") as file:
            lines = itertools.dropwhile(lambda line: line.startswith("#"), file)
            rows = list(csv.DictReader(lines, strict=True))
    except (OSError, ValueError, csv.Error) as error:
        raise cannot_read(path, error) from None
    for row in rows:
        row.update({key: cell[1:] for key, cell in row.items() if cell and cell[0] == "'"})
    return rows


def write_record(path: Path, entry: dict[str, Any]) -> None:
    """Write a JSON object with a digest of it, or replace it."""
    write_json(path, entry | {_DIGEST: _digest(entry)})


def read_record(path: Path, way_out: str) -> dict[str, Any]:
    """Read what ``write_record`` wrote; an error names the way out of it."""
    try:
        entry = read_json(path)
    except RecordError as error:
        raise DamagedError(str(error), way_out) if path.exists() else error from None
    recorded = entry.pop(_DIGEST, None)
    if recorded is None:
        raise DamagedError(f"{path} has no digest: an older version wrote it", way_out)
    if recorded != _digest(entry):
        raise DamagedError(f"{path} does not fit its digest: it was changed", way_out)
    versions = entry.get("versions")
    made = versions.get(COST_MODELS, "1") if isinstance(versions, dict) else "1"
    if made != FIGURES_VERSION:
        what = f"{path} was made with cost models of version {quoted(made)}"
        raise DamagedError(f"{what}, not {FIGURES_VERSION!r}", way_out)
    return entry


def read_each(reads: Iterable[Callable[[], _Read]], again: str) -> Iterator[_Read]:
    """Yield what each of some reads of records returns.

    Args:
        reads: of a record each; what they raise of damaged ones is told once all were read.
        again: what runs deleted ones again, for messages.

    Raises:
        RecordError: some of them are damaged.
    """
    damaged = []
    for read in reads:
        try:
            found = read()
        except DamagedError as error:
            damaged.append(error)
        else:
            yield found
    if len(damaged) == 1:
        raise damaged[0]
    if damaged:
        print_errors(*(f"damaged: {each.what}" for each in damaged))
        raise RecordError(
            f"{len(damaged)} records are damaged: delete them, and {again} runs them again"
        )


def check_same(path: Path, begun: dict[str, Any], asked: dict[str, Any]) -> None:
    """Check that a file has the settings asked for, and perhaps more: JSON objects by section.

    ``begun`` is what it holds.
    """
    for section, values in json.loads(json.dumps(asked)).items():
        recorded = begun.get(section)
        if not isinstance(recorded, dict):
            raise RecordError(f"{path}: {section!r} is not a JSON object")
        for name, new in values.items():
            old = recorded.get(name)
            if old != new:
                then, now = _unlike(old, new)
                raise RecordError(
                    f"{path}: the run has {section} {name} = {then}, asked for {now}; resume it "
                    "with the same flags and files"
                )


def _unlike(*values: object) -> list[str]:
    """Show values briefly; two that are cut alike, from where they differ."""
    brief = [BRIEF.repr(each) for each in values]
    if len({*brief}) > 1:
        return brief
    texts = [each if isinstance(each, str) else repr(each) for each in values]
    # From the beginning of a line or, in a long one, a few characters before.
    same = next(at for at, each in enumerate(zip_longest(*texts)) if len({*each}) > 1)
    start = max(texts[0].rfind("\n", 0, same) + 1, same - BRIEF.maxstring // 2)
    return [f"...{text[start : start + BRIEF.maxstring]!r}..." for text in texts]


def file_digest(path: Path) -> str:
    """Return the digest of a file's bytes."""
    with _opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_digest(path: Path, digest: str) -> None:
    """Check that a file has the bytes of a digest.

    Raises:
        RecordError: it has others, or cannot be read.
    """
    if file_digest(path) != digest:
        raise RecordError(f"{path} beside it is another file")


def safe_name(text: str) -> str:
    """Return a text as part of a file name; different texts may become the same."""
    return _UNSAFE.sub("-", text)[:80]


def distinct_name(text: str) -> str:
    """Return a text as a file name; different texts become different names."""
    name = safe_name(text)
    digest = hashlib.sha256(os.fsencode(text)).hexdigest()[:12]
    return name if name == text else f"{name}-{digest}"


def run_directory(out: str | None, stem: str, resume: bool = False) -> Path:
    """Make the directory of a new run, or return the one to resume.

    A new one may exist if nothing was finished in it. Without ``out`` it is the first free
    ``runs/<stem>-<n>``.
    """
    if resume:
        if out is None:
            raise RecordError("--resume needs --out DIR, the directory of the run")
        if not Path(out).is_dir():
            raise RecordError(f"--resume: there is no directory {out}")
        return Path(out)
    if out is None:
        name = _UNSAFE.sub("-", stem)
        return next(path for n in count(1) if _make(path := Path("runs") / f"{name}-{n}"))
    directory = Path(out)
    if not _make(directory) and not is_empty(directory):
        raise RecordError(f"run directory {directory} exists: give another --out, or --resume it")
    return directory


def any_directory(out: str | None, stem: str) -> Path:
    """Return the directory of a run that may be there, or without ``out`` make a new one."""
    if out is None:
        return run_directory(None, stem)
    ensure_directory(Path(out))
    return Path(out)


def user_cache() -> Path:
    """Return the user's cache directory, by the XDG specification."""
    home = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (home if home.is_absolute() else Path.home() / ".cache") / "maestro-env"


def ensure_directory(directory: Path) -> None:
    """Make a directory unless it is there."""
    if not _make(directory) and not directory.is_dir():
        raise RecordError(f"cannot make directory {directory}: a file is there; name another one")


def is_empty(directory: Path) -> bool:
    """Say whether a directory exists and holds nothing that was finished."""
    return directory.is_dir() and all(
        _TEMPORARY.fullmatch(each.name) or each.suffix == LOCK for each in directory.iterdir()
    )


def _digest(entry: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(entry, sort_keys=True).encode()).hexdigest()


def _sync(path: Path) -> None:
    """Have a file or directory on the disk before anything that is written later."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _host() -> str:
    return safe_name(socket.gethostname())


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


def _make(directory: Path) -> bool:
    """Make a directory and say whether it is new."""
    try:
        directory.mkdir(parents=True)
    except FileExistsError:
        return False
    except OSError as error:
        raise RecordError(f"cannot make directory {directory}: {error.strerror}") from None
    return True
