"""Constraints on loops as Timeloop v4 writes them, as rules of our elements.

A factor is how many tiles a level makes of a dimension: 1 is no loop, 0 takes all that is left, so
that nothing outside cuts it. What is not said here is noted, and mappings may break it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from maestro_env.accelerators.elements import TENSORS, MemoryElement
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.accelerators.loop_rules import DIMS, INDEXING, LoopRules
from maestro_env.base.errors import quoted
from maestro_env.base.yaml_file import Part

_LOOP_KEYS = (
    *("factors", "factors_only", "permutation", "split", "maximize_dims"),
    *("maximize_dims_capacity", "no_iteration_over_dataspaces", "must_iterate_over_dataspaces"),
    *("default_max_factor", "default_min_factor", "remainders"),
)

DATASPACES = {"Inputs": "input", "Weights": "filter", "Outputs": "output"}
"""Tensors by the names that constraints have."""

_TARGET = ("target", "type")
# Where units stand along X and Y; orders of loops that are side by side cost nothing.
_OF_SPATIAL = ("split", "permutation")
_OTHER = (
    "constraint {key} of {name} is not read, so that mappings may break it; read are factors of a "
    "convolution (N, G, M, C, P, Q, R, S), permutation and no_iteration_over_dataspaces"
)
_FACTOR = re.compile(r"([A-Za-z])\s*(<=|>=|=|<|>|)\s*([0-9]+)")
_DIMS = {**{dim: dim for dim in DIMS}, "M": "K"}


def rules_of(part: Part, name: str, spatial: bool) -> LoopRules:
    """Read the constraints of a node on its temporal or spatial loops."""
    rules, ignored = LoopRules(), _OF_SPATIAL if spatial else ("split",)
    for key in (key for key in _LOOP_KEYS if key in part and key not in ignored):
        found = _rule(part[key], key, spatial)
        if found is None:
            part.note(_OTHER.format(key=key, name=name))
        else:
            rules = rules.both(found)
    return rules


def with_innermost(hierarchy: Hierarchy) -> Hierarchy:
    """Return an accelerator whose last memory gets single tiles of what has no loop there.

    Timeloop cuts everything down to single words; here the MAC takes what a last memory holds.
    """
    *outer, last = hierarchy.elements
    if not isinstance(last, MemoryElement) or last.rules.dims is None:
        return hierarchy
    single = {dim: 1 for dim in DIMS if not last.rules.allows(dim)}
    ruled = replace(last, rules=last.rules.both(LoopRules(tiles=single)))
    return replace(hierarchy, elements=[*outer, ruled])


def kept_tensors(part: Part, beside: bool) -> tuple[str, ...]:
    """Return the tensors that a memory may keep; beside others, those that it has to."""
    part.only("keep", "keep_only", "bypass", *_TARGET)
    said = [part[key] for key in ("keep_only", "keep") if key in part]
    if beside and not said:
        part.fail("keep is missing; memories side by side keep a tensor each")
    if said and (beside or "keep_only" in part):
        return _tensors(said[0])
    bypassing = _tensors(part["bypass"]) if "bypass" in part else ()
    return tuple(tensor for tensor in TENSORS if tensor not in bypassing)


def tensors_without_reuse(part: Part, long_name: str) -> tuple[str, ...]:
    """Return the tensors of which the units of a fan-out share no word."""
    part.only("no_reuse", long_name, *_LOOP_KEYS, *_TARGET)
    return next((_tensors(part[key]) for key in ("no_reuse", long_name) if key in part), ())


def _tensors(part: Part) -> tuple[str, ...]:
    names = part.texts()
    for name in names:
        if name not in DATASPACES:
            part.fail(f"{quoted(name)} is no tensor; allowed: {', '.join(DATASPACES)}")
    return tuple(DATASPACES[name] for name in names)


def _rule(part: Part, key: str, spatial: bool) -> LoopRules | None:
    """Return what one constraint says, None for what no rule can."""
    if key == "no_iteration_over_dataspaces":
        over = {dim for name in part.texts() for dim in INDEXING[_dataspace(part, name)]}
        return LoopRules(dims=[dim for dim in DIMS if dim not in over])
    if key == "permutation":
        dims = re.findall(r"[A-Za-z]", " ".join(_texts(part)))
        known = _known(dims)
        return None if known is None else LoopRules(innermost=known)
    return _factors(part, key == "factors_only", spatial) if key.startswith("factors") else None


def _dataspace(part: Part, name: str) -> str:
    if name not in DATASPACES:
        part.fail(f"{name} is no tensor; allowed: {', '.join(DATASPACES)}")
    return DATASPACES[name]


def _factors(part: Part, alone: bool, spatial: bool) -> LoopRules | None:
    """Return what factors allow; ``alone``: of other dimensions there is no loop."""
    found = [each.groups() for text in _texts(part) for each in _FACTOR.finditer(text)]
    known = _known([dim for dim, _, _ in found])
    if known is None:
        return None
    most = dict(zip(known, (_most(sign, int(number)) for _, sign, number in found), strict=True))
    if any(limit is None or (limit > 1 and not spatial) for limit in most.values()):
        return None
    units = {dim: limit for dim, limit in most.items() if limit and limit > 1}
    if "K" in most:
        # Groups are output channels of their own.
        most.setdefault("G", most["K"])
    looping = [dim for dim in DIMS if most.get(dim, 1 if alone else 0) != 1]
    return LoopRules(dims=looping, units=units, whole=[dim for dim in known if most[dim] == 0])


def _most(sign: str, number: int) -> int | None:
    """Return the most tiles of a dimension: 0 is all of them; None where there is no most."""
    if sign == "<":
        return number - 1
    # At least so many cannot be said; of exactly so many, at most is.
    return None if sign in (">", ">=") else number


def _known(dims: list[str]) -> list[str] | None:
    """Return dimensions of a convolution by our names, None for those of other problems."""
    if (
        any(dim not in _DIMS for dim in dims)
        or {"K", "M"} <= set(dims)
        or len(set(dims)) < len(dims)
    ):
        return None
    return [_DIMS[dim] for dim in dims]


def _texts(part: Part) -> Iterator[str]:
    yield from part.texts() if isinstance(part.value, list) else [part.text()]
