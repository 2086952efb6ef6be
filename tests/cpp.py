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
# What the product is compiled with, by setup.py, by Python's own flags and by pybind11's.
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
        link: further flags for linking.
        compiler: a command.
    """

    name: str
    tree: Tree
    flags: Sequence[str] = PRODUCT_FLAGS
    link: Sequence[str] = ()
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
        for text in (compiler_version(self.compiler), *self.flags, "", *self.link):
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
        self._run(*flags, *objects, *self.link, "-pthread", "-o", str(linked))
        return linked

    def _run(self, *arguments: str) -> None:
        subprocess.run([self.compiler, *arguments], check=True)


def compiler_version(compiler: str = "g++") -> str:
    """Return the first line of what the compiler says of itself."""
    said = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True)
    return said.stdout.splitlines()[0]


def files(*folders: str) -> dict[str, Path]:
    """Return the tree of all C++ below some folders of the project."""
    found = (path for folder in folders for path in (ROOT / folder).rglob("*.?pp"))
    return {str(path.relative_to(ROOT)): path for path in found}


def without_python(tree: Tree) -> dict[str, Path]:
    """Return a tree less the bindings."""
    return {
        place: file
        for place, file in tree.items()
        if "python" not in Path(place).parts and b"pybind11" not in file.read_bytes()
    }


def headers() -> dict[str, Path]:
    """Return what the drivers in ``tests/native`` share."""
    return {place: file for place, file in files("tests/native").items() if file.suffix == ".hpp"}


def program(driver: str, **build: Any) -> Build:
    """Return the program of one driver of ``tests/native`` with the core."""
    main = f"tests/native/{driver}.cpp"
    tree = {**without_python(files("native")), **headers(), main: ROOT / main}
    return Build(driver, tree, **build)
