"""Small spaces whose every vector has been evaluated: problems that answer from a table.

``maestro-env tabulate`` makes the tables (docs/tabulated.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import mul
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maestro_env import _native
from maestro_env.accelerators.finding import find_hardware
from maestro_env.base.errors import MaestroEnvError
from maestro_env.base.registry import by_name, look_up
from maestro_env.base.threads import require_threads
from maestro_env.environments.env import MaestroEnv
from maestro_env.environments.task import Task
from maestro_env.evaluation.objectives import Objective, find_objective
from maestro_env.evaluation.problem import Observed, Problem
from maestro_env.evaluation.rewards import observation
from maestro_env.evaluation.status import Rows
from maestro_env.mapspace.space import MapSpace, Points
from maestro_env.workloads.finding import find_layer

TABLES = Path("runs/tables")
"""Where ``maestro-env tabulate`` writes unless told otherwise."""

_COLUMNS = {
    name: _native.METRICS.index(name)
    for name in ("latency_cycles", "energy_nj", "power_mw", "area_um2")
}
TABLE_ROW = np.dtype([*((name, "<f8") for name in _COLUMNS), ("status", "u1")])
"""What a table holds of a vector: all that objectives and observations are made of.

Figures are NaN where the model has none, and may be there for an invalid vector; the status is a
code that indexes ``STATUSES``.
"""

_CHECKED = 1000
_SCANNED = 2**20


class TableError(MaestroEnvError, ValueError):
    """A table that is missing, or that is not one of this space under this model."""


@dataclass(frozen=True)
class TabulatedSpace:
    """A small space of a real layer.

    Args:
        name: what the command and its files call it.
        layer: as ``find_layer`` knows it.
        hardware: a preset.
        schema: of the ``MapSpace``; its tiles are divisors.
        about: what the layer is.
    """

    name: str
    layer: str
    hardware: str
    schema: str
    about: str

    def problem(self) -> Problem:
        """Return the problem that the model evaluates."""
        layer, hardware = find_layer(self.layer), find_hardware(self.hardware)
        return Problem(MapSpace(layer, hardware, self.schema, "divisors"))

    def path(self, directory: str | Path) -> Path:
        """Return where a directory has the table."""
        return Path(directory) / f"{self.name}.npy"


TABULATED: Mapping[str, TabulatedSpace] = by_name(
    TabulatedSpace("gpt2_ffn", "gpt2_l4", "cloud", "paper10", "first product of a feed-forward"),
    TabulatedSpace("bert_qkv", "bert_base_l0", "edge", "paper10", "queries, keys and values"),
    TabulatedSpace(
        "autoencoder", "gemm:M=1,N=128,K=128", "edge", "legal13", "MLPerf Tiny, hidden layer"
    ),
    TabulatedSpace(
        "depthwise_stride2", "mobilenetv2_l40", "edge", "paper10", "depthwise, stride 2"
    ),
    TabulatedSpace("depthwise", "mobilenetv2_l43", "unlimited", "paper10", "depthwise, stride 1"),
    TabulatedSpace("classifier", "resnet18_l20", "unlimited", "legal13", "last layer of ResNet-18"),
)
"""The spaces by name, the smallest first: 10^6 to 10^8 vectors each."""


def vectors(space: MapSpace, numbers: NDArray[np.int64]) -> Points:
    """Return the vectors with these numbers, int32[N, D]: a table has them in this order."""
    return np.stack(np.unravel_index(numbers, tuple(space.sizes)), axis=1).astype(np.int32)


def table_rows(problem: Problem, points: Points, threads: int = 1) -> NDArray[Any]:
    """Evaluate int32[N, D] vectors by the model, and return what a table holds of them, Row[N]."""
    evaluated = problem.evaluate(points, threads)
    rows = np.empty(len(points), dtype=TABLE_ROW)
    for name, column in _COLUMNS.items():
        rows[name] = evaluated.metrics[:, column]
    rows["status"] = evaluated.status
    return rows


@dataclass(frozen=True)
class TabulatedProblem(Problem):
    """A problem that answers from a table, with the values of the model bit for bit.

    ``evaluate`` and ``observe`` know no figures but latency, energy, power and area. Whatever else
    a problem can do is done by the model.

    Args:
        space: tabulated whole.
        model: of the table.
        guard: of the model.
        path: of the table, an array of ``TABLE_ROW``, one for each vector.

    Raises:
        TableError: no table, or one of another space or model.
        UnknownNameError: by the methods, an objective that is not a product of tabulated figures.
        MapSpaceError: by the methods, as those of ``Problem``.
    """

    path: str | Path = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        points = self.space.sample(_CHECKED, np.random.default_rng(0))
        model = Problem(self.space, self.model, self.guard)
        if self._find(points).tobytes() != table_rows(model, points).tobytes():
            raise TableError(
                f"{self.path} has other values than the model: it is of another space or version; "
                "delete it and make it again"
            )

    def evaluate(self, points: Points, threads: int = 1) -> Rows:
        """Look up int32[N, D] vectors; figures that are not tabulated are NaN."""
        require_threads(threads)
        rows = self._find(points)
        metrics = np.full((len(rows), len(_native.METRICS)), np.nan)
        for name, column in _COLUMNS.items():
            metrics[:, column] = rows[name]
        return Rows(metrics, rows["status"].copy())

    def score(
        self, points: Points, objective: Objective, threads: int = 1
    ) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        """Look up the objective, float64[N], and the status codes, uint8[N], of vectors."""
        require_threads(threads)
        rows = self._find(points)
        return _values(rows, objective), rows["status"].copy()

    def observe(self, vector: ArrayLike, objective: Objective) -> Observed:
        """Look up one vector, as ``Problem.observe`` evaluates it."""
        points = self.space.as_points(np.asarray(vector)[np.newaxis], 1)
        rows, metrics = self._find(points), self.evaluate(points).metrics
        value = float(_values(rows, objective)[0])
        return observation(metrics)[0], value, int(rows["status"][0]), points[0], metrics[0]

    def optimum(self, objective: Objective) -> float:
        """Return the least value of all vectors; infinite if none is valid."""
        return min(float(values.min()) for values in self.scan(objective))

    def rank(self, objective: Objective, values: ArrayLike) -> NDArray[np.int64]:
        """Return for each of float64[N] values how many vectors have a lower one, int64[N].

        The optimum has rank 0, and infinity the number of valid vectors. A rank divided by
        ``space.size()`` is a quantile.
        """
        asked = np.asarray(values, dtype=np.float64)
        steps = np.unique(asked)
        counts = np.zeros(len(steps) + 1, dtype=np.int64)
        for found in self.scan(objective):
            places = np.searchsorted(steps, found, side="right")
            counts += np.bincount(places, minlength=len(counts))
        return np.cumsum(counts)[np.searchsorted(steps, asked)]

    def scan(self, objective: Objective) -> Iterator[NDArray[np.float64]]:
        """Yield the values of all vectors in order, 2^20 at a time; infinite unless valid."""
        for start in range(0, len(self._table), _SCANNED):
            yield _values(self._table[start : start + _SCANNED], objective)

    def _find(self, points: Points) -> NDArray[Any]:
        """Return the rows of int32[N, D] vectors."""
        points = self.space.as_points(points, len(points))
        try:
            places = np.ravel_multi_index(tuple(points.T), tuple(self.space.sizes))
        except ValueError:
            # The model says which entry is out of range.
            super().evaluate(points)
            raise
        rows: NDArray[Any] = self._table[places]
        return rows

    @cached_property
    def _table(self) -> NDArray[Any]:
        try:
            table = np.lib.format.open_memmap(self.path, mode="r")
        except FileNotFoundError:
            raise TableError(
                f"there is no table {self.path}; "
                f"maestro-env tabulate {Path(self.path).stem} makes it"
            ) from None
        except (OSError, ValueError) as error:
            raise TableError(f"cannot read {self.path}: {error}") from None
        if (table.dtype, table.shape) != (TABLE_ROW, (self.space.size(),)):
            raise TableError(
                f"{self.path} is an array {table.shape} of {table.dtype}; allowed: the table of "
                f"{self.space.size():,} vectors"
            )
        # A view, whose parts are plain arrays, which are faster to make.
        rows: NDArray[Any] = table.view(np.ndarray)
        return rows


def open_table(name: str, directory: str | Path = TABLES) -> TabulatedProblem:
    """Return the problem of a space, a name of ``TABULATED``, with its table in a directory.

    Raises:
        UnknownNameError: no such space.
        TableError: the directory does not have its table.
    """
    found = look_up("tabulated space", name, TABULATED)
    return TabulatedProblem(found.problem().space, path=found.path(directory))


class TabulatedEnv(MaestroEnv):
    """A ``MaestroEnv`` that answers from a table, with only the tabulated figures.

    Args:
        table: as ``open_table`` returns it.
        objective: as in ``MaestroEnv``.
        **options: those of ``MaestroEnv`` from ``reward`` on, but ``guard`` and ``layers``.
            ``info="full"`` has the table's optimum.

    Raises:
        MaestroEnvError: an argument that is not allowed; the message lists the allowed ones.
    """

    def __init__(
        self, table: TabulatedProblem, objective: str | Objective = "edp", **options: Any
    ) -> None:
        self._set_up([_TabulatedTask(table, find_objective(objective))], **options)


class _TabulatedTask(Task):
    @cached_property
    def optimum(self) -> tuple[float, float]:
        """The optimum of the table, twice: it is its own bound."""
        assert isinstance(self.problem, TabulatedProblem)
        optimum = self.problem.optimum(self.objective)
        return optimum, optimum


def _values(rows: NDArray[Any], objective: Objective) -> NDArray[np.float64]:
    """Return the objective of rows, float64[N], infinite unless they are valid."""
    for name in objective.factors:
        look_up("tabulated figure", name, _COLUMNS)
    values = reduce(mul, (rows[name] for name in objective.factors))
    return np.asarray(np.where(rows["status"], np.inf, values))
