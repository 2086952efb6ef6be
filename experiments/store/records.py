"""Records: results in files of a directory, each computed once, and where that was done."""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

from maestro_env.evaluation.models import FIGURES_VERSION
from maestro_env.experiments.shell.files import (
    BRIEF,
    COST_MODELS,
    DamagedError,
    check_same,
    ensure_directory,
    read_each,
    read_record,
    write_record,
    write_text,
)
from maestro_env.experiments.store.claims import Claim

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Versions = dict[str, str | None]
"""Versions by package, the commit and the processor; None for what there is none of."""

_PACKAGES = ("maestro-env", "numpy", "scipy", "gymnasium")
# What decides which points a search from a seed looks at, and their values.
_SEARCHES = "experiments/search/searches.py"
_OTHERS = ("numpy", "scipy", "scikit-learn", "stable-baselines3", "torch")


def versions() -> Versions:
    """Return the versions of everything that computes, and the commit if there is one."""
    packages = {name: _installed(name) for name in _PACKAGES}
    here = {"python": platform.python_version(), COST_MODELS: FIGURES_VERSION}
    return {**here, **packages, "commit": _commit()}


def made_here(*packages: str) -> Versions:
    """Return what records tell of where they are made: ``versions``, processor, other packages."""
    return {
        **versions(),
        "processor": processor(),
        **{package: version(package) for package in packages},
    }


def processor() -> str:
    """Return the name of the host's CPU model."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    models = [line for line in text.splitlines() if line.startswith("model name")]
    return models[0].partition(":")[2].strip() if models else platform.machine()


def code_digest() -> str:
    """Return a digest of all code that decides a search, the compiled core and packages included.

    It takes no commit to change it, nor does anything change it that no search depends on.
    """
    digest = hashlib.sha256(" ".join(str(_installed(name)) for name in _OTHERS).encode())
    package = Path(__file__).parents[2]
    # What experiments/ has more runs searches, and changes none.
    rooms = [room for room in package.iterdir() if room.name != "experiments"]
    files = [path for each in (package / _SEARCHES, *rooms) for path in _files(each)]
    for path in sorted(files):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _files(room: Path) -> list[Path]:
    """Return what lies in a folder, which may be a link to one, and a file itself."""
    below = [path for path in room.rglob("*") if "__pycache__" not in path.parts]
    return [path for path in (room, *below) if path.is_file()]


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    """Return the commit of the repository that tracks this file, marked if it is edited."""
    # Installed code may lie inside a repository that is not its own.
    if _git("ls-files", "--error-unmatch", Path(__file__).name) is None:
        return None
    return _git("describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *arguments],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


Show = Callable[[float, str], None]
"""Shows how much is done, and a note."""

Result = TypeVar("Result")
Setup = TypeVar("Setup", bound="DataclassInstance")


@dataclass(frozen=True, kw_only=True)
class Record(ABC, Generic[Result]):
    """A result that a file keeps; its text names it. It is pickled for other processes.

    Args:
        directory: what keeps it; all that is written is below. In another one the same files are
            written.
        versions: of what computes it.
        again: what computes it again once the file is gone, for messages.
    """

    NOUN: ClassVar[str] = "searches"
    """What several are called."""

    directory: Path
    versions: Versions = field(default_factory=dict)
    again: str = "--resume"

    @property
    @abstractmethod
    def path(self) -> Path:
        """Where the file is once the result is there."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """Return what decides the result, as JSON holds it: objects by section."""

    @abstractmethod
    def compute(self, show: Show) -> dict[str, Any]:
        """Return the result as JSON holds it; ``show`` takes the share that is done."""

    @abstractmethod
    def parse(self, entry: dict[str, Any]) -> Result:
        """Return the result that a file of these facts holds.

        Raises:
            LookupError, TypeError, ValueError, OverflowError: it holds something else.
        """

    @property
    def error_path(self) -> Path:
        """Where the traceback of a failure is."""
        return self.path.with_suffix(".error.txt")

    @property
    def ended(self) -> bool:
        """Whether the result is there."""
        return self.path.exists()

    @property
    def runs_own_code(self) -> bool:
        """Whether it shows how far it is and runs no code of others, which may end its process."""
        return False

    @property
    def way_out(self) -> str:
        """What to do with a file that cannot be read."""
        return f"delete it, and {self.again} runs it again"

    def run(self, show: Show) -> str | None:
        """Compute the result and write it; return the line that tells of a failure."""
        ensure_directory(self.path.parent)
        try:
            entry = self.compute(show)
        except (Exception, SystemExit) as error:  # noqa: BLE001 (a mapper may raise anything)
            return self._tell(error)
        self.write(entry)
        self.error_path.unlink(missing_ok=True)
        return None

    def write(self, entry: dict[str, Any]) -> None:
        """Write the file, last of all: what has one is complete."""
        write_record(self.path, {**self.facts(), **entry, "versions": self.versions})

    def read(self) -> Result | None:
        """Return the result; None if it is not there.

        Raises:
            RecordError: the file is damaged or of something else; the message names it.
        """
        if not self.path.exists():
            return None
        entry = read_record(self.path, self.way_out)
        check_same(self.path, entry, self.facts())
        try:
            return self.parse(entry)
        except (LookupError, TypeError, ValueError, OverflowError) as error:
            what = f"{self.path} is not a result of {self}: {error}"
            raise DamagedError(what, self.way_out) from None

    def _tell(self, error: BaseException) -> str:
        """Write the traceback of a failure, and return the line that tells of it."""
        write_text(self.error_path, "".join(traceback.format_exception(error)))
        notes = " ".join(getattr(error, "__notes__", ()))
        reason = " ".join(f"{type(error).__name__}: {error} {notes}".split())
        told = f"failed: {self}: {reason}; traceback in {self.error_path}"
        return f"{told}; {self.again} runs it again"


def known_fields(kind: type[DataclassInstance], told: Any) -> dict[str, Any]:
    """Return an object of JSON that has the fields of a dataclass.

    Raises:
        ValueError: it has others.
    """
    if set(told) != {each.name for each in fields(kind)}:
        raise ValueError(f"it is {BRIEF.repr(told)}")
    return dict(told)


@dataclass(frozen=True)
class SetupRecord(Record[Result], Generic[Result, Setup]):
    """A record of which one dataclass decides all."""

    setup: Setup

    def __str__(self) -> str:
        return str(self.setup)

    def facts(self) -> dict[str, Any]:
        return {"setup": asdict(self.setup)}


@dataclass(frozen=True)
class Measured(SetupRecord[Result, Setup]):
    """A record whose result is a dataclass of figures; of each kind there is one a seed.

    ``KEY`` is what the figures are called in the file, ``RESULT`` their class.
    """

    KEY: ClassVar[str]
    RESULT: ClassVar[type[DataclassInstance]]

    @property
    @abstractmethod
    def kind(self) -> tuple[str, ...]:
        """Folders that keep the records of all seeds, below one for ``NOUN``."""

    @property
    def path(self) -> Path:
        seed = self.setup.seed  # type: ignore[attr-defined]
        return self.directory.joinpath(self.NOUN, *self.kind, f"{seed}.json")

    @abstractmethod
    def measure(self, show: Show) -> Result:
        """Return the figures; ``show`` takes the share that is done."""

    def compute(self, show: Show) -> dict[str, Any]:
        figures: Any = self.measure(show)
        # Keys that are numbers are texts in JSON.
        return {self.KEY: json.loads(json.dumps(asdict(figures)))}

    def parse(self, entry: dict[str, Any]) -> Result:
        return self.read_figures(known_fields(self.RESULT, entry[self.KEY]))

    def read_figures(self, told: dict[str, Any]) -> Result:
        """Return the figures that a file holds by name; errors are those of ``parse``."""
        made: Any = self.RESULT(**told)
        return cast(Result, made)


def refuse_damaged(records: Sequence[Record[Any]]) -> None:
    """Read all, so that the damaged ones are told at once.

    Raises:
        RecordError: some are damaged or of something else.
    """
    again = next((each.again for each in records), Record.again)
    for _ in read_each((each.read for each in records), again):
        pass


class Pending:
    """A record that some process has to make; it is pickled for others before it is taken."""

    def __init__(self, work: Record[Any]) -> None:
        self.work = work
        self._failed_before = self._last_failure()
        self._claim: Claim | None = None

    @property
    def has_ended(self) -> bool:
        """Whether it is there, or has failed since this object was made."""
        return self.work.ended or self._last_failure() not in (None, self._failed_before)

    def take(self) -> bool:
        """Take the claim of the file and return whether this succeeded."""
        if self._claim is None:
            self._claim = Claim(self.work.path)
        return self._claim.take()

    def give_back(self) -> None:
        """Let others have the claim, if this process took it."""
        if self._claim is not None:
            self._claim.give_back()
        self._claim = None

    def _last_failure(self) -> int | None:
        try:
            return self.work.error_path.stat().st_mtime_ns
        except FileNotFoundError:
            return None
