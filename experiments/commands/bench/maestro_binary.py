"""Calls a MAESTRO binary of the user's."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from maestro_env.accelerators.hardware import Hardware
from maestro_env.base.errors import MaestroEnvError

_MAPPING, _ROWS = "mapping.m", "mapping.csv"


class BinaryError(MaestroEnvError, ValueError):
    """A program that cannot be run, or that is no MAESTRO binary."""


class MaestroBinary:
    """A binary, the accelerator it is told of, and the directory it reads and writes in."""

    def __init__(self, path: Path, hardware: Hardware, directory: Path) -> None:
        if not path.is_file():
            problem = "is no file" if path.exists() else "does not exist"
            raise BinaryError(f"MAESTRO binary {path} {problem}; give the path of the program")
        if not os.access(path, os.X_OK):
            raise BinaryError(f"MAESTRO binary {path} is not executable: chmod +x {path}")
        self._path = path.absolute()
        self._directory = directory
        self._command = [str(self._path), f"--Mapping_file={_MAPPING}", *_options(hardware)]

    def evaluate(self, text: str) -> list[str]:
        """Return the lines of the CSV it writes for a mapping file, without the header."""
        (self._directory / _MAPPING).write_text(text, encoding="utf-8")
        rows = self._directory / _ROWS
        # It would append to those of the call before.
        rows.unlink(missing_ok=True)
        self._run()
        try:
            return rows.read_text(encoding="utf-8").splitlines()[1:]
        except (OSError, ValueError):
            raise BinaryError(
                f"MAESTRO binary {self._path} writes no CSV; is it another program?"
            ) from None

    def _run(self) -> None:
        try:
            status = subprocess.run(
                self._command,
                cwd=self._directory,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            ).returncode
        except OSError as error:
            raise BinaryError(f"cannot run {self._path}: {error.strerror}") from None
        if status < 0:
            death = signal.strsignal(-status) or f"signal {-status}"
            raise BinaryError(f"MAESTRO binary {self._path} dies on a mapping file: {death}")
        if status > 0:
            raise BinaryError(
                f"MAESTRO binary {self._path} refuses a mapping file with status {status}; is it "
                "another program, or another version of MAESTRO?"
            )


def _options(hardware: Hardware) -> list[str]:
    return [
        f"--num_pes={hardware.num_pes}",
        f"--num_simd_lanes={hardware.simd_lanes}",
        f"--noc_bw_cstr={hardware.noc_bw}",
        f"--noc_hops={hardware.noc_hops}",
        f"--noc_hop_latency={hardware.noc_hop_latency}",
        f"--offchip_bw_cstr={hardware.offchip_bw}",
        f"--l1_size_cstr={hardware.l1_bytes}",
        f"--l2_size_cstr={hardware.l2_bytes}",
        "--print_res=false",
        "--print_res_csv_file=true",
        "--print_log_file=false",
    ]
