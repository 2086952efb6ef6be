"""By how much a mapping misses the limits of an accelerator, which searches can learn from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maestro_env import _native
from maestro_env.accelerators.hardware import Hardware
from maestro_env.evaluation.problem import OK, STATUSES, Rows

_MEASURED = [STATUSES.index(name) for name in ("l1_overflow", "l2_overflow", "cluster_exceeds_pes")]
_L1_BYTES, _L2_BYTES = (_native.METRICS.index(name) for name in ("l1_bytes", "l2_bytes"))
_MOST_PES = 2**62
# Of what has no measure.
_OTHER = 1.0


def violations(rows: Rows, hardware: Hardware, pes: int = 0) -> NDArray[np.float64]:
    """Return the constraint violations of evaluated mappings, float64[N].

    A violation is 0 exactly for a valid mapping, otherwise positive and finite: what is missing of
    L1, of L2 and of PEs, each as a share of what there is, and 1 for an invalid mapping that misses
    something else.

    Args:
        rows: of ``Problem.evaluate``.
        hardware: with the limits.
        pes: that the clusters of each mapping need.
    """
    missing = (
        _missing(rows.metrics[:, _L1_BYTES], hardware.l1_bytes)
        + _missing(rows.metrics[:, _L2_BYTES], hardware.l2_bytes)
        + max(0, min(pes, _MOST_PES) - hardware.num_pes) / hardware.num_pes
    )
    measured = np.isin(rows.status, _MEASURED) & (missing > 0)
    return np.where(rows.status == OK, 0.0, np.where(measured, missing, _OTHER + missing))


def _missing(needed: NDArray[np.float64], capacity: int) -> NDArray[np.float64]:
    """Return the share of a capacity that is missing; none without a figure."""
    missing: NDArray[np.float64] = np.fmax(needed - capacity, 0) / capacity
    return missing
