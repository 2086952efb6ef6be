"""Writes accelerators as AccelForge has them: a cycle as a second, an action as a word."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from fractions import Fraction

from maestro_env.accelerators.files.accelforge import STAYS, TAGS, container_of, read_hierarchy
from maestro_env.accelerators.files.accelforge_document import SEPARATE
from maestro_env.accelerators.files.nodes import (
    MAC,
    check_said,
    exact,
    fanout_energies,
    nodes_of,
    picojoules,
    widths_of,
)
from maestro_env.accelerators.hierarchy import TENSORS, FanoutElement, Hierarchy, MemoryElement
from maestro_env.accelerators.loop_rules import INDEXING
from maestro_env.base.errors import Refuse
from maestro_env.base.yaml_file import read_yaml

_NAMES = dict(zip(TENSORS, ("input", "weight", "output"), strict=True))


def arch_text(hierarchy: Hierarchy, refuse: Refuse) -> str:
    """Write an accelerator; the bits of its words are in the workload.

    Its rules of loops are there as far as files have them, never stricter ones.

    Raises:
        MaestroEnvError: of ``refuse``: it has what its file would not say.
    """
    said = fanout_energies(hierarchy, lambda each: "_".join(container_of(each)))
    lines = ["variables:"] if said else []
    lines += [*(f"  {name}: {pj}" for name, pj in said.items()), "arch:", "  nodes:"]
    for node in nodes_of(hierarchy, lambda each: container_of(each)[0], refuse):
        lines += (
            _memory(node, hierarchy.word_bits)
            if isinstance(node, MemoryElement)
            else [_container(*node)]
        )
    pj, simd = _joules(Fraction(str(hierarchy.mac.pj))), hierarchy.mac.simd
    lines += ["  - !Compute", f"    name: {MAC}", "    leak_power: 0", "    area: 0"]
    lines += ["    actions:", f"    - {{name: compute, energy: {pj}, throughput: {simd}}}"]
    text = "\n".join(lines) + "\n"
    whole = f"{text}workload: {{bits_per_value: {{All: {hierarchy.word_bits}}}}}\n"
    again = read_hierarchy(read_yaml(whole, "arch", refuse, TAGS))
    check_said(hierarchy, again, refuse)
    return text


def _container(name: str, fanouts: list[FanoutElement]) -> str:
    listed = []
    for each in fanouts:
        together, reused = {*TENSORS} - {*each.apart}, _reused(each)
        shared = f", may_reuse: {_set(together)}" if each.apart or reused else ""
        shared += f", reuse: {_set(reused)}" if reused else ""
        listed.append(f"{{name: {container_of(each)[1]}, fanout: {each.size or 1}{shared}}}")
    return f"  - !Container {{name: {name}, spatial: [{', '.join(listed)}]}}"


def _reused(fanout: FanoutElement) -> set[str]:
    """Return the tensors that no loop of a fan-out may index, of those that its units share."""
    return {
        tensor
        for tensor in {*TENSORS} - {*fanout.apart}
        if not any(map(fanout.rules.allows, INDEXING[tensor]))
    }


def _memory(memory: MemoryElement, word_bits: int) -> Iterator[str]:
    size = memory.capacity_bits if isinstance(memory.capacity_bits, int) else "inf"
    yield from ("  - !Memory", f"    name: {memory.name}", f"    size: {size}")
    stays = f", {STAYS}: {_set(memory.rules.stays)}" if memory.rules.stays else ""
    yield from ("    leak_power: 0", "    area: 0")
    yield f"    tensors: {{keep: {_set(memory.keeps)}{stays}}}"
    widths = widths_of(memory, word_bits)
    other = [f"{_NAMES[tensor]}: {bits}" for tensor, bits in widths.items() if bits != word_bits]
    if other:
        yield f"    bits_per_value: {{{', '.join(other)}}}"
    if memory.bw is None:
        yield f"    total_latency: {SEPARATE}"
    yield "    actions:"
    word = min(widths.values(), default=word_bits)
    for action, pj in picojoules(memory, word).items():
        bits = getattr(memory, f"{action}_bw") if memory.bw is None else memory.bw
        rate = "inf" if bits is None else exact(Fraction(str(bits)) / word)
        said = f"name: {action}, energy: {_joules(pj)}, throughput: {rate}, bits_per_action: {word}"
        yield f"    - {{{said}}}"


def _joules(pj: Fraction) -> str:
    return f"{exact(pj)}e-12" if pj else "0"


def _set(tensors: Collection[str]) -> str:
    """Write a set of tensors."""
    listed = [name for tensor, name in _NAMES.items() if tensor in tensors]
    return "All" if len(listed) == len(_NAMES) else " | ".join(listed) or "Nothing"
