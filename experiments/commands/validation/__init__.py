"""``maestro-env validation``: compare published measurements with the models.

An action is a module of this folder and a line in ``ACTIONS``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from maestro_env.experiments.commands.validation import eyeriss, moca, vta
from maestro_env.experiments.commands.validation.gemmini import agree, read_measured, refit
from maestro_env.experiments.shell.flags import Action, UsageError, act, option


@dataclass(frozen=True)
class Config:
    """Compare measurements of Eyeriss, Gemmini and VTA with what the models say."""

    action: str = option(
        "eyeriss",
        "eyeriss: its times and traffic for AlexNet beside those of its mappings by hierarchy, "
        "and the optimum of exact; gemmini: cycles of its RTL beside those of hierarchy; "
        "gemmini-moca: those of another Gemmini; vta: seconds of VTA on an FPGA",
        bare=True,
    )
    nodes: int = option(300_000, "eyeriss: most boxes of mappings per optimum")
    rows: str | None = option(
        None,
        "all but eyeriss: the measured runs, a CSV file (docs/validation.md)",
        value="file",
    )
    training: str | None = option(
        None, "gemmini: other ones, to fit the constants again and without parts", value="file"
    )


def execute(config: Config) -> int:
    """Compare, print, and return the exit status."""
    return act(config, ACTIONS)


def _eyeriss(config: Config) -> int:
    eyeriss.compare_own_mappings()
    eyeriss.compare(config.nodes)
    return 0


def _rows(config: Config) -> Path:
    if config.rows is None:
        raise UsageError("--rows is missing: give the CSV file of measured runs")
    return Path(config.rows)


def _gemmini(config: Config) -> int:
    rows = read_measured(_rows(config))
    training = read_measured(Path(config.training)) if config.training else None
    agree(rows)
    if training is not None:
        refit(rows, [row for row in training if row.trains])
    return 0


def _moca(config: Config) -> int:
    moca.compare(_rows(config))
    return 0


def _vta(config: Config) -> int:
    vta.compare(_rows(config))
    return 0


ACTIONS: Mapping[str, Action] = {
    "eyeriss": Action(_eyeriss, ("nodes",)),
    "gemmini": Action(_gemmini, ("rows", "training")),
    "gemmini-moca": Action(_moca, ("rows",)),
    "vta": Action(_vta, ("rows",)),
}
