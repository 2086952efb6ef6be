"""Fixtures that several test files share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

Main = Callable[[Sequence[str]], int]


@pytest.fixture
def assert_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[Main, list[str], str], None]:
    """What asserts that a command refuses flags in one line with some message, and does nothing."""

    def check(main: Main, flags: list[str], message: str) -> None:
        monkeypatch.chdir(tmp_path)
        assert main(flags) == 2
        shown = capsys.readouterr()
        assert (shown.out, shown.err.count("\n")) == ("", 1)
        assert message in shown.err
        assert list(tmp_path.iterdir()) == []

    return check
