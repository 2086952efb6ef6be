"""Fixtures that several test files share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

Main = Callable[[Sequence[str]], int]

# How long an example takes says more about the machine than about the code.
settings.register_profile(
    "any machine", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")


@pytest.fixture
def unrendered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave pictures empty: rendering is matplotlib's, and takes most of the time of a command."""
    savefig = "matplotlib.figure.Figure.savefig"
    monkeypatch.setattr(savefig, lambda _, file, **__: Path(file).touch())


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


@pytest.fixture
def one_torch_thread() -> Iterator[None]:
    """On a busy machine torch's threads mostly wait for each other."""
    from maestro_env.mappers.parts.threads import one_thread

    with one_thread():
        yield
