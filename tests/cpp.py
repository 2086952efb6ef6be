"""Compiles the C++ of tests, once for every state of its sources, flags and compiler."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
CACHE = ROOT / "build" / "tests"
JOBS = int(os.environ.get("NPY_NUM_BUILD_JOBS", 0)) or os.cpu_count() or 1
# The flags of setup.py, Python and pybind11 that matter for speed.
PRODUCT_FLAGS = (
    *("-std=c++20", "-O3", "-ffp-contract=off"),
    *("-DNDEBUG", "-fwrapv", "-fPIC", "-fvisibility=hidden"),
)

Tree = Mapping[str, Path]
"""Place below the root, as includes see it, to the file that stands there."""


@dataclass(frozen=True)
class Build:
    """What to make of all C++ files of a tree.

    Args:
        name: of the file that is linked.
        tree: sources and headers.
        flags: for compiling.
        compiler: a command.
    """

    name: str
    tree: Tree
    flags: Sequence[str] = PRODUCT_FLAGS
    compiler: str = "g++"

    def path(self) -> Path:
        """Return the linked file, compiled if it is not there yet.

        Raises:
            subprocess.CalledProcessError: it does not compile; the compiler has said why.
        """
        target = CACHE / self._digest() / self.name
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=CACHE) as folder:
                os.replace(self._make(Path(folder)), target)
        return target

    def _digest(self) -> str:
        digest = hashlib.sha256()
        for text in (compiler_version(self.compiler), *self.flags):
            digest.update(f"{text}\n".encode())
        for place, file in sorted(self.tree.items()):
            digest.update(f"{place}\n".encode() + file.read_bytes())
        return digest.hexdigest()[:16]

    def _make(self, folder: Path) -> Path:
        for place, file in self.tree.items():
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, folder / place)
        flags = [*self.flags, f"-ffile-prefix-map={folder}/="]

        def compile_one(source: Path) -> str:
            target = f"{source}.o"
            self._run(*flags, "-c", str(source), "-o", target)
            return target

        with ThreadPoolExecutor(JOBS) as pool:
            objects = list(pool.map(compile_one, sorted(folder.rglob("*.cpp"))))
        linked = folder / self.name
        self._run(*flags, *objects, "-pthread", "-o", str(linked))
        return linked

    def _run(self, *arguments: str) -> None:
        subprocess.run([self.compiler, *arguments], check=True)


def compiler_version(compiler: str = "g++") -> str:
    """Return the first line of what the compiler says of itself."""
    said = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True)
    return said.stdout.splitlines()[0]


def program(driver: str, **build: Any) -> Build:
    """Return the program of one driver of ``tests/native`` with the core, less the bindings."""
    main = ROOT / "tests" / "native" / f"{driver}.cpp"
    core = (file for file in (ROOT / "native").rglob("*.?pp") if file.parent.name != "python")
    tree = {str(file.relative_to(ROOT)): file for file in (*core, *main.parent.glob("*.hpp"), main)}
    return Build(driver, tree, **build)
