"""``MaestroEnv-v0``: the environment as it was published, with its ``info``."""

from __future__ import annotations

from typing import Any

from maestro_env._native import METRICS
from maestro_env.environments.env import MaestroEnv
from maestro_env.environments.information import regret
from maestro_env.evaluation.problem import STATUSES


class MaestroEnvV0(MaestroEnv):
    """``MaestroEnv`` with another ``info``, whose keys differ from step to step.

    After a reset it is empty. A step tells ``status`` (a name of ``STATUSES``), ``mapping`` (the
    vector), ``best_objective`` (infinite until a mapping is valid) and from then on
    ``best_mapping`` (its vector), and those figures of ``Cost`` that the mapping has. With
    ``info="full"`` also ``optimum``, ``optimum_bound`` and ``regret``. Copies that step together
    (``gymnasium.make_vec``) have the ``info`` of ``MaestroEnv``.
    """

    def _information(self) -> dict[str, Any]:
        if self.vector is None:
            return {}
        named = zip(METRICS, self._figures.tolist(), strict=True)
        told: dict[str, Any] = {"status": STATUSES[self._status], "mapping": self.vector}
        # A figure that is missing is NaN, which equals nothing.
        told |= {name: figure for name, figure in named if figure == figure}
        told["best_objective"] = self._best.value
        if self._best.vector is not None:
            told["best_mapping"] = self._best.vector.copy()
        if self.info == "full":
            optimum, bound = self._task.optimum
            told |= {"optimum": optimum, "optimum_bound": bound}
            told["regret"] = regret(self._value, optimum)
        return told
