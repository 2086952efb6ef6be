"""Reads checked-out repositories of other tools: files read of those tried, and why not the rest.

``python tests/public_files.py FOLDER...``; MACs are compared with those of ``public_macs``.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from jinja2 import UndefinedError
from public_macs import GIVEN, accelforge, gamma, maestro, scalesim, timeloop, zigzag

from maestro_env import MaestroEnvError, find_network
from maestro_env.accelerators.files.zigzag import read_mappings
from maestro_env.accelerators.finding import find_hierarchy
from maestro_env.base.errors import MappingError
from maestro_env.base.yaml_file import read_yaml_file

Given = dict[str, int]


def network_macs(path: Path) -> tuple[int, Given]:
    """Read a network, with those open numbers that it asks for; known MACs left out count."""
    given: Given = {}
    while True:
        try:
            network = find_network(str(path), given)
            return network.macs + network.left_out_macs, given
        except MaestroEnvError as error:
            asked = {*re.findall(r"\w+", str(error).partition("--dim")[2])} & GIVEN.keys()
            if not asked - given.keys():
                raise
            given |= {name: GIVEN[name] for name in asked}


def accelerator(path: Path) -> tuple[object, dict[str, int]]:
    """Read an accelerator, to which nothing is given."""
    return find_hierarchy(str(path)), {}


def mappings(path: Path) -> tuple[object, dict[str, int]]:
    return read_mappings(read_yaml_file(path, MappingError)), {}


class Kind(NamedTuple):
    """A kind of files: what ends their paths and is in their texts, what reads and counts them."""

    name: str
    ending: str
    within: str
    count: Callable[[Path, Given], int] | None = None
    read: Callable[[Path], tuple[object, Given]] = network_macs


YAML = r"\.ya?ml"
KINDS = [
    Kind("CoSA, layers", f"cosa.*{YAML}", r"^problem:", timeloop),
    Kind("Timeloop, Jinja", YAML, r"(?s)\{[{%].*^problem:|^problem:.*\{[{%]", timeloop),
    Kind("Timeloop, plain", YAML, r"^problem:", timeloop),
    Kind("AccelForge, workloads", YAML, r"(?s)^workload:( \{\{|.*einsums:)", accelforge),
    Kind("SCALE-Sim", r"topologies.*\.csv", "", scalesim),
    Kind("GAMMA", r"model.*\.csv", "^(K,C,Y|M,N,K|O,I)", gamma),
    Kind("MAESTRO", r"\.m", r"^\s*Network", maestro),
    Kind("ZigZag, workloads", f"zigzag/inputs/.*{YAML}", r"^- id: ", zigzag),
]
"""A file is of the first kind that fits, and of the first of architectures."""

ARCHITECTURES = [
    # Without what tools wrote, and without the older forms that Accelergy alone reads.
    Kind(
        "Timeloop 0.4, architectures",
        rf"^(?!.*(ref.output|output/|outputs/)).*{YAML}",
        r"(?s)^architecture:(?!.*^\s+(subtree|local|components):).*^\s+nodes:",
        read=accelerator,
    ),
    Kind(
        "AccelForge, architectures",
        YAML,
        r"(?s)^arch:\s.*^  nodes:",
        read=accelerator,
    ),
    Kind("ZigZag, hardware", f"zigzag/inputs/.*{YAML}", "^operational_array:", read=accelerator),
    Kind("ZigZag, mappings", f"zigzag/inputs/.*{YAML}", "^- name: ", read=mappings),
]


def kind_of(path: Path, kinds: list[Kind]) -> Kind | None:
    text = path.read_text(errors="replace") if re.search(r"\.(ya?ml|csv|m)$", path.name) else ""
    for kind in kinds if text else ():
        if re.search(f"{kind.ending}$", str(path)) and re.search(kind.within, text, re.MULTILINE):
            return kind
    return None


def compare(kind: Kind, path: Path) -> tuple[str, str]:
    """Return what became of a file, and the reason where it is refused or counted otherwise."""
    try:
        found, given = kind.read(path)
    except MaestroEnvError as error:
        said = str(error).replace(str(path), "").replace(path.stem, "")
        return "refused", re.sub("[0-9]+", "#", said)
    try:
        own = kind.count and kind.count(path, given)
    except (LookupError, ValueError, UndefinedError):
        own = None
    if own is None:
        return "read", ""
    return ("right", "") if own == found else ("wrong", f"{found} MACs, counted {own}")


def main(folders: list[str]) -> None:
    results: dict[str, Counter[str]] = defaultdict(Counter)
    reasons: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(each for folder in folders for each in Path(folder).rglob("*.*")):
        for kind in filter(None, (kind_of(path, KINDS), kind_of(path, ARCHITECTURES))):
            result, reason = compare(kind, path)
            results[kind.name][result] += 1
            if reason:
                reasons[f"{kind.name}, {result}: {reason[:150]}"].append(path)
    for name, counts in results.items():
        whole, right = sum(counts.values()), counts["right"]
        sys.stdout.write(
            f"{name:22} {whole - counts['refused']} of {whole} read; MACs as counted in {right}, "
            f"otherwise in {counts['wrong']}, not counted in {counts['read']}\n"
        )
    for reason, paths in sorted(reasons.items(), key=lambda item: -len(item[1])):
        sys.stdout.write(f"{len(paths):5} {reason}, such as {paths[0]}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
