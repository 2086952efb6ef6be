"""Types of the C++ core."""

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

METRICS: tuple[str, ...]
STATUSES: tuple[str, ...]
CSV_HEADER: str
HAS_EXTENDED_PRECISION: bool
OBSERVED: int
MAX_ENERGY: float
MAC_ENERGY_NJ: float
L1_ACCESS_MACS: float
L2_ACCESS_MACS: float
HIERARCHY_STATUSES: tuple[str, ...]
HIERARCHY_FIGURES: tuple[str, ...]
HIERARCHY_MAX_ELEMENTS: int
HIERARCHY_MAX_FANOUTS: int

_Directive = tuple[str, str, int, int]
_Choice = tuple[int, list[int]]
_Points = NDArray[np.int32]
_Results = tuple[NDArray[np.float64], NDArray[np.uint8]]

class Hardware:
    def __init__(
        self,
        *,
        num_pes: int,
        simd_lanes: int,
        noc_bw: int,
        noc_latency: int,
        offchip_bw: int,
        l1_bytes: int | None,
        l2_bytes: int | None,
        word_bytes: int = 1,
        mac_nj: float = ...,
        l1_macs: float = ...,
        l2_macs: float = ...,
        noc_macs: float = 0.0,
        offchip_macs: float = 0.0,
        pe_um2: float = 0.0,
        l1_um2: float = 0.0,
        l2_um2: float = 0.0,
    ) -> None: ...

class Layer:
    def __init__(
        self, operator: str, extents: list[tuple[str, int]], strides: list[tuple[str, int]]
    ) -> None: ...
    def facts(self) -> dict[str, int]: ...

class MapSpace:
    def __init__(
        self,
        layer: Layer,
        parameters: list[tuple[str, int]],
        dims: list[str],
        levels: list[tuple[int, _Choice, list[_Choice]]],
        cluster: _Choice,
    ) -> None: ...
    def decode(self, point: ArrayLike) -> list[_Directive]: ...
    def identities(
        self, points: NDArray[np.integer], factors: NDArray[np.uint64]
    ) -> NDArray[np.uint64]: ...
    def to_points(self, values: ArrayLike, count: int) -> _Points: ...

class BatchEvaluator:
    def __init__(self, model: str, layer: Layer, hardware: Hardware, guarded: bool) -> None: ...
    def evaluate(self, space: MapSpace, points: _Points, threads: int = 1) -> _Results: ...
    def score(
        self, space: MapSpace, points: _Points, columns: tuple[int, ...], threads: int = 1
    ) -> _Results: ...
    def observe(
        self, space: MapSpace, values: ArrayLike, columns: tuple[int, ...]
    ) -> tuple[NDArray[np.float32], float, int, _Points, NDArray[np.float64]]: ...
    def evaluate_mapping(
        self, directives: list[_Directive]
    ) -> tuple[list[float], str, list[tuple[float, ...]], int]: ...
    def time_points(self, space: MapSpace, points: _Points) -> list[float]: ...

_Range = tuple[int, int]

class OptimumSearch:
    def __init__(
        self,
        layer: Layer,
        hardware: Hardware,
        space: MapSpace,
        columns: tuple[int, ...],
        most_open: int = ...,
    ) -> None: ...
    @property
    def finished(self) -> bool: ...
    @property
    def bound(self) -> float: ...
    @property
    def nodes(self) -> int: ...
    def ask(self, nodes: int, threads: int = 1) -> _Points: ...
    def tell(self, cost: float) -> None: ...
    def left(self) -> _Points: ...
    def restart(self, boxes: _Points) -> None: ...
    def all(self) -> tuple[_Points, NDArray[np.int8]]: ...
    def prove(self, boxes: _Points, bound: float, threads: int = 1) -> tuple[NDArray[Any], ...]: ...
    def bound_of(
        self,
        parallel: tuple[int, int],
        innermost: tuple[int, int],
        cluster: _Range,
        outer: list[_Range],
        inner: list[_Range],
        certified: bool,
    ) -> float: ...

class MasksOfVectors:
    def allowed(self, point: _Points, column: int) -> NDArray[np.bool_]: ...
    def allows(self, points: _Points) -> NDArray[np.bool_]: ...
    def draw(self, uniforms: NDArray[np.float64]) -> _Points: ...

class Masks(MasksOfVectors):
    def __init__(self, model: str, layer: Layer, hardware: Hardware, space: MapSpace) -> None: ...

class HierarchyMasks(MasksOfVectors):
    def __init__(
        self,
        space: HierarchySpace,
        extents: list[int],
        strides: tuple[int, int],
        dilations: tuple[int, int],
        elements: list[dict[str, Any]],
        mac: dict[str, Any],
        options: dict[str, int],
    ) -> None: ...

PRIOR_DECISIONS: int
PRIOR_STATE: int
PRIOR_FEATURES: int
PRIOR_OPTIONS: int

class PriorNetworks:
    def __init__(self, arrays: dict[str, NDArray[np.float32]]) -> None: ...

class PriorProposer:
    def __init__(
        self,
        model: str,
        layer: Layer,
        hardware: Hardware,
        space: MapSpace,
        context: NDArray[np.float32],
    ) -> None: ...
    @property
    def steps(self) -> int: ...
    def propose(
        self, networks: PriorNetworks, uniforms: NDArray[np.float64], temperature: float
    ) -> tuple[_Points, NDArray[np.float64]]: ...
    def trace(self, points: _Points) -> tuple[_Points, *tuple[NDArray[np.generic], ...]]: ...

class Construction:
    def __init__(self, grounds: list[PriorProposer], count: int) -> None: ...
    def begin(self, copies: NDArray[np.int64], grounds: NDArray[np.int64]) -> None: ...
    def choose(
        self, copies: NDArray[np.int64], options: NDArray[np.int64]
    ) -> NDArray[np.bool_]: ...
    @property
    def width(self) -> int: ...
    def seen(self, copies: NDArray[np.int64]) -> NDArray[np.float32]: ...
    def masks(self, copies: NDArray[np.int64]) -> NDArray[np.bool_]: ...
    def points(self, copies: NDArray[np.int64]) -> _Points: ...
    def __deepcopy__(self, memo: dict[int, object]) -> Construction: ...

class Variants:
    def __init__(self, space: MapSpace, extents: list[int], pes: int) -> None: ...
    def draw(self, best: NDArray[np.integer], count: int, bits: object) -> _Points: ...

def varied(
    points: _Points,
    parts: list[list[int]],
    logarithms: NDArray[np.float64],
    common: float,
    places: int,
) -> NDArray[np.int64]: ...

KERNELS: tuple[str, ...]

class Perceptrons:
    def __init__(
        self,
        weights: list[NDArray[np.float32]],
        biases: list[NDArray[np.float32]],
        activation: str,
    ) -> None: ...
    def run(self, inputs: NDArray[np.float32], calls: int = 1) -> NDArray[np.float32]: ...

class QuantisedPerceptrons:
    def __init__(
        self,
        codes: list[NDArray[np.uint8]],
        scales: list[NDArray[np.float32]],
        zeros: list[NDArray[np.int32]],
        biases: list[NDArray[np.float32]],
        input_scales: list[NDArray[np.float32]],
        input_zeros: list[NDArray[np.int32]],
        activation: str,
        most: int,
        kernel: str = "",
    ) -> None: ...
    def run(self, inputs: NDArray[np.float32], calls: int = 1) -> NDArray[np.float32]: ...

class SparseLinks:
    places: NDArray[np.int64]
    def __init__(self, mask: NDArray[np.bool_]) -> None: ...
    def forward(
        self,
        weights: NDArray[np.float32],
        biases: NDArray[np.float32],
        inputs: NDArray[np.float32],
    ) -> NDArray[np.float32]: ...
    def backward(
        self,
        weights: NDArray[np.float32],
        inputs: NDArray[np.float32],
        of_outputs: NDArray[np.float32],
        to_inputs: bool,
    ) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]: ...

class HierarchyEvaluator:
    def __init__(
        self,
        extents: list[int],
        strides: tuple[int, int],
        dilations: tuple[int, int],
        elements: list[dict[str, Any]],
        mac: dict[str, Any],
        options: dict[str, int],
    ) -> None: ...
    def evaluate(self, loops: list[tuple[int, int, int]]) -> tuple[str, tuple[Any, ...] | None]: ...
    def evaluate_batch(self, mappings: NDArray[np.int32]) -> _Results: ...
    def prices(self) -> list[tuple[int, int, int, list[Any]]]: ...
    def roundings(self) -> list[list[list[float]]]: ...

_Part = tuple[int, int, list[_Choice]]

class HierarchySpace:
    def __init__(
        self,
        parameters: list[tuple[str, int]],
        dims: list[int],
        extents: list[int],
        groups: list[tuple[_Part, list[tuple[_Part, int]]]],
        stays: list[tuple[int, int]],
    ) -> None: ...
    def decode(self, point: ArrayLike) -> list[list[int]]: ...
    def encode(self, loops: list[tuple[int, int, int]]) -> _Points: ...
    def canonical(self, points: _Points) -> _Points: ...
    @property
    def tiles_decide(self) -> bool: ...
    def to_points(self, values: ArrayLike, count: int) -> _Points: ...

class HierarchyBatchEvaluator:
    def __init__(
        self,
        extents: list[int],
        strides: tuple[int, int],
        dilations: tuple[int, int],
        elements: list[dict[str, Any]],
        mac: dict[str, Any],
        options: dict[str, int],
    ) -> None: ...
    def evaluate(self, space: HierarchySpace, points: _Points, threads: int = 1) -> _Results: ...
    def score(
        self,
        space: HierarchySpace,
        points: _Points,
        columns: tuple[int, ...],
        threads: int = 1,
    ) -> _Results: ...
    def observe(
        self, space: HierarchySpace, values: ArrayLike, columns: tuple[int, ...]
    ) -> tuple[NDArray[np.float32], float, int, _Points, NDArray[np.float64]]: ...
    def evaluate_mapping(
        self, loops: list[tuple[int, int, int]]
    ) -> tuple[NDArray[np.float64], str]: ...
    def violations(self, space: HierarchySpace, points: _Points) -> NDArray[np.float64]: ...
    def time_points(self, space: HierarchySpace, points: _Points) -> list[float]: ...

class RelaxedProgram:
    def __init__(
        self,
        extents: list[int],
        strides: tuple[int, int],
        dilations: tuple[int, int],
        elements: list[dict[str, Any]],
        mac: dict[str, Any],
        options: dict[str, int],
        words: list[int],
        loops: list[int],
        tiles: list[list[int]],
        dividing: bool,
    ) -> None: ...
    @staticmethod
    def states(extents: list[int], ratio: float, units: list[list[int]]) -> int: ...
    def least(
        self,
        ratio: float,
        traced: bool,
        least: NDArray[np.int64],
        most: NDArray[np.int64],
        sharing: NDArray[np.float64],
        accesses: NDArray[np.float64],
        steps: NDArray[np.float64],
        fills: NDArray[np.float64],
        drains: NDArray[np.float64],
        refill: float,
        limits: tuple[float, float],
        exposed: NDArray[np.float64],
        outer: list[list[int]],
    ) -> tuple[list[float], list[list[int]]]: ...

class Team:
    def __init__(
        self,
        choices: list[int],
        owners: list[int],
        logits: NDArray[np.float32],
        policy: Sequence[NDArray[np.float32]],
        critic: Sequence[NDArray[np.float32]],
        outputs: NDArray[np.float32],
        values: NDArray[np.float32],
        rule: dict[str, float],
    ) -> None: ...
    def draw(
        self, seen: NDArray[np.float32], uniform: NDArray[np.float64]
    ) -> NDArray[np.int64]: ...
    def learn(
        self,
        actions: NDArray[np.int64],
        rewards: NDArray[np.float64],
        imitated: NDArray[np.float32] | None,
    ) -> None: ...
    def chances(self) -> NDArray[np.float32]: ...

class Heads:
    def __init__(
        self, counts: list[int], are_sizes: list[bool], places: NDArray[np.float64]
    ) -> None: ...
    def scaled(self, head: ArrayLike, action: ArrayLike, octaves: ArrayLike) -> Any: ...
    def explore(
        self, actions: NDArray[np.int64], chance: float, local: float, bits: object
    ) -> NDArray[np.int64]: ...
    def refine(
        self, best: NDArray[np.int64], drawn: NDArray[np.int64], pairs: float, bits: object
    ) -> NDArray[np.int64]: ...

class StatelessAgents:
    def __init__(
        self,
        heads: Heads,
        owners: list[int],
        bias: NDArray[np.float64],
        features: list[NDArray[np.uint8]],
        rule: dict[str, float],
    ) -> None: ...
    def draw(self, uniform: NDArray[np.float64]) -> NDArray[np.int64]: ...
    def learn(
        self, actions: NDArray[np.int64], rewards: NDArray[np.float64], best: NDArray[np.int64]
    ) -> None: ...
    def chances(self) -> NDArray[np.float64]: ...

def redrawn(actions: NDArray[np.int64], count: int, bits: object) -> NDArray[np.int64]: ...
def best_samples(
    actions: NDArray[np.int64],
    values: NDArray[np.float64],
    more: NDArray[np.int64],
    more_values: NDArray[np.float64],
    most: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]: ...
def observations(metrics: NDArray[np.float64]) -> NDArray[np.float32]: ...
def run_network(
    layers: list[Layer],
    mappings: list[list[_Directive]],
    num_pes: int,
    simd_lanes: int,
    offchip_bw: int,
    nocs: list[tuple[int, int]],
) -> tuple[str, list[list[str]]]: ...
def exact_report(
    layer: Layer, directives: list[_Directive], hardware: Hardware
) -> tuple[str, dict[str, Any] | None]: ...
def csv_row(network: str, layer: str, cells: list[str]) -> str: ...
def network_cycles(hardware: Hardware, words: int) -> int: ...
def buffered_area_um2(hardware: Hardware, l1_bytes: float, l2_bytes: float) -> float: ...

BOTTLENECKS: int
MOST_BOTTLENECK: float

class Moves:
    def __init__(
        self,
        parameters: list[tuple[str, int, int, list[int], int, list[float]]],
        moves: list[list[tuple[int, str, int]]],
    ) -> None: ...
    def after(
        self, present: _Points, moves: NDArray[np.int64], made: NDArray[np.bool_]
    ) -> _Points: ...
    def show(self, points: _Points) -> NDArray[np.float32]: ...
    @property
    def shown(self) -> list[int]: ...

class Ground:
    @overload
    def __init__(
        self,
        evaluator: BatchEvaluator,
        space: MapSpace,
        masks: MasksOfVectors,
        moves: Moves,
        columns: tuple[int, ...],
        context: list[float],
        machine: tuple[Layer, Hardware] | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        evaluator: HierarchyBatchEvaluator,
        space: HierarchySpace,
        masks: MasksOfVectors,
        moves: Moves,
        columns: tuple[int, ...],
        context: list[float],
    ) -> None: ...

_Tried = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]

class Copies:
    def __init__(self, grounds: list[Ground], count: int, in_full: bool, threads: int) -> None: ...
    def place(self, copies: NDArray[np.int64], grounds: NDArray[np.int64]) -> None: ...
    def after(self, moves: NDArray[np.int64]) -> _Points: ...
    def try_points(self, copies: NDArray[np.int64], points: _Points) -> _Tried: ...
    def try_point(
        self, point: _Points
    ) -> tuple[NDArray[np.float32], float, int, _Points, NDArray[np.float64]]: ...
    def step(
        self, move: int
    ) -> tuple[NDArray[np.float32], float, int, _Points, NDArray[np.float64]]: ...
    def seen(self) -> NDArray[np.float32]: ...
    def present(self) -> _Points: ...
    def values(self) -> NDArray[np.float64]: ...
    def grounds(self) -> NDArray[np.int32]: ...
    def masks(self) -> NDArray[np.bool_]: ...
