"""What every text that users write must do: be read, or be refused by the one error for that."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from pathlib import Path

from maestro_env.base.errors import LayerError, MappingError
from maestro_env.base.m_file import ReferenceDeath, parse, parse_hardware
from maestro_env.compat.evaluation import equal_nocs, evaluate_exact, run
from maestro_env.evaluation.cost_and_status import STATUSES
from maestro_env.mapspace.mapping import Mapping
from maestro_env.workloads.finding import EXAMPLES, parse_layer

COMPAT = Path(__file__).parent / "data" / "compat"
MACHINE = (equal_nocs(16, 1), 16, 1, 16)
DEATHS = {"exit", "sigfpe", "abort", "segv", "undefined"}
ROW = {
    "type": "CONV",
    "stride": [1, 1],
    "dims": {"K": 4, "C": 6, "Y": 8, "X": 8, "R": 3, "S": 3},
    "hw": dict.fromkeys(("num_pes", "noc_bw", "hop_latency", "offchip_bw", "simd"), 4)
    | {"l1": None, "l2": None},
}


def require_known(death: ReferenceDeath) -> None:
    assert death.kind in DEATHS, death.kind


def read_mapping_file(text: str) -> None:
    """As the drop-in reads and evaluates it."""
    try:
        network = parse(text)
        rows = run(network, *MACHINE)
    except ReferenceDeath as death:
        require_known(death)
    else:
        assert len(rows) == len(network.layers)


def read_hardware_file(text: str) -> None:
    try:
        parse_hardware(text)
    except ReferenceDeath as death:
        require_known(death)


def read_mapping(text: str) -> None:
    """As the Python interface reads both forms; what it has read it can write and read again."""
    for reader in (Mapping.from_m, Mapping.from_json):
        try:
            mapping = reader(text)
        except MappingError:
            continue
        assert Mapping.from_json(mapping.to_json()) == mapping
        assert str(mapping)


def read_dataflow(text: str) -> None:
    """As a row's list of directives under the exact model, which has a status for everything."""
    assert evaluate_exact({**ROW, "dataflow": text.split("\n")})["status"] in STATUSES


def read_layer(text: str) -> None:
    try:
        layer = parse_layer(text)
    except LayerError:
        return
    assert layer.name == "".join(text.split())


READERS = (read_mapping_file, read_hardware_file, read_mapping, read_dataflow, read_layer)


def check(data: bytes) -> None:
    """Read a text by the reader its first byte names."""
    if data:
        READERS[data[0] % len(READERS)](data[1:].decode("latin-1"))


def seeds() -> Iterator[bytes]:
    """Yield texts of every kind, each after the byte that names its reader."""
    cases = json.loads((COMPAT / "written.json").read_text(encoding="utf-8"))
    with lzma.open(COMPAT / "generated.jsonl.xz", "rt", encoding="utf-8") as file:
        cases += map(json.loads, file)
    files = [lines for case in cases for lines in case["files"].values()]
    texts = sorted({"\n".join(lines) for lines in files})
    for text in texts:
        for index, reader in enumerate(READERS):
            if reader is not read_layer:
                yield bytes([index]) + text.encode("latin-1", "replace")
    for text in texts:
        try:
            mapping = Mapping.from_m(text)
        except MappingError:
            continue
        yield bytes([READERS.index(read_mapping)]) + mapping.to_json().encode()
    for text in EXAMPLES.split(" or "):
        yield bytes([READERS.index(read_layer)]) + text.encode()
