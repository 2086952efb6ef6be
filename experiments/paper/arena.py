"""Finished searches by problem: what Table III compares on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from experiments.cells import Finished
from experiments.paper.item import Run
from experiments.paper.searches import goal
from experiments.standings import Contest

WARMED = "marl_clustered, warm-up charged"
"""The searches of ``marl_clustered`` again, their warm-up counted as samples."""

_CHARGED = "marl_clustered"
_Key = tuple[str, str, str, str]


@dataclass(frozen=True, eq=False)
class Arena:
    """A reporting cell: a problem under a model on some hardware, and what was found there.

    Args:
        model: name of the cost model.
        hardware: name of the accelerator.
        samples: of a search that is compared.
        contest: its searches by mapper. Its best known is that of longer ones too.
        lacking: of the mappers, those of which a search is missing.
    """

    model: str
    hardware: str
    samples: int
    contest: Contest
    lacking: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"{self.contest.layer}, {self.contest.objective}, {self.hardware}"

    def has(self, *mappers: str) -> bool:
        """Say whether each of these mappers finished a search here."""
        return all(self.contest.searches.get(mapper) for mapper in mappers)

    def has_all(self, *mappers: str) -> bool:
        """Say whether each of these mappers finished all its searches here."""
        return self.has(*mappers) and not self.lacking & set(mappers)


def make_arenas(
    finished: Mapping[Run, Finished], samples: int, asked: Iterable[Run] = ()
) -> list[Arena]:
    """Return the arenas of runs, in the order these come.

    Args:
        finished: searches that have ended, by run.
        samples: of a search that is compared; longer ones only say what the best known is.
        asked: all runs that there should be.
    """
    lacking: dict[_Key, set[str]] = {}
    for run in asked:
        if run not in finished:
            lacking.setdefault(_key(run), set()).add(_name(run, samples))
    found: dict[_Key, dict[Run, Finished]] = {}
    for run, each in finished.items():
        found.setdefault(_key(run), {})[run] = each
    return [
        Arena(
            model,
            hardware,
            samples,
            Contest(layer, objective, goal(next(iter(runs))), _searches(runs.items(), samples)),
            frozenset(lacking.get((model, hardware, layer, objective), ())),
        )
        for (model, hardware, layer, objective), runs in found.items()
    ]


def _key(run: Run) -> _Key:
    return (run.model, run.hardware, run.layer, run.objective)


def _name(run: Run, samples: int) -> str:
    return run.mapper if run.samples == samples else f"{run.mapper}, {run.samples:,} samples"


def _searches(
    runs: Iterable[tuple[Run, Finished]], samples: int
) -> dict[str, tuple[Finished, ...]]:
    searches: dict[str, tuple[Finished, ...]] = {}
    for run, each in runs:
        name = _name(run, samples)
        searches[name] = (*searches.get(name, ()), each)
    charged = (replace(each, at=each.at + each.warm_up) for each in searches.get(_CHARGED, ()))
    return {**searches, WARMED: tuple(charged)}
