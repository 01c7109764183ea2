#!/usr/bin/env python3
"""No file costs more than it weighs: counts the instructions and the memory of hostile files at sizes n, 2n and 4n.

  growth.py [--binary F] [NAME...]

Fails if instructions grow faster than size to the power of 1.15, if an answer takes more than 64 MB and 40 times its
files, or if it ends with anything but an exit code from 0 to 4. The size is that of the files; where each row has to
repeat a long name, as the format says, it is that of the files and the answer (ANSWERS). Needs valgrind.
"""

import argparse
import math
import os
import re
import resource
import subprocess
import sys
import tempfile

import alone
import growth_models
import growth_traces
from growth_models import attr, entry, event, node, node_def, number, plane, text, varint

MOST = 1.15


# ---- protobuf and tables


def function_attr(key, name):
    return attr(key, text(10, text(1, name)))


def placeholder(name, dims):
    shape = text(7, b"".join(text(2, number(1, d)) for d in dims))
    return node(name, "Placeholder", (), attr("dtype", number(6, 1)) + attr("shape", shape))


def constant(name, n):
    value = text(8, number(1, 3) + text(2, b"") + text(7, varint(n)))
    return node_def(name, "Const", (), attr("dtype", number(6, 3)) + attr("value", value))


def function(name, nodes, returned):
    arg = text(1, "x") + number(3, 1)
    signature = text(1, name) + text(2, arg) + text(3, text(1, "y") + number(3, 1))
    ret = text(4, text(1, "y") + text(2, returned))
    return text(1, text(1, signature) + b"".join(text(3, n) for n in nodes) + ret)


def library(*functions):
    return text(2, b"".join(functions))


IDENTITY = node_def("r", "Identity", ["x"])


CRC = [0] * 256
for at in range(256):
    c = at
    for _ in range(8):
        c = c >> 1 ^ (0x82F63B78 if c & 1 else 0)
    CRC[at] = c


def checksum(data):
    c = 0xFFFFFFFF
    for byte in data:
        c = CRC[(c ^ byte) & 255] ^ c >> 8
    c ^= 0xFFFFFFFF
    return ((c >> 15 | c << 17 & 0xFFFFFFFF) + 0xA282EAD8 & 0xFFFFFFFF).to_bytes(4, "little")


def key(shared, own, value):
    return varint(shared) + varint(len(own)) + varint(len(value)) + own + value


def tensor(size=4, offset=0):
    return number(1, 1) + text(2, text(2, number(1, size // 4))) + number(4, offset) + number(5, size)


HEADER = key(0, b"", number(1, 1) + text(3, number(1, 1)))


def table(entries, restarts=(0,)):
    """A table with one block."""

    def block(entries, restarts=(0,)):
        points = b"".join(r.to_bytes(4, "little") for r in restarts)
        return entries + points + len(restarts).to_bytes(4, "little")

    out, handles = b"", []
    first = block(entries, restarts)
    index = lambda: block(key(0, b"\xff", varint(0) + varint(len(first))))
    for make in (lambda: first, lambda: block(b""), index):
        content = make()
        handles.append(varint(len(out)) + varint(len(content)))
        out += content + b"\0" + checksum(content + b"\0")
    footer = handles[1] + handles[2]
    return out + footer + bytes(40 - len(footer)) + bytes([0x57, 0xFB, 0x80, 0x8B, 0x24, 0x75, 0x47, 0xDB])


# ---- the files: each function gets a size and returns files by name, and the words to ask


def trip_condition(n, op="LogicalAnd"):
    levels = [node_def(f"c{k}", op, [f"c{k - 1}:z:0"] * 2 if k else ["x", "x"]) for k in range(n)]
    cond, body = function("cond", levels, f"c{n - 1}:z:0"), function("body", [IDENTITY], "r:output:0")
    loop = node("w", "While", ["p"], function_attr("cond", "cond") + function_attr("body", "body"))
    return {"g.pb": placeholder("p", [2]) + loop + library(cond, body)}, ["cost", "--graph_path=g.pb"]


def trip_affine(n):
    return trip_condition(n, "AddV2")


def distinct_functions(n):
    functions = [function(f"f{k}", [IDENTITY], "r:output:0") for k in range(n)]
    calls = b"".join(node(f"c{k}", f"f{k}", ["p"]) for k in range(n))
    return {"g.pb": placeholder("p", [2]) + calls + library(*functions)}, ["cost", "--graph_path=g.pb"]


def distinct_shapes(n):
    calls = (node(f"c{k}", "PartitionedCall", [f"p{k}"], function_attr("f", "f")) for k in range(n))
    graph = b"".join(placeholder(f"p{k}", [k + 1]) for k in range(n)) + b"".join(calls)
    return {"g.pb": graph + library(function("f", [IDENTITY], "r:output:0"))}, ["cost", "--graph_path=g.pb"]


def frames(n):
    enters = (node(f"e{k}", "Enter", ["p"], attr("frame_name", text(2, f"f{k}"))) for k in range(n))
    return {"g.pb": placeholder("p", [2]) + b"".join(enters)}, ["cost", "--graph_path=g.pb"]


def loop_chain(n):
    """Each loop starts where the one before ended, and comes before it in the file."""

    def loop(k):
        frame, const = attr("frame_name", text(2, f"f{k}")), attr("is_constant", number(5, 1))
        nodes = [
            ("ea", "Enter", [f"xb{k - 1}" if k else "zero"], frame),
            ("eb", "Enter", ["zero"], frame),
            ("el", "Enter", ["limit"], frame + const),
            ("eo", "Enter", ["one"], frame + const),
            ("ma", "Merge", [f"ea{k}", f"na{k}"]),
            ("mb", "Merge", [f"eb{k}", f"nb{k}"]),
            ("ls", "Less", [f"ma{k}", f"el{k}"]),
            ("lc", "LoopCond", [f"ls{k}"]),
            ("sa", "Switch", [f"ma{k}", f"lc{k}"]),
            ("sb", "Switch", [f"mb{k}", f"lc{k}"]),
            ("pa", "Add", [f"sa{k}:1", f"eo{k}"]),
            ("pb", "Add", [f"sb{k}:1", f"eo{k}"]),
            ("na", "NextIteration", [f"pa{k}"]),
            ("nb", "NextIteration", [f"pb{k}"]),
            ("xb", "Exit", [f"sb{k}"]),
        ]
        return b"".join(node(f"{name}{k}", *rest) for name, *rest in nodes)

    constants = b"".join(text(1, constant(name, n)) for name, n in (("zero", 0), ("one", 1), ("limit", 1 << 20)))
    return {"g.pb": constants + b"".join(loop(k) for k in reversed(range(n)))}, ["cost", "--graph_path=g.pb"]


def loop_warnings(n):
    cond = function("cond", [node_def("u", "Unheard", ["x"])], "u:y:0")
    attrs = function_attr("cond", "cond") + function_attr("body", "body")
    loops = b"".join(node(f"w{k}", "While", ["p"], attrs) for k in range(n))
    graph = placeholder("p", [2]) + loops + library(cond, function("body", [IDENTITY], "r:output:0"))
    return {"g.pb": graph}, ["cost", "--graph_path=g.pb"]


def long_calls(n):
    """A function of n nodes, called by nodes with long names."""
    body = [node_def(f"a{k}", "Identity", [f"a{k - 1}:output:0" if k else "x"]) for k in range(n)]
    calls = (node(f"{k:04}" + "n" * 3990, "PartitionedCall", ["p"], function_attr("f", "f")) for k in range(20))
    graph = placeholder("p", [2]) + b"".join(calls) + library(function("f", body, f"a{n - 1}:output:0"))
    return {"g.pb": graph}, ["cost", "--graph_path=g.pb"]


def repeated_inputs(n):
    body = [node_def("a", "Identity", ["x"]), node_def("s", "AddN", ["a:output:0"] * n)]
    call = node("n" * 4000, "PartitionedCall", ["p"], function_attr("f", "f"))
    return {"g.pb": placeholder("p", [2]) + call + library(function("f", body, "s:sum:0"))}, ["cost", "--graph_path=g.pb"]


def einsum(n):
    equation = attr("equation", text(2, "...->" + "..." * n)) + attr("N", number(3, 1))
    return {"g.pb": placeholder("p", [1] * 254) + node("e", "Einsum", ["p"], equation)}, ["cost", "--graph_path=g.pb"]


def deep_scopes(n):
    return {"g.pb": node("s/" * n + "leaf", "Const")}, ["cost", "--graph_path=g.pb"]


def deep_scopes_json(n):
    words = ["scope", "-max_depth", "1000000", "-select", "occurrence", "-output", "json:outfile=-"]
    return {"g.pb": node("s/" * n + "leaf", "Const")}, [*words, "--graph_path=g.pb"]


def objects(n):
    edges = lambda to: b"".join(text(1, number(1, to) + text(2, "e")) for _ in range(n))
    graph = text(2, text(1, text(4, "serve")) + text(2, node("a", "NoOp")) + text(7, text(1, edges(1)) + text(1, edges(2)) + text(1, b"")))
    return {"saved_model.pb": number(1, 1) + graph}, ["cost", "--graph_path=saved_model.pb"]


def op_log_string(n):
    graph = b"".join(node(f"n{k}", "A") for k in range(n))
    frame = lambda k: text(1, number(2, k + 1) + number(6, 1) + number(7, 1) + number(8, 1))
    log = b"".join(text(1, text(1, f"n{k}") + text(4, frame(k))) for k in range(n))
    files = {"g.pb": graph, "l.pb": log + text(2, number(1, 1) + text(2, "F" * 4 * n))}
    return files, ["code", "--graph_path=g.pb", "--op_log_path=l.pb", "-max_depth", "2", "-select", "params"]


def timeline_runs(n):
    graph = node("a", "A") + b"".join(node(f"r{k}", "R", ["a"]) for k in range(n))
    ran = lambda name, k: text(2, text(1, name) + number(2, 1000 + k) + number(4, 1) + number(5, 1) + number(6, 2))
    records = b"".join(ran("a", k) for k in range(n)) + b"".join(ran(f"r{k}", k) for k in range(n))
    files = {"g.pb": graph, "run.pb": text(1, text(1, text(1, "/cpu:0") + records))}
    words = ["graph", "--graph_path=g.pb", "--run_meta_path=run.pb", "-step", "0", "-output"]
    return files, [*words, "timeline:outfile=/dev/null"]


def allocators(n):
    def record(k):
        memory = text(4, number(1, 64) + number(2, 64) + text(3, f"al{k}"))
        output = text(7, number(1, 0) + text(3, number(1, 1) + text(2, text(2, number(1, 2))) + memory))
        return text(2, text(1, f"n{k}") + number(2, 1000 + k) + number(4, 1) + number(5, 5) + output)

    run = text(1, text(1, text(1, "/cpu:0") + b"".join(record(k) for k in range(n))))
    return {"run.pb": run}, ["trace", "--run_meta_path=run.pb", "--show_memory", "--outfile=/dev/null"]


def planes(n):
    one = lambda k: plane(f"/device:GPU:{k}", event(1, 5, 4), entry(4, 1, text(2, "k")))
    return {"h.xplane.pb": b"".join(one(k) for k in range(n))}, ["info", "--xspace_path=h.xplane.pb"]


def plane_name(n):
    events = b"".join(event(k, 5 * k, 3) for k in range(1, n))
    names = b"".join(entry(4, k, number(1, k) + text(2, f"k{k}")) for k in range(1, n))
    return {"h.xplane.pb": plane("/device:GPU:" + "0" * 5 * n, events, names)}, ["op", "--xspace_path=h.xplane.pb"]


def shared_string(n):
    strings = entry(5, 1, number(1, 1) + text(2, "tf_op")) + entry(5, 2, number(1, 2) + text(2, "X" * 25 * n))
    stat = text(5, number(1, 1) + number(7, 2))
    metas = entry(4, 1, number(1, 1) + text(2, "op"))
    metas += b"".join(entry(4, 10 + k, number(1, 10 + k) + text(2, "m") + stat) for k in range(n))
    return {"h.xplane.pb": plane("/host:CPU", event(1, 5, 7), metas, strings)}, ["info", "--xspace_path=h.xplane.pb"]


def scattered_ids(n):
    unit = pow(0xF1357AEA2E62A9C5, -1, 1 << 64)
    of = lambda k: (k + 1) * unit % (1 << 64)
    names = b"".join(entry(4, of(k), number(1, of(k)) + text(2, f"k{k % 50}")) for k in range(n))
    events = b"".join(event(of(k), 5 * k, 3) for k in range(n))
    return {"h.xplane.pb": plane("/device:GPU:0", events, names)}, ["op", "--xspace_path=h.xplane.pb"]


def nested_events(n):
    events = b"".join(event(1, k, 3 * n - 2 * k) for k in range(n))
    return {"h.xplane.pb": plane("/device:GPU:0", events, entry(4, 1, text(2, "k")))}, ["op", "--xspace_path=h.xplane.pb"]


def program_frames(n):
    index = text(1, "F" * 5 * n) + text(2, "f") + text(3, number(1, 1) + number(2, 1) + number(3, 1))
    index += b"".join(text(4, number(1, 1) + number(2, 0)) for _ in range(n))
    dot = text(1, "dot.1") + text(2, "dot") + text(7, text(2, "x/dot") + number(15, 1))
    module = text(1, text(1, "jit_f") + text(3, text(2, dot)) + text(17, index))
    program = number(1, 1) + text(2, "jit_f(1)") + text(5, number(1, 1) + text(6, module))
    metadata = text(1, number(1, 1) + text(2, "/host:metadata") + entry(4, 1, program) + entry(5, 1, number(1, 1) + text(2, "hlo_proto")))
    stats = b"".join(entry(5, k, number(1, k) + text(2, name)) for k, name in ((1, "hlo_op"), (2, "hlo_module"), (3, "program_id")))
    own = text(4, number(1, 1) + text(5, "dot.1")) + text(4, number(1, 2) + text(5, "jit_f")) + text(4, number(1, 3) + number(4, 1))
    ran = text(4, number(1, 1) + number(2, 5) + number(3, 7) + own)
    device = plane("/device:GPU:0", ran, entry(4, 1, number(1, 1) + text(2, "dot.1")), stats)
    return {"h.xplane.pb": metadata + device}, ["code", "--xspace_path=h.xplane.pb"]


def checkpoint(entries, restarts=(0,), data=bytes(64)):
    return {"c.index": table(HEADER + entries, restarts), "c.data-00000-of-00001": data}


def shared_prefix(n):
    entries = key(0, b"a" * 4 * n, tensor()) + b"".join(key(4 * n, b"%05d" % k, b"") for k in range(n))
    return checkpoint(entries), ["checkpoint", "c"]


def bad_restarts(n):
    start = len(HEADER) + len(key(0, b"k", tensor()))
    return checkpoint(key(0, b"k", tensor()) + b"\x7f\0\0\0" * n, [start + 4 * k for k in range(n)]), ["checkpoint", "c"]


def shared_bytes(n):
    size = 16 * n
    entries = b"".join(key(0, b"v%06d" % k, tensor(size)) for k in range(n))
    return checkpoint(entries, data=bytes(size)), ["checkpoint", "c", "--stats"]


def one_wide_name(n):
    entries = key(0, b"A" * 5 * n, tensor()) + b"".join(key(0, b"b%05d" % k, tensor()) for k in range(n))
    return checkpoint(entries), ["checkpoint", "c"]


def huge_empty(n):
    empty = number(1, 1) + text(2, text(2, number(1, n**3)) + text(2, number(1, 0)))
    return checkpoint(key(0, b"v", empty)), ["checkpoint", "c", "--values", "v"]


def same_hash(n):
    """Names that collide in a hash without a seed."""
    return {"g.pb": b"".join(node(f"{'n' * 16}{k:016}{'m' * 8}{k:08}", "Add") for k in range(n))}, ["op", "-select", "occurrence", "--graph_path=g.pb"]


CASES = {
    trip_condition: 1000, trip_affine: 1000, distinct_functions: 1000, distinct_shapes: 1000, frames: 2000, loop_chain: 200,
    loop_warnings: 2000, long_calls: 500, repeated_inputs: 20000, einsum: 20000, deep_scopes: 5000, deep_scopes_json: 500,
    objects: 5000, op_log_string: 1000, timeline_runs: 2000, allocators: 2000, planes: 2000, plane_name: 1000,
    shared_string: 1000, scattered_ids: 4000, nested_events: 10000, program_frames: 2000, shared_prefix: 500,
    bad_restarts: 5000, shared_bytes: 200, one_wide_name: 1000, huge_empty: 1000, same_hash: 5000,
    **growth_models.CASES, **growth_traces.CASES,
}  # fmt: skip

# Each row has the whole name by contract, so the answer grows with the square of one long name, up to the budget.
ANSWERS = (deep_scopes_json, shared_prefix)


def measure(binary, make, n):
    """Instructions, peak memory in bytes, size of the files, exit code and size of the answer."""
    files, words = make(n)
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            with open(os.path.join(folder, name), "wb") as f:
                f.write(content)
        quiet = {"cwd": folder, "stdout": subprocess.DEVNULL}
        with tempfile.TemporaryFile() as answer:
            with subprocess.Popen([binary, *words], stderr=subprocess.DEVNULL, cwd=folder, stdout=answer) as plain:
                _, status, usage = os.wait4(plain.pid, 0)
                plain.returncode = os.waitstatus_to_exitcode(status)
            written = os.fstat(answer.fileno()).st_size
        valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", binary, *words]
        run = subprocess.run(valgrind, stderr=subprocess.PIPE, text=True, errors="replace", check=False, **quiet)
    found = re.search(r"Collected : (\d+)", run.stderr)
    count = int(found.group(1)) if found else 0
    return count, usage.ru_maxrss * 1024, sum(map(len, files.values())), plain.returncode, written


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--binary", default=os.path.join(alone.ROOT, "target", "release", "tfprof"))
    p.add_argument("names", nargs="*")
    a = p.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    binary = os.path.abspath(a.binary)
    failed = []
    for make, n in CASES.items():
        name = make.__name__
        if a.names and name not in a.names:
            continue
        start, *_ = measure(binary, make, 2)
        sizes = [measure(binary, make, n * factor) for factor in (1, 2, 4)]
        own = [max(count - start, 1) for count, *_ in sizes]
        bytes_ = [size + (written if make in ANSWERS else 0) for _, _, size, _, written in sizes]
        # Beside the size of the file: a file may be larger than n says.
        # Less than a hundredth of what any size takes is noise: tables are seeded, so that no two runs are equal.
        least = max(100_000, start // 100)
        power = max(math.log(own[at + 1] / own[at]) / math.log(bytes_[at + 1] / bytes_[at]) if own[at + 1] > least and bytes_[at + 1] > bytes_[at] else 0.0 for at in (0, 1))
        memory = max(used / ((64 << 20) + 40 * size) for _, used, size, *_ in sizes)
        codes = [code for *_, code, _ in sizes]
        good = power < MOST and memory <= 1 and all(0 <= code <= 4 for code in codes)
        print(f"{name:20} {own[2] / 1e6:8.1f} million  power {power:5.2f}  memory {100 * memory:4.0f} %  exit {codes} {'' if good else 'FAILED'}", flush=True)
        failed += [] if good else [name]
    if failed:
        sys.exit(f"growth: {', '.join(failed)}")


if __name__ == "__main__":
    main()
