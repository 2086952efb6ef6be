"""The card of a data set: what it holds and how it was made, as Markdown under YAML."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from maestro_env.datasets.parquet import SPLITS, Dataset
from maestro_env.evaluation.cost import METRICS, unit_of
from maestro_env.experiments.commands.dataset.flags import Config
from maestro_env.experiments.shell.files import write_text
from maestro_env.experiments.shell.flags import to_flags
from maestro_env.experiments.shown.tables import in_markdown
from maestro_env.experiments.shown.templates import templates
from maestro_env.mappers.parts.arrays import DRAWS

CARD = "README.md"
_SIZES = {10**3: "n<1K", 10**4: "1K<n<10K", 10**5: "10K<n<100K", 10**6: "100K<n<1M"}
_SIZES |= {10**7: "1M<n<10M", 10**8: "10M<n<100M", 10**9: "100M<n<1B"}


def write_card(dataset: Dataset, statuses: Mapping[str, Mapping[str, int]], config: Config) -> None:
    """Write the card beside the files, given how many rows of each layer have each status."""
    rows = {name: sum(counts.values()) for name, counts in statuses.items()}
    layers = [
        {
            "name": in_markdown(name).replace("|", "\\|"),
            "folder": dataset.facts["layers"][name]["folder"],
            "problem": problem,
            "statuses": statuses[name],
            "rows": rows[name],
        }
        for name, problem in dataset.problems.items()
    ]
    environment = templates(Path(__file__).parent)
    text = environment.get_template("card.md.j2").render(
        facts=dataset.facts,
        problem=dataset.facts["problem"],
        layers=layers,
        size=next((size for most, size in _SIZES.items() if sum(rows.values()) < most), "n>1T"),
        command=shlex.join(to_flags(replace(config, out=None, resume=False, threads=1))),
        searched=config.draw not in DRAWS,
        splits=SPLITS,
        units={name: unit_of(name) for name in METRICS},
    )
    write_text(dataset.directory / CARD, text)
