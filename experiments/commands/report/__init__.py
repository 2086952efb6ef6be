"""``maestro-env report``: write HTML, Markdown and CSV of the results of other commands."""

from __future__ import annotations

from collections import Counter
from dataclasses import MISSING, dataclass, replace
from pathlib import Path

from maestro_env.experiments.commands.report.directories import read_section
from maestro_env.experiments.pages.sections import Section
from maestro_env.experiments.pages.writer import KINDS, write_report
from maestro_env.experiments.shell.flags import option, out_option
from maestro_env.experiments.shell.printing import print_lines


@dataclass(frozen=True)
class Config:
    """Write report.html (one self-contained page), report.md and report.csv."""

    directories: tuple[str, ...] = option(
        MISSING,
        "directory of map, run, compare, optimum, sweep or codesign",
        value="directory",
        several=True,
    )
    out: str | None = out_option("the first directory")


def execute(config: Config) -> int:
    """Read, write, say where, and return the exit status."""
    directories = list(dict.fromkeys(Path(each) for each in config.directories))
    sections = _named([read_section(each) for each in directories], directories)
    out = Path(config.out) if config.out is not None else directories[0]
    paths = [out / f"report{ending}" for ending in KINDS]
    for path in paths:
        write_report(sections, path)
    print_lines(*(f"report: {path}" for path in paths))
    return 0


def _named(sections: list[Section], directories: list[Path]) -> list[Section]:
    """Tell sections of one title apart by their directories."""
    times = Counter(each.title for each in sections)
    return [
        replace(each, title=f"{each.title} ({place})") if times[each.title] > 1 else each
        for each, place in zip(sections, directories, strict=True)
    ]
