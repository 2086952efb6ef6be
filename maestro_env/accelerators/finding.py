"""Finds accelerators: by name, from a text, or in a file, also of another tool."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Literal

from maestro_env.accelerators.files import accelforge, timeloop, zigzag
from maestro_env.accelerators.hardware import ALIASES, PRESETS, Hardware, least_of
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.accelerators.hierarchy_file import HIERARCHY_KEYS, hierarchy_of, read_hierarchy
from maestro_env.accelerators.quantities import SAID, hardware_of, made_hardware, read_fields
from maestro_env.accelerators.two_buffers import two_buffers
from maestro_env.base.checks import MAX_INT, Written, plain_integer, read_entries, require_type
from maestro_env.base.errors import HardwareError, UnknownNameError, close_matches, quoted
from maestro_env.base.m_file import tokens
from maestro_env.base.reading import read_or_refuse
from maestro_env.base.yaml_blocks import YamlBlock
from maestro_env.base.yaml_file import Part, kind_of, read_yaml_file

BUILT = Path(__file__).with_name("built")
"""The folder of published chips, a file each: with all their memories, two buffers, or both."""

_YAML = (".yaml", ".yml")
ARCHITECTURES: Mapping[str, ModuleType] = {
    "architecture": timeloop,
    "arch": accelforge,
    "operational_array": zigzag,
}
"""Readers of other tools by the key of their architectures."""

# The way out where there are other memories than two buffers.
_ON_MEMORIES = "model hierarchy, of run, compare, map, codesign and sweep, takes all memories"
_MAX_CHARACTERS = 2**16
_M_KEYS = {
    "num_pes": "num_pes",
    "l1_size_cstr": "l1_bytes",
    "l2_size_cstr": "l2_bytes",
    "noc_bw_cstr": "noc_bw",
    "offchip_bw_cstr": "offchip_bw",
    "NoC_NumHops": "noc_hops",
}


def known_hardware() -> dict[str, Hardware]:
    """Return presets and published chips by name."""
    return {name: found for name in hardware_names() if (found := named_hardware(name))}


def hardware_names() -> list[str]:
    """Return the names of presets and published chips."""
    return [*PRESETS, *chips_with("two_buffers")]


def named_hardware(name: str) -> Hardware | None:
    """Return the preset or published chip of a name, None for another name."""
    path = chips_with("two_buffers").get(name)
    return PRESETS.get(name) if path is None else _from_chip(path)


@cache
def chips_with(form: Literal["memories", "two_buffers"]) -> dict[str, Path]:
    """Return the files of the published chips that have a form, by name."""
    files = {path.stem: path for path in sorted(BUILT.glob("*.yaml"))}
    return {
        name: path
        for name, path in files.items()
        if f"\n{form}:" in "\n" + path.read_text(encoding="utf-8")
    }


def chip_notes() -> dict[str, str]:
    """Return where the figures of two buffers of each published chip are from, what they mean."""
    roots = {
        name: read_yaml_file(path, HardwareError)["two_buffers"]
        for name, path in chips_with("two_buffers").items()
    }
    return {
        name: "; ".join(root[key].text().strip() for key in SAID) for name, root in roots.items()
    }


def find_hardware(text: str | Hardware) -> Hardware:
    """Return the accelerator that a text names, or the accelerator itself.

    Args:
        text: a preset or its alias, a published chip, a ``.yaml`` file (its fields, or
            an architecture of another tool), a MAESTRO ``.m`` file, or the fields of
            ``Hardware``, as in ``num_pes=256,l1_bytes=512``; the name comes last.

    Raises:
        ArgumentTypeError: neither a text nor a ``Hardware``.
        UnknownNameError: neither a preset nor a hardware file.
        HardwareError: fields or a file that cannot be read; the message names it.
    """
    if isinstance(text, Hardware):
        return text
    require_type("hardware", text, str, f"one of {', '.join(PRESETS)} or a file, or a Hardware")
    if named := named_hardware(ALIASES.get(text, text)):
        return named
    if "=" in text:
        return made_hardware(f"hardware {quoted(text)}", read_fields(written_entries(text)), text)
    if text in chips_with("memories"):
        names = hardware_names()
        raise HardwareError(
            f"{text} has no two-buffer form, which is needed here: {close_matches(text, names)}"
            f"allowed: {', '.join(names)}; {_ON_MEMORIES}"
        )
    path = Path(text)
    if path.suffix in _YAML:
        return _from_yaml(path)
    if path.suffix == ".m":
        readers = {
            key: (plain_integer, f"integers from {least_of(field)} to {MAX_INT}")
            for key, field in _M_KEYS.items()
        }
        found = read_entries(_m_entries(path), readers, HardwareError)
        return made_hardware(text, {_M_KEYS[key]: value for key, value in found.items()}, path.stem)
    raise UnknownNameError(
        "hardware", text, [*hardware_names(), "FILE.yaml", "FILE.m", "num_pes=N,..."]
    )


def find_hierarchy(text: str | Hierarchy) -> Hierarchy:
    """Return the accelerator with all its memories that a text names, or the accelerator itself.

    Args:
        text: a published chip, a ``.yaml`` file (docs/hierarchy.md), also an architecture
            of Timeloop, AccelForge or ZigZag, or the lines of one of no other tool.

    Raises:
        ArgumentTypeError: neither a text nor a ``Hierarchy``.
        UnknownNameError: neither a chip nor a file.
        HardwareError: a file that cannot be read, or that describes no accelerator.
    """
    if isinstance(text, Hierarchy):
        return text
    named = chips_with("memories")
    require_type("accelerator", text, str, f"one of {', '.join(named)} or a file, or a Hierarchy")
    if "\n" in text:
        return _holding(read_hierarchy(text))
    path = named.get(text, Path(text))
    if text not in named and named_hardware(ALIASES.get(text, text)):
        raise HardwareError(
            f"{text} is described with two buffers alone, which models exact and maestro take; "
            f"allowed here: {', '.join(named)}, FILE.yaml"
        )
    if path.suffix not in _YAML:
        raise UnknownNameError("accelerator", text, [*named, "FILE.yaml"])
    root, tool = _read(path)
    return tool.read_hierarchy(root, path.stem) if tool else _holding(hierarchy_of(root, path.stem))


def _holding(hierarchy: Hierarchy) -> Hierarchy:
    """Return an accelerator whose memories hold what they keep; tools let mappings keep less."""
    hierarchy.check_words()
    return hierarchy


def accelerator_notes(text: object) -> tuple[str, ...]:
    """Return what is not read of the file of another tool that a text names, a sentence each."""
    if not isinstance(text, str) or Path(text).suffix not in _YAML or "=" in text:
        return ()
    notes: list[str] = []
    # What is wrong with a file is said where it is read.
    with suppress(HardwareError):
        root, tool = _read(Path(text))
        notes = root.notes
        if tool:
            tool.read_hierarchy(root)
    return tuple(notes)


def _read(path: Path) -> tuple[Part, ModuleType | None]:
    """Return what a file contains, and who reads it if it is of another tool."""
    root = read_yaml_file(path, HardwareError)
    keys = root.value if isinstance(root.value, YamlBlock) else YamlBlock()
    for key, tool in ARCHITECTURES.items():
        if key in keys:
            return read_yaml_file(path, HardwareError, tool.TAGS), tool
    # Those of maestro-env are a list.
    if not isinstance(keys.get("memories"), list) and (kind := kind_of(root)):
        root.fail(
            f"expected an accelerator{kind}; allowed: its memories (docs/hierarchy.md), and "
            "architectures of Timeloop 0.4, AccelForge or ZigZag"
        )
    return root, None


def is_hierarchy(text: str) -> bool:
    """Say whether what a text names is described with all its memories, not with two buffers alone.

    That is a published chip, a file with ``memories``, or an architecture of another tool that
    two buffers cannot say. A file that cannot be read is none: what is wrong with it is said where
    it is read.
    """
    if text in chips_with("memories"):
        return True
    if Path(text).suffix not in _YAML:
        return False
    try:
        root, tool = _read(Path(text))
        if not tool:
            return "memories" in root
    except HardwareError:
        return False
    try:
        found = tool.read_hierarchy(root)
        two_buffers(found, root)
    except HardwareError:
        return True
    # Two buffers have no such rules.
    return any(found.rules)


@cache
def _from_chip(path: Path) -> Hardware:
    found = _from_yaml(path)
    # Random streams of searches follow from how the clock is written: as a whole number, if it is.
    clock = found.clock_mhz
    return found if clock is None or clock != int(clock) else replace(found, clock_mhz=int(clock))


def _from_yaml(path: Path) -> Hardware:
    """Return the accelerator of a file, of another tool if its keys are."""
    root, tool = _read(path)
    if tool:
        hierarchy = tool.read_hierarchy(root, path.stem)
        try:
            return two_buffers(hierarchy, root)
        except HardwareError as error:
            raise HardwareError(f"{error}; {_ON_MEMORIES}") from None
    if "two_buffers" in root:
        root.only("two_buffers", *(HIERARCHY_KEYS if "memories" in root else ()))
        root = root["two_buffers"]
    elif "memories" in root:
        root["memories"].fail(
            "not read here, where accelerators have two buffers; allowed: a block two_buffers "
            f"beside the memories; {_ON_MEMORIES}"
        )
    return hardware_of(root, path.stem)


def written_entries(text: str) -> Iterator[Written]:
    """Yield the entries of a text such as ``num_pes=256,l1_bytes=512``; the name comes last."""
    written, named, name = f",{text}".partition(",name=")
    # The commas of a list in brackets part no entries.
    for piece in re.split(r",(?![^\[]*\])", written)[1:]:
        key, _, value = piece.partition("=")
        yield f"hardware {quoted(text)}", key, value
    if named:
        yield f"hardware {quoted(text)}", "name", name


def _m_entries(path: Path) -> Iterator[Written]:
    """Yield the entries of a MAESTRO hardware file."""
    text = read_or_refuse(path, _MAX_CHARACTERS, HardwareError)
    for line, each in enumerate(text.splitlines(), 1):
        # MAESTRO reads over it.
        if re.search(r":\s*-", each.partition("//")[0]):
            raise HardwareError(f"{path}, line {line}: {quoted(each)}; allowed: integers, no sign")
    words = tokens(text)
    for line, key in words:
        _, value = next(words, (line, None))
        if value is None:
            raise HardwareError(f"{path}, line {line}: {quoted(key)} has no value")
        yield f"{path}, line {line}", key, value
