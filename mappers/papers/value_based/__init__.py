"""Agents that learn the values of their choices from whole episodes: IQL, VDN and QMIX.

MAST is a set of their settings: sparse networks whose links move, Soft Mellowmax, returns over
several steps once values are good for something, and a share of each batch from the newest
episodes.
"""

from __future__ import annotations

from maestro_env.base.errors import MissingExtraError

try:
    import torch  # noqa: F401 (so that every module below may)
except ModuleNotFoundError as error:
    raise MissingExtraError("maestro_env.mappers.papers", str(error.name), "rl") from error
