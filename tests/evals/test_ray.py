"""A local Ray cluster of several node processes, one of them killed: all units are done once, the lost one again."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tenacity
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.task import Unit
from cudamaster.evals import bench as module
from cudamaster.evals.bench import bench
from cudamaster.evals.ray_executor import RayExecutor
from cudamaster.evals.suite import Suite, open_suite, read_results
from cudamaster.graph.executor import Call, Died
from cudamaster.nodes.context import Options

from ..graph.pool_calls import die, double, fail
from ..support.postgres_server import postgres
from .cluster_units import LOST, on_fakes, rss_kib, small

__all__ = ["postgres"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900), pytest.mark.filterwarnings("default")]
NODES = 3


@pytest.fixture
def cluster() -> Iterator[Any]:
    """A head without room for units, and nodes that have room for one each."""
    ray = pytest.importorskip("ray", reason="Ray is in the extra `ray`")
    from ray.cluster_utils import Cluster

    made = Cluster()
    try:
        _add_node(made, num_cpus=0, include_dashboard=False)
        for _ in range(NODES):
            _add_node(made, num_cpus=1)
        ray.init(address=made.address, log_to_driver=False)
        yield made
    finally:
        ray.shutdown()
        made.shutdown()


@tenacity.retry(stop=tenacity.stop_after_attempt(4), reraise=True)
def _add_node(cluster: Any, **options: Any) -> None:
    """Ray gives a node 30 s to start, which a busy machine may not make."""
    cluster.add_node(object_store_memory=80 * 2**20, **options)


def node_of(cluster: Any, pid: int) -> Any:
    """Return the node whose raylet is the parent of a worker."""
    parents = set()
    while pid > 1:
        parents.add(pid)
        with open(f"/proc/{pid}/stat") as file:
            pid = int(file.read().rsplit(")", 1)[1].split()[1])
    for node in cluster.worker_nodes:
        if {info.process.pid for infos in node.all_processes.values() for info in infos} & parents:
            return node
    raise AssertionError("no node has that worker")


def kill_node_at(cluster: Any, mark: Path) -> threading.Thread:
    """Kill the node of the unit that leaves the mark."""

    def watch() -> None:
        while not mark.exists():
            time.sleep(0.02)
        cluster.remove_node(node_of(cluster, int(mark.read_text())), allow_graceful=False)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


def test_two_hundred_units_and_a_killed_node(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "work", small)
    units = [Unit(task=f"t{number:03d}", precision=Precision.FP32) for number in range(200)]
    suite = open_suite("s", units, Options(), tmp_path)
    executor = RayExecutor(gpus=0, jobs=None, home=tmp_path)
    list(executor.run([Call(double, (n,)) for n in range(20)]))  # workers start, and import what units need
    killer = kill_node_at(cluster, tmp_path / "mark")
    memory: list[int] = []
    began, busy = time.monotonic(), time.process_time()
    bench([suite], executor, tmp_path, lambda *_: memory.append(rss_kib()))
    wall, cpu = time.monotonic() - began, time.process_time() - busy
    killer.join()

    assert len(read_results(suite, tmp_path)) == 200
    log = [line.split() for line in (tmp_path / "log").read_text().splitlines()]
    begun = Counter(task for event, task, *_ in log if event == "begin")
    ended = Counter(task for event, task, *_ in log if event == "end")
    assert ended == dict.fromkeys((unit.task for unit in units), 1)
    assert begun == {**dict.fromkeys((unit.task for unit in units), 1), LOST: 2}
    assert len(cluster.worker_nodes) == NODES - 1
    growth = memory[-1] - memory[20]
    by_worker: dict[str, list[int]] = {}
    for _, _, pid, rss in log:
        by_worker.setdefault(pid, []).append(int(rss))
    worker_growth = max(sizes[-1] - sizes[min(20, len(sizes) - 1)] for sizes in by_worker.values())
    print(f"\n200 units: {wall:.1f} s, driver {1000 * cpu / 200:.1f} ms of CPU a unit, load {os.getloadavg()[0]:.1f}")
    print(f"memory: driver +{growth} KiB of {memory[-1]}, a worker +{worker_growth} KiB at most")
    assert cpu / 200 < 0.05
    assert growth < 16 * 1024
    assert worker_growth < 16 * 1024


def test_what_a_call_raises_or_dies_of_costs_no_other(cluster: Any, tmp_path: Path) -> None:
    executor = RayExecutor(gpus=0, jobs=None, home=tmp_path)
    calls = [Call(double, (1,)), Call(die, ()), Call(fail, ()), Call(double, (2,))]
    outcomes = dict(executor.run(calls))
    assert (outcomes[0][0], outcomes[3][0]) == (2, 4)
    assert isinstance(outcomes[1], Died)
    assert "its worker was lost" in outcomes[1].why
    assert outcomes[2] == Died("it raised a bug")
    executor.stop()
    assert list(executor.run(calls)) == []


def test_runs_with_checkpoints_in_postgres_go_on_when_their_node_is_killed(
    cluster_on_postgres: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "work", on_fakes)
    unit = Unit(task="dot_product", precision=Precision.FP32)
    options = Options(rounds=2, stop_efficiency=None)
    suites: list[Suite] = [
        open_suite(f"s{number}", [unit], options, tmp_path, checkpoints="postgres") for number in range(5)
    ]
    (tmp_path / "armed").touch()
    killer = kill_node_at(cluster_on_postgres, tmp_path / "mark")
    bench(suites, RayExecutor(gpus=0, jobs=None, home=tmp_path), tmp_path)
    killer.join()
    for suite in suites:
        result = read_results(suite, tmp_path)[unit]
        assert (result.status, result.gain) == ("improved", 2.0), result.error
        assert not (tmp_path / "runs" / result.run / "checkpoint.sqlite").exists()
    asked = Counter((tmp_path / "log").read_text().splitlines())
    for suite in suites:
        for agent in ("planner", "coder", "compiler"):
            times = sum(asked[f"asked {suite.id} {agent} {number}"] for number in (1, 2))
            again = suite.id == "s2" and agent == "compiler"
            assert times == 2 + again, "only the question that was open when the node died is asked again"


@pytest.fixture
def cluster_on_postgres(postgres: str, request: pytest.FixtureRequest) -> Any:
    """The cluster, whose nodes have the server's address in their environment."""
    return request.getfixturevalue("cluster")
