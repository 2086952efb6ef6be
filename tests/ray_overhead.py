"""What a launcher costs: works of known seconds, in processes of this machine and on Ray.

``python tests/ray_overhead.py`` starts two Ray nodes of one core each on this machine, and runs the
same works with two processes and on them: 1,000 of 20 ms, and 20 of 2 s, all of them spinning.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from ray_works import Spinning

from maestro_env.experiments.store.running import run_records

_CORES = 2
_KINDS = {0.02: 1000, 2.0: 20}
_WARM = 0.2
"""Seconds of the works that start the workers of a cluster before the clock does."""


def main() -> None:
    here = Path(__file__).parent
    os.environ["PYTHONPATH"] = f"{here}:{here.parent}"
    import ray
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=node)
    cluster.add_node(num_cpus=1)
    try:
        _seconds(10, _WARM, cluster.address)
        for seconds, count in _KINDS.items():
            ideal = seconds * count / _CORES
            local = _seconds(count, seconds, None)
            remote = _seconds(count, seconds, cluster.address)
            sys.stdout.write(
                f"{count} works of {seconds * 1000:g} ms on {_CORES} cores: {ideal:.1f} s if only "
                f"they took time, {local:.1f} s in {_CORES} processes, {remote:.1f} s on Ray: "
                f"{remote / local - 1:+.1%}\n"
            )
    finally:
        ray.shutdown()
        cluster.shutdown()


def _seconds(count: int, seconds: float, ray: str | None) -> float:
    with TemporaryDirectory() as name:
        works = [Spinning(number, seconds, directory=Path(name)) for number in range(count)]
        began = time.perf_counter()
        if run_records(works, _CORES, ray=ray):
            sys.exit("a work failed")
        return time.perf_counter() - began


if __name__ == "__main__":
    main()
