"""A tiny certificate taken apart, to be put together with something wrong (docs/optimum.md, 9)."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from optimum_helpers import EDP, certified, solve

from maestro_env.accelerators.hardware import Hardware
from maestro_env.evaluation.problem import Problem
from maestro_env.experiments.commands.verify import verify
from maestro_env.experiments.commands.verify.blocks import (
    EVALUATE,
    Block,
    read_block,
    read_roots,
)
from maestro_env.experiments.commands.verify.bounds.boxes import Facts
from maestro_env.experiments.commands.verify.claim import open_stream
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.layer import Layer

FROM_BELOW = 128
_MACHINE = Hardware(2, 24, 60, noc_bw=2, noc_hop_latency=2, offchip_bw=1, name="tiny")
TINY = Problem(MapSpace(Layer("GEMM", {"M": 2, "N": 3, "K": 2}), _MACHINE))


@dataclass(frozen=True)
class Entry:
    """What becomes of a box: its trims, its axis, and of each part its value and if it goes on."""

    trims: list[tuple[int, int]]
    action: int
    parts: list[tuple[int, bool]]


@dataclass(frozen=True)
class Parts:
    """The parts of a certificate."""

    header: dict[str, Any]
    roots: list[list[int]]
    blocks: list[list[Entry]]

    def content(self, **claims: object) -> bytes:
        """Return the certificate before it is compressed, with other claims if given."""
        pairs = np.array(self.roots, dtype=np.int8)
        header = json.dumps(self.header | claims, sort_keys=True).encode() + b"\n"
        return header + bytes([len(pairs)]) + pairs.tobytes() + b"".join(map(encoded, self.blocks))

    def forged(self, wanted: Callable[[Entry], object], change: Callable[[Entry], Entry]) -> bytes:
        """Return the content with another entry for the first one that is wanted.

        What comes behind its block stays: a checker has to refuse the block itself.
        """
        wrong = next(entry for block in self.blocks for entry in block if wanted(entry))
        changed = [[change(each) if each is wrong else each for each in b] for b in self.blocks]
        return replace(self, blocks=changed).content()


@cache
def tiny(share: float = 1.0) -> Parts:
    """Return a certificate that holds, of a bound that is a share of the optimum."""
    with TemporaryDirectory() as directory:
        path = Path(directory) / "c.gz"
        certified(solve(TINY, EDP), TINY, EDP, path, share)
        verify(path)
        content = gzip.decompress(path.read_bytes())
        with open_stream(path) as stream:
            header = json.loads(stream.line())
            facts = Facts(TINY.space)
            roots = read_roots(stream, facts)[:, :2].tolist()
            blocks, count = [], len(roots)
            while count:
                block = read_block(stream, facts, count)
                blocks.append(entries_of(block))
                count = int(block.goes_on.sum())
    parts = Parts(header, roots, blocks)
    assert parts.content() == content
    return parts


def entries_of(block: Block) -> list[Entry]:
    entries = [Entry([], action, []) for action in block.actions.tolist()]
    axes = block.trim_axes + FROM_BELOW * block.from_below
    for box, axis, end in zip(block.trimmed, axes, block.trim_ends, strict=True):
        entries[box].trims.append((int(axis), int(end)))
    for box, value, goes_on in zip(block.parents, block.values, block.goes_on, strict=True):
        entries[box].parts.append((int(value), bool(goes_on)))
    return entries


def encoded(entries: list[Entry]) -> bytes:
    """Return the block of a list of boxes."""
    trims = [trim for entry in entries for trim in entry.trims]
    split = [entry for entry in entries if entry.action != EVALUATE]
    parts = [part for entry in split for part in entry.parts]
    columns: tuple[tuple[Any, str], ...] = (
        ([len(entries)], "<u4"),
        ([len(entry.trims) for entry in entries], "u1"),
        ([axis for axis, _ in trims], "u1"),
        ([end for _, end in trims], "<i4"),
        ([entry.action for entry in entries], "u1"),
        ([len(entry.parts) for entry in split], "u1"),
        ([value for value, _ in parts], "<i4"),
    )
    bits = np.packbits(np.array([goes_on for _, goes_on in parts], dtype=bool))
    return b"".join(np.array(*column).tobytes() for column in columns) + bits.tobytes()
