"""The card of a data set: what it holds and how it was made, as Markdown under YAML."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from experiments.commands.dataset.flags import Config
from experiments.shell.files import write_text
from experiments.shell.flags import to_flags
from maestro_env.base.errors import printable
from maestro_env.datasets.parquet import Dataset
from maestro_env.evaluation.cost import METRICS, unit_of
from maestro_env.mapspace.parameter import Parameter
from mappers.parts.draws import DRAWS

CARD = "README.md"
_SIZES = {10**3: "n<1K", 10**4: "1K<n<10K", 10**5: "10K<n<100K", 10**6: "100K<n<1M"}
_SIZES |= {10**7: "1M<n<10M", 10**8: "10M<n<100M", 10**9: "100M<n<1B"}


def write_card(dataset: Dataset, config: Config) -> None:
    """Write the card beside the files."""
    layers = [_layer(dataset, name) for name in dataset.problems]
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    text = environment.get_template("card.md.j2").render(
        facts=dataset.facts,
        problem=dataset.facts["problem"],
        layers=layers,
        front=yaml.safe_dump(_front(layers), sort_keys=False),
        command=shlex.join(to_flags(replace(config, out=None, resume=False, threads=1))),
        searched=config.draw not in DRAWS,
        meaning=_meaning,
        units={name: unit_of(name) for name in METRICS},
    )
    write_text(dataset.directory / CARD, text)


def _layer(dataset: Dataset, name: str) -> dict[str, Any]:
    problem, statuses = dataset.problems[name], dataset.statuses(name)
    rows = sum(statuses.values())
    return {
        "name": printable(name).replace("|", "\\|"),
        "folder": dataset.facts["layers"][name]["folder"],
        "shape": f"{problem.layer.operator} {problem.layer.dimensions}",
        "rows": rows,
        "valid": statuses.get("ok", 0) / rows,
        "statuses": statuses,
        "dims": ", ".join(problem.space.extents),
        "parameters": problem.space.parameters,
    }


def _meaning(parameter: Parameter) -> str:
    """Return what the choices of a parameter stand for."""
    if parameter.kind == "order":
        return "rank"
    if isinstance(parameter.values, range):
        return "choice + 1"
    return ", ".join(map(str, parameter.values))


def _front(layers: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what tools read of a card: a configuration for each layer."""
    rows = sum(each["rows"] for each in layers)
    return {
        "license": "mit",
        "pretty_name": f"Mappings of {len(layers)} layers to an accelerator",
        "tags": ["dnn-accelerator", "mapping", "design-space-exploration", "maestro-env"],
        "size_categories": [next((text for most, text in _SIZES.items() if rows < most), "n>1T")],
        "configs": [
            {"config_name": each["folder"], "data_files": f"{each['folder']}/*.parquet"}
            for each in layers
        ],
    }
