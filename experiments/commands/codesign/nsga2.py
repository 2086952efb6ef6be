"""Chooses accelerators by NSGA-II (Deb et al., 2002), as Optuna has it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maestro_env.accelerators.accelerator import Accelerator
from maestro_env.base.errors import MissingExtraError
from maestro_env.experiments.commands.codesign.designs import Design
from maestro_env.experiments.commands.codesign.grid import Grid, Values

try:
    import optuna
    from optuna.distributions import IntDistribution
    from optuna.samplers import NSGAIISampler
    from optuna.trial import Trial, TrialState
except ModuleNotFoundError as error:
    raise MissingExtraError("codesign --search", str(error.name), "optuna") from error

_KEY = "violation"
_POPULATION = 16
# Optuna is asked so often for an accelerator before one is drawn at random.
_ASKS = 8


class Search:
    """Looks at some accelerators of a grid, 16 a round, for low latency, energy and area.

    What is over the area or was looked at before is no one of them: another is asked for. Where the
    sampler has nothing new, accelerators are drawn at random. The same seed and figures make the
    same choices, and a search for more begins with the whole rounds of one for fewer.

    Args:
        grid: whose accelerators they are.
        number: of accelerators to look at; all, if fewer fit the area.
        seed: of the search.
    """

    def __init__(self, grid: Grid, number: int, seed: int) -> None:
        self._grid, self._left = grid, min(number, len(grid.fitting))
        self._rng = np.random.default_rng(seed)
        self._distributions = {
            name: IntDistribution(0, len(each) - 1) for name, each in grid.axes.items()
        }
        sampler = NSGAIISampler(population_size=_POPULATION, seed=seed)
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._study = optuna.create_study(directions=["minimize"] * 3, sampler=sampler)
        self._figures: dict[Values, Design] = {}
        self._asked: dict[Values, Trial] = {}

    def ask(self) -> Sequence[Accelerator]:
        number = min(_POPULATION, self._left)
        self._asked = {}
        for _ in range(_ASKS * number):
            if len(self._asked) == number:
                break
            self._take(self._study.ask(self._distributions))
        self._draw(number - len(self._asked))
        return [self._grid.fitting[values] for values in self._asked]

    def tell(self, designs: Sequence[Design]) -> None:
        for (values, trial), design in zip(self._asked.items(), designs, strict=True):
            self._figures[values] = design
            self._tell(trial, design)
        self._left -= len(designs)

    def _take(self, trial: Trial) -> None:
        """Let a trial be looked at if it is new and fits the area."""
        values = self._values(trial)
        known = values in self._figures or values in self._asked
        if known or values not in self._grid.fitting:
            self._study.tell(trial, state=TrialState.FAIL)
        else:
            self._asked[values] = trial

    def _draw(self, number: int) -> None:
        """Ask for accelerators that were not looked at, drawn at random."""
        known = self._figures.keys() | self._asked.keys()
        unseen = [values for values in self._grid.fitting if values not in known]
        for index in self._rng.permutation(len(unseen))[:number]:
            axes = self._grid.axes
            places = map(tuple.index, axes.values(), unseen[index])
            self._study.enqueue_trial(dict(zip(axes, places, strict=True)))
            self._take(self._study.ask(self._distributions))

    def _tell(self, trial: Trial, design: Design) -> None:
        # Optuna does not read the figures of what violates a constraint.
        trial.set_constraint(_KEY, float(len(design.unmapped)))
        figures = [design.latency_cycles, design.energy_nj, design.area_um2]
        self._study.tell(trial, [0.0] * 3 if design.unmapped else figures)

    def _values(self, trial: Trial) -> Values:
        return tuple(each[trial.params[name]] for name, each in self._grid.axes.items())
