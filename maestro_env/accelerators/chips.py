"""Published accelerators by name, as far as the cost model can say them.

What no source gives is left without limit, and said in the chip's note. PEs that have registers and
no memory get the twelve words that two levels of single words take: two of each tensor in the PE,
and as many again for its cluster. Where a chip has a file with all its memories (``built/``), this
form says the same of PEs, words, clock, capacities and bandwidths, apart from what its note says:
records and random streams of searches depend on these figures, so that they stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from maestro_env.accelerators.hardware import Hardware
from maestro_env.accelerators.technologies import TECHNOLOGIES
from maestro_env.base.registry import by_name

_KIB = 1024
_REGISTERS = 12


@dataclass(frozen=True)
class Chip:
    """A published accelerator.

    Args:
        hardware: as the cost model sees it.
        source: where its figures are from.
        note: what they mean, and what is unknown.
    """

    hardware: Hardware
    source: str
    note: str

    @property
    def name(self) -> str:
        """The name of its hardware."""
        return self.hardware.name


CHIPS: Mapping[str, Chip] = by_name(
    Chip(
        Hardware(
            12 * 14,
            l1_bytes=2 * (224 + 12 + 24),
            l2_bytes=108 * _KIB,
            noc_bw=9,
            name="eyeriss",
            technology=TECHNOLOGIES["eyeriss"],
            word_bytes=2,
            clock_mhz=200,
        ),
        "Chen et al., JSSC 2017; energies ISCA 2016",
        "16-bit words; L1 is the sum of three scratchpads of fixed use; buses take 9 words a cycle "
        "in (4 filter, 1 input, 4 partial sums) and 4 out, here 9 each way; off-chip bandwidth "
        "without limit: compare processing time alone",
    ),
    Chip(
        Hardware(2048, l1_bytes=_REGISTERS, l2_bytes=512 * _KIB, offchip_bw=20, name="nvdla_large"),
        "NVDLA primer (nvdla/doc)",
        "2,048 int8 MACs, 512 KB, 20 GB/s; the primer's figures are at 1 GHz, where 20 GB/s are 20 "
        "words a cycle, but this form has no clock; networks without limit (its buffer sends 256 "
        "words a cycle), accumulator not counted, L1 and energies unknown",
    ),
    Chip(
        Hardware(64, l1_bytes=_REGISTERS, l2_bytes=128 * _KIB, offchip_bw=1, name="nvdla_small"),
        "NVDLA primer (nvdla/doc)",
        "64 int8 MACs, 128 KB, 1 GB/s; the primer's figures are at 1 GHz, where 1 GB/s is 1 word a "
        "cycle, but this form has no clock; the hardware manual contradicts itself on the buffer; "
        "networks without limit, L1 and energies unknown",
    ),
    Chip(
        Hardware(
            256 * 256,
            l1_bytes=_REGISTERS,
            l2_bytes=24 * _KIB**2 + 4 * _KIB**2 // 4,
            noc_bw=256,
            offchip_bw=49,
            name="tpu_v1",
            clock_mhz=700,
        ),
        "Jouppi et al., ISCA 2017",
        "8-bit words; L2 is the unified buffer and the 32-bit accumulators, each counted as a "
        "word, without the weight FIFO; 34 GB/s, in the chip of weights alone, are 49 words a "
        "cycle; energies unknown",
    ),
    Chip(
        Hardware(
            16,
            l1_bytes=(32 + 8 + 3) * _KIB,
            l2_bytes=64 * _KIB,
            simd_lanes=8 * 8,
            name="simba",
        ),
        "Simba's abstract; PEs and buffers as in AccelForge's preset",
        "one of 36 chiplets: 16 PEs of 64 MACs; L1 is the sum of three buffers of fixed use; no "
        "clock (4 TOPS make it about 2 GHz); network, off-chip bandwidth and energies unknown; "
        "other presets have an input buffer of 64 KB",
    ),
    Chip(
        Hardware(
            16 * 16,
            l1_bytes=_REGISTERS,
            l2_bytes=128 * _KIB + 128 * _KIB // 4,
            offchip_bw=128 // 8,
            name="gemmini",
        ),
        "Gemmini's default Configs.scala at 0064b94, branch rtml",
        "8-bit words; L2 is the scratchpad and the 32-bit accumulators, each counted as a "
        "word; the bus of 128 bits is the off-chip bandwidth; no clock, network and energies "
        "unknown; 128 KB each are the default on branch rtml, 256 and 64 KB that of master",
    ),
)
"""Published accelerators by name."""
