#!/usr/bin/env python3
"""Puts what XProf shows of a profile beside tfprof's answer, as tables in Markdown.

  items.py --tfprof BINARY PROFILE.xplane.pb[.gz]...      (a Python with xprof 2.24.2)

Per profile: each HLO op (category, time, FLOP/s, bytes/s), duty cycle, parts of steps, memory of allocators, kernels.
`XProf` columns are converted to SI units: its GiB/s are 2^30 bytes. A difference of more than 0.1 % is marked with `!`.
"""

import argparse
import collections
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile

from compare import quiet


def ask_xprof(path, tool):
    from xprof.convert import raw_to_tool_data as convert
    with quiet():
        data, _ = convert.xspace_to_tool_data([path], tool, {"use_saved_result": False})
    return json.loads(data) if data else None


def table(data):
    ids = [column["id"] for column in data["cols"]]
    return [dict(zip(ids, [cell.get("v") if cell else None for cell in row["c"]])) for row in data["rows"]]


def ask_tfprof(binary, *words):
    answer = subprocess.run([binary, *words, "-output", "json:outfile=-"], capture_output=True, text=True)
    if answer.returncode not in (0, 4):
        return None
    return json.loads(answer.stdout)


def same(ours, theirs):
    if ours is None or theirs is None:
        return False
    return abs(ours - theirs) <= 1e-3 * max(abs(ours), abs(theirs)) + 1e-12


def pair(ours, theirs, scale=1.0, digits=2):
    """`ours | theirs`, with a mark if they differ."""
    show = lambda x: "unknown" if x is None else f"{x / scale:,.{digits}f}"
    return f"{show(ours)} | {show(theirs)}{'' if same(ours, theirs) else ' !'}"


def instruction(name):
    return name.rsplit("/", 1)[-1]


def hlo_ops(binary, path):
    answer = ask_tfprof(binary, "scope", path, "-step", "all", "-ops_only", "-max_depth", "1000000", "-group_by", "program",
                        "-account_type_regexes", ".*", "-select",
                        "device_micros,accelerator_micros,float_ops,io_bytes,category,program,occurrence,device")
    if answer is None:
        return
    ours = collections.defaultdict(lambda: [0.0, None, None, set()])
    for row in answer["rows"]:
        if not row.get("program") or not row["self"].get("accelerator_micros"):
            continue
        number = re.search(r"\((\d+)\)$", row["program"][0])
        op = ours[number.group(1) if number else row["program"][0], instruction(row["name"])]
        op[0] += row["self"]["accelerator_micros"]
        for at, key in [(1, "float_ops"), (2, "io_bytes")]:
            if row["self"][key] is not None:
                op[at] = (op[at] or 0) + row["self"][key]
        op[3] |= set(row["category"])
    theirs = table(ask_xprof(path, "hlo_stats"))
    if not theirs:
        return
    print("\n| program | op | category, XProf's | time in us, XProf's | GFLOP/s, XProf's | GB/s, XProf's |")
    print("|---|---|---|---|---|---|")
    for row in sorted(theirs, key=lambda row: -row["total_self_time"])[:25]:
        name = row["hlo_op_name"]
        micros, flops, bytes_, category = ours.get((row["program_id"], name), [None, None, None, set()])
        rate = lambda n: n / micros * 1e6 if n is not None and micros else None
        category = "/".join(sorted(category))
        mark = "" if category == row["category"] else " !"
        # XProf shows 0 where it does not know.
        cells = [
            row["program_id"], name, f"{category} | {row['category']}{mark}",
            pair(micros, row["total_self_time"]),
            pair(rate(flops), row["model_flop_rate"] * 1e9, 1e9),
            pair(rate(bytes_), row["measured_memory_bw"] * 2**30, 1e9),
        ]
        print("| " + " | ".join(str(cell).replace(" | ", ", ") for cell in cells) + " |")


def overview(binary, path):
    ours = ask_tfprof(binary, "info", path)["overview"]["hosts"][0]
    page = ask_xprof(path, "overview_page")
    busy = [device for device in ours["devices"] if device["device"].startswith("/device:")]
    span = sum(device["span_micros"] for device in busy)
    duty = 100 * sum(device["on_duty_micros"] for device in busy) / span if span else None
    theirs = page[0]["p"].get("device_duty_cycle_percent")
    print(f"\n- duty cycle of all devices: {duty:.2f}%; XProf {theirs or 'has none'}" if duty is not None else "")
    steps = table(page[1])
    for step in ours["steps"][:3]:
        parts = {key.removesuffix("_micros"): round(value / 1e3, 3) for key, value in (step["parts"] or {}).items() if value}
        print(f"- step {step['step']}, {step['length_micros'] / 1e3:.3f} ms: {parts}")
    for step in steps[:3]:
        parts = {key: round(value, 3) for key, value in step.items() if key.endswith("Ms") and value}
        print(f"- XProf's step {step['stepnum']}, in ms: {parts}")
    if not steps:
        print("- XProf has no steps")
    memory = ask_xprof(path, "memory_profile") or {}
    profiles = memory.get("memoryProfilePerAllocator", {})
    if profiles:
        print("\n| allocator | peak in the profile, XProf's | capacity, XProf's | fragmentation, XProf's | lifetime peak, XProf's |")
        print("|---|---|---|---|---|")
    for allocator in sorted(ours["allocators"], key=lambda allocator: allocator["allocator"]):
        name = allocator["allocator"]
        found = profiles.get(name) or profiles.get(name.rsplit(":", 1)[-1]) or {}
        summary = found.get("profileSummary", {})
        peak = summary.get("peakStats", {})
        number = lambda text: float(text) if text is not None else None
        cells = [
            name,
            pair(allocator["peak_bytes"], number(peak.get("peakBytesInUse")), digits=0),
            pair(allocator["capacity_bytes"], number(summary.get("memoryCapacity")), digits=0),
            pair(allocator["at_peak"]["fragmentation"], number(peak.get("fragmentation", 0)), digits=6),
            pair(allocator["lifetime_peak_bytes"], number(summary.get("peakBytesUsageLifetime")), digits=0),
        ]
        print("| " + " | ".join(cell.replace(" | ", ", ") for cell in cells) + " |")


def kernels(binary, path):
    theirs = table(ask_xprof(path, "kernel_stats"))
    if not theirs:
        return
    answer = ask_tfprof(binary, "scope", path, "-step", "all", "-ops_only", "-max_depth", "1000000", "-select", "kernels,micros")
    pattern = re.compile(r"^(?P<name>.*?)(?: registers:(?P<registers>\d+))?(?: shared:(?P<shared>\d+))?(?: grid:(?P<grid>\S+))?"
                         r"(?: block:(?P<block>\S+))?(?: occupancy:(?P<occupancy>\S+))? runs:(?P<runs>\d+) micros:(?P<micros>\S+)$", re.S)
    ours = collections.defaultdict(lambda: [0, 0.0, None])
    for row in answer["rows"]:
        for text in row["kernels"]:
            kernel = pattern.match(text)
            sums = ours[kernel["name"], kernel["grid"], kernel["block"]]
            sums[0] += int(kernel["runs"])
            sums[1] += float(kernel["micros"])
            sums[2] = kernel
    by_kernel = collections.OrderedDict()
    for row in theirs:
        sums = by_kernel.setdefault((row["kernel_name"], row["grid_dim"], row["block_dim"]), [0, 0.0, row])
        sums[0] += row["occurrences"]
        sums[1] += row["total_duration_us"]
    print("\n| kernel | grid | block | runs, XProf's | us, XProf's | registers, XProf's | shared bytes, XProf's |")
    print("|---|---|---|---|---|---|---|")
    missing = 0
    for key, (runs, micros, row) in by_kernel.items():
        found = ours.get(key)
        if found is None:
            missing += 1
            continue
        number = lambda text: float(text) if text is not None else None
        cells = [
            "`" + key[0][:40].replace("|", " ") + "`", key[1], key[2],
            pair(found[0], runs, digits=0), pair(found[1], micros),
            pair(number(found[2]["registers"]), row["registers_per_thread"], digits=0),
            pair(number(found[2]["shared"]), row["shmem_bytes"], digits=0),
        ]
        if list(by_kernel).index(key) < 12:
            print("| " + " | ".join(cell.replace(" | ", ", ") for cell in cells) + " |")
    equal = sum(1 for key, (runs, micros, _) in by_kernel.items()
                if key in ours and ours[key][0] == runs and same(ours[key][1], micros))
    print(f"\n{len(by_kernel)} kernels by name, grid and block: {equal} equal in runs and time, {missing} missing")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tfprof", required=True)
    parser.add_argument("files", nargs="+")
    args = parser.parse_args()
    for file in args.files:
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "host.xplane.pb")
            content = open(file, "rb").read()
            open(path, "wb").write(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content)
            print(f"\n### {os.path.basename(os.path.dirname(file)) or file}")
            if ask_xprof(path, "hlo_stats") is None:
                print("\nXProf cannot read it.")
                continue
            hlo_ops(args.tfprof, path)
            overview(args.tfprof, path)
            kernels(args.tfprof, path)
            sys.stdout.flush()


if __name__ == "__main__":
    main()
