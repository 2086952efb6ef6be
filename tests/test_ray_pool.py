"""Searches on a Ray cluster of two nodes on this machine, some of which are lost."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from compare_helpers import cells, compare, tables
from odd_mappers import ODD, SITE
from ray_works import Spinning
from run_helpers import contents, load
from same_results import TIMES
from sweep_helpers import chunks, rows, sweep
from sweep_helpers import tables as sweep_tables

from maestro_env import mappers
from maestro_env.base.errors import MissingExtraError
from maestro_env.experiments.shell import cli
from maestro_env.experiments.shell.files import RecordError
from maestro_env.experiments.store import ray_pool
from maestro_env.experiments.store.ray_pool import ClusterError, connect
from maestro_env.experiments.store.records import versions
from maestro_env.experiments.store.running import run_records

ray = pytest.importorskip("ray", reason="needs the extra ray")
cluster_utils = pytest.importorskip("ray.cluster_utils")

ROOT = Path(__file__).parents[1]
PATIENCE = 120
COUNT = 40
COMPARED = ("--mappers=random,ga,moody", "--seeds=5")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[cluster_utils.Cluster]:
    """Two nodes of one core each, whose workers have the mappers of ``odd_mappers``."""
    site = tmp_path_factory.mktemp("site")
    (site / "sitecustomize.py").write_text(SITE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", f"{site}:{ROOT / 'tests'}:{ROOT}")
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        # Ray looks for lost nodes every 3 s, and believes in a loss after 5 looks.
        often = {"health_check_period_ms": 1000, "health_check_failure_threshold": 3}
        head = {"num_cpus": 1, "include_dashboard": False, "_system_config": often}
        made = cluster_utils.Cluster(initialize_head=True, head_node_args=head)
        made.add_node(num_cpus=1)
        yield made
        ray.shutdown()
        made.shutdown()


def spinning(number: int, directory: Path, **changes: Any) -> Spinning:
    return Spinning(number, directory=directory, again="the same test", **changes)


def works(directory: Path, **changes: Any) -> list[Spinning]:
    return [spinning(number, directory, **changes) for number in range(COUNT)]


def locks(directory: Path) -> list[Path]:
    return [*directory.rglob("*.lock"), *directory.rglob(".*.tmp")]


def squares(directory: Path) -> dict[int, int]:
    records = [load(path) for path in directory.rglob("*.json")]
    return {each["number"]: each["square"] for each in records}


def test_a_cluster_writes_the_same_bytes(tmp_path: Path, cluster: cluster_utils.Cluster) -> None:
    here, there, log = tmp_path / "here", tmp_path / "there", tmp_path / "log"
    assert run_records(works(here)) == 0
    assert run_records(works(there, log=log), ray=cluster.address) == 0
    assert contents(here) == contents(there)
    assert squares(there) == {number: number**2 for number in range(COUNT)}
    assert Counter(log.read_text().split()) == Counter(map(str, range(COUNT)))


def test_searches_and_failures_are_those_of_this_machine(
    tmp_path: Path,
    cluster: cluster_utils.Cluster,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Records but for their seconds, tables, and the lines that tell of failures."""
    monkeypatch.setattr("maestro_env.mappers.MAPPERS", {**mappers.MAPPERS, **ODD})
    here, there = tmp_path / "here", tmp_path / "there"
    failures = []
    for out, flags in {here: [], there: [f"--ray={cluster.address}"]}.items():
        assert compare(out, *COMPARED, *flags) == cli.FAILED
        lines = capsys.readouterr().err.replace(str(out), "out").splitlines()
        failures.append(sorted(line for line in lines if line.startswith("failed: moody on ")))
    assert failures[0] == failures[1] != []
    assert tables(here) == tables(there)
    assert contents(here).keys() == contents(there).keys()
    assert len(list(there.glob("cells/*/*/moody/*.error.txt"))) == len(failures[0])
    for path in cells(here):
        pair = [load(path), load(there / path.relative_to(here))]
        for record in pair:
            for timing in (*TIMES, "digest"):
                record.pop(timing, None)
        assert pair[0] == pair[1]


def test_a_node_that_is_lost_takes_no_search_with_it(
    tmp_path: Path, cluster: cluster_utils.Cluster, capfd: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log"
    node = cluster.add_node(num_cpus=1)
    asked = works(tmp_path / "out", log=log, seconds=0.5)
    killed = []

    def lose(done: float, note: str) -> None:
        if done > COUNT / 4 and not killed:
            killed.append(done)
            cluster.remove_node(node, allow_graceful=False)

    tasks = [ray_pool.Pending(each) for each in asked]
    assert ray_pool.run_on_ray(tasks, 0, cluster.address, lose) == 0
    assert killed
    # Ray's words are for its own logs.
    told = f"lost: node {node.node_ip_address} of the Ray cluster; others run its searches again\n"
    assert capfd.readouterr() == ("", told)
    assert squares(tmp_path / "out") == {number: number**2 for number in range(COUNT)}
    assert locks(tmp_path) == []


DRIVER = """
import logging, sys
from pathlib import Path
import ray
from maestro_env.experiments.store.running import run_records
from test_ray_pool import works
ray.init(sys.argv[2], logging_level=logging.CRITICAL, log_to_driver=False)
sys.exit(run_records(works(Path(sys.argv[1]), seconds=float(sys.argv[3])), ray=sys.argv[2]))
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_driver_that_ends_early_is_resumed(
    tmp_path: Path, cluster: cluster_utils.Cluster, how: signal.Signals
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(tmp_path), cluster.address, "0.1"],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A job in the background ignores Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as driver:
        end = time.monotonic() + PATIENCE
        while not squares(tmp_path):
            assert time.monotonic() < end
            time.sleep(0.01)
        os.killpg(driver.pid, how)
        _, shown = driver.communicate(timeout=PATIENCE)
    assert driver.returncode == (cli.INTERRUPTED if how == signal.SIGINT else -signal.SIGKILL)
    assert shown == ""
    kept = contents(tmp_path)
    assert how == signal.SIGKILL or locks(tmp_path) == []
    left = [each for each in works(tmp_path) if not each.path.exists()]
    assert 0 < len(left) < COUNT
    assert run_records(works(tmp_path), ray=cluster.address) == 0
    assert squares(tmp_path) == {number: number**2 for number in range(COUNT)}
    now = contents(tmp_path)
    assert all(now[name] == data for name, data in kept.items() if name.endswith(".json"))


def test_a_head_that_is_lost_is_told_and_the_rest_is_resumed(
    tmp_path: Path, cluster: cluster_utils.Cluster
) -> None:
    """Ray alone would wait for 60 s, and then end the process in words of its own."""
    head = {"num_cpus": 1, "include_dashboard": False}
    other = cluster_utils.Cluster(initialize_head=True, head_node_args=head)
    try:
        with subprocess.Popen(
            [sys.executable, "-c", DRIVER, str(tmp_path), other.address, "1"],
            stderr=subprocess.PIPE,
            text=True,
        ) as driver:
            end = time.monotonic() + PATIENCE
            while not squares(tmp_path):
                assert time.monotonic() < end
                time.sleep(0.01)
            other.head_node.kill_gcs_server()
            killed = time.monotonic()
            _, shown = driver.communicate(timeout=PATIENCE)
        assert time.monotonic() - killed < 45
    finally:
        other.shutdown()
    assert driver.returncode == cli.FAILED
    told = (
        "failed: the head of the Ray cluster has not answered for 10 s; the same test runs the rest"
    )
    assert shown.splitlines() == [told]
    assert locks(tmp_path) == []
    left = [each for each in works(tmp_path) if not each.path.exists()]
    assert 0 < len(left) < COUNT
    assert run_records(works(tmp_path)) == 0
    assert squares(tmp_path) == {number: number**2 for number in range(COUNT)}


# 20 layers, 2 accelerators and 5 seeds: 200 cells, a few of them a chunk.
SWEEP = """
layers: [{layers}]
hardware: {{num_pes: [32, 64]}}
objectives: [edp]
mappers: [random_log]
samples: 400
seeds: 5
"""


def test_a_sweep_loses_a_node_and_its_driver_and_has_the_same_bytes(
    tmp_path: Path, cluster: cluster_utils.Cluster
) -> None:
    text = SWEEP.format(layers=", ".join(f'"gemm:M={8 + i},N=64,K=48"' for i in range(20)))
    # As many chunks as of one shard of one: they do not depend on how fast the machine is.
    assert sweep(tmp_path / "here", "--shard=1/1", text=text) == 0
    there = tmp_path / "there"
    node = cluster.add_node(num_cpus=1)
    flags = [f"--out={there}", "--shard=1/1", f"--ray={cluster.address}"]
    command = [
        sys.executable,
        "-m",
        "maestro_env.experiments",
        "sweep",
        str(tmp_path / "here.yaml"),
        *flags,
    ]

    def wait_for(count: int) -> None:
        end = time.monotonic() + PATIENCE
        while len(chunks(there)) < count:
            assert time.monotonic() < end
            time.sleep(0.01)

    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL) as driver:
        wait_for(5)
        cluster.remove_node(node, allow_graceful=False)
        wait_for(15)
        driver.kill()
    kept = {path: path.read_bytes() for path in chunks(there)}
    assert len(kept) < len(chunks(tmp_path / "here"))
    assert sweep(there, "--shard=1/1", "--resume", f"--ray={cluster.address}", text=text) == 0
    assert sweep_tables(there) == sweep_tables(tmp_path / "here")
    assert len(rows(there / "results.csv")) == 200
    assert all(path.read_bytes() == data for path, data in kept.items())
    assert locks(there) == []
    # Ray may believe in the loss only now; the next test would be told of it.
    cluster.wait_for_nodes()


def test_a_work_that_kills_its_worker_fails_alone(
    tmp_path: Path, cluster: cluster_utils.Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = works(tmp_path)
    asked[20] = spinning(20, tmp_path, fatal=True)
    assert run_records(asked, ray=cluster.address) == cli.FAILED
    assert squares(tmp_path).keys() == {*range(COUNT)} - {20}
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("failed: work 20: its worker died 3 times: WorkerCrashedError: ")
    assert line.endswith("; the same test runs it again")
    assert locks(tmp_path) == []


def test_a_node_with_other_code_is_refused(
    tmp_path: Path, cluster: cluster_utils.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = versions() | {"commit": "another"}
    monkeypatch.setattr(ray_pool, "versions", lambda: here)
    with pytest.raises(ClusterError, match=r"commit is .*, not another; install the same on every"):
        run_records(works(tmp_path), ray=cluster.address)
    assert list(tmp_path.rglob("*.*")) == []


def test_a_node_without_the_package_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "maestro_env.experiments.store.ray_worker", None)
    told = ray_pool._remote()._function(b"", {})
    assert (
        "maestro-env is missing or older: import of maestro_env.experiments.store.ray_worker"
        in told
    )


def test_a_full_disk_loses_no_record(
    tmp_path: Path, cluster: cluster_utils.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = Path.write_bytes

    def full(path: Path, data: bytes) -> int:
        if len(list(tmp_path.rglob("*.json"))) < COUNT // 2:
            return written(path, data)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(RecordError, match=r"cannot write .*\.json: No space left on device"):
        run_records(works(tmp_path), ray=cluster.address)
    assert len(squares(tmp_path)) == COUNT // 2
    assert locks(tmp_path) == []
    monkeypatch.undo()
    assert run_records(works(tmp_path), ray=cluster.address) == 0
    assert squares(tmp_path) == {number: number**2 for number in range(COUNT)}


@pytest.mark.parametrize(
    ("listens", "reason"), [(False, "Connection refused"), (True, "no answer within 3 s")]
)
def test_an_address_without_a_cluster_is_refused(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], listens: bool, reason: str
) -> None:
    ray.shutdown()
    monkeypatch.setattr(ray_pool, "_SECONDS_TO_CONNECT", 3)
    monkeypatch.setattr(ray_pool, "_SECONDS_UNTOLD", 1)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        if listens:
            other.listen()
        address = f"127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(ClusterError, match=f"--ray {address}: .*{reason}; start one with"):
            connect(address)
    told = f"waiting for the Ray cluster --ray {address}, at most 3 s\n"
    assert capfd.readouterr().err == (told if listens else "")


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"--ray needs ray: pip install -e '.\[ray"):
        connect("auto")


def test_what_is_no_address_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(tmp_path / "out", "--ray=localhost") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "--ray 'localhost'; allowed: auto, or HOST:PORT" in line
    assert not (tmp_path / "out").exists()
