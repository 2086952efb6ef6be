"""``maestro-env bench``: measure how fast mappings are evaluated on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from experiments.commands.bench.batches import REPEATS, accelerators, rates, searches, singles
from experiments.commands.bench.copies import copies
from experiments.commands.bench.environments import steps
from experiments.commands.bench.speedups import against_binary
from experiments.shell.files import ensure_directory, write_json
from experiments.shell.flags import option
from experiments.store.versions import processor, versions
from maestro_env.base.threads import processors


@dataclass(frozen=True)
class Config:
    """Measure how fast mappings are evaluated on this machine."""

    json: str | None = option(None, "write the figures to this file too", value="file")
    maestro: str | None = option(None, "compare with this MAESTRO binary", value="path")


def execute(config: Config) -> int:
    """Measure, print, and return the exit status."""
    if config.json is not None:
        ensure_directory(Path(config.json).parent)
    report: dict[str, object] = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "processor": processor(),
        "processors": processors(),
        "versions": versions(),
    }
    print(
        f"{report['date']}, {report['processor']}, {report['processors']} processors, median of "
        f"{REPEATS} repeats\n",
        flush=True,
    )
    measures = [rates, accelerators, searches, singles, steps, copies]
    if config.maestro is not None:
        # First what may be refused.
        measures.insert(0, partial(against_binary, config.maestro))
    for measure in measures:
        section = measure()
        section.sheet().print()
        report[section.name] = section.records()
    if config.json is not None:
        write_json(Path(config.json), report)
    return 0
