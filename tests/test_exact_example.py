"""The worked example of the exact model (E11), under the model and in the simulator."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from differences import differences
from exact_reference import EXAMPLE, Row
from simulator import simulate

from maestro_env.compat.evaluation import evaluate_exact

Judge = Callable[[Row], Row]

IN, COMPUTE, OUT = [10, 2, 1] * 2, [27] * 6, [2, 2, 1] * 2
ANY_CAPACITY = {
    "macs": 270,
    "steps": 6,
    "first_in": 12 + 27,
    "last_out": 3,
    "onchip_cycles": 173,
    "cycles": 179,
    "busy_pe_cycles": 270,
    "l2_read_input": 42,
    "l2_read_filter": 54,
    "l2_write_input": 42,
    "l2_write_filter": 54,
    "unit_write_input": 72,
    "unit_write_filter": 108,
    "l1_write_input": 36 * 2,
    "l1_write_filter": 54 * 2,
    "l1_read_input": 270,
    "l1_read_filter": 270,
    "l1_read_output": 270,
    "l1_write_output": 270,
    "leaving_output": 30,
    "l2_psum_read_output": 15,
    "mid": [],
    "l1_size": 2 * (9 + 27 + 3),
    "l1_share": 0,
    "l1_total": 78,
    "l2_size": 90,
    "l2_hold": 93,
    "ingress_min": 1,
    "ingress_max": 10,
    "ingress_sum": sum(IN),
    "ingress_avg": sum(IN) / 6,
    "compute_min": 27,
    "compute_max": 27,
    "compute_sum": sum(COMPUTE),
    "compute_avg": 27.0,
    "egress_min": 1,
    "egress_max": 2,
    "egress_sum": sum(OUT),
    "egress_avg": sum(OUT) / 6,
    # Beside step 2 the 39 words of step 3 come in.
    "peak_bw": math.ceil(39 / 27),
    "avg_bw": (96 + 30) / 173,
    "throughput": 270 / 179,
    "utilization": 270 / 179 / 2,
    "avg_active_pes": 270 / 179,
    "arithmetic_intensity": 270 / 96,
    "l1_accesses": 1260,
    "mid_accesses": 0,
    "multicast_input": 72 / 42,
    "multicast_filter": 2.0,
    "reuse_input": 270 / 72,
    "reuse_filter": 2.5,
}
RESIDENT = {
    "l2_resident": 4,
    "l2_used": 93,
    "offchip_read": 96,
    "offchip_write": 15,
    "l2_write_output": 30,
    "l2_read_output": 30,
    "l2_accesses": 252,
    "offchip_bw_req": 111 / 179,
    "energy": 1.6275996,
}
STREAMED = {
    "l2_resident": 0,
    "l2_used": 90,
    "offchip_read": 111,
    "offchip_write": 30,
    "l2_write_output": 45,
    "l2_read_output": 45,
    "l2_accesses": 282,
    "offchip_bw_req": 141 / 179,
    "energy": 1.7560086,
}
# MAESTRO S9 for two PEs, a network of 4 words and buffers of 78 and 93 bytes.
SILICON = {
    "gamma_area": 2 * 4470 + 4161.536 + 2 * 4505.1889 * 2,
    "area": 2 * (283 + 0.104 * 78)
    + 0.104 * 93
    + 101.7938 * (14.662 * 2 + 28.895) * 4
    + max(395.473 * (1.2886 * 4 + 5.5814 * 2 - 23.711), 395.473),
    "power": 2 * (1.2223 + 0.00345 * 78)
    + 0.00345 * 93
    + 0.8 * (14.662 * 2 + 28.895) / 1000 * 4
    + 0.34,
}


both = pytest.mark.parametrize("judge", [evaluate_exact, simulate], ids=["model", "simulator"])


def example(judge: Judge, l2: int | None, **hw: float) -> Row:
    return judge({**EXAMPLE, "hw": {**EXAMPLE["hw"], "l2": l2, **hw}})


@both
@pytest.mark.parametrize("l2", [None, 10**6, 94, 93])
def test_the_worked_example_with_room_for_the_outputs(l2: int | None, judge: Judge) -> None:
    out = {**ANY_CAPACITY, **RESIDENT, **SILICON}
    assert differences(example(judge, l2), {"status": "ok", "out": out}) == []


@both
@pytest.mark.parametrize("l2", [92, 91, 90, 89])
def test_the_worked_example_without(l2: int, judge: Judge) -> None:
    got = example(judge, l2)
    area = {**SILICON, "area": SILICON["area"] - 0.104 * 3, "power": SILICON["power"] - 0.00345 * 3}
    want = {"status": "ok" if l2 >= 90 else "l2_overflow"}
    assert differences(got, {**want, "out": {**ANY_CAPACITY, **STREAMED, **area}}) == []


def test_the_time_of_the_worked_example_is_that_of_its_steps() -> None:
    beside = zip(COMPUTE, [*IN[1:], 0], [0, *OUT[:-1]], strict=True)
    assert IN[0] + sum(map(max, beside)) + OUT[-1] == 173
    assert max(math.ceil(39 / 8) + 173 + math.ceil(3 / 8), math.ceil(111 / 8)) == 179


@both
def test_capacities_of_l1_come_before_those_of_l2(judge: Judge) -> None:
    assert example(judge, 90, l1=78)["status"] == "ok"
    assert example(judge, 90, l1=77)["status"] == "l1_overflow"
    assert example(judge, 89, l1=77) == {**example(judge, 89, l1=78), "status": "l1_overflow"}


@both
def test_words_off_chip_cost_what_the_hardware_says(judge: Judge) -> None:
    free, paid = example(judge, None), example(judge, None, offchip_cost=200)
    assert paid["out"].pop("energy") == pytest.approx(
        free["out"].pop("energy") + 0.00023 * 200 * 111, rel=1e-12
    )
    assert paid == free


@both
def test_hops_and_their_latency_multiply(judge: Judge) -> None:
    assert example(judge, None, hops=3, hop_latency=2) == example(judge, None, hop_latency=6)
    assert example(judge, None, hops=3, hop_latency=0) == example(judge, None, hop_latency=0)
