"""The flags of ``maestro-env tabulate``."""

from __future__ import annotations

from dataclasses import MISSING, dataclass

from experiments.shell.flags import option
from maestro_env.datasets.tabulated import TABLES, TABULATED


@dataclass(frozen=True)
class TabulateConfig:
    """Evaluate every vector of small spaces; what is there is kept and continued."""

    spaces: str = option(
        MISSING, f"all, or some of these with commas between: {', '.join(TABULATED)}"
    )
    out: str = option(
        str(TABLES), "where to write; several processes may share it", value="directory"
    )
    threads: int = option(1, "threads of the batch evaluation", least=1, most=1024)
