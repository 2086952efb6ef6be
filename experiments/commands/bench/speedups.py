"""How much faster the models are than a MAESTRO binary, on the same mappings in the same run."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

from experiments.commands.bench.batches import REPEATS, space_of
from experiments.commands.bench.maestro_binary import BinaryError, MaestroBinary
from experiments.commands.bench.sections import Section, interleaved
from maestro_env.accelerators.finding import find_hardware
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.mapping import to_m

LAYERS = (
    "mobilenetv2_l2",
    "conv:K=64,C=64,Y=56,X=56,R=3,S=3",
    "conv:K=64,C=64,Y=224,X=224,R=3,S=3",
)
MAPPINGS = 1_000
CALLS = 30
# Ours take a thousandth of the time, so that more of them are evaluated on the clock.
COPIES = 32
# Name to model and guard; the binary has no guard.
_OURS = {
    "exact": ("exact", True),
    "maestro, no guard": ("maestro", False),
    "maestro": ("maestro", True),
}


def against_binary(path: str) -> Section:
    """Measure the binary and the models in turns."""
    with tempfile.TemporaryDirectory() as directory:
        binary = MaestroBinary(Path(path), find_hardware("unlimited"), Path(directory))
        rows = list(chain.from_iterable(_compare(binary, layer) for layer in LAYERS))
    return Section(
        "maestro_binary",
        f"{path}: {MAPPINGS:,} random legal13 mappings in one file, or {CALLS} in a call each; "
        f"medians of {REPEATS} rounds, one thread",
        ("layer", "model"),
        {
            "binary_us": ("binary, one file\nus/mapping", "{:,.0f}"),
            "binary_call_us": ("binary, a call\nus/mapping", "{:,.0f}"),
            "model_us": ("model\nus/mapping", "{:.3f}"),
            "ratio": ("one file /\nmodel", "{:,.0f}"),
        },
        rows,
    )


def _compare(binary: MaestroBinary, layer: str) -> Iterator[tuple[str | float, ...]]:
    """Yield a row for each model: layer, model and figures."""
    space = space_of(layer)
    points = space.sample(MAPPINGS, np.random.default_rng(0))
    mappings = [space.decode(point) for point in points]
    texts = [to_m(space.layer, [mapping]) for mapping in mappings[:CALLS]]
    works: dict[str, Callable[[], object]] = {
        "file": partial(_evaluate, binary, [to_m(space.layer, mappings)], MAPPINGS),
        "calls": partial(_evaluate, binary, texts, 1),
    }
    copies = np.tile(points, (COPIES, 1))
    for name, (model, guard) in _OURS.items():
        works[name] = partial(Problem(space, model, guard).evaluate, copies)
    seconds = interleaved(works, REPEATS)
    one_file, call = 1e6 * seconds["file"] / MAPPINGS, 1e6 * seconds["calls"] / CALLS
    for name in _OURS:
        ours = 1e6 * seconds[name] / len(copies)
        yield layer, name, one_file, call, ours, one_file / ours


def _evaluate(binary: MaestroBinary, texts: list[str], mappings: int) -> None:
    """Evaluate files of so many mappings each, one after the other."""
    for text in texts:
        rows = len(binary.evaluate(text))
        if rows != mappings:
            raise BinaryError(f"the MAESTRO binary wrote {rows} rows for {mappings} mappings")
