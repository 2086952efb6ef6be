"""``MaestroEnv-v0`` tells what it told when it was published."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from maestro_env import MaestroEnv, MaestroVectorEnv, known_optimum
from maestro_env.evaluation.cost_and_status import STATUSES

pytestmark = pytest.mark.filterwarnings("ignore:.*is out of date:DeprecationWarning")


@pytest.mark.parametrize("model", ["exact", "maestro"])
def test_its_information_is_that_of_the_cost(model: str) -> None:
    arguments = {"layer": "resnet18_l2", "hardware": "edge", "model": model, "info": "full"}
    env = gymnasium.make("MaestroEnv-v0", **arguments).unwrapped
    new = MaestroEnv(**arguments)
    assert env.reset(seed=0)[1] == {}
    known = known_optimum(env.problem, env.objective)
    points = env.space.sample(20, np.random.default_rng(0))
    if known is not None:
        points[9] = known.point
    best, vector = np.inf, None
    for point in points:
        *mine, info = env.step(point)
        *others, _ = new.step(point)
        assert mine[0].tolist() == others[0].tolist()
        assert mine[1:] == others[1:]
        cost, status = env.problem.evaluate_mapping(env.space.decode(point))
        value = env.objective.of(cost.figures()) if status == "ok" else np.inf
        if value < best:
            best, vector = value, point
        optimum = (known.value, known.bound) if known else (np.nan, np.nan)
        expected = {"status": status, "mapping": point, "best_objective": best, **cost.figures()}
        expected |= dict(zip(("optimum", "optimum_bound"), optimum, strict=True))
        expected["regret"] = value / optimum[0] - 1
        if vector is not None:
            expected["best_mapping"] = vector
        np.testing.assert_equal(info, expected)


def test_its_copies_are_those_of_the_new_one() -> None:
    envs = gymnasium.make_vec("MaestroEnv-v0", 3, vectorization_mode="vector_entry_point")
    assert type(envs) is MaestroVectorEnv
    assert envs.step(np.zeros((3, 13), int))[4]["status"].max() < len(STATUSES)
