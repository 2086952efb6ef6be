"""The mappers that commands name: which of them, and whether they can search what is asked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from maestro_env.base.errors import MissingExtraError, ModelError, recipe
from maestro_env.evaluation.problem import require
from maestro_env.experiments.search.goals import Goal, require_distinct, unique
from maestro_env.experiments.shell import cli
from maestro_env.experiments.shell.flags import UsageError
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
    flag: str, text: str | None, goals: Iterable[Goal] = ()
) -> tuple[tuple[str, ...], str]:
    """Return the mappers a flag names, and a note on them.

    Args:
        flag: for errors.
        text: ``all``, or some with commas between; None for ``FIRST_MAPPERS``. Neither means
            mappers that need mappings of two levels where a goal has others.
        goals: that they are to search for.
    """
    names, note = unique(text.split(",")) if text else FIRST_MAPPERS, ""
    if text is None:
        names, note = _available(names)
    elif names == ("all",):
        names, note = _available(name for name in own_mappers() if name not in PROVERS)
    elif "all" in names:
        raise UsageError(
            f"{flag} {text}: 'all' cannot be combined; "
            f"allowed: all, or some of {', '.join(own_mappers())}"
        )
    others = [goal for goal in goals if "levels" not in goal.problem.abilities]
    if text in (None, "all") and others:
        unfit = [name for name in names if not _fits(name, others[0])]
        names = tuple(name for name in names if name not in unfit)
        told = f"left out, as they need mappings of two levels: {', '.join(unfit)}"
        note = "; ".join(filter(None, (note, told)))
    made = [(name, _make(name)) for name in names]
    keys = ((name, (type(mapper), mapper.config)) for name, mapper in made)
    require_distinct(f"{flag} {text}", keys, "the same")
    return names, note


def _available(names: Iterable[str]) -> tuple[tuple[str, ...], str]:
    """Return the mappers that can be made, and a note on those left out for want of an extra."""
    found, extras = [], {}
    for name in names:
        try:
            _make(name)
            found.append(name)
        except MissingExtraError as error:
            extras[name] = error.extra
    needed, left_out = ",".join(sorted(set(extras.values()))), ", ".join(extras)
    note = f"skipped (not installed): {left_out}; to have them: {recipe(needed)}"
    return tuple(found), note if extras else ""


def _fits(name: str, goal: Goal) -> bool:
    try:
        _make(name).require_fit(goal.problem, goal.objective)
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
