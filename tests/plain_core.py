"""The plain implementation of the models, to compute with in place of the product's.

``tests/plain`` holds the models as they are read beside their specification; everything else of
the core, the bindings included, is the product's.
"""

from __future__ import annotations

import importlib.util
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from types import ModuleType

import pybind11
from cpp import PRODUCT_FLAGS, Build, files

import maestro_env

PLAIN = "tests/plain"
# What the models have in common for mappings side by side is not needed either.
REPLACED = ("native/exact/", "native/maestro/", "native/wide/")
FLAGS = (
    *PRODUCT_FLAGS,
    # Types of its own: those of the product have the same names.
    '-DPYBIND11_STDLIB="_plain"',
    f"-I{pybind11.get_include()}",
    f"-I{sysconfig.get_path('include')}",
)


def tree() -> dict[str, Path]:
    """Return the product's core with the plain files in place of the product's own."""
    shared = {p: file for p, file in files("native").items() if not p.startswith(REPLACED)}
    plain = {p.replace(PLAIN, "native", 1): file for p, file in files(PLAIN).items()}
    return shared | plain


@cache
def load() -> ModuleType:
    """Return the module, compiled by the first who asks."""
    path = Build("_native.so", tree(), FLAGS, ["-shared"]).path()
    loader = ExtensionFileLoader("plain._native", str(path))
    spec = importlib.util.spec_from_file_location(loader.name, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@contextmanager
def plain_core() -> Iterator[None]:
    """Let every module compute with the plain core; what it makes must not be used afterwards."""
    product, plain = maestro_env._native, load()
    users = [each for each in sys.modules.values() if vars(each).get("_native") is product]
    for user in users:
        user._native = plain
    try:
        yield
    finally:
        for user in users:
            user._native = product
