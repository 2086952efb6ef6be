"""The arrays that a learned prior consists of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maestro_env.evaluation.context import CONTEXT
from maestro_env.prior.proposer import DECISIONS, FEATURES, STATE

Arrays = dict[str, NDArray[np.float32]]


@dataclass(frozen=True)
class Widths:
    """Numbers that the two layers of a network pass on, multiples of 64."""

    hidden: int = 256
    mixed: int = 64


WIDTHS = Widths()


def shapes(widths: Widths = WIDTHS) -> Mapping[str, tuple[int, ...]]:
    """Return the shape of every array: the first axis is the decision."""
    hidden, mixed = widths.hidden, widths.mixed
    return {
        "context": (DECISIONS, len(CONTEXT), hidden),
        "state": (DECISIONS, STATE, hidden),
        "bias": (DECISIONS, hidden),
        "hidden": (DECISIONS, hidden, mixed),
        "mixed_bias": (DECISIONS, mixed),
        "option": (DECISIONS, FEATURES, mixed),
        "score": (DECISIONS, mixed),
    }
