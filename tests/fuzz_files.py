"""Coverage-guided fuzzing of what reads texts: ``python tests/fuzz_parser.py --seconds 600``.

Mapping and hardware files as the drop-in reads them, mappings as Python does, rows' dataflows and
layers. Needs atheris, libFuzzer for Python (pip install atheris). What it learns stays in
``build/fuzz/parser``, an input that fails beside it.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Iterable
from pathlib import Path

CORPUS = Path(__file__).parents[1] / "build" / "fuzz" / "parser"
INSTRUMENTED = ["maestro_env"]


def plant(corpus: Path, seeds: Iterable[bytes]) -> None:
    """Write the seeds into the corpus."""
    corpus.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        (corpus / hashlib.sha1(seed, usedforsecurity=False).hexdigest()).write_bytes(seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=600)
    given = parser.parse_args()
    try:
        import atheris
    except ImportError:
        sys.exit("fuzzing the parsers needs atheris (pip install atheris)")
    # Only modules imported in here report what they run.
    with atheris.instrument_imports(include=INSTRUMENTED):
        import parser_target
    plant(CORPUS, parser_target.seeds())
    options = (f"-max_total_time={given.seconds}", f"-artifact_prefix={CORPUS}-", str(CORPUS))
    atheris.Setup([sys.argv[0], *options], parser_target.check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
