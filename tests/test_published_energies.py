"""Energies of SRAM in ``cmos40`` beside published tables: the rows of docs/mapping.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from maestro_env.accelerators.technologies import TECHNOLOGIES

PAGE = Path(__file__).parents[1] / "docs" / "mapping.md"
KB = 1024
# Bits of an access, and KB:pJ. CACTI 7 (HewlettPackard/cacti at 1ffd8df): itrs-hp, 300 K, one port,
# semi-global wires with 30 % more delay, least dynamic and leakage power; the mean of read and
# write with 1, 4, 16, 64 or 256 banks, whichever is least. ZigZag and AccelForge: the mean, too.
PUBLISHED = {
    "Horowitz, ISSCC 2014, 45 nm": (64, "8:10 32:20 1024:100"),
    "CACTI 7, 40 nm": (
        64,
        "1:1.7212 8:4.7108 32:8.4441 128:15.7022 512:29.749 1024:40.753 4096:79.739 24576:203.334",
    ),
    "ZigZag's presets, CACTI 7, 512 bits": (512, "64:28.68"),
    "ZigZag's presets, CACTI 7, 1,024 bits": (1024, "1024:198.64"),
    "AccelForge's TPU v4i, 7 nm": (1, "4096:0.271 131072:2.12"),
}


def rows(source: str) -> Iterator[tuple[int, float, float]]:
    """Yield KB, and pJ of a bit there and in ``cmos40``."""
    (bits, pairs), cmos = PUBLISHED[source], TECHNOLOGIES["cmos40"]
    for size, picojoules in (pair.split(":") for pair in pairs.split()):
        found = cmos.access_macs("l2", int(size) * KB) * cmos.mac_nj * 1000 / 8
        yield int(size), float(picojoules) / bits, found


def test_the_page_has_every_row() -> None:
    lines = []
    for source in PUBLISHED:
        for size, there, here in rows(source):
            label = f"{size} KB" if size < KB else f"{size // KB} MB"
            more = f"{100 * (here / there - 1):+.0f} %"
            lines.append(f"| {source} | {label} | {there:.3f} | {here:.3f} | {more} |")
    assert [line for line in PAGE.read_text().splitlines() if line in lines] == lines


@pytest.mark.parametrize("source", ["Horowitz, ISSCC 2014, 45 nm", "CACTI 7, 40 nm"])
def test_tables_of_like_nodes_are_within_a_factor(source: str) -> None:
    assert all(0.4 < here / there < 2 for _, there, here in rows(source))
