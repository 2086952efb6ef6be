"""Random tiny mappings on random accelerators, and the accelerators as the package has them."""

from __future__ import annotations

import math
import random
from typing import Any

from hierarchy_simulator import DIMS, TENSORS

from maestro_env.accelerators.elements import (
    Cache,
    Element,
    FanoutElement,
    MacElement,
    MemoryElement,
)
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.hierarchy.evaluation import Conventions, HierarchyEvaluator
from maestro_env.hierarchy.shape import Shape

Row = dict[str, Any]


def _letters(rng: random.Random, chance: float) -> str:
    return "".join(each for each in "IWO" if rng.random() < chance)


def _layer(rng: random.Random, most: int) -> Row:
    while True:
        dims = {
            dim: rng.choice((1, 1, 2, 3, 4, 5, 6) if dim in "KCPQ" else (1, 1, 2, 3))
            for dim in DIMS
        }
        if math.prod(dims.values()) <= most:
            pairs = {key: [rng.randint(1, 3), rng.randint(1, 3)] for key in ("stride", "dilation")}
            return {"dims": dims, **pairs}


def _memory(rng: random.Random, index: int) -> Row:
    keep = "IWO" if index == 0 or rng.random() < 0.4 else _letters(rng, 0.6)
    memory: Row = {"memory": f"M{index}", "keep": keep, "history": _letters(rng, 0.1)}
    memory["width"] = {letter: rng.choice((1, 8, 16)) for letter in "IWO"}
    memory |= {f"{way}_pj": rng.randint(0, 9) / 8 for way in ("read", "write")}
    ports = {"bw": rng.randint(1, 64)}, {"read_bw": rng.randint(1, 64)}, {}
    return {**memory, **rng.choice(ports), "write_bw": rng.randint(1, 64)}


def random_row(rng: random.Random, most_macs: int = 150) -> Row:
    """Return a row with all that H1 and H8 know."""
    row: Row = {"layer": _layer(rng, most_macs), "accelerator": [], "mapping": []}
    for index in range(rng.randint(1, 4)):
        memory = _memory(rng, index)
        if "bw" in memory:
            del memory["write_bw"]
        if index and rng.random() < 0.2 and "memory" in row["accelerator"][-1]:
            other = row["accelerator"][-1]
            memory = {key: memory[key] for key in ("memory", "keep", "history", "width")}
            memory["pool"] = other.get("pool", other["memory"])
        row["accelerator"].append(memory)
        for axis in "XY"[: rng.choice((0, 1, 1, 2))]:
            apart = {flag: _letters(rng, 0.15) for flag in ("multicast", "reduce")}
            apart = {
                "multicast": apart["multicast"].replace("O", ""),
                "reduce": apart["reduce"][:1],
            }
            apart["reduce"] = "O" if apart["reduce"] == "O" else ""
            fanout = {"fanout": f"F{index}{axis}", **apart, "pj": rng.randint(0, 4) / 8}
            row["accelerator"].append(fanout)
    box = dict(row["layer"]["dims"])
    for element in row["accelerator"]:
        loops = []
        for dim in rng.sample(DIMS, rng.randint(0, 4 if "memory" in element else 2)):
            # Tiles may exceed what they cut.
            tile = rng.randint(1, box[dim] + (rng.random() < 0.1))
            box[dim] = min(box[dim], tile)
            loops.append([dim, tile])
        row["mapping"].append(loops)
    row |= {
        "simd": rng.choice((1, 1, 2, 3)),
        "mac_pj": rng.randint(0, 3),
        "latch": _letters(rng, 0.2),
    }
    switches = {"psum": ("bias", "destination"), "share": ("tiles",), "drains": (False,)}
    switches |= {"exposed": (False,), "latch": (True,)}
    chosen = {name: rng.choice(each) for name, each in switches.items() if rng.random() < 0.15}
    for index, element in enumerate(row["accelerator"]):
        if "memory" in element and rng.random() < 0.3:
            element |= _pace(rng, index > 0, "pool" in element)
    for element in row["accelerator"]:
        if "fanout" in element and rng.random() < 0.2:
            element["bw"] = rng.randint(1, 64)
    # Of a generator that leaves the other draws as they are.
    outputs = random.Random(str(row))
    for element in row["accelerator"]:
        if "O" in element.get("keep", "") and outputs.random() < 0.3:
            element["finish"] = 2.5
    row["accelerator"][0]["refill"] = outputs.choice((0, 0, 0.25))
    return {**row, "options": chosen}


def _pace(rng: random.Random, inner: bool, pooled: bool) -> Row:
    """Return what slows a memory's port and steps down (H6)."""
    steps = {"step": rng.choice((0, 3)), "load": rng.choice((0, 5))}
    launch = {"launch": rng.choice((0, 9.5))} if inner else {}
    port = {"beat": rng.choice((0, 16, 20, 64)), "gaps": rng.random() < 0.5}
    cache = {"cache": rng.choice((1, 64, 256)), "line": rng.choice((1, 32)), "miss": 2.25}
    return {**steps, **launch, **({} if pooled else port | rng.choice(({}, cache)))}


def _names(letters: str) -> list[str]:
    return [TENSORS[letter] for letter in letters]


def _element(given: Row) -> Element:
    if "fanout" in given:
        apart = _names(given.get("multicast", "") + given.get("reduce", ""))
        return FanoutElement(
            name=given["fanout"], apart=apart, pj_per_bit=given.get("pj", 0), bw=given.get("bw")
        )
    return MemoryElement(
        name=given["memory"],
        keeps=_names(given["keep"]),
        forgets=_names(given.get("history", "")),
        width_bits={TENSORS[letter]: bits for letter, bits in given.get("width", {}).items()},
        pool=given.get("pool"),
        **{key: given[key] for key in ("bw", "read_bw", "write_bw") if key in given},
        **{f"{key}_per_bit": given.get(key, 0) for key in ("read_pj", "write_pj")},
        beat_bits=given.get("beat", 0),
        gaps=bool(given.get("gaps", 0)),
        cache=_cache(given),
        **{f"{key}_cycles": given.get(key, 0) for key in ("launch", "step", "load", "finish")},
        refill=given.get("refill", 0.0),
    )


def _cache(given: Row) -> Cache | None:
    if "cache" not in given:
        return None
    return Cache(bits=given["cache"], line_bits=given["line"], miss_cycles=given["miss"])


def hierarchy_of(row: Row) -> Hierarchy:
    """Return the accelerator of a row."""
    mac = MacElement(
        simd=row.get("simd", 1), latches=_names(row.get("latch", "")), pj=row.get("mac_pj", 0)
    )
    return Hierarchy([_element(each) for each in row["accelerator"]], mac)


def evaluator_of(row: Row) -> HierarchyEvaluator:
    """Return what evaluates a row."""
    layer = row["layer"]
    shape = Shape(layer["dims"], layer["stride"], layer["dilation"])
    return HierarchyEvaluator(shape, hierarchy_of(row), Conventions(**row.get("options", {})))
