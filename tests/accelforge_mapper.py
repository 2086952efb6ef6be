"""AccelForge's mapper TCM beside our proof, on matrix products that both see alike.

AccelForge needs Python 3.12, so this program starts itself again with a Python that has it (pip
install accelforge==1.0.467):

    python tests/accelforge_mapper.py --accelforge PYTHON

It prints a row for each product: EDP, or how far it is from ours with tiles that divide, and
processor seconds. Each tool has one thread. Imports and a first product, to warm up, do not count.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

PRODUCTS = (
    *("64x64x64", "128x256x512", "512x512x512", "2048x2048x2048", "16x2048x1024"),
    *("1024x1024x64", "1024x64x1024", "1024x768x768"),  # gpt2_l1 to gpt2_l3
    *("384x2304x768", "384x384x64", "384x64x384"),  # bert_base_l0 to bert_base_l5
    *("384x768x768", "384x3072x768", "384x768x3072"),
    *("16x1000x2048", "77x512x512", "100x100x100", "196x384x96", "48x144x96", "360x120x240"),
)
"""M, N and K."""

CLUSTERS, CLUSTER, WORDS = 16, 16, 4096
"""Clusters, PEs of each, and words of a tile that a cluster holds."""

RUNS = {"even": True, "uneven": False}
"""TCM's runs: whether a memory holds all tensors at two places of the loops at most."""

HEADER = ("M x N x K", "ours", "TCM even", "TCM", "all tiles", "ours s", "even s", "TCM s", "all s")


def compare(python: str) -> None:
    """Prove optima, let AccelForge map the same products, and print the table."""
    prove(PRODUCTS[0], "divisors")
    proofs = [[prove(name, tiles) for tiles in ("divisors", "integers")] for name in PRODUCTS]
    with TemporaryDirectory() as made:
        cases, found = Path(made) / "cases.json", Path(made) / "found.json"
        cases.write_text(json.dumps([dividing for dividing, _ in proofs]))
        command = [python, str(Path(__file__).absolute()), "--map", str(cases), str(found)]
        one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
        subprocess.run(command, check=True, cwd=made, env=os.environ | one)
        theirs = json.loads(found.read_text())
    show(HEADER)
    show(["---"] + ["---:"] * (len(HEADER) - 1))
    table = []
    for name, (ours, all_tiles), their in zip(PRODUCTS, proofs, theirs, strict=True):
        runs = [ours, *(their[run] for run in RUNS), all_tiles]
        best, even, *others = (run["value"] for run in runs)
        changes = (f"{round(100 * (value / best - 1), 2) + 0.0:+.2f} %" for value in others)
        times = (f"{run['seconds'][0]:.2f}" for run in runs)
        show([name, f"{best:.6g}", f"{even:.6g}", *changes, *times])
        table.append(runs)
    for label, clock in (("sum", 0), ("by the clock", 1)):
        sums = (sum(run["seconds"][clock] for run in column) for column in zip(*table, strict=True))
        show([label, *[""] * 4, *(f"{each:.2f}" for each in sums)])
    pairs = [(ours["value"], b["again"]) for (ours, _), b in zip(proofs, theirs, strict=True)]
    apart = [abs(again / value - 1) for value, again in pairs if again]
    sys.stdout.write(
        f"AccelForge's EDP of {len(apart)} mappings of ours: within {max(apart):.0e}\n"
    )


def show(cells: Iterable[str]) -> None:
    sys.stdout.write(f"| {' | '.join(cells)} |\n")


def timed(run: Callable[[], Any]) -> tuple[Any, tuple[float, float]]:
    """Return what a function returns, and its seconds of the processor and by the clock."""
    cpu, wall = time.process_time(), time.perf_counter()
    found = run()
    return found, (time.process_time() - cpu, time.perf_counter() - wall)


def prove(name: str, tiles: str) -> dict[str, Any]:
    """Return the optimum of a product, its seconds, and the texts for AccelForge."""
    from maestro_env import Hardware, Layer, MappingError, MapSpace, Problem, find_objective, solve
    from maestro_env.exchange import to_accelforge
    from maestro_env.workloads.files.accelforge import workload_text

    layer = Layer("GEMM", dict(zip("MNK", map(int, name.split("x")), strict=True)))
    # An L1 has the words of one MAC, and its share of the cluster's: both in double buffers.
    l1_bytes = 2 * 3 + 2 * WORDS // CLUSTER
    hardware = Hardware(CLUSTERS * CLUSTER, l1_bytes=l1_bytes, noc_hop_latency=0)
    problem = Problem(MapSpace(layer, hardware, "paper10:parallel=N,K", tiles))
    found, seconds = timed(lambda: solve(problem, find_objective("edp")))
    assert found.proven
    try:
        text = to_accelforge(problem.space.decode(found.point), problem)
        lines = text[text.index("mapping:") :].splitlines()
        mapping = "\n".join(line for line in lines if "component: DRAM" not in line)
    except MappingError:  # The last group of tiles has fewer than there are units.
        mapping = ""
    text = arch_text(layer.loop_extents, hardware.technology) + workload_text(layer)
    return {"value": found.value, "seconds": seconds, "text": text, "mapping": mapping}


def arch_text(extents: dict[str, int], technology: Any) -> str:
    """Write the accelerator for AccelForge, with energies that make it count what ours counts."""
    m, n, k = (extents[dim] for dim in "MNK")
    nj, l1, l2 = technology.mac_nj, technology.l1_macs, technology.l2_macs
    # Constants: each word between main memory and L2 once, and outputs in L1 at each MAC.
    mac = 1 + 2 * l1 + l2 * (m * k + k * n + m * n) / (m * n * k)
    # A partial sum that L2 sends down is written to and read from a cluster; ours sends none.
    psum = (l2 - 2 * l1) / l2
    rest = "leak_power: 0, area: 0"
    word = "throughput: inf, bits_per_action: 8"
    # Two cycles: to fill L2 for the first step, and to drain it after the last.
    latency = "sum(a.n_calls / a.throughput for a in actions) + 2"
    return f"""\
arch:
  nodes:
  - !Memory {{name: L2, size: inf, {rest}, tensors: {{keep: All}}, actions: [
      {{name: read, energy: {l2 * nj}, {word}, values_per_action: {{O: {1 / psum}}}}},
      {{name: write, energy: {l2 * nj}, {word}}}]}}
  - !Container {{name: Level0, {fanout(CLUSTERS, "mk")}}}
  - !Memory {{name: Cluster1, size: {8 * WORDS}, {rest}, tensors: {{keep: All}}, actions: [
      {{name: read, energy: {l1 * nj}, {word}}}, {{name: write, energy: {l1 * nj}, {word}}}]}}
  - !Container {{name: Level1, {fanout(CLUSTER, "mn")}}}
  - !Memory {{name: L1, size: {8 * 3}, {rest}, tensors: {{keep: All}}, actions: [
      {{name: read, energy: {l1 * nj}, {word}, values_per_action: {{O: 1.0e+30}}}},
      {{name: write, energy: {l1 * nj}, {word}, values_per_action: {{O: 1.0e+30}}}}]}}
  - !Compute {{name: MAC, {rest}, total_latency: {latency}, actions: [
      {{name: compute, energy: {mac * nj}, throughput: 1}}]}}
"""


def fanout(units: int, others: str) -> str:
    """Return units that share the one loop that is left when others run once."""
    bounds = ", ".join(f"{{expression: {dim}, operator: ==, value: 1}}" for dim in others)
    return f"spatial: [{{name: X, fanout: {units}, loop_bounds: [{bounds}]}}]"


def map_all(source: str, target: str) -> None:
    """Map products, and evaluate our mappings of them, in a Python that has AccelForge."""
    from accelforge import Spec, mapper
    from accelforge.frontend.mapper.metrics import Metrics
    from accelforge.model.main import evaluate_mapping
    from accelforge.util.parallel import set_n_parallel_jobs

    def spec_of(text: str) -> Any:
        Path("spec.yaml").write_text(text)
        return Spec.from_yaml("spec.yaml")

    def best(text: str, even: bool) -> dict[str, Any]:
        spec, call = spec_of(text), mapper.FFM.map_workload_to_arch
        spec.mapper.metrics = Metrics.ENERGY_DELAY_PRODUCT
        spec.mapper._timeloop_style_even = even
        found, seconds = timed(lambda: call(spec, print_progress=False, eval_in_detail=False))
        value = found.data["Total<SEP>energy_delay_product"].min()
        return {"value": float(value), "seconds": seconds}

    def again(case: dict[str, Any]) -> float | None:
        if not case["mapping"]:
            return None
        cost = evaluate_mapping(spec_of(case["text"] + case["mapping"]))
        return float(cost.energy()) * float(cost.latency())

    set_n_parallel_jobs(1)
    rows: list[dict[str, Any]] = []
    cases = json.loads(Path(source).read_text())
    for case in [cases[0], *cases]:
        found = {run: best(case["text"], even) for run, even in RUNS.items()}
        rows.append(found | {"again": again(case)})
    Path(target).write_text(json.dumps(rows[1:]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--accelforge", metavar="PYTHON", help="a Python that has AccelForge")
    parser.add_argument("--map", nargs=2, metavar="FILE", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.map:
        map_all(*given.map)
    else:
        compare(given.accelforge)
