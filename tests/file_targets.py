"""What files and programs of others must do, whatever they say: be read, or refused by our error.

Targets by name: texts to begin with, and what checks any other.
"""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import parser_target
from certificate_forger import TINY, tiny
from optimum_helpers import EDP, every_vector
from test_architecture_files import ACCELFORGE, TIMELOOP

from maestro_env.accelerators.finding import chips_with, find_hardware, find_hierarchy
from maestro_env.accelerators.hierarchy_file import hierarchy_text, read_hierarchy
from maestro_env.base.errors import MaestroEnvError
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.experiments.commands.benchmark.program import ProgramError, ProgramMapper
from maestro_env.experiments.commands.verify import verify
from maestro_env.workloads.files.onnx_network import read_onnx

FOLDER = tempfile.TemporaryDirectory()
BUDGET = 4
OPSET = '<ir_version: 10, opset_import: ["": 23]>'


def written(name: str, data: bytes) -> Path:
    path = Path(FOLDER.name) / name
    path.write_bytes(data)
    return path


@cache
def least_edp() -> float:
    return float(np.nanmin(TINY.score(every_vector(TINY.space), EDP)[0]))


def certificates() -> Iterator[bytes]:
    """Yield some before compression, one of which claims too much."""
    yield from (tiny(share).content() for share in (1.0, 0.9, 0.5))
    yield tiny().content(bound=least_edp() * 1.01, optimum=None)


def check_certificate(data: bytes) -> None:
    """A bound that is accepted is none above the least of all vectors."""
    with suppress(MaestroEnvError):
        claim = verify(written("certificate.gz", gzip.compress(data, 0))).claim
        known = claim.problem == TINY and claim.objective == EDP
        assert not known or claim.bound <= least_edp(), claim.bound


def accelerators() -> Iterator[bytes]:
    yield from (path.read_bytes() for path in chips_with("memories").values())
    yield from (TIMELOOP.encode(), ACCELFORGE.encode(), b"num_pes: 16\nl1_bytes: 512\n")


def check_accelerator(data: bytes) -> None:
    """What is read can be written and read again."""
    path = str(written("accelerator.yaml", data))
    with suppress(MaestroEnvError):
        find_hardware(path)
    with suppress(MaestroEnvError):
        found = find_hierarchy(path)
        assert read_hierarchy(hierarchy_text(found)) == found


def models() -> Iterator[bytes]:
    for inputs, nodes in (
        ("[1,4,8,8] x, float[6,4,3,3] w", "y = Conv <pads = [1,1,1,1], strides = [2,2]> (x, w)"),
        ("[1,6,8,8] x, float[6,3,3,3] w", "y = ConvTranspose <group = 2> (x, w)"),
        ("[batch,4,8] a, float[8,6] b", "y = MatMul (a, b)"),
        ("[4,4] a, float[2,8] b", "s = Shape (a) c = Reshape (b, s) y = Gemm <transA = 1> (a, c)"),
        ("[2,3,4] a, float[2,4,5] b", 'y = Einsum <equation = "bij,bjk->bik"> (a, b)'),
        ("[7,1,3] x, float[1,20,3] w, float[1,20,5] r", "y, h = LSTM <hidden_size = 5> (x, w, r)"),
        ("[2,3,7,4] q, float[2,3,9,4] k, float[2,3,9,5] v", "y = Attention (q, k, v)"),
        ("[4,6] a", "s = Constant <value_ints = [6,4]> () b = Reshape (a, s) y = MatMul (a, b)"),
    ):
        yield f"{OPSET} g (float{inputs}) => (float[] y) {{ {nodes} }}".encode()


def check_model(data: bytes) -> None:
    """Read a model, in ONNX's text or as files have it."""
    # ONNX's own parser ends in errors of many kinds.
    with suppress(Exception):
        data = onnx.parser.parse_model(data.decode()).SerializeToString()
    path = written("model.onnx", data)
    for dims in ({}, {"batch": 2}):
        with suppress(MaestroEnvError):
            assert read_onnx(path, dims).macs > 0


def answers() -> Iterator[bytes]:
    point = [0] * len(TINY.space.sizes)
    yield from (json.dumps({"ask": [point] * count}).encode() for count in (1, 2, BUDGET))
    yield b'{"ask": [[1.5, 1e400, NaN, -1, true, null, "3", [], {}]]}'


def check_answers(data: bytes) -> None:
    """What a line of a program asks for can be evaluated, and is no more than its budget."""
    evaluator = Evaluator(TINY, EDP, BUDGET)
    with suppress(ProgramError):
        points = ProgramMapper("program", seconds=60)._asked(data, evaluator, BUDGET)
        evaluator.evaluate(points)
        assert 0 < evaluator.used == len(points)


TARGETS = {
    "parser": (parser_target.seeds, parser_target.check),
    "certificates": (certificates, check_certificate),
    "accelerators": (accelerators, check_accelerator),
    "onnx": (models, check_model),
    "programs": (answers, check_answers),
}
