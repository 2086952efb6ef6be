"""Registers the environment with gymnasium, whichever of the two packages is imported first.

Importing gymnasium here would slow the start of ``maestro-compat`` several times. So the
environment is registered when something else imports gymnasium.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType


def register_with_gymnasium() -> None:
    """Register now if gymnasium is imported, else as soon as it is."""
    if "gymnasium" in sys.modules:
        _register()
    else:
        sys.meta_path.insert(0, _GymnasiumWatcher())


def _register() -> None:
    import gymnasium

    from maestro_env.environments.named import NAMED

    for version, name in enumerate(("MaestroEnvV0", "MaestroEnv")):
        gymnasium.register(
            id=f"MaestroEnv-v{version}",
            entry_point=f"maestro_env.environments.env:{name}",
            vector_entry_point="maestro_env.environments.making:make_vector_env",
        )
    gymnasium.register(
        id="MaestroImprove-v1",
        entry_point="maestro_env.environments.improving:MaestroImproveEnv",
        vector_entry_point="maestro_env.environments.making:make_improve_vector_env",
    )
    for named in NAMED:
        gymnasium.register(
            id=named,
            entry_point="maestro_env.environments.making:make_named_env",
            vector_entry_point="maestro_env.environments.making:make_named_vector_env",
            kwargs={"named": named},
        )


class _GymnasiumWatcher:
    """Finds one module. It has no base class, because importing that would be slow too."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "gymnasium":
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(fullname)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_register(module: ModuleType) -> None:
            execute(module)
            _register()

        spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec
