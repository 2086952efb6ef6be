"""Makes environments: vector and multi-agent ones of the arguments of a single one, of contexts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, partial
from inspect import signature
from math import exp, log
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

from gymnasium.vector import AutoresetMode

from maestro_env.accelerators.hardware import Hardware
from maestro_env.base.checks import look_up, require_integer
from maestro_env.base.errors import ArgumentTypeError, EnvError, close_matches, quoted
from maestro_env.base.parallelism import fitting_threads
from maestro_env.environments.actions import Groups
from maestro_env.environments.constructing import MaestroConstructEnv, MaestroConstructVectorEnv
from maestro_env.environments.env import MaestroEnv, MaestroEnvV0
from maestro_env.environments.improving import MaestroImproveEnv, MaestroImproveVectorEnv
from maestro_env.environments.named import EPISODE_LENGTH, HELD_NETWORK, NAMED, Context
from maestro_env.environments.vector import MAX_COPIES, MaestroVectorEnv
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.models import find_accelerator
from maestro_env.workloads.finding import models
from maestro_env.workloads.layer import Layer

if TYPE_CHECKING:
    from maestro_env.environments.parallel import MaestroImproveParallelEnv, MaestroParallelEnv

Made = TypeVar("Made", bound=MaestroEnv)

PAIRS = 272
"""Layers with an accelerator each."""

_MOST_MACS = 2 * 10**10
# As often as they stand here.
_WINDOWS, _STRIDES = (1, 1, 1, 3, 3, 5, 7), (1, 1, 1, 2)


def _make(kind: Callable[..., Made], **arguments: Any) -> Made:
    known = signature(kind).parameters
    for name in sorted(arguments.keys() - known.keys()):
        # Libraries that try arguments look for Python's own words.
        raise ArgumentTypeError(
            f"{kind.__name__}.__init__() got an unexpected keyword argument '{name}'; "
            f"{close_matches(name, known)}allowed: {', '.join(known)}"
        )
    return kind(**arguments)


# What ``gymnasium.make`` calls.
make_env = partial(_make, MaestroEnv)
make_env_v0 = partial(_make, MaestroEnvV0)
make_improve_env = partial(_make, MaestroImproveEnv)
make_construct_env = partial(_make, MaestroConstructEnv)


def make_vector_env(
    num_envs: int = 1,
    threads: int | None = None,
    max_episode_steps: int | None = None,
    autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
    **arguments: Any,
) -> MaestroVectorEnv:
    """Make copies of a ``MaestroEnv``; ``gymnasium.make_vec`` calls this.

    Args:
        num_envs: copies, up to 2^20.
        threads: of the batch evaluation; results do not depend on it. None takes one for every
            1,024 copies, but no more than the processors this process may run on; where several
            such processes share them, give each its part.
        max_episode_steps: steps after which an episode is truncated at the latest, or None.
        autoreset_mode: ``SAME_STEP`` or ``NEXT_STEP`` of Gymnasium, or its value.
        **arguments: those of ``MaestroEnv``. Many copies are not rendered. With ``layers`` all
            copies get the layer that a reset draws; ``vectorization_mode="sync"`` draws for each.

    Raises:
        MaestroEnvError: an argument that is not allowed; the message says what is.
    """
    single = make_env(**arguments)
    return MaestroVectorEnv(
        _evaluators(single, num_envs, threads),
        num_envs,
        reward=single.reward,
        episode_length=single.episode_length,
        info=single.info,
        action=single.action,
        observation=single.observation,
        max_episode_steps=max_episode_steps,
        autoreset_mode=autoreset_mode,
    )


def make_improve_vector_env(
    num_envs: int = 1,
    threads: int | None = None,
    max_episode_steps: int | None = None,
    autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
    **arguments: Any,
) -> MaestroImproveVectorEnv:
    """Make copies of a ``MaestroImproveEnv``, as ``make_vector_env`` does of a ``MaestroEnv``.

    With ``layers`` each copy draws its own. Autoreset may be ``DISABLED`` too.
    """
    single = make_improve_env(**arguments)
    return MaestroImproveVectorEnv(
        _evaluators(single, num_envs, threads),
        num_envs,
        episode_length=single.episode_length,
        max_episode_steps=max_episode_steps,
        autoreset_mode=autoreset_mode,
        options=single.options,
    )


def make_construct_vector_env(
    num_envs: int = 1,
    threads: int | None = None,
    max_episode_steps: int | None = None,
    autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
    **arguments: Any,
) -> MaestroConstructVectorEnv:
    """Make copies of a ``MaestroConstructEnv``, as ``make_improve_vector_env`` does."""
    single = make_construct_env(**arguments)
    return MaestroConstructVectorEnv(
        _evaluators(single, num_envs, threads),
        num_envs,
        single.info,
        max_episode_steps,
        autoreset_mode,
        single.masks,
    )


def _evaluators(single: MaestroEnv, num_envs: int, threads: int | None) -> list[Evaluator]:
    """Return an evaluator for each task of an environment of which copies are made."""
    if single.render_mode is not None:
        raise EnvError(
            f"render_mode is {quoted(single.render_mode)}; allowed: None, as copies that step "
            "together are not rendered; use vectorization_mode='sync'"
        )
    num_envs = require_integer("num_envs", num_envs, EnvError, most=MAX_COPIES)
    threads = fitting_threads(num_envs) if threads is None else threads
    return [Evaluator(task.problem, task.objective, threads=threads) for task in single.tasks]


def parallel_env(
    groups: Groups | None = None, masks: bool = False, **arguments: Any
) -> MaestroParallelEnv:
    """Make a multi-agent environment, in which each agent sets some parameters of the mapping.

    Args:
        groups: the names of each agent's parameters: an ``AgentGroups``, another mapping of agents
            to names, or a list of lists, whose agents are ``agent_0``, ``agent_1`` and so on. None
            gives every parameter an agent of its own.
        masks: whether ``infos`` have ``action_masks()``, as wrappers for PettingZoo look for them.
        **arguments: those of ``MaestroEnv``.

    Raises:
        MaestroEnvError: an argument that is not allowed, or groups that do not have each parameter
            once; the message says what is allowed.
        MissingExtraError: the extra ``agents`` is not installed.
    """
    from maestro_env.environments.parallel import MaestroParallelEnv

    return MaestroParallelEnv(make_env(**arguments), groups, masks)


def parallel_improve_env(
    groups: Groups | None = None, masks: bool = False, **arguments: Any
) -> MaestroImproveParallelEnv:
    """Make a multi-agent environment, in which each agent changes some parameters of a mapping.

    Args:
        groups: as in ``parallel_env``.
        masks: as in ``parallel_env``.
        **arguments: those of ``MaestroImproveEnv``.

    Raises:
        MaestroEnvError: as ``parallel_env``.
    """
    from maestro_env.environments.parallel import MaestroImproveParallelEnv

    return MaestroImproveParallelEnv(make_improve_env(**arguments), groups, masks)


def context_layers(context: Context) -> list[Layer]:
    """Return the convolutions of a context; of the zoo no two have the same shape."""
    if context.hardware is None:
        return [layer for layer, _ in wide_pairs()]
    held = _convolutions(models()[HELD_NETWORK])
    if context.held:
        return [*held.values()]
    every = [layer for name, layers in models().items() if name != HELD_NETWORK for layer in layers]
    others = [layer for shape, layer in _convolutions(every).items() if shape not in held]
    return [layer for index, layer in enumerate(others) if context.fifth in (None, index % 5 == 0)]


@cache
def wide_pairs() -> tuple[tuple[Layer, Hardware], ...]:
    """Return random convolutions with an accelerator each, on which some mapping fits.

    They are the same in every process.

    Sizes are drawn log-uniformly: K and C up to 2,048, inputs from 7 to 224 wide; 64 to 1,024 PEs,
    L1 of 256 B to 2 KiB, L2 of 32 KiB to 1 MiB, networks of 16 to 256 and main memory of 8 to 64
    words a cycle.
    """
    rng = Random(5)
    found: list[tuple[Layer, Hardware]] = []
    while len(found) < PAIRS:
        layer, hardware = _layer(rng, f"wide_{len(found)}"), _hardware(rng)
        if layer is None or layer.macs > _MOST_MACS:
            continue
        problem = Problem(MapSpace(layer, hardware))
        if not problem.why_nothing_fits():
            found.append((layer, hardware))
    return tuple(found)


def _layer(rng: Random, name: str) -> Layer | None:
    """Draw a convolution; None if its window is larger than its input."""
    window, stride = rng.choice(_WINDOWS), rng.choice(_STRIDES)
    width, filters, channels = (between(rng, *ends) for ends in ((7, 224), (8, 2048), (3, 2048)))
    if width < window:
        return None
    extents = {"K": filters, "C": channels, "Y": width, "X": width, "R": window, "S": window}
    return Layer("CONV", extents, (stride, stride), name)


def _hardware(rng: Random) -> Hardware:
    return Hardware(
        num_pes=between(rng, 64, 1024),
        l1_bytes=between(rng, 256, 2048),
        l2_bytes=between(rng, 2**15, 2**20),
        noc_bw=between(rng, 16, 256),
        offchip_bw=between(rng, 8, 64),
    )


def between(rng: Random, least: int, most: int) -> int:
    """Draw an integer, as often from one octave as from another."""
    return round(exp(rng.uniform(log(least), log(most))))


def make_named_env(named: str, **arguments: Any) -> MaestroImproveEnv | MaestroConstructEnv:
    """Make the environment that an id names; ``gymnasium.make`` calls this.

    Args:
        named: the id.
        **arguments: those of the environment, but for layers, hardware and objective.

    Raises:
        MaestroEnvError: an argument that is not allowed; the message says what is.
    """
    if _constructs(named):
        return make_construct_env(**_arguments(named, "MaestroConstruct-v1", arguments))
    return make_improve_env(**_improving(named, arguments))


def make_named_vector_env(
    named: str, **arguments: Any
) -> MaestroImproveVectorEnv | MaestroConstructVectorEnv:
    """Make copies, as ``make_improve_vector_env`` does; ``gymnasium.make_vec`` calls this."""
    if _constructs(named):
        return make_construct_vector_env(**_arguments(named, "MaestroConstruct-v1", arguments))
    return make_improve_vector_env(**_improving(named, arguments))


def _constructs(named: str) -> bool:
    what = look_up("id", named, NAMED)
    return isinstance(what, Context) and what.task == "construct"


def _improving(named: str, others: dict[str, Any]) -> dict[str, Any]:
    return {"episode_length": EPISODE_LENGTH} | _arguments(named, "MaestroImprove-v1", others)


def _arguments(named: str, general: str, others: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a general id that another one names."""
    what = NAMED[named]
    fixed: dict[str, Any]
    if isinstance(what, Context):
        hardware = what.hardware or [hardware for _, hardware in wide_pairs()]
        fixed = {"layers": context_layers(what), "objective": "edp", "hardware": hardware}
    else:
        accelerator = find_accelerator(what.hardware, what.model)
        fixed = {"layer": what.layer, "objective": what.objective}
        fixed |= {"model": what.model, "hardware": accelerator}
    for name in ("layer", "layers", "hardware", "objective"):
        if name in others:
            raise EnvError(
                f"{name} is {quoted(others[name])}; allowed: none, as {named} says what it is; "
                f"{general} takes it"
            )
    return fixed | others


def _convolutions(layers: Iterable[Layer]) -> dict[str, Layer]:
    found: dict[str, Layer] = {}
    for layer in layers:
        if layer.operator == "CONV":
            found.setdefault(layer.shape, layer)
    return found
