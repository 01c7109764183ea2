#!/usr/bin/env python3
"""Compares profiles with XProf's tables that lie beside them: times of HLO ops, framework ops and kernels, and steps.

  tables.py --tfprof BINARY FOLDER...

Each folder holds an .xplane.pb(.gz), optionally a manifest.json with `facts`, and a folder xprof_VERSION with XProf's
answers as NAME.json.gz. Prints one row for each op (with --all) and one for each table: the largest relative difference
and both totals. Fails if an op differs by more than --tolerance.
"""

import argparse
import collections
import glob
import gzip
import json
import os
import re
import subprocess
import sys


def ask(binary, *words):
    answer = subprocess.run([binary, *words], capture_output=True, text=True)
    if answer.returncode not in (0, 4):
        sys.exit(f"{binary} {' '.join(words)}: {answer.stderr}")
    return json.loads(answer.stdout), answer


def rows(table):
    ids = [column["id"] for column in table["cols"]]
    return [dict(zip(ids, [cell.get("v") if cell else None for cell in row["c"]])) for row in table["rows"]]


class Ours:
    """The ops of a profile: by name, type and device, their self time in microseconds."""

    def __init__(self, binary, path):
        self.binary = binary
        self.scopes = ["scope", path, "-step", "all", "-ops_only", "-max_depth", "1000000",
                       "-select", "micros,occurrence,device,op_types", "-output", "json:outfile=-"]
        view, answer = ask(binary, *self.scopes)
        self.code, self.message = answer.returncode, answer.stderr.strip()
        self.ops = self.listed(view)
        self.info, _ = ask(binary, "info", path, "-output", "json:outfile=-")

    @staticmethod
    def listed(view):
        return [(row["name"], row["op_types"], on["device"], on["micros"])
                for row in view["rows"] for on in row.get("by_device", [])]

    def by_program(self):
        return self.listed(ask(self.binary, *self.scopes, "-group_by", "program")[0])

    def on_device(self):
        return [(name, types, micros) for name, types, device, micros in self.ops if is_device(device)]

    def on_host(self):
        return [(name, types, micros) for name, types, device, micros in self.ops if "/device:" not in device]


def is_device(device):
    return "/device:" in device and "/device:CPU" not in device


def is_copy(types):
    return any(re.match("Memcpy|Memset", word) for word in types)


def summed(pairs):
    sums = collections.defaultdict(float)
    for name, micros in pairs:
        sums[name] += micros
    return dict(sums)


def hlo(ours, table):
    """By program and instruction; our rows are `module(program)/…/instruction`."""
    if not table["rows"]:
        return {}, {}
    theirs = summed((f"{row['program_id']} {row['hlo_op_name']}", row["total_self_time"]) for row in rows(table))
    found = ((re.match(r"[^/]*\((\d+)\)/(?:.*/)?([^/]+)$", name), micros)
             for name, _, device, micros in ours.by_program() if is_device(device))
    mine = summed((f"{match[1]} {match[2]}", micros) for match, micros in found if match)
    return {name: mine.get(name) for name in theirs}, theirs


def framework(side):
    def compare(ours, tables):
        of_side = [row for row in rows(tables[1]) if row["host_or_device"] == side]
        theirs = summed((row["operation"], row["total_self_time"]) for row in of_side)
        if side == "Host":
            flat = lambda name, types: name.replace("/", "::") if "Dataset" in types else name
            mine = summed((flat(name, types), micros) for name, types, micros in ours.on_host())
            # XProf has one row for all calls that launch XLA's kernels, we have one for each.
            mine["XlaModule"] = sum(micros for _, types, micros in ours.on_host() if "Launch" in types)
        else:
            # XProf's row is the framework's op, ours the instruction within it; without one, the instruction.
            def key(name):
                path, _, last = name.rpartition("/")
                return path if path in theirs else last
            mine = summed((key(name), micros) for name, _, micros in ours.on_device())
        return {name: mine.get(name) for name in theirs}, theirs
    return compare


def kernels(ours, table):
    """XProf lists kernels and no copies; equal kernels of several ops are rows of their own."""
    if not table["rows"]:
        return {}, {}
    theirs = sum(row["total_duration_us"] for row in rows(table))
    mine = sum(micros for _, types, micros in ours.on_device() if not is_copy(types))
    return {"all kernels": mine}, {"all kernels": theirs}


def steps(ours, tables):
    table = next(table for table in tables if any(column["id"] == "stepnum" for column in table.get("cols", [])))
    theirs = {row["stepnum"]: row["stepTimeMs"] * 1e3 for row in rows(table) if "stepTimeMs" in row}
    mine = {str(step["step"]): step["length_micros"] for host in ours.info["overview"]["hosts"] for step in host["steps"]}
    return {name: mine.get(name) for name in theirs}, theirs


TABLES = [("HLO ops", "hlo_stats", hlo), ("device ops", "framework_op_stats", framework("Device")),
          ("host ops", "framework_op_stats", framework("Host")), ("kernels", "kernel_stats", kernels),
          ("steps", "overview_page", steps)]


def compare(binary, folder, show_all, tolerance):
    path = next(iter(glob.glob(os.path.join(folder, "*.xplane.pb*"))))
    ours = Ours(binary, path)
    name = os.path.basename(os.path.normpath(folder))
    print(f"{name}: exit code {ours.code}" + (f"; {ours.message.splitlines()[0][:120]}" if ours.code else ""))
    manifest = os.path.join(folder, "manifest.json")
    facts = json.load(open(manifest)).get("facts", {}) if os.path.exists(manifest) else {}
    for key, value in facts.items():
        print(f"  fact {key}: {value}")
    failed = 0
    for label, file, table in TABLES:
        found = glob.glob(os.path.join(folder, "xprof_*", f"{file}.json.gz"))
        if not found:
            continue
        mine, theirs = table(ours, json.load(gzip.open(found[0])))
        theirs = {key: n for key, n in theirs.items() if n > 0}
        if not theirs:
            print(f"  {label:10}    0 rows of XProf")
            continue
        relative = {key: 1.0 if mine[key] is None else abs(mine[key] - n) / max(abs(n), 1e-9) for key, n in theirs.items()}
        off = [key for key, difference in relative.items() if difference > tolerance]
        if show_all or off:
            for key in theirs if show_all else off:
                shown = "absent" if mine[key] is None else f"{mine[key]:.3f}"
                print(f"      {key[:70]:70} {shown:>16} {theirs[key]:16.3f}  {100 * relative[key]:.4f} %")
        totals = sum(mine[key] or 0 for key in theirs), sum(theirs.values())
        print(f"  {label:10} {len(theirs):4} rows, {len(off)} off; largest difference {100 * max(relative.values()):.4f} %; "
              f"total {totals[0]:.3f} us, XProf {totals[1]:.3f} us")
        failed += len(off)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tfprof", required=True)
    parser.add_argument("--all", action="store_true", help="print every row")
    parser.add_argument("--tolerance", type=float, default=0.001)
    parser.add_argument("folders", nargs="+")
    args = parser.parse_args()
    failed = sum(compare(args.tfprof, folder, args.all, args.tolerance) for folder in args.folders)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
