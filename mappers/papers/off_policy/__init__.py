"""Actors and central critics that learn from replay: MADDPG and MASAC."""

from __future__ import annotations

from maestro_env.base.errors import MissingExtraError

try:
    import torch  # noqa: F401 (so that every module below may)
except ModuleNotFoundError as error:
    raise MissingExtraError("maestro_env.mappers.papers", str(error.name), "rl") from error
