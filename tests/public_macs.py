"""Counts the MACs of files of other tools, in a way that shares no code with the package."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jinja2
import yaml
from jinja2.sandbox import SandboxedEnvironment

_NAMES = (
    "B D H N_EINSUMS BATCH_SIZE N_NEW_TOKENS CHUNK_SIZE N_HIDDEN_DIMS N_FF_DIMS N_HEADS "
    "N_Q_HEADS_PER_KV_HEAD N_EMB_PER_HEAD N_EXPERTS N_EXPERTS_PER_TOKEN N_KV_LATENT N_Q_LATENT "
    "N_V_DIMS N_SHARED_FF_DIMS"
)
GIVEN = {name: 2 + number for number, name in enumerate(_NAMES.split())} | {"DECODE": 0}
"""Numbers for what files leave open."""


class Loader(yaml.SafeLoader):
    """Reads a tagged block as a block."""


Loader.add_multi_constructor("!", lambda loader, _, node: loader.construct_mapping(node, deep=True))


def load(path: Path, values: dict[str, Any], folders: list[Path]) -> Any:
    """Render and read a file as the front ends of Timeloop and AccelForge do."""
    included: dict[str, Any] = {}

    def resolved(value: Any) -> Any:
        if isinstance(value, str) and value.startswith("included!"):
            name, *keys = value.split(".")
            value = included[name]
            for key in keys:
                value = value[key]
        elif isinstance(value, list):
            value = [*map(resolved, value)]
        elif isinstance(value, dict):
            value = {key: resolved(each) for key, each in value.items()}
            for each in flat([value.pop("<<<", [])]):
                value = merged(each, value)
        return value

    return resolved(yaml.load(render(path, values, folders, included), Loader))


def render(
    path: Path, values: dict[str, Any], folders: list[Path], included: dict[str, Any]
) -> str:
    def found(name: str) -> Path:
        return next(each / name for each in (path.parent, *folders) if (each / name).exists())

    def include(context: Any, name: str, _: str = "") -> str:
        included[key := f"included!{len(included)}"] = load(found(name), context.get_all(), folders)
        return key

    def text(context: Any, name: str) -> str:
        return render(found(name), context.get_all(), folders, included)

    own = {"include": jinja2.pass_context(include), "include_text": jinja2.pass_context(text)}
    own["add_to_path"] = lambda name: folders.append(path.parent / name) or ""
    own["find_path"] = lambda name: str(found(name))
    plain = re.sub(r"{% assert .*?%}", "", path.read_text())
    environment = SandboxedEnvironment(undefined=jinja2.StrictUndefined)
    return environment.from_string(plain).render({**values, **own})


def merged(under: Any, over: Any) -> Any:
    if not isinstance(under, dict) or not isinstance(over, dict):
        return over
    return under | over | {key: merged(under[key], over[key]) for key in under.keys() & over.keys()}


def flat(values: list[Any]) -> Iterator[Any]:
    for each in values:
        yield from flat(each) if isinstance(each, list) else [each]


def timeloop(path: Path, given: dict[str, int]) -> int:
    problem = load(path, given, [])["problem"]
    shape, sizes = problem.get("shape", "cnn_layer"), problem.get("instance", problem)
    dims = "CKRSPQN" if isinstance(shape, str) else shape["dimensions"]
    return math.prod(int(sizes[dim]) for dim in dims)


def accelforge(path: Path, given: dict[str, int]) -> int:
    workload = load(path, given, [])["workload"]
    einsums = (e if isinstance(e, dict) else {"einsum": e} for e in flat(workload["einsums"]))
    return workload.get("n_instances", 1) * sum(einsum_macs(each, workload) for each in einsums)


def einsum_macs(einsum: Any, workload: Any) -> int:
    """A product has a MAC for each point of its loops, but what only scales has none.

    It is a product if it is summed, or if each of two tensors has a loop that the other lacks.
    """
    if text := einsum.get("einsum"):
        made, *read = (ranks.split(",") for ranks in re.findall(r"\[(.*?)\]", text))
        if "+" in re.sub(r"\[.*?\]", "", text):
            return 0
    else:
        read, made = [], []
        for access in einsum["tensor_accesses"]:
            by = access["projection"]
            listed = [*map(": ".join, by.items())] if isinstance(by, dict) else by
            read, made = (read, listed) if access.get("output") else ([*read, listed], made)
    sizes, loops = dict[str, int](), set[str]()
    ranks = {**workload.get("rank_sizes", {}), **einsum.get("rank_sizes", {})}
    for access in flat([read, made]):
        rank, by = access.split(":") if ":" in access else (access.upper(), access)
        loops |= (variables := {*re.findall(r"[a-zA-Z_]\w*", by)})
        if variables == {by.strip()} and rank.strip() in ranks:
            sizes[by.strip()] = math.prod(map(int, str(ranks[rank.strip()]).split("*")))
    for part in (workload, einsum):
        bounds = part.get("iteration_space_shape") or part.get("shape") or []
        bounds = bounds.values() if isinstance(bounds, dict) else bounds
        sizes |= {k: int(v) for k, v in re.findall(r"0 *<= *(\w+) *< *(\d+)", "\n".join(bounds))}
    summed = loops - {*re.findall(r"\w+", " ".join(each.split(":")[-1] for each in made))}
    points = einsum.get("n_instances", 1) * math.prod(sizes[each] for each in loops)
    own = [{*re.findall(r"\w+", " ".join(e.split(":")[-1] for e in each))} for each in read]
    is_outer = len(own) == 2 and bool(own[0] - own[1] and own[1] - own[0])
    return points if len(read) > 1 and (summed or is_outer) else 0


def zigzag(path: Path, _: object) -> int:
    """What has no product, or an operand of no bits, has no MACs."""
    layers = [each for each in load(path, {}, []) if "*" in each["equation"]]
    return sum(math.prod(e["loop_sizes"]) for e in layers if all(e["operand_precision"].values()))


def scalesim(path: Path, given: dict[str, int]) -> int:
    lines = path.read_text("utf-8-sig").splitlines()
    header, *rows = csv.reader(lines, delimiter="," if "," in lines[0] else "\t")
    macs = 0
    for _, *cells in filter(None, rows):
        known = [str(given.get(cell.strip(), cell.strip())) for cell in cells]
        numbers = [int(cell) for cell in known if cell.isdigit()]
        if numbers and header[1].strip().lower() == "m":
            macs += math.prod(numbers[:3])
        elif numbers:
            height, width, r, s, channels, filters, step = numbers[:7]
            outputs = -(-(height - r + step) // step) * -(-(width - s + step) // step)
            macs += outputs * r * s * channels * filters
    return macs


def gamma(path: Path, _: object) -> int:
    def macs(a: int, b: int, c: int, d: int, e: int, f: int, kind: int, step: int = 1) -> int:
        outputs = ((c - e) // step + 1) * ((d - f) // step + 1)
        return {0: a * b, 1: a * b * outputs * e * f, 2: b * outputs * e * f, 3: a * b * c}[kind]

    _, *rows = csv.reader(path.read_text().splitlines())
    return sum(macs(*map(int, row)) for row in rows if row)


def maestro(path: Path, _: object) -> int:
    text, macs = re.sub(r"//.*", "", path.read_text()), 0
    named = dict(re.findall(r"Constant\s+(\w+)\s+(\d+)", text))
    for layer in re.split(r"\bLayer\b", text)[1:]:
        sizes = {}
        for block, body in re.findall(r"(Stride|Dimensions)\s*{(.*?)}", layer, re.DOTALL):
            for key, value in re.findall(r"([A-Z]'?)[\s:]+(\w+)", body):
                sizes[key if block == "Dimensions" else f"step {key}"] = int(
                    named.get(value, value)
                )
        steps = {axis: sizes.pop(f"step {axis}", 1) for axis in "YX"}
        for axis, window in (("Y", "R"), ("X", "S")):
            if axis in sizes:
                sizes[f"{axis}'"] = (sizes.pop(axis) - sizes[window]) // steps[axis] + 1
        depthwise = re.search(r"Type\s*:\s*DSCONV", layer)
        macs += math.prod(size for dim, size in sizes.items() if not (depthwise and dim == "K"))
    return macs
