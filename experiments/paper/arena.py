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


@dataclass(frozen=True, eq=False)
class Arena:
    """A reporting cell: a problem under a model on some hardware, and what was found there.

    Args:
        model: name of the cost model.
        hardware: name of the accelerator.
        samples: of a search that is compared.
        contest: its searches by mapper. Its best known is that of longer ones too.
    """

    model: str
    hardware: str
    samples: int
    contest: Contest

    def __str__(self) -> str:
        return f"{self.contest.layer}, {self.contest.objective}, {self.hardware}"

    def has(self, *mappers: str) -> bool:
        """Say whether each of these mappers finished a search here."""
        return all(self.contest.searches.get(mapper) for mapper in mappers)


def make_arenas(finished: Mapping[Run, Finished], samples: int) -> list[Arena]:
    """Return the arenas of runs, in the order these come.

    Args:
        finished: searches that have ended, by run.
        samples: of a search that is compared; longer ones only say what the best known is.
    """
    found: dict[tuple[str, str, str, str], dict[Run, Finished]] = {}
    for run, each in finished.items():
        key = (run.model, run.hardware, run.layer, run.objective)
        found.setdefault(key, {})[run] = each
    return [
        Arena(
            model,
            hardware,
            samples,
            Contest(layer, objective, goal(next(iter(runs))), _searches(runs.items(), samples)),
        )
        for (model, hardware, layer, objective), runs in found.items()
    ]


def _searches(
    runs: Iterable[tuple[Run, Finished]], samples: int
) -> dict[str, tuple[Finished, ...]]:
    searches: dict[str, tuple[Finished, ...]] = {}
    for run, each in runs:
        name = run.mapper if run.samples == samples else f"{run.mapper}, {run.samples:,} samples"
        searches[name] = (*searches.get(name, ()), each)
    charged = (replace(each, at=each.at + each.warm_up) for each in searches.get(_CHARGED, ()))
    return {**searches, WARMED: tuple(charged)}
