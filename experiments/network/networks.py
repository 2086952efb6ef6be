"""Whole networks: every distinct layer mapped, and what the network then takes.

Layers are searched in waves, so that a search can start from the mappings of similar layers: which
ones depends on the network alone, not on how many processes search.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from maestro_env.accelerators.accelerator import Accelerator
from maestro_env.base.checks import require_integer
from maestro_env.evaluation.problem import AUTO
from maestro_env.evaluation.transfer import spread
from maestro_env.experiments.network.layer_search import LayerRecord, SearchedLayer, SearchSettings
from maestro_env.experiments.network.mapped_network import MappedNetwork
from maestro_env.experiments.search.goals import Goal, ProblemConfig, make_goal
from maestro_env.experiments.search.library import (
    BestKnown,
    Start,
    add_to_library,
    read_library,
    start_of,
)
from maestro_env.experiments.shell.files import RecordError, ensure_directory
from maestro_env.experiments.shell.flags import UsageError
from maestro_env.experiments.store.claims import open_directory
from maestro_env.experiments.store.records import Versions, made_here, refuse_damaged
from maestro_env.experiments.store.running import Running
from maestro_env.models import accelerator_record, find_accelerator, model_of
from maestro_env.prior.proposals import load_prior
from maestro_env.workloads.finding import find_network
from maestro_env.workloads.layer import Layer
from maestro_env.workloads.network import Network

if TYPE_CHECKING:
    from torch import nn

_LIBRARY = "library.json"


def map_network(
    network: Network | str | nn.Module,
    example_inputs: object = None,
    hardware: str | Accelerator = "edge",
    objective: str = "edp",
    settings: SearchSettings | None = None,
    directory: Path | str | None = None,
    jobs: int = 1,
    model: str = AUTO,
) -> MappedNetwork:
    """Map every distinct layer of a network, as ``maestro-env map`` does.

    Args:
        network: a ``torch.nn.Module``, a ``Network``, or a text for ``find_network``: a network of
            the zoo or a file.
        example_inputs: of a module, for the shapes: a tensor, a tuple of the arguments of
            ``forward``, or a dict of them by name.
        hardware: a preset such as edge, a chip, a file, or numbers such as
            num_pes=256,l2_bytes=65536; or the accelerator itself.
        objective: what is minimised for every layer: latency, energy, or a product such as edp.
        settings: of the searches; None for the defaults under the cost model.
        directory: keeps the records; the same call continues what is there. None for nothing kept.
        jobs: layers at a time, one process each; with more than one, call it below
            ``if __name__ == "__main__":``.
        model: the cost model; auto: ``hierarchy`` for an accelerator that is described with all its
            memories, else ``exact``.

    Raises:
        MaestroEnvError: something that does not exist or cannot be mapped.
        RecordError: the search of a layer failed, as stderr says, or a file cannot be written.
    """
    if isinstance(network, str | Network):
        found = find_network(network)
    else:
        from maestro_env.workloads.files.torch_module import from_torch

        found = from_torch(network, example_inputs)
    require_integer("jobs", jobs, UsageError)
    chosen = model_of(hardware) if model == AUTO else model
    accelerator = find_accelerator(hardware, chosen)
    problem = ProblemConfig(hardware if isinstance(hardware, str) else hardware.name, chosen)
    goals = [make_goal(problem, layer, accelerator, objective) for layer in found.layers]
    settings = settings or SearchSettings.of(chosen)
    settings.require_fit(goals)
    with TemporaryDirectory() if directory is None else nullcontext(directory) as place:
        ensure_directory(Path(place))
        running = Running(Path(place), made_here(), jobs)
        mapped = map_layers(found, goals, running, problem, settings)
    if running.interrupted:
        raise KeyboardInterrupt
    if mapped is None:
        raise RecordError(f"{found.name}: the search of a layer failed; see stderr")
    return mapped


def map_layers(
    network: Network,
    goals: Sequence[Goal],
    running: Running,
    problem: ProblemConfig,
    settings: SearchSettings,
    transfer: bool = True,
    library: Path | None = None,
    threads: int = 1,
) -> MappedNetwork | None:
    """Map every layer of a network that a directory has no record of yet; None unless all are.

    The result depends neither on threads and jobs nor on whether it was interrupted.

    Args:
        network: whose layers are mapped.
        goals: of its layers, all on one accelerator.
        running: what runs the searches in its directory, several layers at a time.
        problem: what the goals are made of.
        settings: of the searches.
        transfer: whether searches start from the mappings of similar layers.
        library: a file of mapped layers to start from and to add to; None for none.
        threads: of the batch evaluation.

    Raises:
        RecordError: the directory has other or damaged records, or cannot be written.
    """
    prior = settings.mapper is None and "levels" in goals[0].problem.abilities
    digest = load_prior().file.digest if prior else None
    start = {"transfer": transfer, "library": library is not None, "prior": digest}
    facts = _facts(network, goals[0], problem, settings, start)
    directory, made_by = running.directory, running.versions
    entries = _open(directory, facts, made_by, library)
    records = [
        LayerRecord(
            layer.name, goal, settings, threads=threads, directory=directory, versions=made_by
        )
        for layer, goal in zip(network.layers, goals, strict=True)
    ]
    refuse_damaged(records)
    found: dict[int, SearchedLayer] = {}
    for wave in spread(network.layers) if transfer else [range(len(goals))]:
        others = [*found.values()]
        works = {
            index: replace(
                records[index], start=_start(goals[index], others, entries) if transfer else ()
            )
            for index in wave
        }
        if running.run([*works.values()], len(found), len(goals)):
            return None
        for index, work in works.items():
            mapped = work.read()
            assert mapped is not None
            found[index] = mapped
    layers = tuple(found[index] for index in range(len(goals)))
    if library is not None:
        add_to_library(library, [entry for each in layers if (entry := _entry(each))])
    return MappedNetwork(network, goals[0].problem.hardware, layers, facts["config"])


def _start(goal: Goal, found: Sequence[SearchedLayer], entries: Sequence[BestKnown]) -> Start:
    """Return what a search begins with: the best mappings of similar layers found before."""
    return start_of(goal, [*(entry for each in found if (entry := _entry(each))), *entries])


def _entry(found: SearchedLayer) -> BestKnown | None:
    if found.best is None:
        return None
    point = found.front.points[found.best].tolist()
    return BestKnown.of(found.goal, point, float(found.values[found.best]))


def _open(
    directory: Path, facts: dict[str, Any], versions: Versions, library: Path | None
) -> list[BestKnown]:
    """Write what a directory is for, or check it; return what its library has.

    A copy of the library stays in the directory, so that what others add to it changes nothing.
    """
    copy = directory / _LIBRARY

    def keep() -> dict[str, Any]:
        if library is not None:
            add_to_library(copy, read_library(library))
        return {"versions": versions}

    open_directory(directory, "map", facts, keep)
    return read_library(copy)


def _facts(
    network: Network,
    goal: Goal,
    problem: ProblemConfig,
    settings: SearchSettings,
    start: dict[str, Any],
) -> dict[str, Any]:
    """Return what decides the result, as JSON holds it."""
    given = {field.name: getattr(problem, field.name) for field in fields(ProblemConfig)}
    return {
        "network": {"name": network.name, "layers": [_layer(each) for each in network.layers]},
        "hardware": accelerator_record(goal.problem.hardware),
        "config": {**given, **asdict(settings), "objective": goal.objective.name, **start},
    }


def _layer(layer: Layer) -> list[Any]:
    return [layer.name, layer.operator, dict(layer.extents), list(layer.stride), layer.count]
