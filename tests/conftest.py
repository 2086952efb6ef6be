"""Fixtures that several test files share."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, settings

Main = Callable[[Sequence[str]], int]


def pytest_configure(config: pytest.Config) -> None:
    """Draw few examples of each property, and more of them where slow tests run."""
    settings.register_profile(
        "gate",
        # How long an example takes says more about the machine than about the code.
        deadline=None,
        max_examples=10 if config.option.markexpr == "not slow" else 60,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("gate")
    # Looking for garbage would take a tenth of the time.
    gc.set_threshold(20_000, 20, 20)


def pytest_collection_finish() -> None:
    """Let the collector of garbage pass over modules and tests, which stay."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def rendering() -> Iterator[Callable[[], AbstractContextManager[Any]]]:
    """Leave pictures empty outside of a context: to render them is most of what commands take."""
    from matplotlib.figure import Figure

    rendering = partial(patch.object, Figure, "savefig", Figure.savefig)
    with patch.object(Figure, "savefig", lambda _, file, **__: Path(file).touch()):
        yield rendering


@pytest.fixture(scope="session", autouse=True)
def _asked_once() -> Iterator[None]:
    """Ask for the commit and for versions of packages once, not in every command."""
    from maestro_env.experiments.store import records

    once = {name: cache(getattr(records, name)) for name in ("_commit", "version")}
    with patch.multiple(records, **once):
        yield


@pytest.fixture
def rendered(rendering: Callable[[], AbstractContextManager[Any]]) -> Iterator[None]:
    """Render the pictures that a test looks at."""
    with rendering():
        yield


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
