"""Threaded batches have no data race, and ThreadSanitizer would see one."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from cpp import ROOT
from threads import built, run

LOCK = re.compile(r"^.*std::lock_guard.*\n", re.MULTILINE)


@pytest.mark.slow
def test_no_race_and_the_rows_of_one_thread() -> None:
    ended = run(built().path())
    assert ended.returncode == 0, ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["batch_of.hpp", "thread_pool.cpp"])
def test_a_missing_lock_shows(name: str, tmp_path: Path) -> None:
    name = f"native/evaluate/{name}"
    source, locks = LOCK.subn("", (ROOT / name).read_text(encoding="utf-8"))
    assert locks > 0
    unlocked = tmp_path / "unlocked.cpp"
    unlocked.write_text(source, encoding="utf-8")
    build = built()
    ended = run(replace(build, tree={**build.tree, name: unlocked}).path())
    assert ended.returncode != 0
    assert "data race" in ended.stderr
