"""The mappers that commands name: which of them, and whether they can search what is asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from maestro_env.base.errors import MissingExtraError, ModelError, recipe
from maestro_env.evaluation.problem import require
from maestro_env.experiments.search.goals import Goal
from maestro_env.experiments.shell import cli
from maestro_env.experiments.shell.flags import UsageError, require_distinct
from maestro_env.mappers import MAPPERS, PROVERS, make_mapper, own_mappers
from maestro_env.mappers.base import Mapper

FIRST_MAPPERS = ("random", "bo", "ga", "gamma", "ppo", "marl", "prior")
"""What ``run`` compares unless told."""

MAPPERS_HELP = (
    f"all (but {', '.join(PROVERS)}), or some of these, separated by commas, with settings after "
    f"a colon as in ga:population=50: {', '.join(MAPPERS)}; or one of the papers or of another "
    "package: docs/mappers.md"
)


def find_mappers(
    flag: str, named: Sequence[str] | None, goals: Iterable[Goal] = ()
) -> tuple[tuple[str, ...], str]:
    """Return the mappers a flag names, and a note on them.

    Args:
        flag: for errors.
        named: what it names: ``all``, or some; None for ``FIRST_MAPPERS``. Neither means mappers
            that need mappings of two levels where a goal has others.
        goals: that they are to search for.
    """
    several = named is None or [*named] == ["all"]
    if named is None:
        made, note = _available(FIRST_MAPPERS)
    elif several:
        made, note = _available(name for name in own_mappers() if name not in PROVERS)
    elif "all" not in named:
        made, note = {name: _make(name) for name in named}, ""
    else:
        raise UsageError(
            f"{flag} {','.join(named)}: 'all' cannot be combined; "
            f"allowed: all, or some of {', '.join(own_mappers())}"
        )
    others = [goal for goal in goals if "levels" not in goal.problem.abilities]
    if several and others:
        unfit = [name for name, mapper in made.items() if not _fits(mapper, others[0])]
        made = {name: mapper for name, mapper in made.items() if name not in unfit}
        told = f"left out, as they need mappings of two levels: {', '.join(unfit)}"
        note = "; ".join(filter(None, (note, told)))
    keys = ((name, (type(mapper), mapper.config)) for name, mapper in made.items())
    require_distinct(f"{flag} {','.join(named or ())}", keys, "the same")
    return tuple(made), note


def _available(names: Iterable[str]) -> tuple[dict[str, Mapper[Any]], str]:
    """Return the mappers that can be made, and a note on those left out for want of an extra."""
    made, extras = {}, {}
    for name in names:
        try:
            made[name] = _make(name)
        except MissingExtraError as error:
            extras[name] = error.extra
    needed, left_out = ",".join(sorted(set(extras.values()))), ", ".join(extras)
    note = f"skipped (not installed): {left_out}; to have them: {recipe(needed)}"
    return made, note if extras else ""


def _fits(mapper: Mapper[Any], goal: Goal) -> bool:
    try:
        mapper.require_fit(goal.problem, goal.objective)
    except ModelError:
        return False
    return True


def _make(name: str) -> Mapper[Any]:
    """Make a mapper, which may import its packages."""
    with cli.importing():
        return make_mapper(name)


def require_fit(mappers: Iterable[str], goals: Iterable[Goal]) -> None:
    """Refuse mappers that cannot search for one of the goals."""
    made = {name: _make(name) for name in mappers}
    for goal in goals:
        for name, mapper in made.items():
            mapper.require_fit(goal.problem, goal.objective)
            if mapper.opening:
                require(goal.problem, "levels", f"mapper {name}")
