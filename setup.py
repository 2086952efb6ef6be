"""Builds the C++ core; everything declarative is in pyproject.toml."""

import os
from pathlib import Path

from pybind11.setup_helpers import ParallelCompile, Pybind11Extension, build_ext
from setuptools import setup

ROOT = Path(__file__).parent
# Folders at the top that are packages of maestro_env, by links that archives do not hold.
LINKED = ("clustering", "experiments", "mappers")
# MAPPING_SANITIZE=1 builds with the address and undefined-behaviour sanitizers, MAPPING_DEBUG=1
# without optimisation. Python's own flags make signed overflow wrap, which would hide it.
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-wrapv", "-g"]
DEBUG = ["-O0", "-g"]
sanitize = SANITIZE if os.environ.get("MAPPING_SANITIZE") else []
debug = DEBUG if os.environ.get("MAPPING_DEBUG") else []
kind = "sanitize" if sanitize else "debug" if debug else "release"


def is_outdated(target: str, source: str) -> bool:
    """Tell whether a file that the object was compiled from, or this file, is newer."""
    listed = Path(target).with_suffix(".d")
    if not listed.exists():
        return True
    inputs = [__file__, *listed.read_text(encoding="utf-8").replace("\\\n", " ").split()[1:]]
    made = os.path.getmtime(target)
    return any(not os.path.exists(file) or os.path.getmtime(file) > made for file in inputs)


extension = Pybind11Extension(
    "maestro_env._native",
    sorted(str(path.relative_to(ROOT)) for path in (ROOT / "native").rglob("*.cpp")),
    depends=["setup.py", *(str(path.relative_to(ROOT)) for path in ROOT.glob("native/**/*.hpp"))],
    cxx_std=20,
    extra_compile_args=[
        # No fused multiply-add: the reference's figures are plain IEEE arithmetic.
        *("-O3", "-ffp-contract=off", "-Wall", "-Wextra"),
        # Nothing reads errno or floating-point flags, which keep loops from being vectorised.
        *("-fno-math-errno", "-fno-trapping-math"),
        # Without debug symbols, which Python's own flags ask for; with a list of headers.
        *("-g0", "-MMD"),
        *sanitize,
        *debug,
    ],
    extra_link_args=["-pthread", *sanitize],
)

for folder in LINKED:
    link = ROOT / "maestro_env" / folder
    if not link.exists():
        link.symlink_to(Path("..", folder))
ParallelCompile("NPY_NUM_BUILD_JOBS", needs_recompile=is_outdated).install()
setup(
    ext_modules=[extension],
    cmdclass={"build_ext": build_ext},
    # Objects are kept, also those that pip asks for; a kind of build has its own.
    options={"build_ext": {"build_temp": f"build/{kind}"}},
)
