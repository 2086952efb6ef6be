"""How long an update takes: with dense networks, with masks, and with the weights that exist.

Weights are random, as no time depends on them. There is one agent, with 128 inputs, 32 choices and
two hidden layers of a width, which learns from steps of noise by VDN.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median

import numpy as np

from maestro_env.base.errors import MissingExtraError
from maestro_env.experiments.shown.tables import Table, significant
from maestro_env.experiments.store.timing import measured, microseconds, now, tell_circumstances
from maestro_env.mappers.papers.replay.layouts import Batch

try:
    from maestro_env.mappers.papers.value_based.qmix import Vdn
    from maestro_env.mappers.papers.value_based.settings import Settings
except ModuleNotFoundError as error:
    raise MissingExtraError("maestro-env sparse speed", str(error.name), "rl") from error

DENSE, MASKS, KERNELS = "dense", "dense with masks", "sparse kernels"

INTERVAL = Settings.interval
"""Updates of which the last one moves links; then targets are copied."""

_INPUTS, _CHOICES = 128, 32
# So long a training that links move as at its beginning, when they move most.
_UPDATES = 10**6


@dataclass(frozen=True)
class Timed:
    """Milliseconds: medians, and the mean of an update over an interval."""

    width: int
    density: float
    method: str
    batch: int
    repeats: int
    update_ms: float
    last_ms: float
    mean_ms: float


class _Updates:
    """Updates of an agent from the same batch."""

    def __init__(self, width: int, density: float, kernels: str, batch: int) -> None:
        rng = np.random.default_rng(0)
        settings = Settings(
            _UPDATES,
            hidden=(width, width),
            copy=INTERVAL,
            density=density,
            kernels=kernels,
        )
        self._learner = Vdn([_INPUTS], [[_CHOICES]], rng, settings)
        seen, following = rng.standard_normal((2, batch, _INPUTS), np.float32)
        chosen = rng.integers(_CHOICES, size=(batch, 1)).astype(np.float32)
        rewards, dones = rng.standard_normal((batch, 1), np.float32), np.zeros((batch, 1), "f")
        self._batch = Batch([seen], [chosen], rewards, [following], dones)

    def update(self) -> None:
        """Do the first of an interval."""
        self._nth(1)

    def last_ms(self) -> float:
        """Return the milliseconds that the last of an interval takes."""
        began, _ = now()
        self._nth(INTERVAL)
        return 1e3 * (now()[0] - began)

    def _nth(self, number: int) -> None:
        self._learner.updates = number - 1
        self._learner.update(self._batch, length=1)


def speed(
    widths: Sequence[int], densities: Sequence[float], batch: int, repeats: int, csv: str | None
) -> int:
    """Measure, print, write after every width if asked to, and return the exit status."""
    tell_circumstances(csv)
    cases = {
        f"width {width}": partial(_times, width, densities, batch, repeats) for width in widths
    }
    rows, status = measured(cases, csv)
    if rows:
        _table(rows).print()
    return status


def _times(width: int, densities: Sequence[float], batch: int, repeats: int) -> Iterator[Timed]:
    """Yield the times of all methods, which take turns."""
    methods = {(1.0, DENSE): _Updates(width, 1.0, "dense", batch)}
    for density in densities:
        methods[density, MASKS] = _Updates(width, density, "dense", batch)
        methods[density, KERNELS] = _Updates(width, density, "sparse", batch)
    for each in methods.values():
        each.update()
        each.last_ms()
    taken = [
        [(microseconds(each.update) / 1e3, each.last_ms()) for each in methods.values()]
        for _ in range(repeats)
    ]
    for (density, method), times in zip(methods, zip(*taken, strict=True), strict=True):
        update, last = map(median, zip(*times, strict=True))
        mean = ((INTERVAL - 1) * update + last) / INTERVAL
        yield Timed(width, density, method, batch, repeats, update, last, mean)


def _table(rows: Sequence[Timed]) -> Table:
    dense = {row.width: row.mean_ms for row in rows if row.method == DENSE}
    return Table(
        f"an update from {rows[0].batch} rows: median milliseconds of {rows[0].repeats}",
        ("width", "density", "method"),
        ("update", f"update\n{INTERVAL}", "mean", "times\nfaster"),
        [
            (
                *(row.width, f"{row.density:g}", row.method),
                *(significant(ms, 3) for ms in (row.update_ms, row.last_ms, row.mean_ms)),
                f"{dense[row.width] / row.mean_ms:.2f}",
            )
            for row in rows
        ],
        f"update: targets, values, gradients, optimiser; update {INTERVAL}: links move, targets "
        f"are copied; mean: of {INTERVAL} updates, extrapolated from both, which are timed apart; "
        "times faster: than dense",
    )
