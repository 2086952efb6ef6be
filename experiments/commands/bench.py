"""``maestro-env bench``: measure evaluation rates on this machine."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import SyncVectorEnv

from maestro_env.accelerators.elements import FanoutElement, MemoryElement
from maestro_env.accelerators.finding import find_hardware
from maestro_env.accelerators.hardware import PRESETS
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.base.errors import MaestroEnvError
from maestro_env.base.parallelism import processors
from maestro_env.evaluation.cost_and_status import STATUSES
from maestro_env.evaluation.models import MODELS, models_with
from maestro_env.evaluation.objectives import OBJECTIVES
from maestro_env.evaluation.problem import Problem
from maestro_env.experiments.search.searches import Recorder
from maestro_env.experiments.shell.files import ensure_directory, refuse_irregular, write_json
from maestro_env.experiments.shell.flags import option
from maestro_env.experiments.shell.printing import print_lines
from maestro_env.experiments.shown.tables import Table
from maestro_env.experiments.store.records import processor, versions
from maestro_env.mappers import make_mapper
from maestro_env.mappers.parts.arrays import log_uniform
from maestro_env.mapspace.mapping import to_m
from maestro_env.mapspace.space import Points
from maestro_env.mapspace.two_level_space import SCHEMAS, MapSpace
from maestro_env.models import make_problems
from maestro_env.workloads.finding import find_layer


@dataclass(frozen=True)
class Config:
    """Measure evaluation rates on this machine."""

    json: str | None = option(None, "also write the figures to this file", value="file")
    maestro: str | None = option(None, "compare with this MAESTRO binary", value="path")


LAYERS = ("mobilenetv2_l2", "resnet18_l2", "vgg16_l2")
REPEATS = 5
MAPPINGS = 20_000
SEARCHERS, SAMPLES = ("ga_log", "marl"), 5_000
MEMORIES_LAYERS = ("gemm:M=512,N=512,K=512", "resnet18_l2")
THREE_MEMORIES = Hierarchy(
    [
        MemoryElement(name="DRAM", bw=128),
        MemoryElement(name="buffer", capacity_bits=2**20, bw=512),
        FanoutElement(name="PEs", size=256),
        MemoryElement(name="registers", capacity_bits=2**12, bw=64),
    ],
    name="three memories",
)
MACHINES: Sequence[str | Hierarchy] = ("edge", THREE_MEMORIES, "gemmini", "eyeriss")
DRAWN = 60_000
SINGLES = 5_000
ENV, STEPS = "MaestroEnv-v1", 5_000
COPIES, STEPS_OF_COPIES = 4_096, 20
SYNC_COPIES, SYNC_STEPS = 64, 500
BINARY_LAYERS = (
    "mobilenetv2_l2",
    "conv:K=64,C=64,Y=56,X=56,R=3,S=3",
    "conv:K=64,C=64,Y=224,X=224,R=3,S=3",
)
IN_ONE_FILE, CALLS = 1_000, 30
# Our models take a thousandth of the binary's time, so that more mappings are on the clock.
REPEATED = 32

FIGURES = {
    "evaluations_per_s": ("evaluations/s", "{:,.0f}"),
    "p50_us": ("p50 us", "{:.2f}"),
    "p90_us": ("p90 us", "{:.2f}"),
    "p99_us": ("p99 us", "{:.2f}"),
    "unwrapped_step_us": ("env.unwrapped us/step", "{:.1f}"),
    "made_steps_per_s": ("gymnasium.make steps/s", "{:,.0f}"),
    "vector_steps_per_s": ("vector env steps/s", "{:,.0f}"),
    "empty_steps_per_s": ("empty info, steps/s", "{:,.0f}"),
    "steps_per_s": ("steps/s", "{:,.0f}"),
    "share": ("share of the rate with an empty info", "{:.2f}"),
    "binary_us": ("binary, one file\nus/mapping", "{:,.0f}"),
    "binary_call_us": ("binary, a call\nus/mapping", "{:,.0f}"),
    "model_us": ("model\nus/mapping", "{:.3f}"),
    "ratio": ("one file /\nmodel", "{:,.0f}"),
}
"""Of all sections, by their names in the report: the header, and how a number is shown."""

FigureRow = dict[str, Any]
TitledRows = tuple[str, list[FigureRow]]
"""The title of a table, and its rows: what was measured, then its figures."""
Timed = Callable[[], object]
Clock = Callable[[], float]
_NULL = subprocess.DEVNULL


def execute(config: Config) -> int:
    """Measure, print, and return the exit status."""
    if config.json is not None:
        ensure_directory(Path(config.json).parent)
        refuse_irregular(Path(config.json))
    report: dict[str, object] = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "processor": processor(),
        "processors": processors(),
        "versions": versions(),
    }
    print_lines(
        f"{report['date']}, {report['processor']}, {report['processors']} processors, median of "
        f"{REPEATS} repeats",
        "",
        flush=True,
    )
    sections: dict[str, Callable[[], TitledRows]] = {}
    if config.maestro is not None:
        # First what may be refused.
        sections["maestro_binary"] = partial(against_binary, Path(config.maestro))
    sections |= {"batches": batches, "accelerators": accelerators, "searches": searches}
    sections |= {"memories": memories, "mappings": mappings}
    sections |= {"environments": environments, "copies": copies}
    for name, measure in sections.items():
        title, rows = measure()
        _table(title, rows).print()
        report[name] = rows
    if config.json is not None:
        write_json(Path(config.json), report)
    return 0


def _table(title: str, rows: Sequence[FigureRow]) -> Table:
    figures = {name: FIGURES[name] for name in rows[0] if name in FIGURES}
    keys = [name for name in rows[0] if name not in FIGURES]
    headers, forms = zip(*figures.values(), strict=True)
    shown = ["{}"] * len(keys) + [*forms]
    cells = [
        [form.format(row[name]) for name, form in zip(row, shown, strict=True)] for row in rows
    ]
    return Table(title, keys, headers, cells)


def interleaved(works: Sequence[Timed], clock: Clock | None = None) -> list[float]:
    """Return the median seconds that each piece of work takes, by the wall or another clock.

    Each is done once a round, so that a spell of other load on the machine slows all of them, and
    their ratios hold.
    """
    clock = clock or time.perf_counter
    seconds: list[list[float]] = [[] for _ in works]
    for _ in range(REPEATS):
        for taken, work in zip(seconds, works, strict=True):
            began = clock()
            work()
            taken.append(clock() - began)
    return [median(taken) for taken in seconds]


# --- Mappings -----------------------------------------------------------------------------------


def batches() -> TitledRows:
    """Measure batches of all kinds."""
    # Powers of two up to the processors there are.
    numbers = [2**exponent for exponent in range(processors().bit_length())]
    works = []
    for each, threads in product(_problems(LAYERS, SCHEMAS), numbers):
        row = {"layer": each.layer.name, "schema": each.space.schema, "model": each.model}
        evaluate = partial(each.evaluate, _drawn(each.space, MAPPINGS), threads)
        works.append((row | {"threads": threads}, evaluate))
    return f"{MAPPINGS:,} random mappings a batch", _rates(works, MAPPINGS)


def accelerators() -> TitledRows:
    """Measure batches for every preset: on some of them PEs wait, and that takes longer."""
    works = []
    for each in _problems(LAYERS[1:2], hardware=PRESETS):
        row = {"hardware": each.hardware.name, "model": each.model}
        works.append((row, partial(each.evaluate, _drawn(each.space, MAPPINGS))))
    title = f"{MAPPINGS:,} random legal13 mappings of {LAYERS[1]}, one thread"
    return title, _rates(works, MAPPINGS)


def searches() -> TitledRows:
    """Measure values alone of the mappings that searches draw, most of which fit the buffers."""
    edp, works = OBJECTIVES["edp"], []
    for each in _problems(LAYERS[1:2], SCHEMAS, PRESETS):
        points = []
        for mapper in SEARCHERS:
            recorder = Recorder(each, edp, SAMPLES)
            make_mapper(mapper).search(recorder, SAMPLES, np.random.default_rng(0))
            points.append(recorder.points)
        row = {"hardware": each.hardware.name, "schema": each.space.schema, "model": each.model}
        works.append((row, partial(each.score, np.concatenate(points), edp)))
    title = (
        f"EDP of the mappings of {LAYERS[1]} that searches draw, {SAMPLES:,} of each of "
        f"{', '.join(SEARCHERS)}, one thread"
    )
    return title, _rates(works, len(SEARCHERS) * SAMPLES)


def memories() -> TitledRows:
    """Measure latencies alone under ``hierarchy``, of mappings that fit, drawn as searches do."""
    latency, works = OBJECTIVES["latency"], []
    for layer, hardware in product(MEMORIES_LAYERS, MACHINES):
        model = "exact" if hardware == "edge" else "hierarchy"
        (each,) = make_problems([find_layer(layer)], hardware, model)
        points = log_uniform(each.space, DRAWN, np.random.default_rng(0))
        fits = points[each.score(points, latency)[1] == STATUSES.index("ok")]
        row = {"layer": layer, "hardware": each.hardware.name, "model": model}
        works.append((row, partial(each.score, np.resize(fits, points.shape), latency)))
    title = f"Latency of {DRAWN:,} mappings that fit, sizes drawn log-uniformly; CPU time"
    return title, _rates(works, DRAWN, time.process_time)


def mappings() -> TitledRows:
    """Measure how long single mappings take, and how it spreads over mappings."""
    rows = []
    for each in _problems(LAYERS):
        points = _drawn(each.space, SINGLES)
        # What else the machine does shows in few of the repeats.
        seconds = np.min([each.time(points) for _ in range(REPEATS)], axis=0)
        spread = {f"p{part}_us": 1e6 * float(np.percentile(seconds, part)) for part in (50, 90, 99)}
        rows.append({"layer": each.layer.name, "model": each.model} | spread)
    return (
        f"{SINGLES:,} random legal13 mappings, one by one: least of {REPEATS} times of each",
        rows,
    )


def _problems(
    layers: Iterable[str],
    schemas: Iterable[str] = ("legal13",),
    hardware: Iterable[str] = ("unlimited",),
) -> Iterator[Problem]:
    """Yield what is measured, under every model that can evaluate it."""
    for layer, machine, schema in product(layers, hardware, schemas):
        space = MapSpace(find_layer(layer), find_hardware(machine), schema)
        for name in models_with("levels"):
            if "windows" in MODELS[name].abilities or not space.cuts_windows:
                yield Problem(space, name)


def _drawn(space: MapSpace, count: int) -> Points:
    return space.sample(count, np.random.default_rng(0))


def _rates(
    works: Iterable[tuple[FigureRow, Timed]], count: int, clock: Clock | None = None
) -> list[FigureRow]:
    """Return the rows with the rates of their works, all of which evaluate so many mappings."""
    rows, timed = zip(*works, strict=True)
    seconds = interleaved(timed, clock)
    return [row | {"evaluations_per_s": count / s} for row, s in zip(rows, seconds, strict=True)]


# --- Environments -------------------------------------------------------------------------------


def environments() -> TitledRows:
    """Measure the environment alone, as ``gymnasium.make`` gives it, and many copies in one."""
    rows = []
    for each in _problems(LAYERS):
        row: FigureRow = {"layer": each.layer.name, "model": each.model}
        one = gymnasium.make(ENV, objective="edp", **row)
        many = gymnasium.make_vec(
            ENV, COPIES, vectorization_mode="vector_entry_point", objective="edp", **row
        )
        actions = list(_drawn(each.space, STEPS).astype(np.int64))
        of_many = [many.action_space.sample() for _ in range(STEPS_OF_COPIES)]
        works = [(one.unwrapped, actions), (one, actions), (many, of_many)]
        unwrapped, made, vector = interleaved([partial(_step, *work) for work in works])
        figures = (1e6 * unwrapped / STEPS, STEPS / made, COPIES * STEPS_OF_COPIES / vector)
        names = ("unwrapped_step_us", "made_steps_per_s", "vector_steps_per_s")
        rows.append(row | dict(zip(names, figures, strict=True)))
    title = (
        f"{STEPS:,} steps of an environment, {STEPS_OF_COPIES} of {COPIES:,} copies, which take as "
        "many threads as suit them"
    )
    return title, rows


def copies() -> TitledRows:
    """Measure Gymnasium's ``SyncVectorEnv`` with the information and with an empty one."""
    rows = []
    for layer in LAYERS:
        envs = [
            SyncVectorEnv([partial(_Told, layer, told)] * SYNC_COPIES) for told in (False, True)
        ]
        actions = [envs[0].action_space.sample() for _ in range(SYNC_STEPS)]
        seconds = interleaved([partial(_step, env, actions) for env in envs])
        empty, full = (SYNC_COPIES * SYNC_STEPS / each for each in seconds)
        rows.append(
            {"layer": layer, "empty_steps_per_s": empty, "steps_per_s": full, "share": full / empty}
        )
    return f"{SYNC_STEPS} steps of {SYNC_COPIES} copies in Gymnasium's SyncVectorEnv", rows


class _Told(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment that tells its information, or an empty one at the same cost."""

    def __init__(self, layer: str, told: bool) -> None:
        super().__init__(gymnasium.make(ENV, layer=layer))
        self._told = told

    def reset(self, **arguments: Any) -> tuple[Any, dict[str, Any]]:
        seen, info = self.env.reset(**arguments)
        return seen, info if self._told else {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        seen, reward, terminated, truncated, info = self.env.step(action)
        return seen, reward, terminated, truncated, info if self._told else {}


def _step(env: Any, actions: Iterable[Any]) -> None:
    """Step through an environment, or through many in one, which begin anew by themselves."""
    env.reset()
    for action in actions:
        if env.step(action)[3] is True:
            env.reset()


# --- The MAESTRO binary -------------------------------------------------------------------------


class BinaryError(MaestroEnvError, ValueError):
    """A program that cannot be run, or that is no MAESTRO binary."""


def call_binary(binary: Path, directory: Path, text: str, count: int) -> list[str]:
    """Return the lines of its CSV, without the header, for a file of so many mappings."""
    command = [str(binary.absolute()), "--Mapping_file=mapping.m", *_binary_options()]
    (directory / "mapping.m").write_text(text, encoding="utf-8")
    written = directory / "mapping.csv"
    # It would append to those of the call before.
    written.unlink(missing_ok=True)
    try:
        ended = subprocess.run(command, cwd=directory, stdin=_NULL, stdout=_NULL, stderr=_NULL)
        if ended.returncode:
            raise ValueError(f"it ends with status {ended.returncode}")
        rows = written.read_text(encoding="utf-8").splitlines()[1:]
        if len(rows) != count:
            raise ValueError(f"it writes {len(rows)} rows for {count} mappings")
    except (OSError, ValueError) as error:
        raise BinaryError(f"{binary} is not a MAESTRO binary that can be run: {error}") from None
    return rows


def _binary_options() -> Iterator[str]:
    hardware = find_hardware("unlimited")
    yield f"--num_pes={hardware.num_pes}"
    yield f"--num_simd_lanes={hardware.simd_lanes}"
    yield f"--noc_bw_cstr={hardware.noc_bw}"
    yield f"--noc_hops={hardware.noc_hops}"
    yield f"--noc_hop_latency={hardware.noc_hop_latency}"
    yield f"--offchip_bw_cstr={hardware.offchip_bw}"
    yield f"--l1_size_cstr={hardware.l1_bytes}"
    yield f"--l2_size_cstr={hardware.l2_bytes}"
    yield from ("--print_res=false", "--print_res_csv_file=true", "--print_log_file=false")


def against_binary(path: Path) -> TitledRows:
    """Measure the binary and the models in turns."""
    with tempfile.TemporaryDirectory() as directory:
        call = partial(call_binary, path, Path(directory))
        rows = [row for layer in BINARY_LAYERS for row in _against(call, layer)]
    title = (
        f"{path}: {IN_ONE_FILE:,} random legal13 mappings in one file, or {CALLS} in a call each; "
        f"medians of {REPEATS} rounds, one thread"
    )
    return title, rows


def _against(call: Callable[[str, int], object], layer: str) -> Iterator[FigureRow]:
    space = MapSpace(find_layer(layer), find_hardware("unlimited"))
    points = _drawn(space, IN_ONE_FILE)
    mappings = [space.decode(point) for point in points]
    repeated = np.tile(points, (REPEATED, 1))
    models = {
        "exact": Problem(space),
        "maestro, no guard": Problem(space, "maestro", guard=False),
        "maestro": Problem(space, "maestro"),
    }
    one_file = to_m(space.layer, mappings)
    texts = [to_m(space.layer, [mapping]) for mapping in mappings[:CALLS]]
    works: list[Timed] = [partial(call, one_file, IN_ONE_FILE)]
    works.append(lambda: [call(text, 1) for text in texts])
    works += [partial(each.evaluate, repeated) for each in models.values()]
    file, calls, *taken = interleaved(works)
    binary = {"binary_us": 1e6 * file / IN_ONE_FILE, "binary_call_us": 1e6 * calls / CALLS}
    for name, seconds in zip(models, taken, strict=True):
        ours = 1e6 * seconds / len(repeated)
        figures = {"model_us": ours, "ratio": binary["binary_us"] / ours}
        yield {"layer": layer, "model": name} | binary | figures
