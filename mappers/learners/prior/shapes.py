"""The arrays that a learned prior consists of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maestro_env import _native
from maestro_env.context import CONTEXT

Arrays = dict[str, NDArray[np.float32]]


@dataclass(frozen=True)
class Widths:
    """Numbers that the two layers of a network pass on, multiples of 64."""

    hidden: int = 128
    mixed: int = 64


WIDTHS = Widths()


def shapes(widths: Widths = WIDTHS) -> Mapping[str, tuple[int, ...]]:
    """Return the shape of every array: the first axis is the decision."""
    networks = _native.PRIOR_DECISIONS
    hidden, mixed = widths.hidden, widths.mixed
    return {
        "context": (networks, len(CONTEXT), hidden),
        "state": (networks, _native.PRIOR_STATE, hidden),
        "bias": (networks, hidden),
        "hidden": (networks, hidden, mixed),
        "mixed_bias": (networks, mixed),
        "option": (networks, _native.PRIOR_FEATURES, mixed),
        "score": (networks, mixed),
    }
