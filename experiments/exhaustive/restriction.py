"""A map space restricted to some choices of its parameters, as ``--fix`` lists them."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.flags import UsageError
from maestro_env.checks import plain_integer
from maestro_env.map_space import MapSpace, Parameter, lehmer_rank

Choices = Sequence[int]
"""Indices of the choices of a parameter that are left, ascending."""


def restrict(space: MapSpace, text: str | None) -> tuple[Choices, ...]:
    """Return the choices left to every parameter of a space; without a text, all of them.

    A text lists parameters and the choices left to them: ``l2_order=KCYXRS,cluster_size=1,16``.
    """
    fixed: dict[str, set[int]] = {}
    name = None
    for part in text.split(",") if text else ():
        *named, choice = part.split("=", 1)
        if named:
            name = named[0].strip()
            if name in fixed:
                raise UsageError(
                    f"--fix {name} is given twice; give its choices with commas between"
                )
            fixed[name] = set()
        if name is None:
            raise UsageError(f"--fix {part!r} names no parameter; give such as cluster_size=1,16")
        fixed[name].add(_choice(space, space.parameter(name), choice.strip()))
    return tuple(
        sorted(fixed[each.name]) if each.name in fixed else range(each.choices)
        for each in space.parameters
    )


def _choice(space: MapSpace, parameter: Parameter, text: str) -> int:
    """Return the index of a choice; dimensions are named without the prime of Y' and X'."""
    values = parameter.values
    if parameter.kind == "order":
        dims = "".join(space.extents).replace("'", "")
        if sorted(text) == sorted(dims):
            return lehmer_rank([dims.index(dim) for dim in text])
        allowed = f"every loop once, outermost first, such as {dims}"
    elif parameter.kind == "parallel":
        names = [str(value).rstrip("'") for value in values]
        if text.rstrip("'") in names:
            return names.index(text.rstrip("'"))
        allowed = ", ".join(names)
    else:
        size = plain_integer(text)
        if size in values:
            return values.index(size)  # type: ignore[arg-type]
        listed = isinstance(values, tuple)
        allowed = ", ".join(map(str, values)) if listed else f"integers from 1 to {values[-1]}"
    raise UsageError(f"--fix {parameter.name}={text}: allowed: {allowed}")
