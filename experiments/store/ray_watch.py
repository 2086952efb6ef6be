"""Which nodes a Ray cluster has, and whether its head answers."""

from __future__ import annotations

import time
from collections import deque
from threading import Event, Thread

_SECONDS_BETWEEN_LOOKS = 1.0
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
        self._thread.join(_SECONDS_BETWEEN_LOOKS)

    def _follow(self) -> None:
        while not self._ended.wait(_SECONDS_BETWEEN_LOOKS):
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
