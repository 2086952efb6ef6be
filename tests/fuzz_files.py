"""Coverage-guided fuzzing of what reads files and programs: ``python tests/fuzz_files.py``.

All targets of ``file_targets``, or those named, each for ``--seconds``. Needs atheris, libFuzzer
for Python (pip install atheris), and onnx. What a target learns stays in ``build/fuzz``, an input
that fails, or that takes a minute, beside it.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

CORPORA = Path(__file__).parents[1] / "build" / "fuzz"
INSTRUMENTED = ["maestro_env", "maestro_env.experiments.commands"]
LONGEST = 60  # seconds of an input
TARGETS = ("parser", "certificates", "accelerators", "onnx", "programs")


def plant(corpus: Path, seeds: Iterable[bytes]) -> None:
    """Write the seeds into the corpus."""
    corpus.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        (corpus / hashlib.sha1(seed, usedforsecurity=False).hexdigest()).write_bytes(seed)


def fuzz(name: str, seconds: int) -> None:
    """Fuzz a target; it ends the process."""
    import atheris

    # Only modules imported in here report what they run.
    with atheris.instrument_imports(include=INSTRUMENTED):
        import file_targets
    (seeds, check), corpus = file_targets.TARGETS[name], CORPORA / name
    plant(corpus, seeds())
    limits = (f"-max_total_time={seconds}", f"-timeout={LONGEST}", f"-artifact_prefix={corpus}-")
    atheris.Setup([sys.argv[0], *limits, str(corpus)], check)
    atheris.Fuzz()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", default=TARGETS, metavar="TARGET")
    parser.add_argument("--seconds", type=int, default=600)
    given = parser.parse_args()
    if len(given.targets) == 1:
        fuzz(given.targets[0], given.seconds)
    own = [sys.executable, __file__, f"--seconds={given.seconds}"]
    ended = [subprocess.run([*own, name]).returncode for name in given.targets]
    sys.exit(any(ended))


if __name__ == "__main__":
    main()
