"""Brute-force simulator of the exact cost model: the machine of E3 with explicit sets of words.

A test oracle. It shares no code and no formula with the implementation: nothing is counted by
class, every step of every box is executed, words are tuples of coordinates in Python sets, what
is fetched is a set difference, and partial sums travel as counts of the MACs they contain.
Numbers E1 ... E11 are the sections of the specification.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, combinations, product, repeat, tee
from typing import TYPE_CHECKING, Any

from row_reader import RefusedError, latency_of, prepare

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from row_reader import Box, Layer, Level

TENSORS = ("input", "filter", "output")
MASK = {"input": 1, "filter": 2, "output": 4}

Words = frozenset[tuple[int, ...]]


# ---- Words and steps (E1, E3.1) -----------------------------------------------------------------


@lru_cache(maxsize=1024)
def touched(outputs: range, taps: range, stride: int) -> frozenset[int]:
    """Return the input rows (columns) that the windows of these outputs and taps touch."""
    return frozenset(output * stride + tap for output in outputs for tap in taps)


@lru_cache(maxsize=1024)
def cross(*axes: Iterable[int]) -> Words:
    """Return the words of a tile; cached, since most tiles stay over several steps."""
    return frozenset(product(*axes))


def words(box: Box, strides: tuple[int, int]) -> dict[str, Words]:
    """Return the distinct words that the MACs of a box touch, by tensor (E1)."""
    n, g, k, c, p, q, r, s = box
    return {
        "input": cross(n, g, c, touched(p, r, strides[0]), touched(q, s, strides[1])),
        "filter": cross(g, k, c, r, s),
        "output": cross(n, g, k, p, q),
    }


class Step:
    """What every active unit works on, W_u by tensor, and the array A, their union (E3.2)."""

    def __init__(self, boxes: tuple[Box, ...], strides: tuple[int, int]) -> None:
        self.boxes = boxes
        tiles = [words(box, strides) for box in boxes]
        self.units = {tensor: [tile[tensor] for tile in tiles] for tensor in TENSORS}
        self.array = {tensor: frozenset().union(*self.units[tensor]) for tensor in TENSORS}


def steps(level: Level, box: Box, strides: tuple[int, int]) -> Iterator[Step]:
    """Yield the steps of a box: chunks x groups, first loop slowest (E3.1)."""
    groups = []
    for loop in level.loops:
        extent = box[loop.dim]
        chunks = [extent[i : i + loop.tile] for i in range(0, len(extent), loop.tile)]
        dealt = level.units if loop.spatial else 1
        groups.append([chunks[i : i + dealt] for i in range(0, len(chunks), dealt)])
    dims = [loop.dim for loop in level.loops]
    for chosen in product(*groups):
        boxes = []
        for chunks in product(*chosen):  # only the spatial loop has several: one per unit
            changed = dict(zip(dims, chunks, strict=True))
            boxes.append(tuple(changed.get(dim, extent) for dim, extent in enumerate(box)))
        yield Step(tuple(boxes), strides)


def neighbours(of_box: Iterator[Step]) -> Iterator[tuple[Step, Step, Step]]:
    """Yield (before, now, after) for every step; outside the box nothing is held (cold)."""
    idle = Step((), (1, 1))
    before, now, after = tee(chain([idle], of_box, [idle]), 3)
    next(now), next(after), next(after)
    yield from zip(before, now, after, strict=False)


# ---- Execution (E3.1 to E3.4) -------------------------------------------------------------------


@dataclass
class Run:
    """One executed box: a trace of its own steps, and totals of its level and those below."""

    time: int = 0
    totals: Counter = field(default_factory=Counter)  # by name, or by (level, name)
    tiles: Counter = field(default_factory=Counter)  # words of the largest unit tile by level
    arrays: Counter = field(default_factory=Counter)  # words of the largest array tile by tensor
    into: list[int] = field(default_factory=list)  # words, by step
    compute: list[int] = field(default_factory=list)  # cycles, by step
    left: list[int] = field(default_factory=list)  # words, by step
    stored: set = field(default_factory=set)  # output words that reached the memory above
    sums: Counter = field(default_factory=Counter)  # MACs added to each of them


class Machine:
    """Executes boxes; with `memo`, one box stands for all of its extents (and no sums are kept)."""

    def __init__(self, layer: Layer, levels: list[Level], hw: dict[str, Any], memo: bool) -> None:
        self.strides, self.levels, self.simd = layer.strides, levels, hw["simd"]
        self.bw, self.latency = hw["noc_bw"], latency_of(hw)
        self.runs: dict[tuple, Run] | None = {} if memo else None
        self.done: set[tuple[int, ...]] = set()

    def execute(self, level: int, box: Box) -> Run:
        """Execute a box on a unit that holds nothing."""
        if self.runs is None:
            return self.simulate(level, box)
        key = level, *map(len, box)
        if key not in self.runs:
            self.runs[key] = self.simulate(level, box)
        return self.runs[key]

    def simulate(self, level: int, box: Box) -> Run:
        """Execute a box step by step, on a PE at once."""
        run = Run()
        if level == len(self.levels):
            self.compute(run, box)
            return run
        psums: dict[int, Counter] = defaultdict(Counter)  # by unit: MACs in each word it holds
        of_box = steps(self.levels[level], box, self.strides)
        for before, now, after in neighbours(of_box):
            results = [self.execute(level + 1, box_of_unit) for box_of_unit in now.boxes]
            for unit, result in enumerate(results):
                absorb(run, result)
                psums[unit].update(result.sums)
            run.compute.append(max(result.time for result in results))
            self.load(run, level, before, now)
            self.leave(run, level, now.array["output"] - after.array["output"], psums)
        run.time = self.lockstep(run)
        return run

    def compute(self, run: Run, box: Box) -> None:
        """Execute a box on a PE; every MAC adds one to the count in its output word."""
        macs = math.prod(map(len, box))
        run.time = math.ceil(macs / self.simd)
        run.totals.update(macs=macs, busy=run.time)
        if self.runs is not None:
            return
        for mac in product(*box):
            assert mac not in self.done, f"executed twice: {mac}"
            self.done.add(mac)
            n, g, k, _, p, q, _, _ = mac
            run.sums[n, g, k, p, q] += 1

    def load(self, run: Run, level: int, before: Step, now: Step) -> None:
        """Count fetches and unit writes of a step (E3.2)."""
        fetched = 0
        for tensor in ("input", "filter"):
            new = len(now.array[tensor] - before.array[tensor])
            held = chain(before.units[tensor], repeat(frozenset()))  # an idle unit held nothing
            pairs = zip(now.units[tensor], held, strict=False)
            run.totals[level, f"fetch_{tensor}"] += new
            run.totals[level, f"write_{tensor}"] += sum(len(mine - old) for mine, old in pairs)
            fetched += new
        run.into.append(fetched)
        for tensor in TENSORS:
            run.arrays[tensor] = max(run.arrays[tensor], len(now.array[tensor]))
        sizes = [sum(map(len, tiles)) for tiles in zip(*now.units.values(), strict=True)]
        run.tiles[level] = max(run.tiles[level], *sizes)

    def leave(self, run: Run, level: int, leaving: Words, psums: dict[int, Counter]) -> None:
        """Send up the output words that the next step does not work on (E3.3)."""
        run.left.append(len(leaving))
        run.totals[level, "leaving"] += len(leaving)
        run.totals[level, "added"] += len(leaving & run.stored)
        run.stored |= leaving
        if self.runs is None:
            for word in leaving:
                run.sums[word] += sum(held.pop(word, 0) for held in psums.values())

    def noc(self, volume: int) -> int:
        """Return the cycles to move a number of words (E3.4)."""
        return self.latency + math.ceil(volume / self.bw) - 1 if volume else 0

    def lockstep(self, run: Run) -> int:
        """Return the time of a box under double buffering (E3.4)."""
        into, out = [self.noc(volume) for volume in run.into], [self.noc(v) for v in run.left]
        beside = zip(run.compute, [*into[1:], 0], [0, *out[:-1]], strict=True)
        return into[0] + sum(map(max, beside)) + out[-1]


def absorb(run: Run, result: Run) -> None:
    """Add the totals of a sub-box to those of the box."""
    run.totals.update(result.totals)
    for level, size in result.tiles.items():
        run.tiles[level] = max(run.tiles[level], size)


# ---- L2 and off-chip (E3.5), results (E5, E6) ---------------------------------------------------


def offchip(run: Run, whole: dict[str, int], capacity: int | None) -> dict[str, Any]:
    """Choose the resident tensors among all subsets; return mask, needs and off-chip words."""
    total = run.totals
    stream = {"input": total[0, "fetch_input"], "filter": total[0, "fetch_filter"]}
    stream["output"] = total[0, "leaving"]
    again = [tensor for tensor in TENSORS if stream[tensor] > whole[tensor]]
    need = {tensor: min(2 * run.arrays[tensor], whole[tensor]) for tensor in TENSORS}

    def choice(resident: tuple[str, ...]) -> dict[str, Any]:
        moved = {t: whole[t] if t in resident else stream[t] for t in TENSORS}
        back = moved["output"] - whole["output"]
        used = sum(whole[t] if t in resident else need[t] for t in TENSORS)
        read = moved["input"] + moved["filter"] + back
        mask = sum(MASK[t] for t in resident)
        key = read + moved["output"], sum(whole[t] for t in resident), mask
        return {"key": key, "mask": mask, "used": used, "read": read, "back": back} | moved

    sets = [choice(c) for size in range(len(again) + 1) for c in combinations(again, size)]
    fitting = [c for c in sets if capacity is None or c["used"] <= capacity]
    best = min(fitting, key=lambda c: c["key"]) if fitting else sets[0]
    hold = sum(whole[t] if t in again else need[t] for t in TENSORS)
    return best | {"size": sets[0]["used"], "hold": hold, "fits": bool(fitting)}


def spread(name: str, values: list[int]) -> dict[str, float]:
    """Return minimum, maximum, sum and average of a delay over the steps."""
    result = {"min": min(values), "max": max(values), "sum": sum(values)}
    result["avg"] = result["sum"] / len(values)
    return {f"{name}_{key}": value for key, value in result.items()}


def count_results(run: Run, depth: int, l2: dict[str, Any]) -> dict[str, Any]:
    """Return the counts of E5, level by level."""
    total, macs = run.totals, run.totals["macs"]
    out = {"macs": macs, "busy_pe_cycles": total["busy"], "steps": len(run.compute)}
    for tensor in ("input", "filter"):
        out[f"l2_read_{tensor}"] = total[0, f"fetch_{tensor}"]
        out[f"l2_write_{tensor}"] = l2[tensor]
        out[f"unit_write_{tensor}"] = total[0, f"write_{tensor}"]
        out[f"l1_write_{tensor}"] = total[depth - 1, f"write_{tensor}"]
        out[f"l1_read_{tensor}"] = macs
    out |= {"l1_read_output": macs, "l1_write_output": macs}
    out |= {"leaving_output": total[0, "leaving"], "l2_psum_read_output": total[0, "added"]}
    out["l2_write_output"] = out["leaving_output"] + l2["back"]
    out["l2_read_output"] = out["l2_psum_read_output"] + l2["output"]
    out |= {"offchip_read": l2["read"], "offchip_write": l2["output"], "l2_resident": l2["mask"]}
    out |= {"l2_size": l2["size"], "l2_used": l2["used"], "l2_hold": l2["hold"]}
    out["mid"] = [
        {f"write_{tensor}": total[j, f"write_{tensor}"] for tensor in ("input", "filter")}
        | {f"read_{tensor}": total[j + 1, f"fetch_{tensor}"] for tensor in ("input", "filter")}
        | {f"{way}_output": total[j + 1, "leaving"] for way in ("write", "read")}
        | {"size": 2 * run.tiles[j]}
        for j in range(depth - 1)
    ]
    out |= {"first_in": run.into[0], "last_out": run.left[-1], "l1_size": 2 * run.tiles[depth - 1]}
    return out


def add_time(out: dict[str, Any], run: Run, machine: Machine, hw: dict[str, Any]) -> None:
    """Add cycles, delays and bandwidths (E3.4, E3.5, E5)."""
    bw, moved = hw["offchip_bw"], out["offchip_read"] + out["offchip_write"]
    exposed = math.ceil(run.into[0] / bw) + math.ceil(run.left[-1] / bw)
    out["onchip_cycles"] = run.time
    out["cycles"] = cycles = max(exposed + run.time, math.ceil(moved / bw))
    out |= spread("ingress", [machine.noc(volume) for volume in run.into])
    out |= spread("compute", run.compute)
    out |= spread("egress", [machine.noc(volume) for volume in run.left])
    beside = zip([*run.into[1:], 0], [0, *run.left[:-1]], run.compute, strict=True)
    out["peak_bw"] = max(math.ceil(max(i, o) / comp) for i, o, comp in beside)
    out["avg_bw"] = (sum(run.into) + sum(run.left)) / run.time
    out["offchip_bw_req"] = moved / cycles
    out["avg_active_pes"] = out["busy_pe_cycles"] / cycles
    out["throughput"] = out["macs"] / cycles
    out["utilization"] = out["macs"] / (cycles * hw["num_pes"] * hw["simd"])


def add_cost(out: dict[str, Any], levels: list[Level], hw: dict[str, Any], run: Run) -> None:
    """Add pooled L1, reuse factors, energy, area and power (E5, E6, MAESTRO S9)."""
    below = [math.prod(level.units for level in levels[j + 1 :]) for j in range(len(levels))]
    out["l1_share"] = sum(-(-mid["size"] // n) for mid, n in zip(out["mid"], below, strict=False))
    out["l1_total"] = l1 = out["l1_size"] + out["l1_share"]
    macs, l2, pes = out["macs"], out["l2_used"], hw["num_pes"]
    out["arithmetic_intensity"] = macs / (out["l2_read_input"] + out["l2_read_filter"])
    for tensor in ("input", "filter"):
        out[f"multicast_{tensor}"] = out[f"unit_write_{tensor}"] / out[f"l2_read_{tensor}"]
        out[f"reuse_{tensor}"] = macs / out[f"l1_write_{tensor}"]
    out["l1_accesses"] = 4 * macs + out["l1_write_input"] + out["l1_write_filter"]
    out["mid_accesses"] = sum(sum(mid.values()) - mid["size"] for mid in out["mid"])
    out["l2_accesses"] = sum(out[f"l2_{way}_{t}"] for way in ("read", "write") for t in TENSORS)
    l1_cost, l2_cost = hw.get("l1_macs", 1.68), hw.get("l2_macs", 18.61)
    near = out["l1_accesses"] + out["mid_accesses"]
    chip = macs + l1_cost * near + l2_cost * out["l2_accesses"]
    moved = out["offchip_read"] + out["offchip_write"]
    taken_or_sent = ("write_input", "write_filter", "leaving")
    transfers = sum(run.totals[j, way] for j in range(len(levels)) for way in taken_or_sent)
    moving = hw.get("noc_macs", 0) * transfers + hw.get("offchip_cost", 0) * moved
    out["energy"] = float(hw.get("mac_nj", 0.00023) * (chip + moving))
    bus, arbiter = 14.662 * pes + 28.895, 1.2886 * pes**2 + 5.5814 * pes - 23.711
    noc_area = 101.7938 * bus * hw["noc_bw"] + max(395.473 * arbiter, 395.473)
    noc_power = 0.8 * bus / 1000 * hw["noc_bw"] + max(0.34 * arbiter / 1000, 0.34)
    out["area"] = pes * (283 * hw["simd"] + 0.104 * l1) + 0.104 * l2 + noc_area
    out["power"] = pes * (1.2223 * hw["simd"] + 0.00345 * l1) + 0.00345 * l2 + noc_power
    blocks = math.ceil(l2 / 32768) * 4161.536 + math.ceil(l1 / 64) * 4505.1889 * pes
    out["gamma_area"] = pes * 4470 + blocks


def check_sums(layer: Layer, machine: Machine, run: Run) -> None:
    """Check that every MAC was executed once and every output word got all of its MACs."""
    assert run.totals["macs"] == layer.macs
    whole = words(layer.box, layer.strides)["output"]
    assert run.stored == whole
    if machine.runs is None:
        _, _, _, c, _, _, r, s = map(len, layer.box)
        assert len(machine.done) == layer.macs
        assert run.sums == dict.fromkeys(whole, c * r * s)


def simulate(row: dict[str, Any], memo: bool = False) -> dict[str, Any]:
    """Execute a row.

    Args:
        row: A line of the reference rows: type, stride, dims, dataflow and hw. hw may also have
            `hops` (default 1), `offchip_cost` (default 0), `noc_macs` (default 0), `mac_nj`,
            `l1_macs` and `l2_macs` (defaults of E6); l1 and l2 may be None (unlimited).
        memo: Execute one box for all boxes of the same level and extents (E3.1 says they cost
            the same); partial sums are then not followed.

    Returns:
        `status` by the names of E7 and, wherever results exist, `out` by the names of E5 and E6.
    """
    try:
        layer, levels = prepare(row)
    except RefusedError as refused:
        return {"status": refused.status}
    hw = row["hw"]
    machine = Machine(layer, levels, hw, memo)
    run = machine.execute(0, layer.box)
    check_sums(layer, machine, run)
    whole = {tensor: len(found) for tensor, found in words(layer.box, layer.strides).items()}
    l2 = offchip(run, whole, hw.get("l2"))
    out = count_results(run, len(levels), l2)
    add_time(out, run, machine, hw)
    add_cost(out, levels, hw, run)
    status = "ok" if l2["fits"] else "l2_overflow"
    if hw.get("l1") is not None and out["l1_total"] > hw["l1"]:
        status = "l1_overflow"
    return {"status": status, "out": out}
