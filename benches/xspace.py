#!/usr/bin/env python3
"""XSpace files: compares `tfprof op` with XProf's framework_op_stats, and `tfprof trace` with its trace_viewer.

  xspace.py [FILE.xplane.pb...] [--xprof PYTHON] [--binary F] [--repeat 3] [--host FILE --hosts 16]

Files are recorded by xspace_make.py (make bench-xspace does all of it). CPU seconds of the whole process for us; of the
conversion alone, without starting Python and importing, for XProf. --host is the file of one host: 1, 4 and so on up to
--hosts copies of it are read as one run, which shows how time grows and how long so many hosts take by the clock; XProf reads
the last of these runs, too, and `fleet` answers about its hosts and steps.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

from trace import measure

HERE = os.path.dirname(os.path.abspath(__file__))

WORKER = """
import json, resource, sys, time
from xprof.convert import raw_to_tool_data as convert
start = time.process_time()
data, _ = convert.xspace_to_tool_data(sys.argv[2:], sys.argv[1], {"use_saved_result": False})
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"cpu": time.process_time() - start, "mb": peak / 1024, "out": len(data or b"")}))
"""


def xprof(python, path, tool, hosts=1):
    # A fresh directory: XProf leaves its results next to its input and would read them the next time.
    with tempfile.TemporaryDirectory() as directory:
        copies = [shutil.copy(path, os.path.join(directory, f"host-{host}.xplane.pb")) for host in range(hosts)]
        answer = subprocess.run([python, "-c", WORKER, tool, *copies], capture_output=True, text=True, check=True)
    return json.loads(answer.stdout.splitlines()[-1])


def show(what, cost, note=""):
    print(f"  {what:34} {cost['cpu']:8.2f} s {cost['mb']:9.1f} MB  {note}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--xprof", help="a Python with xprof 2.24.2")
    parser.add_argument("--binary", default=os.path.join(HERE, "..", "target", "release", "tfprof"))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--host")
    parser.add_argument("--hosts", type=int, default=16)
    args = parser.parse_args()
    for path in args.files:
        print(f"{path}: {os.path.getsize(path) / 1e6:.1f} MB")
        with tempfile.TemporaryDirectory() as directory:
            out = os.path.join(directory, "trace.json")
            questions = {
                "op": (["op", path, "-output", "none"], "framework_op_stats"),
                "op -step all": (["op", path, "-step", "all", "-output", "none"], "framework_op_stats"),
                "trace": (["trace", path, "--outfile=" + out], "trace_viewer"),
            }
            theirs = {}
            for what, (words, tool) in questions.items():
                ours = [measure([args.binary, *words]) for _ in range(args.repeat)]
                cpu = sorted(cost["cpu"] for cost in ours)
                median = {"cpu": statistics.median(cpu), "mb": max(cost["mb"] for cost in ours)}
                show("tfprof " + what, median, f"{cpu[0]:.2f} to {cpu[-1]:.2f}")
                if args.xprof:
                    theirs[tool] = theirs.get(tool) or xprof(args.xprof, path, tool)
                    ratio = theirs[tool]["cpu"] / median["cpu"]
                    show("XProf " + tool, theirs[tool], f"{ratio:.1f} times; {theirs[tool]['out']} bytes out")
    if args.host:
        compare_hosts(args)


def compare_hosts(args):
    print(f"{args.host}: {os.path.getsize(args.host) / 1e6:.1f} MB")
    with tempfile.TemporaryDirectory() as directory:
        hosts = 0
        while hosts < args.hosts:
            more = min(max(hosts * 4, 1), args.hosts)
            for host in range(hosts, more):
                copy(args.host, os.path.join(directory, f"host-{host}.xplane.pb"), host)
            hosts = more
            # All copies are of one host, which it warns of.
            best = fastest([args.binary, "op", directory, "-output", "none"], args.repeat)
            show(f"tfprof op, {hosts} hosts", best, f"{best['wall']:.2f} s by the clock")
        whole = fastest([args.binary, "fleet", directory, f"-output={directory}/fleet.json"], args.repeat)
        show(f"tfprof fleet, {hosts} hosts", whole, f"{whole['wall']:.2f} s by the clock")
        for tool in ("framework_op_stats", "overview_page") if args.xprof else ():
            theirs = xprof(args.xprof, args.host, tool, hosts)
            ratios = f"{theirs['cpu'] / best['cpu']:.1f} times op, {theirs['cpu'] / whole['cpu']:.1f} times fleet"
            show(f"XProf {tool}, {hosts} hosts", theirs, f"{ratios}; {theirs['out']} bytes out")


def copy(path, to, host):
    """A copy with a field at its end that names another host: the same trace twice would count once in a fleet."""
    shutil.copy(path, to)
    name = f"host-{host}".encode()
    with open(to, "ab") as file:
        file.write(bytes([4 << 3 | 2, len(name)]) + name)


def fastest(command, repeat):
    return min((measure(command, quiet=True) for _ in range(repeat)), key=lambda cost: cost["wall"])


if __name__ == "__main__":
    sys.exit(main())
