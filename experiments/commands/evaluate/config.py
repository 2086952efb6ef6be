"""The flags of ``maestro-env evaluate``."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.search.mapping_config import MappingConfig
from experiments.shell.flags import option
from maestro_env.exchange import FORMATS


@dataclass(frozen=True)
class EvaluateConfig(MappingConfig):
    """Score one mapping under both cost models; print its loop nest and its figures."""

    write: str | None = option(None, "also write the mapping to this new file", value="file")
    format: str | None = option(
        None, f"of the file to write: {', '.join(FORMATS)} (default: by the ending of its name)"
    )
