"""A fleet on processes, on Dask with two worker processes, and from S3 (moto's server on the loopback interface)."""

from __future__ import annotations

import os
import pathlib
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import distributed
import pytest
from conftest import check_damaged

import tfprof
from tfprof._fleet import engines, schedule, tasks


@pytest.fixture(scope="module")
def client() -> Iterator[distributed.Client]:
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def bucket(paths: list[str]) -> Iterator[str]:
    """A bucket with the fleet. The credentials are those of the user's environment."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    settings = {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
    }
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    store = boto3.client("s3")
    store.create_bucket(Bucket="runs")
    for path in paths:
        store.upload_file(path, "runs", f"job/{pathlib.Path(path).name}")
    yield "s3://runs/job"
    server.stop()
    for name, value in before.items():
        os.environ.pop(name) if value is None else os.environ.update({name: value})


def test_processes_give_the_bytes_of_one_process(paths: list[str], expected: bytes) -> None:
    shuffled = random.Random(5).sample(paths, len(paths))
    found = tfprof.fleet(shuffled, 2, group=3)
    assert found.part == expected
    assert found.lost == [] and found.cached == 0
    assert len(found.table("hosts")) == 64


def test_a_fleet_is_a_profile(paths: list[str], tmp_path: pathlib.Path) -> None:
    found = tfprof.fleet(str(pathlib.Path(paths[0]).parent / "host-00[0-3].xplane.pb"), 2)
    alone = tfprof.open(paths[:4])
    for kind in ("op", "scope"):
        asked = {"select": "micros,occurrence", "step": "all", "max_depth": 10_000}
        ours, theirs = (sorted((row.name, row.total["micros"]) for row in getattr(one, kind)(**asked)) for one in (found, alone))
        assert ours == theirs
    found.save_part(tmp_path / "fleet.part")
    assert (tmp_path / "fleet.part").read_bytes() == found.part
    assert sorted(tfprof.open(tmp_path / "fleet.part").steps) == sorted(found.steps)


def test_dask_gives_the_same_bytes(client: distributed.Client, paths: list[str], expected: bytes) -> None:
    told: list[tuple[int, int]] = []
    found = tfprof.fleet(paths, client, progress=lambda done, count: told.append((done, count)))
    assert found.part == expected
    assert told[-1] == (64, 64) and told == sorted(told)
    # The user's client is in use, and stays open.
    assert client.submit(sum, [1, 2]).result() == 3
    assert tfprof.fleet(paths[:5], "dask").lost == []


def test_a_worker_of_dask_is_killed(client: distributed.Client, paths: list[str], expected: bytes) -> None:
    """The tasks that a worker holds when it is killed run again on another one."""
    pids = client.run(os.getpid)
    victim, pid = next(iter(pids.items()))
    os.kill(pid, signal.SIGSTOP)
    held: list[str] = []

    def kill() -> None:
        # The worker cannot finish anything any more: what it holds is unfinished when it is killed.
        while not held:
            held.extend(client.processing().get(victim, ()))
            time.sleep(0.05)
        os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    found = tfprof.fleet(paths, client)
    killer.join()
    log = client.run_on_scheduler(lambda dask_scheduler: [(str(key), start, end) for key, start, end, *_ in dask_scheduler.transition_log])
    assert held
    for key in held:
        began = [end for name, _, end in log if name == key].count("processing")
        assert began >= 2, (key, [(start, end) for name, start, end in log if name == key])
    assert found.part == expected


def test_a_process_is_killed(paths: list[str], expected: bytes) -> None:
    """A pool of processes fails as a whole; all that it had not finished runs again."""

    class Killing(engines.Processes):
        """Kills a process while tasks wait, before any result was taken."""

        submitted = 0

        def submit(self, task: Any, *args: Any) -> Any:
            call = super().submit(task, *args)
            self.submitted += 1
            if self.submitted == 4:
                os.kill(next(iter(self._pool._processes)), signal.SIGKILL)
            return call

    engine = Killing(2)
    outcome = schedule.Run(engine, None, lambda done: None).run([[tasks.File(path)] for path in paths])
    engine.close()
    assert engine.resubmitted > 0
    assert outcome.part == expected and outcome.failed == []


def test_a_task_that_kills_its_process_harms_no_other(paths: list[str]) -> None:
    engine = engines.Processes(2)
    deadly = engine.submit(os._exit, 9)
    others = [engine.submit(tasks.part_of, [tasks.File(path)]) for path in paths[:6]]
    done: list[Any] = []
    while len(done) < 7:
        done = engine.wait([deadly, *others], 1.0)
    engine.close()
    assert engine.error(deadly) is not None
    assert [engine.error(other) for other in others] == [None] * 6


HANGING = """
import sys, time
from tfprof._fleet import engines, schedule, tasks

class Hanging(engines.Processes):
    hangs = True

    def submit(self, task, *args):
        if task is tasks.part_of and args[0][0].path.endswith("007.xplane.pb") and self.hangs:
            self.hangs = False
            return super().submit(time.sleep, 3600)
        return super().submit(task, *args)

if __name__ == "__main__":
    engine = Hanging(2)
    outcome = schedule.Run(engine, None, lambda done: None).run([[tasks.File(path)] for path in sys.argv[2:]])
    engine.close()
    open(sys.argv[1], "wb").write(outcome.part)
    print(outcome.resubmitted)
"""


def test_a_program_ends_before_a_task_that_hangs(paths: list[str], expected: bytes, tmp_path: pathlib.Path) -> None:
    (tmp_path / "fleet.py").write_text(HANGING)
    words = [sys.executable, str(tmp_path / "fleet.py"), str(tmp_path / "fleet.part"), *paths]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout == "1\n" and (tmp_path / "fleet.part").read_bytes() == expected


@pytest.mark.parametrize("on", ["processes", "dask"])
def test_missing_and_damaged_hosts_are_named(on: str, client: distributed.Client, damaged: Any) -> None:
    check_damaged(2 if on == "processes" else client, damaged)


def test_s3(bucket: str, client: distributed.Client, paths: list[str]) -> None:
    """Files of a bucket are read where the workers are. Only the paths in the ledger differ from those of local files."""
    # The workers were started before the bucket: they get the user's settings as a cluster would.
    settings = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
    client.wait_for_workers(2)
    client.run(lambda given: os.environ.update(given), settings)
    found = tfprof.fleet(f"{bucket}/*.xplane.pb", client)
    again = tfprof.fleet([f"{bucket}/{pathlib.Path(path).name}" for path in paths], 2)
    assert found.part == again.part
    local = tfprof.fleet(paths, 2)
    asked = {"select": "micros", "step": "all", "max_depth": 10_000}
    assert str(found.op(**asked)) == str(local.op(**asked))
    assert b"/tmp" not in found.part
    with pytest.warns(tfprof.DataWarning):
        partly = tfprof.fleet([f"{bucket}/host-000.xplane.pb", f"{bucket}/no-such-host.xplane.pb"], 2)
    assert len(partly.lost) == 1 and f"{bucket}/no-such-host.xplane.pb" in partly.lost[0]


@pytest.mark.parametrize("where", ["directory", "bucket"])
def test_a_second_run_resumes(where: str, bucket: str, paths: list[str], expected: bytes, tmp_path: pathlib.Path) -> None:
    cache = f"{bucket}-cache" if where == "bucket" else tmp_path / "cache"
    first = tfprof.fleet(paths[:20], 2, cache=cache)
    second = tfprof.fleet(paths, 2, cache=cache)
    assert (first.cached, second.cached) == (0, 20)
    assert second.part == expected
    # A partial that was damaged where it is kept is made again.
    if where == "directory":
        kept = sorted(cache.iterdir())[0]
        whole = kept.read_bytes()
        kept.write_bytes(whole[: len(whole) // 2])
        assert tfprof.fleet(paths, 2, cache=cache).part == expected
        assert kept.read_bytes() == whole
    # A file that has changed is read again.
    changed = tmp_path / "host-000.xplane.pb"
    changed.write_bytes(pathlib.Path(paths[0]).read_bytes())
    tfprof.fleet(changed, 2, cache=cache)
    changed.write_bytes(pathlib.Path(paths[2]).read_bytes())
    os.utime(changed, ns=(1, 1))
    found = tfprof.fleet(changed, 2, cache=cache)
    assert found.cached == 0 and [row["host"] for row in found.table("hosts")] == ["host-002"]


class Slow:
    """An engine in which one task never ends, unless it is submitted again."""

    resubmitted = 0

    def __init__(self) -> None:
        self.submitted: list[list[str]] = []
        self.canceled = 0

    def slots(self) -> int:
        return 4

    def submit(self, task: Any, *args: Any) -> Any:
        if task is not tasks.part_of:
            return [task(*[arg[0] if isinstance(arg, list) else arg for arg in args])]
        names = [file.path for file in args[0]]
        hangs = names == [self.hanging] and names not in self.submitted
        self.submitted.append(names)
        return [None] if hangs else [task(*args)]

    def wait(self, handles: list[Any], seconds: float) -> list[Any]:
        time.sleep(0.01)
        return [handle for handle in handles if handle[0] is not None]

    def result(self, handle: Any) -> bytes:
        return bytes(handle[0])

    def error(self, handle: Any) -> None:
        return None

    def cancel(self, handle: Any) -> None:
        self.canceled += 1

    def close(self) -> None:
        pass


def test_a_task_that_takes_too_long_is_submitted_again(paths: list[str], expected: bytes) -> None:
    engine = Slow()
    engine.hanging = paths[7]
    outcome = schedule.Run(engine, None, lambda done: None).run([[tasks.File(path)] for path in paths])
    assert outcome.part == expected
    assert outcome.resubmitted == 1 and engine.canceled == 1
    assert engine.submitted.count([paths[7]]) == 2 and len(engine.submitted) == 65


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        (dict(paths=[]), ValueError, "at least one file"),
        (dict(paths=3), TypeError, "expected a path, a pattern or a list"),
        (dict(paths=[3]), TypeError, "expected a path or a pattern, found int"),
        (dict(paths="no-such-*"), FileNotFoundError, "no file matches no-such-"),
        (dict(paths="x", engine="hadoop"), ValueError, "expected processes, dask, ray, spark"),
        (dict(paths="x", engine=b"x"), TypeError, "found bytes"),
        (dict(paths="x", group=0), ValueError, "group: expected 1 or more"),
        (dict(paths="x", require_hosts="3"), TypeError, "require_hosts: expected a number"),
    ],
)
def test_wrong_arguments(given: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        tfprof.fleet(**given)
