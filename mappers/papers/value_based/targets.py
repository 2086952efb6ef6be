"""What values should be: the worth of a next state, and returns over several steps."""

from __future__ import annotations

import torch
from torch import Tensor

from maestro_env.mappers.papers.off_policy.heads import NEVER


def soft_mellowmax(values: Tensor, present: Tensor, alpha: float, omega: float) -> Tensor:
    """Return Soft Mellowmax over the last dimension (Gan et al., 2021): a softer maximum.

    It is log(sum of p exp(omega Q)) / omega, where p is the softmax of alpha Q: at least the mean
    that p weighs and at most the maximum, which it becomes with a large omega.

    Args:
        values: Q, [..., C].
        present: which choices there are, bool, broadcast to the values.
        alpha: 0 or more.
        omega: above 0.
    """
    shares = (alpha * values).masked_fill(~present, NEVER).log_softmax(dim=-1)
    powers = (omega * values).masked_fill(~present, NEVER)
    return (shares + powers).logsumexp(dim=-1) / omega


def lambda_returns(
    rewards: Tensor, following: Tensor, going: Tensor, discount: float, trace: float
) -> Tensor:
    """Return TD(lambda) returns of T steps of B episodes, [K, T, B].

    G_t = r_t + discount * ((1 - trace) V_{t+1} + trace G_{t+1}), and r_t where the episode ends. A
    trace of 0 is the one-step target, of 1 the sum of all rewards and of what follows the last.

    Args:
        rewards: r, [T, B].
        following: values V of the next states, [K, T, B].
        going: 0 where an episode ends with that step, 1 elsewhere, [T, B].
        discount: weight of the next step.
        trace: lambda, 0 to 1.
    """
    returns, later = torch.empty_like(following), following[:, -1]
    for step in reversed(range(len(rewards))):
        later = (1 - trace) * following[:, step] + trace * later
        later = rewards[step] + discount * going[step] * later
        returns[:, step] = later
    return returns
