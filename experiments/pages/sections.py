"""What a report tells: one section for every mapped network, or directory of searches."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from experiments.network.facts import left_out_lines
from experiments.network.mapped_network import Choice, MappedNetwork
from experiments.pages.found import Curve, Found
from experiments.search.cells import Versions
from experiments.shell.files import RecordError
from maestro_env.accelerators.hardware import Hardware


@dataclass(frozen=True, eq=False)
class Section:
    """A mapped network, or the searches of a directory.

    Args:
        title: of the section.
        hardware: what was mapped to.
        objective: what was minimised for a network; None for searches, which may differ in it.
        found: the mappings, in the order of the layers.
        choices: mappings for the whole network, those of ``found`` last; empty for searches.
        bound: of the network's objective; None where none is known.
        macs: of the network; None for searches.
        notes: what is approximated or left out, one sentence each.
        command: makes the same again; empty if none does.
        settings: that decide the result, by name.
        versions: of what computed it, one for every combination.
    """

    title: str
    hardware: Hardware
    objective: str | None
    found: tuple[Found, ...]
    choices: tuple[Choice, ...]
    bound: float | None
    macs: int | None
    notes: tuple[str, ...]
    command: str
    settings: Mapping[str, Any]
    versions: tuple[Versions, ...]

    @property
    def total(self) -> Choice | None:
        """What the network takes with the mappings of ``found``; None for searches."""
        return self.choices[-1] if self.choices else None

    def gap(self, choice: Choice) -> float | None:
        """How far a choice is above the bound, as a share of it; None where none is known."""
        if not self.bound or self.objective is None:
            return None
        return max(choice.value(self.objective) / self.bound - 1, 0.0)


def section_of(mapped: MappedNetwork, title: str = "", command: str = "") -> Section:
    """Return the section of a mapped network.

    Args:
        mapped: layers without a mapping are named, and in no table.
        title: by default the names of network and hardware.
        command: makes the same again.

    Raises:
        RecordError: no layer has a mapping.
    """
    network = mapped.network
    if not mapped.mapped:
        raise RecordError(f"no valid mapping of any layer of {network.name} was found")
    choices, samples = mapped.choices(), mapped.settings["samples"]
    unmapped = [f"No valid mapping was found, so in no total: {each}" for each in mapped.unmapped]
    found = tuple(
        Found(
            layer.name,
            each.goal,
            vector,
            float(each.values[each.best or 0]),
            each.bound,
            each.gap if math.isfinite(each.gap) else None,
            each.found_by,
            each.samples,
            layer.count,
            (Curve(layer.name, each.improvements, samples),) if each.improvements else (),
        )
        for (layer, each), vector in zip(mapped.mapped, choices[-1].vectors, strict=True)
    )
    return Section(
        title or f"{network.name} on {mapped.hardware.name or 'hardware'}",
        mapped.hardware,
        mapped.objective,
        found,
        tuple(choices),
        mapped.bound,
        network.macs,
        (*unmapped, *left_out_lines(network), *network.notes),
        command,
        mapped.settings,
        distinct([each.versions for each in mapped.layers]),
    )


def distinct(versions: list[Versions]) -> tuple[Versions, ...]:
    """Return every combination of versions once, in the order of first use."""
    found: list[Versions] = []
    for each in versions:
        if each and each not in found:
            found.append(each)
    return tuple(found)
