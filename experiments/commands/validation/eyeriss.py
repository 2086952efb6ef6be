"""Eyeriss' measurements of AlexNet: Chen et al., JSSC 2017, batch of 4, 1 V, 200 MHz.

The figures of single layers are quoted from memory; they reproduce those of the paper's text: 34.7
frames/s, 23.1 GMAC/s, 278 mW, 15.4 MB off-chip.
"""

from __future__ import annotations

from dataclasses import dataclass

from maestro_env.workloads.layer import Layer

BATCH = 4


@dataclass(frozen=True)
class Measured:
    """A layer, and what was measured.

    Args:
        layer: with its padding as input words.
        schema: the smallest whose mappings fit.
        processing_ms: without loading.
        offchip_mb: to and from main memory, after compression.
        active_pes: at work.
    """

    layer: Layer
    schema: str
    processing_ms: float
    offchip_mb: float
    active_pes: int


def _layer(name: str, groups: int, channels: tuple[int, int], rows: int, window: int) -> Layer:
    inputs, outputs = (each // groups for each in channels)
    extents = {"N": BATCH, "K": outputs, "C": inputs, "Y": rows, "X": rows}
    extents |= {"R": window, "S": window} | ({"G": groups} if groups > 1 else {})
    stride = (4, 4) if name == "CONV1" else (1, 1)
    return Layer("NGCONV" if groups > 1 else "CONV", extents, stride, name)


MEASURED = (
    Measured(_layer("CONV1", 1, (3, 96), 227, 11), "full17", 16.5, 5.0, 154),
    Measured(_layer("CONV2", 2, (96, 256), 31, 5), "legal13", 39.2, 4.0, 135),
    Measured(_layer("CONV3", 1, (256, 384), 15, 3), "legal13", 21.8, 3.0, 156),
    Measured(_layer("CONV4", 2, (384, 384), 15, 3), "legal13", 16.0, 2.1, 156),
    Measured(_layer("CONV5", 2, (384, 256), 15, 3), "legal13", 10.0, 1.3, 156),
)
"""The convolutions of AlexNet with two groups, as Eyeriss ran them."""
