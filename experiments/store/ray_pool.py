"""Running works on a Ray cluster: this process keeps the directory, workers send files back.

Claims are taken and records written here, so that nodes need no file system in common. Ray decides
where a task runs and finds out if its node or process dies; the works of such a task are sent
again, each in a task of its own, so that one that kills its worker does not take others with it.
"""

from __future__ import annotations

import logging
import os
import pickle
import re
import socket
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Sequence
from math import ceil
from threading import Event, Thread, Timer
from typing import TYPE_CHECKING, Any

from maestro_env.base.errors import MaestroEnvError, MissingExtraError
from maestro_env.experiments.shell import cli, files
from maestro_env.experiments.shell.flags import UsageError
from maestro_env.experiments.shell.printing import print_errors
from maestro_env.experiments.store.ray_worker import Outcome
from maestro_env.experiments.store.records import Pending, Show, versions

if TYPE_CHECKING:
    from ray import ObjectRef

_SECONDS_BETWEEN_ASKS = 1.0
SECONDS_OF_SILENCE = 10.0
"""After them a head counts as lost; Ray itself ends the process after 60."""


class Watch:
    """Asks the head for its nodes, in a thread of its own: without a head the question hangs."""

    def __init__(self) -> None:
        self._nodes: dict[str, tuple[str, float]] = {}
        self._lost: deque[str] = deque()
        self._asked: float | None = None
        self._ended = Event()
        self._look()
        self._thread = Thread(target=self._follow, daemon=True)
        self._thread.start()

    @property
    def cores(self) -> int:
        """Cores of the cluster, which may grow or shrink."""
        return int(sum(cores for _, cores in self._nodes.values()))

    @property
    def is_silent(self) -> bool:
        """Whether the head is lost."""
        asked = self._asked
        return asked is not None and time.monotonic() - asked > SECONDS_OF_SILENCE

    def lost(self) -> list[str]:
        """Return the addresses of the nodes lost since the last call."""
        return [self._lost.popleft() for _ in range(len(self._lost))]

    def end(self) -> None:
        """Ask no more."""
        self._ended.set()
        self._thread.join(_SECONDS_BETWEEN_ASKS)

    def _follow(self) -> None:
        while not self._ended.wait(_SECONDS_BETWEEN_ASKS):
            # Not while it waits: a process that was stopped for a while finds no silence.
            self._asked = self._asked or time.monotonic()
            try:
                self._look()
            except Exception:  # noqa: BLE001 (no answer, in whichever of Ray's words)
                continue
            self._asked = None

    def _look(self) -> None:
        import ray

        now = {
            node["NodeID"]: (node["NodeManagerAddress"], node["Resources"].get("CPU", 0.0))
            for node in ray.nodes()
            if node["Alive"]
        }
        self._lost.extend(self._nodes[key][0] for key in self._nodes.keys() - now.keys())
        self._nodes = now


_SECONDS_TO_CONNECT = 60
_SECONDS_TO_REACH = 10
_SECONDS_UNTOLD = 10
_SECONDS_BETWEEN_LOOKS = 0.2
# A task costs Ray about 1 ms.
_SECONDS_A_TASK = 2.0
# One runs, the other is there when it ends.
_TASKS_A_CORE = 2
# Every claim has a thread that keeps it alive.
_MOST_CLAIMS = 1000
_TRIES = 3

# In a process of its own: in this one Ray would wait for two minutes, and then end the process.
_PROBE = """
import logging, sys
import ray
try:
    ray.init(address=sys.argv[1], logging_level=logging.CRITICAL, log_to_driver=False)
except Exception as error:
    sys.exit(" ".join(str(error).split()))
"""


class ClusterError(MaestroEnvError, RuntimeError):
    """A Ray cluster that cannot be reached, or a node of it that cannot run our works."""


def connect(address: str) -> None:
    """Connect this process to a Ray cluster, unless it is connected to one.

    Args:
        address: ``auto`` for the cluster that this machine is a node of, or HOST:PORT of its head.

    Raises:
        MissingExtraError: Ray is not installed.
        UsageError: the address is none.
        ClusterError: there is no cluster, or its versions of Ray or Python are others.
    """
    if not re.fullmatch(r"auto|[^\s/:]+:\d+", address):
        raise UsageError(f"--ray {address!r}; allowed: auto, or HOST:PORT such as 10.0.0.1:6379")
    # Ray would warn that it will leave variables of accelerators alone.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    with cli.importing():
        try:
            import ray
        except ImportError as error:
            raise MissingExtraError("--ray", "ray", "ray") from error
    if ray.is_initialized():
        return
    _probe(address)
    with cli.deferred():
        ray.init(address=address, logging_level=logging.CRITICAL, log_to_driver=False)
    # What happens to nodes would go to stdout; there is no public switch.
    ray._private.worker._worker_logs_enabled = False


def _probe(address: str) -> None:
    command = [sys.executable, "-c", _PROBE, address]
    host, _, port = address.partition(":")
    told = f"waiting for the Ray cluster --ray {address}, at most {_SECONDS_TO_CONNECT} s"
    waiting = Timer(_SECONDS_UNTOLD, print, [told], {"file": sys.stderr})
    waiting.daemon = True
    waiting.start()
    try:
        if port:
            # Most wrong addresses are found out at once.
            socket.create_connection((host, int(port)), _SECONDS_TO_REACH).close()
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS_TO_CONNECT)
        if done.returncode == 0:
            return
        reason = (done.stderr.strip().splitlines() or ["Ray gave no reason"])[-1]
    except subprocess.TimeoutExpired:
        reason = f"no answer within {_SECONDS_TO_CONNECT} s"
    except (OSError, OverflowError, UnicodeError) as error:
        reason = str(error)
    finally:
        waiting.cancel()
    raise ClusterError(
        f"cannot use the Ray cluster --ray {address}: {reason}; start one with "
        "'ray start --head', and join it from other machines with 'ray start --address HOST:6379'"
    )


def run_on_ray(tasks: Sequence[Pending], finished: int, address: str, show: Show) -> int:
    """Run works on a cluster, each once among all processes; return the exit status.

    Raises:
        MaestroEnvError: the cluster cannot be used, or a file cannot be written here.
    """
    connect(address)
    return _Run(tasks, finished, show).run()


class _Run:
    """Works on their way through a cluster."""

    def __init__(self, tasks: Sequence[Pending], finished: int, show: Show) -> None:
        self._tasks, self._waiting = tasks, deque(tasks)
        self._under_way: dict[ObjectRef[Any], list[Pending]] = {}
        self._deaths: Counter[Pending] = Counter()
        self._done, self._show = finished, show
        self._status = 0
        self._works, self._seconds = 0, 0.0
        self._versions = versions()
        self._remote = _remote()
        self._watch = Watch()

    def run(self) -> int:
        try:
            while self._waiting or self._under_way:
                self._look()
                self._send_some()
                self._wait()
        finally:
            with cli.undisturbed():
                self._watch.end()
                self._drop()
        return self._status

    def _look(self) -> None:
        """Tell of nodes that are lost, and end the process if the head is."""
        for node in self._watch.lost():
            print_errors(f"lost: node {node} of the Ray cluster; others run its searches again")
        if self._watch.is_silent:
            print_errors(
                "failed: the head of the Ray cluster has not answered for "
                f"{SECONDS_OF_SILENCE:g} s; {self._tasks[0].work.again} runs the rest"
            )
            # Ray would end it a minute later, in the middle of whatever comes next.
            sys.exit(cli.FAILED)

    def _send_some(self) -> None:
        """Send tasks until every core of the cluster has enough."""
        cores = self._watch.cores
        most = _TASKS_A_CORE * max(cores, 1)
        while len(self._under_way) < most and (batch := self._take(self._batch_size(most))):
            pickled = pickle.dumps([each.work for each in batch])
            self._under_way[self._remote.remote(pickled, self._versions)] = batch
        count = sum(map(len, self._under_way.values()))
        self._show(self._done, f"{count} searches sent to {cores} cores")

    def _batch_size(self, tasks: int) -> int:
        """Return how many works a task takes, with so many tasks under way."""
        if not self._works:
            return 1
        long_enough = int(_SECONDS_A_TASK * self._works / max(self._seconds, 1e-9))
        # At the end, no core waits for a long task of another.
        share = ceil(len(self._waiting) / tasks)
        return max(min(long_enough, share, _MOST_CLAIMS // tasks), 1)

    def _take(self, most: int) -> list[Pending]:
        """Take the claims of the next works; what other processes run goes to the end."""
        batch: list[Pending] = []
        for _ in range(len(self._waiting)):
            each = self._waiting[0]
            alone = self._deaths[each] > 0
            if len(batch) == most or (batch and alone):
                break
            self._waiting.popleft()
            if not each.has_ended and not each.take():
                self._waiting.append(each)
            elif each.has_ended:
                # Another process may have run it before it gave the claim back.
                self._end(each)
            else:
                batch.append(each)
                if alone:
                    break
        return batch

    def _wait(self) -> None:
        """Keep what comes back."""
        import ray

        if not self._under_way:
            if self._waiting:
                note = f"waiting for {len(self._waiting)} searches of other processes"
                self._show(self._done, note)
                time.sleep(_SECONDS_BETWEEN_LOOKS)
            return
        sent = list(self._under_way)
        ready, _ = ray.wait(sent, timeout=_SECONDS_BETWEEN_LOOKS)
        if ready:
            ready, _ = ray.wait(sent, num_returns=len(sent), timeout=0)
        for reference in ready:
            self._receive(reference)

    def _receive(self, reference: ObjectRef[Any]) -> None:
        import ray

        batch = self._under_way[reference]
        try:
            told: list[Outcome] | str = ray.get(reference)
        except ray.exceptions.RayError as error:
            self._try_again(batch, error)
        else:
            if isinstance(told, str):
                raise ClusterError(f"{told}; install the same on every node of the cluster")
            for each, outcome in zip(batch, told, strict=True):
                self._keep(each, outcome)
        del self._under_way[reference]

    def _keep(self, pending: Pending, outcome: Outcome) -> None:
        """Write what a work wrote on its worker."""
        work = pending.work
        for name, data in outcome.files.items():
            path = work.directory / name
            files.ensure_directory(path.parent)
            files.write_bytes(path, data)
        if outcome.failure is None:
            work.error_path.unlink(missing_ok=True)
        else:
            print_errors(outcome.failure)
        self._works += 1
        self._seconds += outcome.seconds
        self._end(pending)

    def _try_again(self, batch: Sequence[Pending], error: Exception) -> None:
        """Put works whose worker died back to where they were, to be sent one by one."""
        for each in reversed(batch):
            self._deaths[each] += 1
            if self._deaths[each] < _TRIES:
                each.give_back()
                self._waiting.appendleft(each)
                continue
            reason = " ".join(str(error).split(". ")[0].split())
            print_errors(
                f"failed: {each.work}: its worker died {_TRIES} times: "
                f"{type(error).__name__}: {reason}; {each.work.again} runs it again"
            )
            self._end(each)

    def _end(self, pending: Pending) -> None:
        pending.give_back()
        self._done += 1
        if not pending.work.ended:
            self._status = cli.FAILED

    def _drop(self) -> None:
        """Let go of what is under way, if anything: workers write nothing here."""
        import ray

        for reference in self._under_way:
            ray.cancel(reference, force=True)
        for each in self._tasks:
            each.give_back()


def _remote() -> Any:
    """Make the function that workers run.

    Ray sends a local function as code, so that a node without the package can say so.
    """
    import ray

    def maestro_env_works(pickled: bytes, asked: dict[str, str | None]) -> object:
        try:
            from maestro_env.experiments.store.ray_worker import run_works
        except ImportError as error:
            import platform

            return f"node {platform.node()}: maestro-env is missing or older: {error}"
        return run_works(pickled, asked)

    # Ray would try again without end what the machine has too little memory for.
    return ray.remote(max_retries=0)(maestro_env_works)
