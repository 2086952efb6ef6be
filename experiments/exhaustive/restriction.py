"""A map space restricted to some choices of its parameters, as a text says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from experiments.flags import UsageError
from maestro_env.checks import plain_integer
from maestro_env.map_space import MapSpace, Parameter, lehmer_rank

Choices = Sequence[int]
"""Indices of the choices of a parameter that are left, rising."""

_SEPARATOR = ","


def restrict(space: MapSpace, text: str | None) -> tuple[Choices, ...]:
    """Return the choices left to every parameter of a space.

    Args:
        space: to restrict.
        text: such as ``l2_order=KCYXRS,cluster_size=1,16``: parameters by name and some of their
            choices, in which a part without a name continues the one before; None for all of them.

    Raises:
        MaestroEnvError: a parameter or choice that does not exist, or a parameter without choices.
    """
    fixed: dict[str, Choices] = {}
    for name, choices in _entries(text or ""):
        parameter = space.parameter(name)
        if name in fixed:
            raise UsageError(f"--fix {name} is given twice; give its choices with commas between")
        fixed[name] = sorted({_choice(space, parameter, each) for each in choices})
    return tuple(fixed.get(each.name, range(each.choices)) for each in space.parameters)


def _entries(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield names and the texts of their choices."""
    entries: list[tuple[str, list[str]]] = []
    for part in text.split(_SEPARATOR) if text else ():
        name, named, choice = part.partition("=")
        if named:
            entries.append((name.strip(), [choice.strip()]))
        elif entries:
            entries[-1][1].append(part.strip())
        else:
            raise UsageError(f"--fix {part!r} names no parameter; give such as cluster_size=1,16")
    yield from entries


def _choice(space: MapSpace, parameter: Parameter, text: str) -> int:
    """Return the index of a choice.

    Raises:
        UsageError: the parameter has none of that name.
    """
    dims = _plain(space.extents)
    if parameter.kind == "order":
        if sorted(text) == sorted(dims):
            return lehmer_rank([dims.index(dim) for dim in text])
        allowed = f"every loop once, outermost first, such as {''.join(dims)}"
    elif parameter.kind == "parallel":
        names = _plain(map(str, parameter.values))
        if text.rstrip("'") in names:
            return names.index(text.rstrip("'"))
        allowed = ", ".join(names)
    else:
        size = plain_integer(text)
        if size in parameter.values:
            return parameter.values.index(size)  # type: ignore[arg-type]
        allowed = _listed(parameter)
    raise UsageError(f"--fix {parameter.name}={text}: allowed: {allowed}")


def _plain(dims: Iterable[str]) -> list[str]:
    """Return dimensions as parameters are named by them: without the prime of Y' and X'."""
    return [dim.rstrip("'") for dim in dims]


def _listed(parameter: Parameter) -> str:
    values = parameter.values
    if isinstance(values, range):
        return f"integers from {values[0]} to {values[-1]}"
    return ", ".join(map(str, values))
