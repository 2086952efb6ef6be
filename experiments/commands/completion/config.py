"""The flags of ``maestro-env completion``."""

from __future__ import annotations

from dataclasses import MISSING, dataclass

from experiments.shell.flags import option

SHELLS = ("bash", "zsh", "tcsh")


@dataclass(frozen=True)
class CompletionConfig:
    """Print a script by which a shell completes the commands and flags of maestro-env.

    For bash: maestro-env completion bash > ~/.local/share/bash-completion/completions/maestro-env
    """

    shell: str = option(MISSING, f"one of {', '.join(SHELLS)}")
