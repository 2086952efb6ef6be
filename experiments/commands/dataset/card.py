"""The cards of a data set: Markdown under YAML, and Croissant 1.0 (mlcommons.org/croissant)."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from maestro_env.datasets.parquet import SPLITS, STATUS, Dataset, column_units
from maestro_env.evaluation.cost_and_status import METRICS, unit_of
from maestro_env.experiments.commands.dataset.flags import Config
from maestro_env.experiments.pages.writer import templates
from maestro_env.experiments.shell.files import file_digest, write_json, write_text
from maestro_env.experiments.shell.flags import to_flags
from maestro_env.experiments.shown.tables import in_markdown
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


CROISSANT = "croissant.json"

# The context that the specification prescribes, section "Namespaces".
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
_URLS = {
    "train": "cr:TrainingSplit",
    "validation": "cr:ValidationSplit",
    "test": "cr:TestSplit",
}


def write_croissant(dataset: Dataset) -> None:
    """Write the card beside the files; a record set is a file, named by its layer and split."""
    files = [(name, path) for name in dataset.problems for path in dataset.files(name)]
    facts = dataset.facts
    write_json(
        dataset.directory / CROISSANT,
        {
            "@context": _CONTEXT,
            "@type": "sc:Dataset",
            "name": "maestro-env-mappings",
            "description": (
                f"Mappings of {', '.join(dataset.problems)} to an accelerator, with all figures "
                f"of the cost model {facts['problem']['model']}; README.md has the columns."
            ),
            "conformsTo": [
                "http://mlcommons.org/croissant/1.0",
                "http://mlcommons.org/croissant/RAI/1.0",
            ],
            "license": "https://spdx.org/licenses/MIT.html",
            "version": "1.0.0",
            "rai:dataCollection": (
                f"Computed, not measured: drawn by {facts['draw']['draw']} with seed "
                f"{facts['draw']['seed']}, evaluated by a cost model. No personal data."
            ),
            "rai:dataLimitations": (
                "Figures are those of the model. Splits are other draws of the same distribution: "
                "a mapping may be in two of them."
            ),
            "distribution": [_file_object(dataset, path) for _, path in files],
            "recordSet": [_splits(), *(_record_set(dataset, name, path) for name, path in files)],
        },
    )


def _id(dataset: Dataset, path: Path) -> str:
    return path.relative_to(dataset.directory).as_posix()


def _file_object(dataset: Dataset, path: Path) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": _id(dataset, path),
        "name": path.name,
        "contentUrl": _id(dataset, path),
        "encodingFormat": "application/x-parquet",
        "sha256": file_digest(path),
    }


def _splits() -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": "splits",
        "name": "splits",
        "dataType": "cr:Split",
        "key": {"@id": "splits/name"},
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"splits/{name}",
                "name": name,
                "dataType": kind,
            }
            for name, kind in (("name", "sc:Text"), ("url", "sc:URL"))
        ],
        "data": [{"splits/name": split, "splits/url": _URLS[split]} for split in SPLITS],
    }


def _record_set(dataset: Dataset, layer: str, path: Path) -> dict[str, Any]:
    source = _id(dataset, path)
    name = source.removesuffix(path.suffix)
    split, _, _ = path.name.partition("-")
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": f"Mappings of {layer}, {split}.",
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{name}/{column}",
                "name": column,
                "description": f"unit: {unit}",
                "dataType": _data_type(column),
                "source": {"fileObject": {"@id": source}, "extract": {"column": column}},
            }
            for column, unit in column_units(dataset.problems[layer].space).items()
        ],
    }


def _data_type(column: str) -> str:
    if column == STATUS:
        return "sc:Text"
    return "sc:Float" if column in METRICS else "sc:Integer"
