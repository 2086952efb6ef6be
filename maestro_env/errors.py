"""Errors a user can cause; each message names the value, what is allowed and the way out."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class MaestroEnvError(Exception):
    """Root of this package's errors."""


class LayerError(MaestroEnvError, ValueError):
    """A layer that does not exist or cannot be computed."""


class HardwareError(MaestroEnvError, ValueError):
    """An accelerator that cannot exist, or a hardware file that cannot be read."""


class MappingError(MaestroEnvError, ValueError):
    """A mapping that cannot be read."""


class MapSpaceError(MaestroEnvError, ValueError):
    """A map space that does not exist, or a vector or mapping outside of it."""


class EnvError(MaestroEnvError, ValueError):
    """An environment with an impossible episode, number of copies or reference."""


class MissingExtraError(MaestroEnvError, ImportError):
    """A package is missing that an optional extra of the project installs."""

    def __init__(self, user: str, package: str, extra: str) -> None:
        super().__init__(f"{user} needs {package}: pip install maestro-env[{extra}]")


class UnknownNameError(MaestroEnvError, ValueError):
    """A name no registry knows."""

    def __init__(self, what: str, name: object, allowed: Iterable[str]) -> None:
        names = sorted(allowed)
        near = get_close_matches(str(name), names, n=3)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        super().__init__(f"unknown {what} '{name}': {hint}allowed: {', '.join(names)}")


class BudgetExceededError(MaestroEnvError, RuntimeError):
    """More evaluations were asked for than the budget holds."""
