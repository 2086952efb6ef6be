"""What a user's script does with every public name; ``test_public_api`` runs and type-checks it."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

import maestro_env
from maestro_env import (
    CONTEXT,
    METRICS,
    MODELS,
    NOT_EVALUATED,
    OBJECTIVES,
    PRESETS,
    SCHEMAS,
    STATUSES,
    TECHNOLOGIES,
    TILES,
    Batch,
    Best,
    Cost,
    CostModel,
    Evaluator,
    Explanation,
    Hardware,
    KnownOptimum,
    Layer,
    LeftOut,
    Level,
    Limits,
    Loop,
    MaestroConstructEnv,
    MaestroEnv,
    MaestroImproveEnv,
    MaestroVectorEnv,
    Mapping,
    MapSpace,
    Masks,
    Network,
    Objective,
    ObjectiveFunction,
    OptimumSearch,
    Parameter,
    Problem,
    Rows,
    Schema,
    Solution,
    Technology,
    explain_mapping,
    find_hardware,
    find_layer,
    find_model,
    find_network,
    find_objective,
    find_technology,
    known_optimum,
    solve,
)

version = maestro_env.__version__
layer = Layer("GEMM", {"M": 4, "N": 6, "K": 8}, name="mine")
hardware = Hardware(num_pes=16, l1_bytes=64, name="small")
same_layer, same_hardware = find_layer(layer), find_hardware(hardware)
technologies: list[Technology] = [find_technology("eyeriss"), *TECHNOLOGIES.values()]
zoo_layer, edge, preset = find_layer("resnet18_l2"), find_hardware("edge"), PRESETS["cloud"]
network: Network = find_network("resnet18")
left_out: tuple[LeftOut, ...] = network.left_out
schema: Schema = SCHEMAS["legal13"]
model: CostModel = find_model("exact")
models, tiles = list(MODELS), TILES[0]
space = MapSpace(layer, hardware, schema.name, tiles)
parameter: Parameter = space.parameters[0]
problem = Problem(space, model.name)

points = space.sample(100, np.random.default_rng(0))
rows: Rows = problem.evaluate(points)
latency = rows.metrics[:, METRICS.index("latency_cycles")]
status = STATUSES[int(rows.status[0])]
slow = Objective("slow", "cycles", ("latency_cycles",), None)
edp, area = find_objective("edp"), OBJECTIVES["area"]
values, codes = problem.score(points, slow)

mapping: Mapping = space.decode(points[0])
level: Level = mapping.levels[0]
loop: Loop = level.loops[0]
vector = space.encode(mapping)
cost, found_status = problem.evaluate_mapping(mapping)
energy = cost.energy_nj if isinstance(cost, Cost) else 0.0
smallest = space.decode(np.zeros(len(space.parameters), dtype=np.int32))
explanation: Explanation = explain_mapping(problem, smallest)
why = str(explanation)

function: ObjectiveFunction = problem.objective("edp")
value: float = function(points[0])
missing: float = function.violation(points[0])
masks = Masks(problem)
allowed = masks.allowed([])
drawn = masks.sample(10, np.random.default_rng(0))

evaluator = Evaluator(problem, edp, budget=100)
batch: Batch = evaluator.evaluate(points)
best: Best | None = evaluator.best
optimum: KnownOptimum | None = known_optimum("resnet18_l2", "edp", "edge")
search = OptimumSearch(problem, edp)
solution: Solution = solve(problem, edp, Limits(nodes=1000))
asked = search.ask()

env = MaestroEnv(layer, hardware=hardware)
observation, info = env.reset(seed=0)
evaluated: bool = info["status"] != NOT_EVALUATED
features = len(CONTEXT)
seen, reward, terminated, truncated, told = env.step(env.action_space.sample())
improving = MaestroImproveEnv(layer, hardware=hardware)
start, start_info = improving.reset(seed=0)
moves: tuple[tuple[str, str], ...] = improving.moves
constructing = MaestroConstructEnv(layer, hardware=hardware)
options, choices = constructing.reset(seed=0)
copies = MaestroVectorEnv(Evaluator(problem, edp), num_envs=2)
observations, infos = copies.reset()


def step_agents() -> dict[str, float]:
    agents = maestro_env.parallel_env(layer=layer, hardware=hardware)
    agents.reset(seed=0)
    single: MaestroEnv = agents.single
    assert single.problem.layer == layer
    improvers = maestro_env.parallel_improve_env(layer=layer, hardware=hardware)
    assert improvers.single.problem.layer == layer
    return agents.step(dict.fromkeys(agents.agents, 0))[1]


if find_spec("pettingzoo"):
    step_agents()

errors: list[type[maestro_env.MaestroEnvError]] = [
    maestro_env.ArgumentTypeError,
    maestro_env.BudgetError,
    maestro_env.BudgetExceededError,
    maestro_env.EnvError,
    maestro_env.HardwareError,
    maestro_env.LayerError,
    maestro_env.MapSpaceError,
    maestro_env.MappingError,
    maestro_env.MissingExtraError,
    maestro_env.ModelError,
    maestro_env.NetworkError,
    maestro_env.OptimumError,
    maestro_env.TooLongError,
    maestro_env.UnknownNameError,
]
