"""The core's networks refuse what the parser of mapping files never lets through."""

from __future__ import annotations

from typing import Any

import pytest

from maestro_env import _native

EXTENTS = {"K": 4, "C": 4, "Y": 8, "X": 8, "R": 3, "S": 3}
DIRECTIVES = [("SpatialMap", "K", 1, 1), *(("TemporalMap", dim, 3, 3) for dim in "YXRS")]
CLUSTER = ("Cluster", "", 1, 1)


def run(
    extents: dict[str, int] | None = None, strides: dict[str, int] | None = None, **changes: Any
) -> str:
    layer = _native.Layer(
        "CONV", [*(EXTENTS | (extents or {})).items()], [*(strides or {}).items()]
    )
    arguments = {
        "layers": [layer],
        "mappings": [DIRECTIVES],
        "num_pes": 4,
        "simd_lanes": 1,
        "offchip_bw": 1,
        "nocs": [(8, 1)] * 4,
    }
    status, _ = _native.run_network(**arguments | changes)
    return status


def test_a_network_runs() -> None:
    assert run() == "ok"
    assert run(extents={"K": -4}, strides={"Y": 2}) == "ok"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"extents": {"K": 0}}, "extent of K is 0; allowed: all but 0"),
        ({"extents": {"Y": 0}}, "extent of Y is 0"),
        ({"extents": {"Q": 0}}, "extent of Q is 0"),
        ({"strides": {"X": 0}}, "stride of X is 0; allowed: integers from 1"),
        ({"strides": {"Y": -1}}, "stride of Y is -1"),
        ({"strides": {"other": 0}}, "stride of other is 0"),
        ({"mappings": []}, "0 mappings of 1 layers"),
        (
            {"nocs": [(8, 1)] * 8, "mappings": [[CLUSTER] * 7]},
            "8 networks-on-chip; allowed: up to 7",
        ),
    ],
)
def test_what_would_divide_by_zero_or_overrun_is_refused(
    change: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        run(**change)


def test_as_many_levels_as_there_may_be() -> None:
    levels = [*DIRECTIVES, *([CLUSTER, *DIRECTIVES] * 6)]
    assert run(nocs=[(8, 1)] * 7, mappings=[levels]) == "ok"
    assert run(nocs=[(8, 1)] * 7, mappings=[[*levels, CLUSTER, *DIRECTIVES]]) == "reference_abort"
