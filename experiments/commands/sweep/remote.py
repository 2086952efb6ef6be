"""Copies a directory to an object store, or to whatever else fsspec knows."""

from __future__ import annotations

from pathlib import Path

from experiments.shell.files import LOCK, RecordError
from experiments.shell.flags import UsageError
from maestro_env.base.errors import MissingExtraError, quoted


class Remote:
    """Where a directory is copied to.

    Args:
        url: such as ``s3://BUCKET/NAME`` or ``file:///PATH``.

    Raises:
        MissingExtraError: the extra ``remote`` is not installed.
        UsageError: no such protocol, or the package of the protocol is missing.
    """

    def __init__(self, url: str) -> None:
        try:
            from fsspec.core import url_to_fs
        except ModuleNotFoundError as error:
            raise MissingExtraError("--copy-to", str(error.name), "remote") from None
        self._url = url
        try:
            self._files, self._root = url_to_fs(url)
        except Exception as error:  # noqa: BLE001 (each protocol has errors of its own)
            raise UsageError(f"--copy-to {quoted(url)}: {error}") from None

    def __str__(self) -> str:
        return self._url

    def require_outside(self, directory: Path) -> None:
        """Refuse to copy a directory into itself: each copy would hold the one before.

        Raises:
            UsageError: it is the directory, or below it.
        """
        if "file" not in self._files.protocol:
            return
        target = Path(self._root).resolve()
        if directory.resolve() in (target, *target.parents):
            raise UsageError(
                f"--copy-to {quoted(self._url)} is in {directory}, which is what is copied; "
                "give a place outside of it"
            )

    def copy(self, directory: Path) -> None:
        """Copy all files of a directory.

        Raises:
            RecordError: it cannot be written; what is in the directory stays.
        """
        paths = [
            path
            for path in sorted(directory.rglob("[!.]*"))
            if path.is_file() and path.suffix != LOCK
        ]
        targets = [f"{self._root}/{path.relative_to(directory).as_posix()}" for path in paths]
        try:
            for parent in {target.rpartition("/")[0] for target in targets}:
                self._files.makedirs(parent, exist_ok=True)
            self._files.put([str(path) for path in paths], targets)
        except Exception as error:  # noqa: BLE001 (each protocol has errors of its own)
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise RecordError(
                f"cannot copy {directory} to {self._url}: {reason}; the results are in {directory}"
            ) from None
