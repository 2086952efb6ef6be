"""The specifications of environments hold texts, so that ``spec.to_json()`` can write them."""

from __future__ import annotations

from gymnasium.envs.registration import EnvSpec

from maestro_env.environments.texts import in_texts


class TextSpec:
    """An environment whose specification names layers, hardware and objectives as texts."""

    _spec: EnvSpec | None = None

    @property
    def spec(self) -> EnvSpec | None:
        """What ``gymnasium.make`` makes this environment of."""
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        if spec is not None:
            spec.kwargs = in_texts(spec.kwargs)
        self._spec = spec
