"""Brute-force simulator of the cost model `hierarchy`: the machine of H3 and H4 with sets of words.

A test oracle. It shares no code and no formula with the implementation: every step of the flat nest
is executed, a unit's words are a Python set, and what moves is a set difference. Numbers H1 ... H8
are the sections of the specification.

A row is a line of the reference format. Elements may also have, by letters of I, W, O: `history`
(tensors without), `multicast`, `reduce` (tensors apart) and `width`; a memory `pool`, `buffers`,
`read_bw`, `write_bw` or `bw`, `read_pj`, `write_pj`, `beat`, `gaps`, `cache`, `line`, `miss`,
`launch`, `step`, `load`, `finish`, `refill` (H6); a fan-out `pj` and `bw`; a row `simd`, `latch`,
`mac_pj` and `options`, the switches of H8.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DIMS = "NGKCPQRS"
TENSORS = {"I": "input", "W": "filter", "O": "output"}
# An axis is one dim, or outputs and window that slide over rows or columns.
AXES = {"I": ("N", "G", "C", "PR", "QS"), "W": "GKCRS", "O": "NGKPQ"}
# Words that differ in this dim alone follow each other in a memory (H6).
RUNS = {"I": "C", "W": "K", "O": "K"}
MAC = "mac"

Box = tuple[range, ...]
Unit = tuple[int, ...]
Step = dict[Unit, Box]
Loop = tuple[int, str, int, bool]  # element, dim, tile, spatial


@lru_cache(maxsize=100_000)
def words(
    tensor: str, box: Box, slide: tuple[tuple[int, int], ...], piece: int = 1
) -> frozenset[tuple[Any, ...]]:
    """Return the words of a tensor that the MACs of a box touch (H2), or pieces of runs (H6)."""
    axes: list[set[Any]] = []
    for axis in AXES[tensor]:
        first, *second = (box[DIMS.index(dim)] for dim in axis)
        if second:
            stride, dilation = slide["PQ".index(axis[0])]
            axes.append({p * stride + r * dilation for p in first for r in second[0]})
        elif piece > 1 and axis == RUNS[tensor]:
            axes.append({(first.start, (word - first.start) // piece) for word in first})
        else:
            axes.append(set(first))
    return frozenset(product(*axes))


def filled(tensor: str, own: frozenset[tuple[Any, ...]]) -> frozenset[tuple[Any, ...]]:
    """Return words with all that lies between their rows and columns (H6)."""
    axes: list[Any] = []
    for axis, touched in zip(AXES[tensor], zip(*own, strict=True), strict=True):
        slides = len(axis) > 1
        axes.append(range(min(touched), max(touched) + 1) if slides else set(touched))
    return frozenset(product(*axes))


class Nest:
    """A mapping on an accelerator: one flat nest of loops (H3.1)."""

    def __init__(self, row: dict[str, Any]) -> None:
        layer, self.elements = row["layer"], row["accelerator"]
        self.whole: Box = tuple(range(layer["dims"].get(dim, 1)) for dim in DIMS)
        self.slide = tuple(zip(layer["stride"], layer["dilation"], strict=True))
        self.loops: list[Loop] = [
            (element, dim, tile, "fanout" in self.elements[element])
            for element, loops in enumerate(row["mapping"])
            for dim, tile in loops
        ]
        self.mac = len(self.elements)
        self.row = row
        self.options: dict[str, Any] = {
            "share": "windows",
            "psum": "readback",
            "drains": True,
            "exposed": True,
            **row.get("options", {}),
        }

    def above(self, child: int) -> list[Loop]:
        """Return the loops above an element; above the MAC stand those that leave one MAC (H2)."""
        loops = [loop for loop in self.loops if loop[0] < child]
        return loops + [(child, dim, 1, False) for dim in DIMS] if child == self.mac else loops

    def steps(self, loops: Sequence[Loop], units: Step | None = None) -> Iterator[Step]:
        """Yield the boxes of all units in every step; unit 0 has a box in each (H3.1)."""
        units = units or {(): self.whole}
        if not loops:
            yield units
            return
        (_, dim, tile, spatial), *inner = loops
        d = DIMS.index(dim)

        def cut(box: Box, chunk: int) -> Box:
            return (*box[:d], box[d][chunk * tile : (chunk + 1) * tile], *box[d + 1 :])

        chunks = range(self.chunks(units, dim, tile))
        if spatial:
            cuts = {(*u, k): cut(box, k) for u, box in units.items() for k in chunks}
            yield from self.steps(inner, {u: box for u, box in cuts.items() if box[d]})
            return
        for k in chunks:
            now = {u: cut(box, k) for u, box in units.items()}
            yield from self.steps(inner, {u: box for u, box in now.items() if box[d]})

    def chunks(self, units: Step, dim: str, tile: int) -> int:
        """Return the positions of a loop: those of unit 0."""
        return math.ceil(len(next(iter(units.values()))[DIMS.index(dim)]) / tile)

    def cuts(self, loop: Loop) -> bool:
        """Tell whether a loop has several positions anywhere."""
        _, dim, tile, _ = loop
        sizes = [len(self.whole[DIMS.index(dim)])]
        before = self.above(self.mac)[: self.above(self.mac).index(loop)]
        sizes += [t for _, other, t, _ in before if other == dim]
        return tile < min(sizes)

    def separate(self, tensor: str, parent: int, child: int) -> list[bool]:
        """Tell for each spatial loop above a child whether its positions get words of their own."""
        loops = self.above(child)
        flags = []
        for index, (element, dim, _, spatial) in enumerate(loops):
            if not spatial:
                continue
            flag = "reduce" if tensor == "O" else "multicast"
            alone = tensor in self.elements[element].get(flag, "")
            later = [each for each in loops[index + 1 :] if each[1] == dim and not each[3]]
            slides = tensor == "I" and dim in "PQRS"
            alone |= slides and self.options["share"] == "tiles"
            apart = slides and any(each[0] < self.mac or self.cuts(each) for each in later)
            apart |= slides and any(
                each[1] == dim and tensor in self.elements[each[0]].get(flag, "")
                for each in loops[index + 1 :]
                if each[3] and self.cuts(each)
            )
            flags.append(element < parent or alone or apart)
        return flags


def moved(
    nest: Nest, tensor: str, parent: int, child: int, piece: int = 1, gaps: bool = False
) -> dict[str, int]:
    """Return the words of a tensor that move between two of its holders (H3, H4), or pieces."""
    loops = nest.above(child)
    separate = nest.separate(tensor, parent, child)
    inside = [loop[0] < parent for loop in loops if loop[3]]  # whether above the parent
    if child == nest.mac:
        kept = tensor in nest.row.get("latch", "") or nest.options.get("latch", False)
    else:
        kept = tensor not in nest.elements[child].get("history", "")
    count: Counter[str] = Counter()
    arrived: set[Any] = set()
    # For an output time runs backwards: what is not in the step after leaves.
    steps = list(nest.steps(loops))
    before: tuple[dict[Any, Any], dict[Any, Any]] = ({}, {})
    for index, step in enumerate(reversed(steps) if tensor == "O" else steps):
        units = {u: words(tensor, box, nest.slide, piece) for u, box in step.items()}
        arrays: dict[Any, Any] = {}
        for u, own in units.items():
            key = tuple(k for k, flag in zip(u, separate, strict=True) if flag)
            at = tuple(k for k, flag in zip(u, inside, strict=True) if flag)
            arrays[at, key] = arrays.get((at, key), frozenset()) | own
            arrived |= {(at, word) for word in own}
        if gaps:
            arrays = {key: filled(tensor, own) for key, own in arrays.items()}
        for way, now, old in (("parent", arrays, before[0]), ("child", units, before[1])):
            for key, own in now.items():
                new = len(own - (old.get(key, frozenset()) if kept else frozenset()))
                count[way] += new
                zero = not any(key[0] if way == "parent" else key)
                count[f"{way}_0"] += new * zero
                count[f"{way}_edge"] += new * zero * (index == 0)
                count[f"{way}_begin"] += len(own) * zero * (index == len(steps) - 1)
        before = (arrays, units)
    count["parents"], count["children"] = len({at for at, _ in arrived}), len(steps[0])
    count["distinct"] = len(arrived)
    count["distinct_0"] = sum(not any(at) for at, _ in arrived)
    return dict(count)


def boundaries(nest: Nest) -> Iterator[tuple[str, int, int]]:
    """Yield every tensor with each pair of its consecutive holders, the MAC being the last (H1)."""
    for tensor in TENSORS:
        holders = [e for e, each in enumerate(nest.elements) if tensor in each.get("keep", "")]
        for parent, child in zip(holders, [*holders[1:], nest.mac], strict=True):
            yield tensor, parent, child


def broken_rules(row: dict[str, Any]) -> set[tuple[str, str]]:
    """Return element and name of each rule that a mapping breaks (H2.1).

    Whether a tensor stays shows as its loops are executed.

    An element has `rules`: lists of dims and tensors, or sizes by dim, by their names.
    """
    nest, found = Nest(row), set()
    loops = [loop for loop in nest.loops if nest.cuts(loop)]

    whole = dict(zip(DIMS, map(len, nest.whole), strict=True))

    def boxes(element: int) -> list[Box]:
        above = [loop for loop in loops if loop[0] < element]
        return [next(iter(step.values())) for step in nest.steps(above)]

    for element, each in enumerate(nest.elements):
        name, rules = each.get("memory") or each["fanout"], each.get("rules", {})
        here = [loop for loop in loops if loop[0] == element]
        # The first box is the largest.
        extent = whole | {dim: tile for above, dim, tile, _ in loops if above < element}
        if {dim for _, dim, _, _ in here} - set(rules.get("dims", DIMS)):
            found.add((name, "dims"))
        units = {dim: math.ceil(extent[dim] / tile) for _, dim, tile, _ in here}
        if any(units.get(dim, 1) > most for dim, most in rules.get("units", {}).items()):
            found.add((name, "units"))
        if any(extent[dim] > most for dim, most in rules.get("tiles", {}).items()):
            found.add((name, "tiles"))
        if any(extent[dim] < whole[dim] for dim in rules.get("whole", ())):
            found.add((name, "whole"))
        order = [dim for _, dim, _, _ in here]
        for rule, dims in (("outermost", order), ("innermost", order[::-1])):
            wanted = [dim for dim in rules.get(rule, ()) if dim in dims]
            if any(dims.index(dim) != place for place, dim in enumerate(wanted)):
                found.add((name, rule))
        for tensor, letters in (("input", "NGCPQRS"), ("filter", "GKCRS"), ("output", "NGKPQ")):
            if tensor in rules.get("stays", ()):
                tiles = [tuple(box[DIMS.index(dim)] for dim in letters) for box in boxes(element)]
                visits = [tile for tile, _ in itertools.groupby(tiles)]
                if len(visits) > len(set(visits)):
                    found.add((name, "stays"))
    return found


def compute_cycles(nest: Nest, simd: int) -> float:
    """Return the cycles that unit 0 computes (H5), or that steps take, and outputs (H6)."""

    def busy(box: Box) -> int:
        return math.ceil(math.prod(map(len, box)) / simd)

    def boxes(loops: Sequence[Loop]) -> list[Box]:
        return [next(iter(step.values())) for step in nest.steps(loops)]

    most = sum(map(busy, boxes(nest.loops)))
    for e, memory in enumerate(nest.elements):
        if not memory.get("step", 0) and not memory.get("load", 0):
            continue
        kept = {dim for tensor in memory["keep"] for axis in AXES[tensor] for dim in axis}
        before, cycles = None, 0
        for box in boxes(nest.above(e)):
            tile = [box[DIMS.index(dim)] for dim in sorted(kept)]
            loads = tile != before or any(each in memory["keep"] for each in memory["history"])
            least = max(memory.get("step", 0), memory.get("load", 0) if loads else 0)
            cycles, before = cycles + max(busy(box), least), tile
        most = max(most, cycles)
    finished = {word for box in boxes(nest.above(nest.mac)) for word in words("O", box, nest.slide)}
    return most + sum(each.get("finish", 0) for each in nest.elements) * len(finished)


def output_tiles(nest: Nest) -> int:
    """Return the tiles of outputs that the first memory's loops make (H6)."""
    loops = [loop for loop in nest.loops if loop[0] == 0]
    boxes = (next(iter(step.values())) for step in nest.steps(loops))
    return len({tuple(box[DIMS.index(dim)] for dim in AXES["O"]) for box in boxes})


def flow(nest: Nest, tensor: str, count: dict[str, int], part: str = "") -> dict[str, float]:
    """Return what parent and child read and write (H4), in all or (`part` is _0) at the first."""
    parent, child = count[f"parent{part}"], count[f"child{part}"]
    if tensor != "O":
        return {"parent_reads": parent, "parent_writes": 0, "child_reads": 0, "child_writes": child}
    new = 0 if nest.options["psum"] == "bias" else count[f"distinct{part}"]
    back = 0 if nest.options["psum"] == "destination" else child * (parent - new) / parent
    reads = {"parent_reads": parent - new, "child_reads": child * nest.options["drains"]}
    return {**reads, "parent_writes": parent, "child_writes": back}


def edges(nest: Nest, tensor: str, count: dict[str, int]) -> dict[str, dict[str, float]]:
    """Return the first fetch, and the last drain, of a boundary (H6)."""
    fetch = {"parent_reads": count["parent_edge"], "child_writes": count["child_edge"]}
    if tensor != "O":
        return {"fetch": fetch, "drain": {}}
    drained = count["child_edge"] * nest.options["drains"]
    drain = {"parent_writes": count["parent_edge"], "child_reads": drained}
    fetch = {"parent_reads": count["parent_begin"], "child_writes": count["child_begin"]}
    return {"fetch": fetch if nest.options["psum"] == "bias" else {}, "drain": drain}


class Ports:
    """Bits through the ports of physical memories."""

    def __init__(self, nest: Nest) -> None:
        self.nest, self.bits = nest, Counter[tuple[str, str]]()
        self.waits = dict.fromkeys((each.get("memory") for each in nest.elements), 0.0)
        self.across = Counter[int]()  # bits through each fan-out

    def pool(self, element: int) -> str:
        memory = self.nest.elements[element]
        return str(memory.get("pool", memory["memory"]))

    def add(self, tensor: str, parent: int, child: int, flow: dict[str, float], times: Any) -> None:
        """Add the words of a boundary, `times` of those of parent and of child."""
        for way, words in flow.items():
            element, factor = (parent, times[0]) if way.startswith("parent") else (child, times[1])
            if element != self.nest.mac:
                width = self.nest.elements[element].get("width", {}).get(tensor, 8)
                self.bits[self.pool(element), way.split("_")[1]] += words * width * factor

    def cycles(self) -> float:
        """Return the cycles of the busiest port."""
        most = 0.0
        for memory in self.nest.elements:
            out, into = (self.bits[memory.get("memory"), way] for way in ("reads", "writes"))
            ways = [out / memory.get("read_bw", math.inf), into / memory.get("write_bw", math.inf)]
            if "bw" in memory:
                ways = [(out + into) / memory["bw"]]
            most = max(most, *(self.waits[memory.get("memory")] + way for way in ways))
        return max([most, *(bits / self.nest.elements[e]["bw"] for e, bits in self.across.items())])


class Port:
    """What passes the port of a boundary's parent: whole beats, and lines that miss (H6)."""

    def __init__(
        self, nest: Nest, tensor: str, parent: int, child: int, count: dict[str, int]
    ) -> None:
        at = nest.elements[parent]
        self.pool = at.get("pool", at["memory"])
        memory = next(each for each in nest.elements if each.get("memory") == self.pool)
        width = at.get("width", {}).get(tensor, 8)
        self.miss = memory.get("miss", 0)
        beat, line = (max(1, memory.get(key, 0) // width) for key in ("beat", "line"))
        gaps = tensor == "I" and memory.get("gaps", False)
        whole = words(tensor, nest.whole, nest.slide)
        size = len(filled(tensor, whole) if gaps else whole)
        missing = size * width > memory.get("cache", math.inf)
        pieces = [beat, line] if missing else [beat]
        self.kinds = [
            (piece, moved(nest, tensor, parent, child, piece, gaps) if piece > 1 or gaps else count)
            for piece in pieces
        ]

    def add(self, ports: Ports, named: Any, times: int = 1) -> dict[str, float]:
        """Add the time of misses, and return the words to count at the parent.

        `named` returns the flow of some counts.
        """
        (beat, pieces), *lines = self.kinds
        for _, missed in lines:
            sent = sum(each for way, each in named(missed).items() if way.startswith("parent"))
            ports.waits[self.pool] += times * sent * self.miss
        return {w: n * beat for w, n in named(pieces).items() if w.startswith("parent")}


def add_across(nest: Nest, boundary: Any, back: float, steady: Ports, by_child: Any) -> None:
    """Add what crosses the fan-outs between two holders (H6); a share `back` of it comes back."""
    tensor, parent, child = boundary
    width = nest.elements[parent].get("width", {}).get(tensor, 8)
    for e in range(parent + 1, child):
        if not {"fanout", "bw"} <= nest.elements[e].keys():
            continue
        count = moved(nest, tensor, e, child)
        if not nest.options["exposed"]:
            steady.across[e] += width * count["parent"] * (1 + back) / count["parents"]
            continue
        steady.across[e] += width * count["parent_0"] * (1 + back)
        ends = {"drain" if tensor == "O" else "fetch": count["parent_edge"]}
        if tensor == "O" and nest.options["psum"] == "bias":
            ends["fetch"] = count["parent_begin"]
        for part, words in ends.items() if child != nest.mac else ():
            for ports, times in ((by_child[part, child], 1), (steady, -1)):
                ports.across[e] += times * width * words


def costs(row: dict[str, Any]) -> dict[str, Any]:
    """Execute a row; return traffic with accesses, latency M+ (H6) and energy (H7)."""
    nest = Nest(row)
    found, energy = [], row.get("mac_pj", 0) * math.prod(map(len, nest.whole))
    steady, exposed = Ports(nest), {"fetch": 0.0, "drain": 0.0}
    by_child = {(part, e): Ports(nest) for part in exposed for e in range(nest.mac)}
    for tensor, parent, child in boundaries(nest):
        count = moved(nest, tensor, parent, child)
        all_of = flow(nest, tensor, count)
        names = {"parent": name_of(nest, parent), "child": name_of(nest, child)}
        sizes = {"parent_words": count["parent"], "child_words": count["child"]}
        first = count["distinct"] if tensor == "O" and nest.options["psum"] != "bias" else 0
        sizes |= {"first_arrivals": first}
        found.append({"tensor": TENSORS[tensor], **names, **sizes, **all_of})
        spent = Ports(nest)
        spent.add(tensor, parent, child, all_of, (1, 1))
        price = {each.get("memory"): each for each in nest.elements}
        energy += sum(
            bits * price[pool][f"{way[:-1]}_pj"] for (pool, way), bits in spent.bits.items()
        )
        wires = sum(each.get("pj", 0) for each in nest.elements[parent:child] if "fanout" in each)
        carried = count["child"] + (all_of["child_writes"] if tensor == "O" else 0)
        energy += wires * carried * nest.elements[parent].get("width", {}).get(tensor, 8)
        part_of = "_0" if nest.options["exposed"] else ""
        fills = flow(nest, tensor, count, part_of)["child_writes"]
        back = fills / count[f"child{part_of}"] if tensor == "O" else 0
        add_across(nest, (tensor, parent, child), back, steady, by_child)
        if not nest.options["exposed"]:
            steady.add(tensor, parent, child, all_of, (1 / count["parents"], 1 / count["children"]))
            continue
        port = Port(nest, tensor, parent, child, count)

        def first(counts: dict[str, int], tensor: str = tensor) -> dict[str, float]:
            return flow(nest, tensor, counts, "_0")

        at_parent = port.add(steady, first)
        steady.add(tensor, parent, child, {**first(count), **at_parent}, (1, 1))
        for part in exposed if child != nest.mac else ():

            def edge(counts: dict[str, int], tensor: str = tensor, part: str = part) -> Any:
                return edges(nest, tensor, counts)[part]

            for ports, times in ((by_child[part, child], 1), (steady, -1)):
                sent = {**edge(count), **port.add(ports, edge, times)}
                ports.add(tensor, parent, child, sent, (times, times))
    memories = [e for e, each in enumerate(nest.elements) if "memory" in each]
    for outside, e in itertools.pairwise(memories):
        launch = nest.elements[e].get("launch", 0)
        steady.waits[steady.pool(outside)] += launch * len(list(nest.steps(nest.above(e))))
    for (part, _), ports in by_child.items():
        exposed[part] += ports.cycles()
    compute, port = compute_cycles(nest, row.get("simd", 1)), steady.cycles()
    refill = nest.elements[0].get("refill", 0)
    exposed["fetch"] *= 1 + refill * (output_tiles(nest) - 1)
    latency = exposed["fetch"] + max(compute, port) + exposed["drain"]
    figures = {"latency_cycles": latency, "compute_cycles": compute, "port_cycles": port}
    ends = {"first_cycles": exposed["fetch"], "last_cycles": exposed["drain"]}
    return {"traffic": found, **figures, **ends, "energy_nj": energy / 1000}


def name_of(nest: Nest, element: int) -> str:
    """Return the name of a holder."""
    return MAC if element == nest.mac else str(nest.elements[element]["memory"])


def traffic(row: dict[str, Any]) -> list[dict[str, Any]]:
    """Execute a row; return the words that move, as the reference rows have them."""
    nest = Nest(row)
    found = []
    for tensor, parent, child in boundaries(nest):
        count = moved(nest, tensor, parent, child)
        names = {"parent": name_of(nest, parent), "child": name_of(nest, child)}
        sizes = {"parent_words": count["parent"], "child_words": count["child"]}
        found.append({"tensor": TENSORS[tensor], **names, **sizes})
    return found
