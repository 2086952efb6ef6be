"""The source distribution has every file of the repository."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_the_sdist_has_every_tracked_file(tmp_path: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("needs the git repository")
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    command = [sys.executable, "setup.py", "-q", "sdist", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    (archive,) = tmp_path.iterdir()
    with tarfile.open(archive) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    tracked = {name for name in listed.stdout.splitlines() if not (ROOT / name).is_symlink()}
    assert tracked - names == set()
    assert not [name for name in names if name.startswith("maestro_env/mappers")]
