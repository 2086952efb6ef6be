"""Constants of a machine's description that predict measured cycles best."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from maestro_env.experiments.commands.validation.agreement import Floats


def loss(predicted: Floats, measured: Floats) -> float:
    """Return the mean squared logarithm of predicted / measured."""
    return float(np.mean(np.log(predicted / measured) ** 2))


def least(
    loss_of: Callable[[Mapping[str, float]], float], start: Mapping[str, float]
) -> dict[str, float]:
    """Return the constants of least loss, by Nelder and Mead on their logarithms.

    Args:
        loss_of: takes the constants by name.
        start: constants above 0 to begin from.
    """
    from scipy.optimize import minimize

    def at(logarithms: Floats) -> dict[str, float]:
        values = np.exp(np.clip(logarithms, -20, 20)).tolist()
        return dict(zip(start, values, strict=True))

    begin = np.log(list(start.values()))
    options = {"xatol": 1e-3}
    best = minimize(lambda x: loss_of(at(x)), begin, method="Nelder-Mead", options=options)
    return at(best.x)
