"""A data set as Minari sees it: every row is an episode of one step; needs the extra ``data``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import accumulate
from typing import Any, NoReturn

import numpy as np
from gymnasium.envs.registration import EnvSpec
from numpy.typing import NDArray

from maestro_env.base.checks import require_type
from maestro_env.base.errors import MissingExtraError
from maestro_env.datasets.parquet import (
    STATUS,
    Dataset,
    DatasetError,
    from_table,
    read_file,
    rows_in,
)
from maestro_env.environments.env import MaestroEnv
from maestro_env.environments.task import in_texts
from maestro_env.evaluation.observations_and_rewards import (
    MOST_REWARDED,
    REWARDS,
    Observations,
    observation,
)
from maestro_env.mapspace.space import Points

try:
    import minari
    from minari.dataset.minari_storage import MinariStorage
except ModuleNotFoundError as error:
    raise MissingExtraError("maestro_env.datasets.minari_view", "minari", "data") from error

_OBSERVED = ("latency_cycles", "power_mw", "energy_nj", "area_um2")
_FILES_HELD = 4
_ID = "MaestroEnv-v1"
_READ_ONLY = "this view of a data set is read-only: minari.create_dataset_from_buffers makes one"

_Steps = tuple[Points, Observations, NDArray[np.float64]]


def minari_view(
    dataset: Dataset, layer: str, objective: str = "edp", reward: str = "inverse"
) -> minari.MinariDataset:
    """Return the rows of a layer as a ``minari.MinariDataset``, which reads them as it needs them.

    A row is an episode of one step of ``MaestroEnv`` with ``episode_length=1``: its action is the
    vector, its observations and its reward are those of the environment. Nothing is copied, and
    nothing can be added.

    Args:
        dataset: as ``open_dataset`` returns it.
        layer: a name of ``dataset.problems``.
        objective: a name of ``OBJECTIVES``.
        reward: a name of ``REWARDS``.

    Raises:
        ArgumentTypeError: an argument of a wrong type.
        UnknownNameError: no such layer, objective or reward.
        DatasetError: a file that cannot be read, or a layer without any row.
    """
    return minari.MinariDataset(_Storage(dataset, layer, objective, reward))


class _Storage(MinariStorage):  # type: ignore[misc]
    """Minari's access to the files of a layer."""

    FORMAT = "maestro-env"

    def __init__(self, dataset: Dataset, layer: str, objective: str, reward: str) -> None:
        require_type("dataset", dataset, Dataset, "as open_dataset returns it")
        files = dataset.files(layer)
        if not files:
            raise DatasetError(f"{dataset.directory} has no rows of {layer} yet")
        problem = dataset.problems[layer]
        space = problem.space
        arguments: dict[str, Any] = {
            "layer": space.layer,
            "hardware": space.hardware,
            "objective": objective,
            "model": problem.model,
            "schema": space.schema,
            "tiles": space.tiles,
            "reward": reward,
            "episode_length": 1,
            "guard": problem.guard,
        }
        self._env = MaestroEnv(**arguments)
        spec = EnvSpec(
            _ID, entry_point="maestro_env.environments.env:MaestroEnv", kwargs=in_texts(arguments)
        )
        super().__init__(dataset.directory, self._env.observation_space, self._env.action_space)
        self._first, _ = self._env.reset()
        self._files = files
        self._ends = np.array(list(accumulate(rows_in(path) for path in files)), dtype=np.int64)
        self._steps = lru_cache(_FILES_HELD)(self._read)
        name = re.sub(r"[^-\w]", "-", files[0].parent.name)
        self._facts = {
            "dataset_id": f"maestro-env/{name}-v0",
            "minari_version": minari.__version__,
            "total_episodes": int(self._ends[-1]),
            "total_steps": int(self._ends[-1]),
            "observation_space": self._env.observation_space,
            "action_space": self._env.action_space,
            "env_spec": spec.to_json(),
        }

    @property
    def metadata(self) -> dict[str, Any]:
        return self._facts

    def get_episodes(self, episode_indices: Iterable[int]) -> Iterator[dict[str, Any]]:
        """Yield episodes as Minari stores them."""
        for index in episode_indices:
            file = int(np.searchsorted(self._ends, index, side="right"))
            points, seen, rewards = self._steps(file)
            row = int(index) - (int(self._ends[file - 1]) if file else 0)
            yield {
                "id": int(index),
                "observations": np.stack([self._first, seen[row]]),
                "actions": points[row : row + 1].astype(np.int64),
                "rewards": rewards[row : row + 1],
                "terminations": np.array([True]),
                "truncations": np.array([False]),
                "infos": {},
            }

    def get_episode_metadata(self, episode_indices: Iterable[int]) -> Iterator[dict[str, Any]]:
        return ({"id": int(index), "total_steps": 1} for index in episode_indices)

    @classmethod
    def _create(cls, *_: object, **__: object) -> NoReturn:
        raise DatasetError(_READ_ONLY)

    def update_episodes(self, *_: object, **__: object) -> NoReturn:
        raise DatasetError(_READ_ONLY)

    def update_episode_metadata(self, *_: object, **__: object) -> NoReturn:
        raise DatasetError(_READ_ONLY)

    def _read(self, file: int) -> _Steps:
        """Return vectors, observations and rewards of a file's rows."""
        space, objective = self._env.space, self._env.objective
        names = [parameter.name for parameter in space.parameters]
        needed = dict.fromkeys((*names, STATUS, *_OBSERVED, *objective.factors))
        points, rows = from_table(space, read_file(self._files[file], needed))
        values = np.where(rows.status, np.inf, objective.function(rows.metrics))
        reference = self._env.reference
        ratios = reference / np.maximum(values, reference / MOST_REWARDED)
        rewards = REWARDS[self._env.reward](ratios)
        return points, observation(rows.metrics), rewards
