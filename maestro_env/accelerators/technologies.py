"""Technologies: energy of a MAC, an access, a word, by name."""

from __future__ import annotations

from collections.abc import Mapping

from maestro_env.accelerators.technology import Energies as Energies
from maestro_env.accelerators.technology import Technology as Technology
from maestro_env.accelerators.technology import read_technology
from maestro_env.base.errors import ArgumentTypeError, HardwareError, UnknownNameError, quoted
from maestro_env.base.registry import by_name

DEFAULT = Technology("maestro")
"""MAESTRO's energies, where network and main memory are free."""

_MAC_8_BIT_PJ, _MAC_65_NM_PJ = 0.23, 0.208

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
)
"""Technologies by name; ``SOURCES`` says where their figures are from."""

SOURCES: Mapping[str, str] = {
    "maestro": "MAESTRO's energy table; it has no energy of networks and main memory",
    "eyeriss": "Chen et al., ISCA 2016: register file 1, PE to PE 2, buffer 6, DRAM 200 of a "
    "16-bit MAC; the MAC itself, which the ratios leave open, costs as much as MAESTRO's",
    "accelergy65": "Accelergy's Eyeriss-like 65 nm example, per 16-bit word: L1 is the mean over a "
    "MAC's four accesses with a partial sum's write at the price of its read, L2 the mean of read "
    "and write; it has no energy of a network that is used here",
    "horowitz45": "Horowitz, ISSCC 2014, 45 nm, 8 bits, quoted from memory and not checked: 8-bit "
    "add and multiply 0.23 pJ; 64 bits of 8 KB, 32 KB, 1 MB 10, 20, 100 pJ; of DRAM 1.3 to 2.6 nJ, "
    "here the mean; below 8 KB and above 1 MB extrapolated; no energy of a network",
}
"""Where each technology's figures are from, in one sentence."""


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
