"""Random rows that the simulator can execute quickly: a seeded generator and a strategy around it.

Every choice goes through the given `random.Random`; simple values stand first in every choice,
so that hypothesis, which hands in a generator of its own, shrinks towards simple rows.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from row_reader import MAX_LEVELS, prepare, static_status
from simulator import TENSORS, steps, words

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

Row = dict[str, Any]

CAPS = {"N": 3, "G": 4, "K": 9, "C": 9, "P": 9, "Q": 9, "R": 5, "S": 5}
# Own names by canonical dimension; P and Q of the convolutions are written as Y and X.
OWN = {
    "CONV": {"K": "K", "C": "C", "P": "Y", "Q": "X", "R": "R", "S": "S", "N": "N"},
    "GEMM": {"P": "M", "C": "K", "K": "N"},
    "DSCONV": {"G": "C", "P": "Y", "Q": "X", "R": "R", "S": "S", "N": "N"},
}
OWN |= {"FC": OWN["CONV"], "NGCONV": OWN["CONV"] | {"G": "G"}}
KINDS = ("CONV", "CONV", "NGCONV", "DSCONV", "GEMM", "FC")
BANDWIDTHS = (64, 33, 16, 8, 7, 4, 3, 2, 1, 1, 1)
UNLIMITED = 2**30


def chance(rng: Random, one_in: int) -> bool:
    """Return True once in `one_in` times."""
    return rng.randrange(one_in) == one_in - 1


# ---- Layers -------------------------------------------------------------------------------------


def small_extents(rng: Random, kind: str, max_macs: int) -> dict[str, int]:
    """Return extents with at most `max_macs` MACs; in random order, so that none is starved."""
    dims = list(OWN[kind])
    rng.shuffle(dims)
    extents = dict.fromkeys(dims, 1)
    if kind == "FC" and chance(rng, 2):
        dims = ["K", "C"]
    for dim in dims:
        cap = 2 * CAPS[dim] if kind in ("GEMM", "FC") else CAPS[dim]
        extents[dim] = rng.randint(1, min(cap, max_macs))
        max_macs //= extents[dim]
    return extents


def huge_extents(rng: Random, kind: str, bound: int) -> dict[str, int]:
    """Return extents with at least `bound` MACs, as few more as possible."""
    extents = dict.fromkeys(OWN[kind], 1)
    first, second, last = rng.sample([dim for dim in extents if dim not in "RS"], 3)
    extents[first], extents[second] = 2**20, rng.randint(2**19, 2**20)
    extents[last] = -(-bound // math.prod(extents.values()))
    return extents


def layer_of(rng: Random, kind: str, extents: dict[str, int], strides: tuple[int, int]) -> Row:
    """Write the extents as a layer of the row format."""
    dims = {OWN[kind][dim]: extent for dim, extent in extents.items() if dim not in "PQ"}
    if kind == "GEMM":
        return {"type": kind, "stride": None, "dims": dims | {"M": extents["P"]}}
    outputs_given = chance(rng, 4)
    for name, dim, window, stride in (("Y", "P", "R", 0), ("X", "Q", "S", 1)):
        if outputs_given:
            dims[name + "'"] = extents[dim]
        else:  # rows below the last window exist in the layer only
            unused = rng.randrange(strides[stride])
            reach = (extents[dim] - 1) * strides[stride] + extents[window]
            dims[name] = reach + unused
    if dims["N"] == 1 and not chance(rng, 3):
        del dims["N"]
    if kind == "DSCONV" and chance(rng, 2):
        dims["K"] = 1
    if kind == "FC":
        for name, window in (
            ("R", "R"),
            ("S", "S"),
            ("Y", "R"),
            ("X", "S"),
            ("Y'", "R"),
            ("X'", "S"),
        ):
            # Without rows there is one, which a larger window does not fit in.
            if dims.get(name) == 1 and dims.get(window, 1) == 1 and chance(rng, 2):
                del dims[name]
    return {"type": kind, "stride": list(strides), "dims": dims}


# ---- Mappings -----------------------------------------------------------------------------------


def directive(rng: Random, row: Row, dim: str, tile: int, limit: int, spatial: bool) -> str:
    """Write one loop in one of its spellings."""
    name, stride, window = OWN[row["type"]][dim], 1, 1
    size, offsets = tile, [tile]
    if name in ("Y", "X"):
        stride = row["stride"]["YX".index(name)]
        window = row["dims"].get("R" if name == "Y" else "S", 1)
        name = rng.choice((name + "'", name, name, dim))
    if name in ("Y", "X"):
        size = (tile - 1) * stride + window + rng.randrange(stride)
        offsets = [tile * stride, tile]
    if tile >= limit:  # one chunk: the offset is not used
        offsets += [rng.randint(1, size + 1)]
    written = [str(size)] * 2 + [f"Sz({key})" for key, s in row["dims"].items() if s == size]
    kind = "SpatialMap" if spatial else "TemporalMap"
    return f"{kind}({rng.choice(written)},{rng.choice(offsets)}) {name};"


def level_of(rng: Random, row: Row, limits: dict[str, int]) -> list[str]:
    """Write one level and cut `limits` to its tiles."""
    present = [dim for dim in limits if dim != "N" or "N" in row["dims"] or row["type"] == "GEMM"]
    missing = rng.choice((0, 0, 1, 2, len(present)))
    loops = rng.sample(present, max(1, len(present) - missing))
    # A spatial loop with something to share is worth more than one of a single chunk.
    wide = [dim for dim in loops if limits[dim] > 1]
    spatial = rng.choice(wide) if wide and not chance(rng, 8) else rng.choice(loops)
    texts = []
    for dim in loops:
        limit = limits[dim]
        inner = rng.randint(1, max(1, limit - 1))
        tile = rng.choice((limit, 1, inner, inner, -(-limit // 2), limit + chance(rng, 2)))
        texts.append(directive(rng, row, dim, tile, limit, dim == spatial))
        limits[dim] = min(tile, limit)
    if row["type"] == "DSCONV" and chance(rng, 6):  # ignored, whatever it says
        size, offset = rng.randint(1, 3), rng.randint(1, 3)
        texts.insert(rng.randint(0, len(texts)), f"TemporalMap({size},{offset}) K;")
    return texts


def mapping_of(rng: Random, row: Row, extents: dict[str, int], clusters: list[int]) -> list[str]:
    """Write a mapping of 1 + len(clusters) levels."""
    limits = dict(extents)
    texts = level_of(rng, row, limits)
    for cluster in clusters:
        texts.append(f"Cluster({cluster},{rng.choice('PL')});")
        texts += level_of(rng, row, limits)
    return texts


# ---- Hardware -----------------------------------------------------------------------------------

PRICES = ("offchip_cost", "mac_nj", "l1_macs", "l2_macs", "noc_macs")


def hardware_of(rng: Random, clusters: list[int], offchip_cost: bool) -> Row:
    """Return hardware without capacities that has room for the clusters."""
    group = math.prod(clusters)
    units = rng.choice((1, 2, 2, 3, 3, 4, 5, 24))
    hw = {
        "num_pes": group * units + rng.randrange(group),  # the rest of the PEs is not used
        "noc_bw": rng.choice(BANDWIDTHS),
        "hop_latency": rng.randint(0, 5),
        "offchip_bw": rng.choice(BANDWIDTHS),
        "l1": None,
        "l2": None,
        "simd": rng.randint(1, 4),
    }
    return hw | (energies_of(rng) if offchip_cost else {})


def energies_of(rng: Random) -> Row:
    """Return energies: an off-chip word's, and as often as not all others too."""
    energies: Row = {"offchip_cost": rng.choice((0, 200))}
    if chance(rng, 2):
        energies |= {"mac_nj": rng.choice((0.00023, 0.1, 7)), "noc_macs": rng.choice((0, 2, 3.5))}
        energies |= {"l1_macs": rng.choice((0, 1, 1.68)), "l2_macs": rng.choice((6, 18.61, 1e3))}
    return energies


def set_capacities(rng: Random, row: Row) -> None:
    """Put l1 and l2 at, just below or just above the needs; the first tiles are the largest."""
    layer, levels = prepare(row)
    whole = {tensor: len(found) for tensor, found in words(layer.box, layer.strides).items()}
    box, needs, l1 = layer.box, {}, 0
    for level in levels:
        step = next(steps(level, box, layer.strides))
        needs = needs or {t: min(2 * len(step.array[t]), whole[t]) for t in TENSORS}
        below = math.prod(lower.units for lower in levels[levels.index(level) + 1 :])
        l1 += -(-2 * sum(len(step.units[t][0]) for t in TENSORS) // below)
        box = step.boxes[0]
    resident = rng.sample(TENSORS, rng.choice((0, 1, 1, 2, 2, 3)))
    l2 = sum(whole[t] if t in resident else needs[t] for t in TENSORS)
    row["hw"]["l2"] = rng.choice((None, UNLIMITED, l2, l2, l2, l2, l2 + 1, l2 - 1))
    row["hw"]["l1"] = rng.choice((None, UNLIMITED, l1, l1, l1, l1 + 1, l1 - 1))


# ---- Rows without results -----------------------------------------------------------------------


def break_hardware(rng: Random, row: Row) -> None:
    """Leave hardware without units, bandwidth or time to move words."""
    name = rng.choice(("num_pes", "noc_bw", "offchip_bw", "simd", "hop_latency"))
    row["hw"][name] = -1 if name == "hop_latency" else rng.choice((0, -1))
    if "offchip_cost" in row["hw"] and chance(rng, 2):
        row["hw"][rng.choice(PRICES)] = rng.choice((-1.0, math.inf, math.nan))


def break_layer(rng: Random, row: Row) -> None:
    """Leave a layer that is none."""
    dims, kind = row["dims"], row["type"]
    ways = ["type", "missing", "extent"]
    if kind != "GEMM":
        ways += ["stride"] + ["window"] * ("Y" in dims and "R" in dims)
    ways += ["filters"] * (kind == "DSCONV")
    way = rng.choice(ways)
    if way == "type":
        row["type"] = rng.choice(("TRCONV", "POOL", "LSTM", "CONV2D"))
    elif way == "missing":
        del dims[rng.choice([n for n in dims if n == "C" or (n in "MKN" and kind == "GEMM")])]
    elif way == "extent":
        dims[rng.choice(list(dims))] = 0
    elif way == "stride":
        row["stride"][rng.randrange(2)] = 0
    elif way == "window":
        dims["R"] = dims["Y"] + 1
    else:
        dims["K"] = 2


def break_syntax(rng: Random, row: Row) -> None:
    """Write what cannot be read, or read as one loop per dimension."""
    texts = row["dataflow"]
    name = next(text for text in texts if text.startswith("Spatial")).split()[-1]
    wrong = ["0,1", "1,0", "1", "a,1", "1.5,1", "Sz(Z),1", "1,1 1"]
    ways = [f"TemporalMap({numbers}) {name}" for numbers in wrong]
    ways += ["TemporalMap(1,1) Z;", "TemporalMap(1,1)", "Map(1,1) " + name]
    ways += ["Cluster(0,P);", "Cluster(1,Q);", "Cluster(1);", "Cluster(x,P);"]
    if row["type"] == "GEMM":
        ways += ["TemporalMap(1,1) C;", "TemporalMap(1,1) Y';"]
    if chance(rng, 6):
        row["dataflow"] = []
    elif chance(rng, 3):  # a second loop for the dimension, in another spelling if there is one
        at = next(i for i, text in enumerate(texts) if text.startswith("Spatial"))
        other = {"Y;": "Y';", "X;": "X';", "Y';": "P;", "X';": "Q;"}.get(name, name)
        texts.insert(at + rng.randrange(2), f"TemporalMap({UNLIMITED},1) {other}")
    else:
        texts.insert(rng.randint(0, len(texts)), rng.choice(ways))


def add_levels(rng: Random, row: Row) -> None:
    """Append levels until there are five or six."""
    last = [text for text in row["dataflow"] if text.startswith("Spatial")][-1]
    levels = 1 + sum(text.startswith("Cluster") for text in row["dataflow"])
    row["dataflow"] += ["Cluster(1,P);", last] * (5 - levels + rng.randrange(2))


def exceed_pes(rng: Random, row: Row) -> None:
    """Ask for more PEs than there are."""
    texts = row["dataflow"]
    at = [i for i, text in enumerate(texts) if text.startswith("Cluster")]
    if at:
        texts[rng.choice(at)] = f"Cluster({row['hw']['num_pes'] + 1},P);"
    else:
        texts += [f"Cluster({row['hw']['num_pes'] + 1},P);", texts[0]]


def break_coverage(rng: Random, row: Row) -> None:
    """Make MACs missed or repeated; changes nothing if no loop has more than one chunk."""
    texts = row["dataflow"]
    for at in rng.sample(range(len(texts)), len(texts)):
        kind, _, rest = texts[at].partition("(")
        if kind == "Cluster":
            continue
        numbers, _, name = rest.rpartition(")")
        size, _, offset = numbers.rpartition(",")
        ways = [f"{size},{int(offset) + change}" for change in (1, 2, -1) if int(offset) > 1]
        for way in rng.sample([*ways, f"1,{offset}", f"{size},1"], len(ways) + 2):
            row["dataflow"] = [*texts[:at], f"{kind}({way}){name}", *texts[at + 1 :]]
            if static_status(row) == "coverage":
                return
    row["dataflow"] = texts


def break_spatial(rng: Random, row: Row) -> None:
    """Leave a level without a spatial loop or with two."""
    texts = row["dataflow"]
    clusters = sum(text.startswith("Cluster") for text in texts)
    if clusters < MAX_LEVELS - 1 and chance(rng, 4):  # a level without any loop
        texts.insert(rng.choice((0, len(texts))), "Cluster(1,P);")
        return
    at = rng.choice([i for i, text in enumerate(texts) if not text.startswith("Cluster")])
    kind, _, rest = texts[at].partition("(")
    texts[at] = f"{'TemporalMap' if kind == 'SpatialMap' else 'SpatialMap'}({rest}"


DEFECTS: dict[str, Callable[[Random, Row], None]] = {
    "bad_hw": break_hardware,
    "bad_layer": break_layer,
    "bad_tile": break_syntax,
    "too_many_levels": add_levels,
    "cluster_exceeds_pes": exceed_pes,
    "coverage": break_coverage,
    "bad_spatial": break_spatial,
}


# ---- Rows ---------------------------------------------------------------------------------------


def random_row(
    rng: Random, max_macs: int = 500, *, defect: str | None = None, offchip_cost: bool = False
) -> Row:
    """Return a row of the reference format, without status and out.

    Args:
        rng: Source of every choice.
        max_macs: Largest number of MACs of the layer.
        defect: A status of E7 up to overflow that the row is to have; coverage is the only one
            that cannot be had with every layer. None: a row with results.
        offchip_cost: Also give hw an `offchip_cost`, other energies; reference rows have none.
    """
    kind = rng.choice(KINDS)
    strides = (1, 1) if chance(rng, 3) else (rng.randint(1, 3), rng.randint(1, 3))
    clusters = [rng.choice((1, 2, 3, 4)) for _ in range(rng.choice((0, 0, 1, 1, 1, 2, 2, 3)))]
    hw = hardware_of(rng, clusters, offchip_cost)
    if defect == "overflow":
        per_mac = 1 + 2 * (1 + len(clusters)) * (1 + hw["hop_latency"])
        extents = huge_extents(rng, kind, -(-(2**60) // per_mac))
    else:
        extents = small_extents(rng, kind, max_macs)
    row = layer_of(rng, kind, extents, strides)
    row |= {"dataflow": mapping_of(rng, row, extents, clusters), "hw": hw}
    if defect != "overflow":
        set_capacities(rng, row)
    if defect in DEFECTS:
        DEFECTS[defect](rng, row)
    return row


@st.composite
def rows(
    draw: st.DrawFn, max_macs: int = 500, *, ill_formed: bool = True, offchip_cost: bool = False
) -> Row:
    """Rows for the simulator; one in eight has no results unless `ill_formed` is False."""
    defects = [*DEFECTS, "overflow"]
    defect = draw(st.sampled_from([None] * 7 * len(defects) + defects)) if ill_formed else None
    rng = draw(st.randoms(use_true_random=False))
    return random_row(rng, max_macs, defect=defect, offchip_cost=offchip_cost)
