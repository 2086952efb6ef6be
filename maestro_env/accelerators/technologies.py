"""Technologies by name, and the published figures that they are made of."""

from __future__ import annotations

from collections.abc import Mapping

from maestro_env.accelerators.technology import (
    REGISTER_BYTES,
    BySize,
    Technology,
    read_technology,
    written,
)
from maestro_env.base.checks import by_name
from maestro_env.base.errors import ArgumentTypeError, HardwareError, UnknownNameError, quoted

DEFAULT = Technology("maestro")
"""MAESTRO's energies, where network and main memory are free."""

_MAC_8_BIT_PJ, _MAC_65_NM_PJ = 0.23, 0.208

# Of cmos40, whose figures ``SOURCES`` explains. Energy of a bit in pJ by bytes of SRAM, the mean of
# read and write: what CACTI gives for an access of 16, 16, 64 and 64 bits.
_FILE_40_NM_PJ = (0.248412 + 0.33432) / 2 / 16
_SRAM_40_NM_PJ: BySize = (
    (REGISTER_BYTES, _FILE_40_NM_PJ),
    (448, (0.499718 + 0.761365) / 2 / 16),
    (8_192, (5.25859 + 6.43241) / 2 / 64),
    (102_400, (32.0811 + 22.0674) / 2 / 64),
)
_REGISTER_40_NM_PJ = 0.009
_HOP_MM, _WIRE_PJ_PER_MM = 0.1, 310 / 256 / 10
DRAM_PJ_PER_BIT: Mapping[str, float] = {"LPDDR4": 8.0, "GDDR5": 14.0, "HBM2": 3.9}
"""Energy of a bit of main memory in pJ, by kind; as Accelergy's CACTI plug-in has them."""

_CELL_UM2, _ARRAY_SHARE = 0.242, 0.72
_REGISTER_UM2, _ADDER_UM2, _MULTIPLIER_UM2 = 5.98, 278.0, 6350.0
_FILE_UM2 = 507.369 / (8 * REGISTER_BYTES)


def _cmos40(name: str, word_bytes: int = 1, dram: str = "LPDDR4") -> Technology:
    """Make a technology of 40 nm whose MACs multiply words and add to 32 bits."""
    mac_pj = 0.2 * word_bytes**2 + 0.1
    word_macs = 8 * word_bytes / mac_pj
    sram = tuple((size, energy * word_macs) for size, energy in _SRAM_40_NM_PJ)
    return Technology(
        name,
        mac_nj=mac_pj / 1000,
        l1_macs=sram,
        l2_macs=sram,
        noc_macs=_WIRE_PJ_PER_MM * _HOP_MM * word_macs,
        offchip_macs=DRAM_PJ_PER_BIT[dram] * word_macs,
        word_bytes=word_bytes,
        register_macs=_REGISTER_40_NM_PJ * word_macs,
        mac_um2=_MULTIPLIER_UM2 * (word_bytes / 4) ** 2 + _ADDER_UM2,
        register_um2=_REGISTER_UM2,
        sram_um2=_CELL_UM2 / _ARRAY_SHARE,
        file_macs=_FILE_40_NM_PJ * word_macs,
        file_um2=_FILE_UM2,
        wire_macs=_WIRE_PJ_PER_MM * word_macs,
    )


TECHNOLOGIES: Mapping[str, Technology] = by_name(
    DEFAULT,
    Technology("eyeriss", l1_macs=1, l2_macs=6, noc_macs=2, offchip_macs=200),
    Technology(
        "accelergy65",
        mac_nj=_MAC_65_NM_PJ / 1000,
        l1_macs=(0.20 + 1.98 + 2 * 0.25) / 4 / _MAC_65_NM_PJ,
        l2_macs=(18.2 + 14.1) / 2 / 4 / _MAC_65_NM_PJ,
        offchip_macs=512 / 4 / _MAC_65_NM_PJ,
        word_bytes=2,
    ),
    Technology(
        "horowitz45",
        mac_nj=_MAC_8_BIT_PJ / 1000,
        **{
            f"{buffer}_macs": tuple(
                (size, picojoules / 8 / _MAC_8_BIT_PJ)
                for size, picojoules in ((2**13, 10), (2**15, 20), (2**20, 100))
            )
            for buffer in ("l1", "l2")
        },  # type: ignore[arg-type]
        offchip_macs=(1300 + 2600) / 2 / 8 / _MAC_8_BIT_PJ,
        word_bytes=1,
    ),
    _cmos40("cmos40"),
    _cmos40("cmos40-16bit", word_bytes=2),
    _cmos40("cmos40-gddr5", dram="GDDR5"),
    _cmos40("cmos40-hbm2", dram="HBM2"),
)
"""Technologies by name; ``SOURCES`` says where their figures are from."""

SOURCES: Mapping[str, str] = {
    "maestro": "MAESTRO's energy table; it has no energy of networks and main memory",
    "eyeriss": "Chen et al., ISCA 2016: register file 1, PE to PE 2, buffer 6, DRAM 200 of a "
    "16-bit MAC; the MAC itself, which the ratios leave open, costs as much as MAESTRO's",
    "accelergy65": "Accelergy's Eyeriss-like 65 nm example, per 16-bit word: L1 is the mean over a "
    "MAC's four accesses with a partial sum's write at the price of its read, L2 the mean of read "
    "and write; it has no energy of a network that is used here",
    "horowitz45": "Horowitz, ISSCC 2014, 45 nm, 8 bits, as others quote it: 8-bit "
    "add and multiply 0.23 pJ; 64 bits of 8 KB, 32 KB, 1 MB 10, 20, 100 pJ; of DRAM 1.3 to 2.6 nJ, "
    "here the mean; below 8 KB and above 1 MB extrapolated; no energy of a network",
    "cmos40": "40 nm, 8-bit words, sums of 32 bits, LPDDR4. MAC: 8-bit multiply 0.2 pJ, 32-bit add "
    "0.1 pJ (Horowitz, ISSCC 2014, 45 nm), 397 and 278 um^2 (Aladdin's 40 nm library, Shao et al., "
    "ISCA 2014; multipliers by the square of their width). Flip-flops up to 8 B: 0.009 pJ, 5.98 "
    "um^2 a bit (the same). Register files up to 64 B: CACTI 7 (HewlettPackard/cacti at 1ffd8df), "
    "40 nm, 64 B with a read and a write port, 16 bits: 0.018 pJ, 0.99 um^2 a bit. SRAM: CACTI at "
    "40 nm, 448 B, 8 KB and 100 KB in one bank, whose figures are those of two ports "
    "(accelergy-cacti-plug-in at 3931c6a, cacti/out.csv); larger ones are banks of 100 KB and an "
    "H-tree of the wires below from an edge, 1.5 widths long; area of TSMC's cell, 0.242 um^2 "
    "(WikiChip), by 0.72, the share of cells that CACTI has there (0.65 to 0.76). Wires and "
    "network: 310 pJ for 256 bits and 10 mm (Keckler et al., IEEE Micro 2011, 40 nm, as others "
    "quote it); a hop is taken as 0.1 mm, about the side of a PE. Main memory: 8 pJ a bit "
    "(hwcomponents-cacti at 04e7886). Control, clocks, leakage and area of the network are left "
    "out",
    "cmos40-16bit": "cmos40 with words of 16 bits; multiply 0.8 pJ, the square of the width, and "
    "1,588 um^2",
    "cmos40-gddr5": "cmos40 with GDDR5: 14 pJ a bit (hwcomponents-cacti at 04e7886)",
    "cmos40-hbm2": "cmos40 with HBM2: 3.9 pJ a bit (O'Connor et al., MICRO 2017, by way of "
    "hwcomponents-cacti at 04e7886)",
}
"""Where each technology's figures are from, in short."""


def find_technology(given: str | Technology | Mapping[str, object]) -> Technology:
    """Return the technology that a text names, that fields make, or the technology itself.

    Args:
        given: a name of ``TECHNOLOGIES``, or fields as in ``mac_nj=0.001;l1_macs=512:1.5+8192:6``,
            or a mapping of names to values.

    Raises:
        ArgumentTypeError: something else.
        UnknownNameError: no such name.
        HardwareError: fields that cannot be read or are out of range.
    """
    if isinstance(given, Technology):
        return given
    if isinstance(given, Mapping):
        try:
            return Technology(**given)  # type: ignore[arg-type]
        except TypeError as error:
            if isinstance(error, ArgumentTypeError):
                raise
            raise HardwareError(f"technology {quoted(given)}: {error}") from None
    if not isinstance(given, str):
        raise ArgumentTypeError(
            f"technology is {quoted(given)}; allowed: a Technology, or {', '.join(TECHNOLOGIES)}"
        )
    if given in TECHNOLOGIES:
        return TECHNOLOGIES[given]
    if "=" in given:
        return read_technology(given)
    raise UnknownNameError("technology", given, [*TECHNOLOGIES, "mac_nj=NUMBER;l1_macs=..."])


def technology_text(technology: Technology) -> str:
    """Return the name of a technology, or its fields; ``find_technology`` reads both."""
    name = technology.name
    return name if TECHNOLOGIES.get(name) == technology else written(technology)
