"""A fleet on a local Ray and on Spark with two executors; tables in Spark."""

from __future__ import annotations

import os
import pathlib
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import CORPUS, check_damaged

import tfprof
from tfprof._fleet import engines, schedule, tasks

ray = pytest.importorskip("ray")
pyspark = pytest.importorskip("pyspark.sql")


@pytest.fixture(scope="module")
def local_ray() -> Iterator[Any]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield ray
    ray.shutdown()


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    builder = pyspark.SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
    session = builder.config("spark.executorEnv.PYTHONPATH", os.pathsep.join([str(pathlib.Path(tfprof.__file__).parents[1])])).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def test_ray_gives_the_same_bytes(local_ray: Any, paths: list[str], expected: bytes) -> None:
    assert tfprof.fleet(paths, "ray").part == expected


def test_a_worker_of_ray_is_killed(local_ray: Any, paths: list[str], expected: bytes, tmp_path: pathlib.Path) -> None:
    """The task that a worker holds when it is killed runs again, on another worker."""

    def part_of(files: list[tasks.File], cache: str | None) -> bytes:
        began = tmp_path / pathlib.Path(files[0].path).name
        is_held = files[0].path == paths[9] and not began.exists()
        with began.open("a") as file:
            file.write(f"{os.getpid()}\n")
        if is_held:
            time.sleep(600)
        return tasks.part_of(files, cache)

    class Watched(engines.Ray):
        def submit(self, task: Any, *args: Any) -> Any:
            return super().submit(part_of if task is tasks.part_of else task, *args)

    def attempts(path: str) -> list[int]:
        began = tmp_path / pathlib.Path(path).name
        return [int(pid) for pid in began.read_text().splitlines()] if began.exists() else []

    def kill() -> None:
        while not attempts(paths[9]):
            time.sleep(0.02)
        os.kill(attempts(paths[9])[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    outcome = schedule.Run(Watched(), None, lambda done: None).run([[tasks.File(path)] for path in paths])
    killer.join()
    assert outcome.part == expected and outcome.failed == []
    # The scheduler may add an attempt of its own while Ray starts a worker.
    first, *others = attempts(paths[9])
    assert others and first not in others
    assert all(attempts(path) for path in paths)


def test_spark_gives_the_same_bytes(session: Any, paths: list[str], expected: bytes) -> None:
    assert tfprof.fleet(paths, session, group=4).part == expected


def executors() -> list[int]:
    """The processes of Spark's executors that this process started."""
    def parent(pid: int) -> int:
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])

    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and b"CoarseGrainedExecutorBackend" in (entry / "cmdline").read_bytes():
                above = int(entry.name)
                while above not in (0, os.getpid()):
                    above = parent(above)
                if above:
                    found.append(int(entry.name))
        except OSError:
            continue
    return found


def test_an_executor_of_spark_is_killed(session: Any, paths: list[str], expected: bytes) -> None:
    """The tasks that an executor holds when it is killed run again on another one."""
    tracker = session.sparkContext.statusTracker()
    victim = executors()[0]
    failed: list[int] = []
    stopped = threading.Event()

    def watch() -> None:
        while not stopped.wait(0.02):
            for stage in tracker.getActiveStageIds():
                info = tracker.getStageInfo(stage)
                if info is not None and info.numFailedTasks:
                    failed.append(stage)

    os.kill(victim, signal.SIGSTOP)
    threading.Timer(5.0, os.kill, (victim, signal.SIGKILL)).start()
    watcher = threading.Thread(target=watch)
    watcher.start()
    found = tfprof.fleet(paths, "spark", group=4)
    stopped.set()
    watcher.join()
    assert failed, "no task failed with its executor"
    assert found.part == expected and found.lost == []


@pytest.mark.parametrize("on", ["ray", "spark"])
def test_missing_and_damaged_hosts_are_named(on: str, local_ray: Any, session: Any, damaged: Any) -> None:
    check_damaged(local_ray if on == "ray" else session, damaged)


def test_spark_reads_tables(session: Any, tmp_path: pathlib.Path) -> None:
    """Sums of Parquet files, partitioned and not, are those of the view, to the last picosecond."""
    for name in ("jax_mlp", "jax_two_hosts"):
        path = CORPUS / "xspace" / name
        profile = tfprof.open(path)
        words = ["tables", str(path), "-output"]
        for partition in ([], ["--partition"]):
            directory = tmp_path / f"{name}-{len(partition)}"
            run_command([*words, f"{directory}/", *partition])
            totals = session.read.parquet(str(directory / ("totals" if partition else "totals.parquet")))
            sums = {row["op"]: row["ps"] for row in totals.groupBy("op").agg({"self_ps": "sum"}).withColumnRenamed("sum(self_ps)", "ps").collect()}
            asked = profile.op(select="micros", step="all", max_depth=100_000)
            of_view = {row.name: round(row.total["micros"] * 1_000_000) for row in asked if row.depth}
            assert {op: ps for op, ps in sums.items() if ps} == {op: ps for op, ps in of_view.items() if ps}
            assert {"host", "step"} <= set(totals.columns)


def run_command(words: list[str]) -> None:
    import subprocess
    import sys

    done = subprocess.run([sys.executable, "-m", "tfprof", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
