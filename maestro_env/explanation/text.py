"""Sections of an explanation as lines of text, whatever the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from maestro_env.accelerators.elements import TENSORS
from maestro_env.explanation.bottleneck import Bottleneck
from maestro_env.explanation.neighbours import Neighbour, better, better_with_room
from maestro_env.explanation.traffic import Energy, Stage

_MOST_NEIGHBOURS = 5

Rows = Sequence[Sequence[str]]


def bound_lines(bottleneck: Bottleneck) -> Iterator[str]:
    """Yield what bounds the latency."""
    names = " and ".join(bottleneck.names)
    if not bottleneck.names:
        yield "Bound by the number of steps: no resource without limit saves a cycle"
        return
    if bottleneck.tied:
        saved = _of(bottleneck.saved_together, bottleneck.latency_cycles)
        yield f"Bound by {names}: without a limit to one of them nothing is saved, to all {saved}"
        return
    yield f"Bound by {bottleneck.names[0]}: saved without a limit to"
    latency = bottleneck.latency_cycles
    rows = [
        (name, f"{saved:,.0f} cycles", f"{saved / latency:.1%}")
        for name, saved in sorted(bottleneck.saved_cycles.items(), key=lambda each: -each[1])
    ]
    if len(bottleneck.names) > 1:
        together = bottleneck.saved_together
        rows.append(("all that save some", f"{together:,.0f} cycles", f"{together / latency:.1%}"))
    yield from table(rows)


def cycle_lines(parts: Mapping[str, float], meanings: Mapping[str, str]) -> Iterator[str]:
    """Yield the parts of the latency that are not 0, and what happens in them."""
    yield "Cycles"
    latency = sum(parts.values())
    rows = [
        (name, f"{count:,.0f}", f"{count / latency:.1%}", meanings[name])
        for name, count in parts.items()
        if count
    ]
    rows.append(("all", f"{latency:,.0f}", "100.0%", ""))
    yield from table(rows, left=(0, 3))


def energy_lines(energy: Energy) -> Iterator[str]:
    """Yield the energy by memory and tensor."""

    def row(name: str, parts: Sequence[float]) -> tuple[str, ...]:
        total = sum(parts)
        cells = (f"{part:,.6g}" for part in parts) if len(parts) > 1 else ("",) * len(TENSORS)
        return name, *cells, f"{total:,.6g}", f"{total / energy.total:.1%}"

    yield "Energy (nJ)"
    accesses = [
        row(memory, parts.tolist())
        for memory, parts in zip(energy.memories, energy.accesses, strict=True)
    ]
    if energy.leakage:
        accesses.append(row("leakage", [energy.leakage]))
    header = ("", *TENSORS, "all", "")
    yield from table([header, row("MACs", [energy.macs]), *accesses, row("all", [energy.total])])


def reuse_lines(reuse: Mapping[str, Sequence[Stage]], main: str) -> Iterator[str]:
    """Yield how often words are used at each place on their way from main memory."""
    yield "Reuse: how often a word is used at each place on its way, and the accesses that saves"
    for tensor, stages in reuse.items():
        yield f"  {tensor}"
        rows = [
            (f"  {stage.place}", f"{stage.factor:,.4g} times", f"{stage.avoided:,.0f} saved")
            for stage in stages
        ]
        way = "to" if tensor == "output" else "from"
        rows.append((f"  {way} {main}", f"{stages[-1].moved:,.0f} words", ""))
        yield from table(rows)


def neighbour_lines(
    neighbours: Sequence[Neighbour], objective: str, no_neighbours: str
) -> Iterator[str]:
    """Yield what changes of one parameter lower an objective, or would with more room.

    Args:
        neighbours: of the mapping.
        objective: its name.
        no_neighbours: why there are none; empty if there are.
    """
    if no_neighbours:
        yield f"Neighbours: none: {no_neighbours}"
        return
    names = list(neighbours[0].changes) if neighbours else []
    found = better(neighbours, objective)[:_MOST_NEIGHBOURS]
    yield f"Changes of one parameter that lower {objective}{'' if found else ': none'}"
    if not found:
        # What lowers something else shows what is traded for what.
        others = [each for name in names for each in better(neighbours, name)[:1]]
        found = list({id(each): each for each in others}.values())
        if found:
            yield "  of those that lower something else the best"
    blocked = better_with_room(neighbours, objective)[:_MOST_NEIGHBOURS]
    header = ("", *names, "")
    rows = [(*_changed(each, names), "") for each in found]
    rows += [(*_changed(each, names), _overflow(each)) for each in blocked]
    if rows:
        yield from table([header, *rows], left=(0, len(names) + 1))


def _changed(neighbour: Neighbour, names: Sequence[str]) -> tuple[str, ...]:
    change = f"{neighbour.parameter} {neighbour.before} -> {neighbour.after}"
    if neighbour.before.isdigit():
        before, after = int(neighbour.before), int(neighbour.after)
        verb = {2 * before: "doubling ", before // 2: "halving "}.get(after, "")
        change = verb + change
    return change, *(f"{neighbour.changes[name]:+.2%}" for name in names)


def _overflow(neighbour: Neighbour) -> str:
    missing = [f"{name} by {count:,} B" for name, count in neighbour.over.items()]
    return f"overflows {' and '.join(missing)}"


def table(rows: Rows, left: Sequence[int] = (0,)) -> Iterator[str]:
    """Yield the lines of a table, whose columns are aligned left or right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.ljust(width) if number in left else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield f"  {'  '.join(cells)}".rstrip()


def _of(part: float, whole: float) -> str:
    return f"{part:,.0f} of {whole:,.0f} cycles ({part / whole:.1%})"
