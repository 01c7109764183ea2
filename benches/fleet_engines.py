#!/usr/bin/env python3
"""The CPU time of a task of `tfprof.fleet` on an engine of this machine, with two workers.

  fleet_engines.py DIRECTORY [processes] [dask] [ray] [spark]      (with a Python that has tfprof and the engines)

The directory holds the traces of a fleet (tests/fleet/hosts.py makes them). They are read in tasks of one file and of
eight, after a first fleet that starts the workers. A task of eight reads the same files, so the difference is the price
of the tasks: the engine's work, without reading. CPU seconds are those of every process that this one started, whoever its
parent is now.
"""

from __future__ import annotations

import os
import pathlib
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tfprof

MARK = f"TFPROF_ENGINES={os.getpid()}"
TICKS = os.sysconf("SC_CLK_TCK")
GROUP = 8
TIMES = 3
# Processes of a pool end after the fleet; their time counts once they have.
SETTLES = 3.0


def cpu() -> float:
    """CPU seconds of all processes with our mark, and of their children that have ended."""
    time.sleep(SETTLES)
    ticks = 0
    for entry in pathlib.Path("/proc").iterdir():
        try:
            is_this = entry.name == str(os.getpid())
            if is_this or (entry.name.isdigit() and MARK.encode() in (entry / "environ").read_bytes()):
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                ticks += sum(map(int, fields[11:15]))
        except OSError:
            continue
    return ticks / TICKS


@contextmanager
def started(name: str) -> Iterator[Any]:
    if name == "dask":
        import distributed

        with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
            with distributed.Client(cluster) as client:
                yield client
    elif name == "ray":
        import ray

        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        yield ray
        ray.shutdown()
    elif name == "spark":
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
        session = builder.getOrCreate()
        yield session
        session.stop()
    else:
        yield 2


def main() -> None:
    name, value = MARK.split("=")
    os.environ[name] = value
    paths = sorted(map(str, pathlib.Path(sys.argv[1]).glob("*.xplane.pb")))
    for engine in sys.argv[2:] or ["processes"]:
        with started(engine) as running:
            expected = tfprof.fleet(paths, running).part
            used: dict[int, list[float]] = {1: [], GROUP: []}
            for group in [1, GROUP] * TIMES:
                before = cpu()
                assert tfprof.fleet(paths, running, group=group).part == expected
                used[group].append(cpu() - before)
            single, grouped = (statistics.median(used[group]) for group in (1, GROUP))
            tasks = len(paths) - -(-len(paths) // GROUP)
            found = f"{single:.2f} CPU s in tasks of one, {grouped:.2f} in tasks of {GROUP}"
            each = 1000 * (single - grouped) / tasks
            print(f"{engine:10} {len(paths)} files: {found}; {each:.1f} CPU ms for a task", flush=True)


if __name__ == "__main__":
    main()
