"""A tiny problem whose certificate tests read and change."""

from __future__ import annotations

from functools import lru_cache

from certificate_writer import Writer

from maestro_env.accelerators.hardware import Hardware
from maestro_env.evaluation.objectives import find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.space import MapSpace
from maestro_env.workloads.layer import Layer

EDP = find_objective("edp")

TINY = Problem(
    MapSpace(
        Layer("GEMM", {"M": 4, "N": 3, "K": 3}),
        Hardware(num_pes=4, l1_bytes=30, l2_bytes=60, noc_bw=3, offchip_bw=2, name="tiny"),
    )
)


@lru_cache
def tiny(share: float = 1.0) -> Writer:
    return Writer(TINY, EDP, share)


@lru_cache
def content_of(writer: Writer) -> bytes:
    return writer.content()
