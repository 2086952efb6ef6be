"""``maestro-env map``: map every layer of a network; write the mappings and the totals."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from maestro_env.accelerators.finding import chips_with, hardware_names
from maestro_env.evaluation.fronts import Front
from maestro_env.evaluation.problem import require
from maestro_env.experiments.network.layer_search import OF_ANY_MEMORIES, SearchSettings
from maestro_env.experiments.network.mapped_network import (
    MappedNetwork,
    Row,
    left_out_lines,
    print_network,
    section_of,
)
from maestro_env.experiments.network.networks import map_layers
from maestro_env.experiments.pages.sections import Choice, bottleneck
from maestro_env.experiments.pages.writer import write_report
from maestro_env.experiments.search.goals import (
    ANY_HARDWARE_HELP,
    AnyProblemConfig,
    Goal,
    make_goal,
    schema_note,
    write_mapping,
)
from maestro_env.experiments.search.library import add_to_library, find_library
from maestro_env.experiments.shell import cli, flags
from maestro_env.experiments.shell.files import (
    csv_cell,
    distinct_name,
    ensure_directory,
    safe_name,
    write_csv,
    write_json,
)
from maestro_env.experiments.shell.flags import (
    PROGRAM,
    UsageError,
    jobs_option,
    option,
    out_option,
    ray_option,
    resume_option,
    threads_option,
)
from maestro_env.experiments.shell.printing import print_errors, print_lines
from maestro_env.experiments.store.running import Running
from maestro_env.models import ANY_MEMORIES
from maestro_env.prior.proposals import PROPOSALS, load_prior
from maestro_env.prior.warning import far_warning
from maestro_env.workloads.finding import find_network, parse_dims
from maestro_env.workloads.network import Network


@dataclass(frozen=True)
class _NetworkFlags:
    """The flags that say what is mapped and how."""

    network: str = option(
        MISSING, "a network such as resnet50, or a file: .onnx, .m, .csv or .yaml (docs/howto.md)"
    )
    dim: str | None = option(
        None, "numbers of dimensions that the file leaves open: batch=1,tokens=128"
    )
    objective: str = option(
        "edp", "what to minimise: latency, energy, or a product of them such as edp, ed2p"
    )
    mapper: str | None = option(
        None,
        "mapper of every layer (default: the proof of the optimum within --nodes, after proposals "
        f"of the prior unless under model {ANY_MEMORIES})",
    )
    samples: int | None = option(
        None,
        f"samples of a layer's mapper (default: {PROPOSALS}; {OF_ANY_MEMORIES['samples']:,} under "
        f"model {ANY_MEMORIES})",
        least=1,
        kind=int,
    )
    nodes: int | None = option(
        None,
        "boxes of mappings that a proof may take (default: 1,000,000; under model "
        f"{ANY_MEMORIES} thousands of states, {OF_ANY_MEMORIES['nodes']}); 0: prove nothing",
        kind=int,
    )
    front: int | None = option(
        None,
        "samples for latency and for energy, each, that a choice for the network needs (default: "
        f"that of --samples; {OF_ANY_MEMORIES['front']:,} under model {ANY_MEMORIES})",
        kind=int,
    )
    transfer: bool = option(True, "start no search from the mappings of similar layers")
    library: str | None = option(
        None,
        "library of mapped layers to start from and to add to; cache: the user's own",
        value="file",
    )
    seed: int = option(0, "of all searches")


# Fields of the last base come first, and so do their flags in the help.
@dataclass(frozen=True)
class Config(AnyProblemConfig, _NetworkFlags):
    """Map every distinct layer of a network; print its latency, energy, EDP and area."""

    hardware: str = option(None, f"{ANY_HARDWARE_HELP}; always needed")
    threads: int = threads_option()
    jobs: int = jobs_option("layers")
    ray: str | None = ray_option()
    out: str | None = out_option()
    resume: bool = resume_option()


_HEADER = (
    *("choice", "layer", "operator", "dimensions", "count", "macs", "latency_cycles", "energy_nj"),
    *("latency_share", "energy_share", "objective", "bound", "gap", "bottleneck", "found_by"),
    *("samples", "vector"),
)


def execute(config: Config) -> int:
    """Map, write, print, and return the exit status."""
    if not config.hardware:
        names = ", ".join(sorted({*hardware_names(), *chips_with("memories")}))
        raise UsageError(f"--hardware is missing; allowed: {names}, FILE.yaml, num_pes=N,...")
    settings = SearchSettings.of(
        config.model,
        mapper=config.mapper,
        samples=config.samples,
        nodes=config.nodes,
        front=config.front,
        seed=config.seed,
    )
    network, goals, library = _resolve(config, settings)
    stem = f"{safe_name(network.name)}-{safe_name(config.objective)}"
    with Running.of(config, "map", stem) as running:
        asked = (config, settings, config.transfer, library, config.threads)
        mapped = map_layers(network, goals, running, *asked)
        if mapped is not None:
            running.status = _report(mapped, config, running.directory)
    return running.status


def _resolve(config: Config, settings: SearchSettings) -> tuple[Network, list[Goal], Path | None]:
    """Look up and check everything that can be before a sample is spent."""
    network = find_network(config.network, parse_dims(config.dim or ""))
    accelerator = config.accelerator()
    if config.energy != "total":
        raise UsageError(f"--energy {config.energy}: allowed for a network: total")
    goals = [make_goal(config, layer, accelerator, config.objective) for layer in network.layers]
    if settings.mapper is not None and (settings.mapper == "all" or "," in settings.mapper):
        raise UsageError(f"--mapper {settings.mapper}: allowed: one mapper")
    settings.require_fit(goals)
    warnings = [goal.problem.stride_warning() for goal in goals]
    if settings.mapper is None and "levels" in goals[0].problem.abilities:
        given = [(goal.require("levels"), goal.objective) for goal in goals]
        warnings.append(far_warning(load_prior().file, given))
    print_errors(*(f"warning: {each}" for each in dict.fromkeys(warnings) if each))
    if config.library is None:
        return network, goals, None
    require(goals[0].problem, "levels", "--library")
    library = find_library(config.library)
    add_to_library(library, [])
    return network, goals, library


def _report(mapped: MappedNetwork, config: Config, directory: Path) -> int:
    """Write and print what was found; return the exit status."""
    closing = [*left_out_lines(mapped.network), *mapped.network.notes]
    if mapped.mapped:
        choices, command = mapped.choices(), _command(config)
        rows = [list(_rows(mapped, each)) for each in choices]
        front = mapped.front() if len(choices) > 1 else None
        _write(mapped, rows, choices, command, directory)
        write_report([section_of(mapped, command=command)], directory / "network.md")
        if front is not None:
            _write_front(mapped, front, directory)
        note = schema_note(config, [each.goal for each in mapped.layers])
        page = f"page: {PROGRAM} report {shlex.quote(str(directory))}"
        tables = f"all tables: {directory / 'network.md'}"
        closing = [*filter(None, (note, page, tables)), *closing]
        print_network(mapped, rows, choices[-1], front, closing)
    else:
        print_lines(*closing)
    for why, names in mapped.why_unmapped.items():
        print_errors(f"failed: no valid mapping of {', '.join(names)} was found: {why}")
    return cli.FAILED if mapped.unmapped else 0


def _rows(mapped: MappedNetwork, chosen: Choice) -> Iterator[Row]:
    """Yield what the tables tell of every layer, by the names of ``_HEADER``."""
    for (layer, found), cost, vector in zip(
        mapped.mapped, chosen.costs, chosen.vectors, strict=True
    ):
        problem = found.goal.problem
        point = np.array([vector], dtype=np.int32)
        value = float(problem.score(point, found.goal.objective)[0][0])
        values = (
            *(chosen.name, layer.name, layer.operator, layer.dimensions, layer.count, layer.macs),
            *(cost.latency_cycles, cost.energy_nj),
            layer.count * cost.latency_cycles / chosen.latency_cycles,
            layer.count * cost.energy_nj / chosen.energy_nj,
            *(value, found.bound, value / found.bound - 1 if found.bound else None),
            bottleneck(problem, problem.space.decode(vector)),
            *(found.found_by, found.samples, list(vector)),
        )
        yield dict(zip(_HEADER, values, strict=True))


def _write(
    mapped: MappedNetwork,
    rows: Sequence[Sequence[Row]],
    choices: Sequence[Choice],
    command: str,
    directory: Path,
) -> None:
    """Write the network as JSON and CSV, and the mapping of every layer of the last choice."""
    cells = ([_cell(row[name]) for name in _HEADER] for row in chain(*rows))
    write_csv(directory / "layers.csv", _HEADER, cells)
    folder = directory / "mappings"
    ensure_directory(folder)
    for (_, found), row in zip(mapped.mapped, rows[-1], strict=True):
        problem = found.goal.problem
        mapping = problem.space.decode(row["vector"])
        path = folder / distinct_name(row["layer"])
        write_mapping(path, found.goal, mapping)
        row["real"] = asdict(problem.real(mapping))
    network = mapped.network
    entry = {
        "schema": "maestro-env/network/1",
        "network": network.name,
        "hardware": mapped.layers[0].goal.describe()["hardware"],
        "objective": mapped.layers[0].goal.objective.name,
        "macs": network.macs,
        "batch": network.batch,
        "left_out": [vars(each) for each in network.left_out],
        "notes": network.notes,
        "unmapped": mapped.unmapped,
        "bound": mapped.bound,
        "command": command,
        "choices": [_described(each) for each in choices],
        "layers": rows[-1],
    }
    write_json(directory / "network.json", entry)


def _write_front(mapped: MappedNetwork, front: Front, directory: Path) -> None:
    """Write all choices of the front: what each takes, and its row of the front of every layer."""
    layers = [str(csv_cell(layer.name)) for layer, _ in mapped.mapped]
    rows = zip(front.figures.tolist(), front.points.tolist(), strict=True)
    cells = ([*figures, math.prod(figures), *chosen] for figures, chosen in rows)
    write_csv(directory / "front.csv", ["latency_cycles", "energy_nj", "edp", *layers], cells)


def _command(config: Config) -> str:
    """Return what makes the same network again, wherever and however many processes work on it."""
    asked = replace(config, out=None, resume=False, threads=1, jobs=1, ray=None)
    return shlex.join([flags.PROGRAM, "map", *flags.to_flags(asked)])


def _cell(value: Any) -> Any:
    return " ".join(map(str, value)) if isinstance(value, list) else value


def _described(choice: Choice) -> dict[str, Any]:
    names = ("name", "latency_cycles", "energy_nj", "edp", "l1_bytes", "l2_bytes", "area_um2")
    return {name: getattr(choice, name) for name in names} | {"real": asdict(choice.real)}
