"""A prior of random weights, which the tests of priors share."""

from __future__ import annotations

import numpy as np

from maestro_env.evaluation.observations_and_rewards import CONTEXT
from maestro_env.prior.file import PriorFile, Widths, shapes

WIDTHS = Widths(hidden=64, mixed=64)


def random_file(seed: int = 0, scale: float = 1.0, **changes: object) -> PriorFile:
    """Return a small prior, whose first axis of every array is the decision."""
    rng = np.random.default_rng(seed)
    arrays = {
        name: (scale * rng.standard_normal(shape)).astype(np.float32)
        for name, shape in shapes(WIDTHS).items()
    }
    given = {
        "arrays": arrays,
        "data_card": {"layers": 3, "names": ["ä", "b"]},
        "command": "maestro-env pretrain --seed 1",
        "ranges": dict.fromkeys(CONTEXT, (0.0, 1.0)),
    }
    return PriorFile(**given | changes)
