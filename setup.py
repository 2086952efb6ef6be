"""Builds the C++ core; everything declarative is in pyproject.toml."""

import os
from pathlib import Path

from pybind11.setup_helpers import ParallelCompile, Pybind11Extension, build_ext
from setuptools import setup

ROOT = Path(__file__).parent
# MAPPING_SANITIZE=1 builds with the address and undefined-behaviour sanitizers.
# Python's own flags make signed overflow wrap, which would hide it.
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-wrapv", "-g"]
sanitize = SANITIZE if os.environ.get("MAPPING_SANITIZE") else []

extension = Pybind11Extension(
    "maestro_env._native",
    sorted(str(path.relative_to(ROOT)) for path in (ROOT / "native").rglob("*.cpp")),
    depends=sorted(str(path.relative_to(ROOT)) for path in (ROOT / "native").rglob("*.hpp")),
    cxx_std=20,
    # No fused multiply-add: the reference's figures are plain IEEE arithmetic.
    extra_compile_args=["-O3", "-ffp-contract=off", "-Wall", "-Wextra", *sanitize],
    extra_link_args=["-pthread", *sanitize],
)

ParallelCompile("NPY_NUM_BUILD_JOBS").install()
setup(ext_modules=[extension], cmdclass={"build_ext": build_ext})
