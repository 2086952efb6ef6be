"""Starts a program, and kills it and all its children once it or whoever asked for it has ended.

A script: its first argument is the number of a socket, whose other end closes however the asker
ends; it is told what went wrong with the program.
"""

import ctypes
import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Thread

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def keep(asker: socket.socket, command: list[str]) -> None:
    """Run a program, whose standard streams are those of this process, until either side ends."""
    set_by_kernel = ctypes.CDLL(None).prctl if sys.platform == "linux" else None
    if set_by_kernel:  # Its orphans become children of this process.
        set_by_kernel(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # Whoever asks may hold Ctrl-C back.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())

    def end_with_keeper() -> None:
        if set_by_kernel:
            set_by_kernel(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)

    try:
        program = subprocess.Popen(command, start_new_session=True, preexec_fn=end_with_keeper)
    except OSError as error:
        asker.send(os.fsencode(f"cannot start {command[0]}: {error.strerror}"))
        return
    # The streams end with those of the program.
    os.closerange(0, 3)

    def follow() -> None:
        asker.recv(1)
        program.kill()

    Thread(target=follow, daemon=True).start()
    status = program.wait()
    with suppress(ProcessLookupError, PermissionError):  # None is left; macOS says the other.
        os.killpg(program.pid, signal.SIGKILL)
    _kill_children()
    if status:
        asker.send(os.fsencode(f"{command[0]} ended with status {status}"))


def _kill_children() -> None:
    """Kill those that left the process group, and their children, which come here then."""
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    while children.exists() and (pids := children.read_text().split()):
        for pid in map(int, pids):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


with suppress(BrokenPipeError):  # The asker has ended.
    keep(socket.socket(fileno=int(sys.argv[1])), sys.argv[2:])
