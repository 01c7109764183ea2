"""Hostile traces, programs and partials for growth.py: small records that many others refer to."""

import binascii
import struct
import zlib

from growth_models import attr, entry, event, node, number, plane, text, trace, varint

# ---- XSpace: events that refer to long texts


def space(words, *planes):
    return {"h.xplane.pb": b"".join(planes)}, [*words, "--xspace_path=h.xplane.pb"]


def names(*stats):
    return b"".join(entry(5, k, number(1, k) + text(2, name)) for k, name in enumerate(stats, 1))


def ref_stat(stat, string):
    return text(4, number(1, stat) + number(7, string))


def int_stat(stat, n):
    return text(4, number(1, stat) + number(4, n))


def rich_event(k, *stats):
    return text(4, number(1, 1) + number(2, 10 * k) + number(3, 3) + b"".join(stats))


KERNEL = entry(4, 1, number(1, 1) + text(2, "k"))


def one_text_many_events(n):
    """Events that name one long op, each with another ordinal."""
    stats = names("tf_op", "device_ordinal", "a/" * 10 * n + "x:MatMul")
    events = b"".join(rich_event(k, ref_stat(1, 3), int_stat(2, k)) for k in range(n))
    return space(["op"], plane("/device:GPU:0", events, KERNEL, stats))


def long_ids(n):
    """Events whose ids are one long text."""
    stats = names("correlation_id", "run_id", "_p", "_c", " " * 20 * n)
    events = b"".join(rich_event(k, *(ref_stat(stat, 5) for stat in (1, 2, 3, 4))) for k in range(n))
    return space(["info"], plane("/device:GPU:0", events, KERNEL, stats))


def repeated_stats(n):
    """Metadata that repeats one stat, and as many events."""
    kernel = entry(4, 1, number(1, 1) + text(2, "k") + text(5, number(1, 1) + number(4, 7)) * n)
    files, _ = space([], plane("/device:GPU:0", b"".join(event(1, 10 * k, 3) for k in range(n)), kernel, names("s")))
    return files, ["trace", "h.xplane.pb", "--outfile=/dev/null"]


def long_module(n):
    """Runs of a program with a long name."""
    lines = b"".join(
        text(3, number(1, meta) + text(2, name) + b"".join(event(meta, 10 * k, 9) for k in range(n)))
        for meta, name in ((1, "XLA Modules"), (2, "Steps"))
    )
    metas = b"".join(entry(4, k, number(1, k) + text(2, letter * 20 * n)) for k, letter in ((1, "m"), (2, "1")))
    return space(["info"], text(1, number(1, 2) + text(2, "/device:TPU:0") + lines + metas))


def many_lines(n):
    line = lambda k: text(3, number(1, k) + text(2, f"Stream #{k}") + event(1, 5, 9) + event(1, 6, 9))
    return space(["op"], text(1, number(1, 2) + text(2, "/device:GPU:0") + b"".join(map(line, range(n))) + KERNEL))


# ---- HLO: instructions that read one large shape, computations that call each other


def program(module, ops=("a0",)):
    """A compiled program, and a run of some of its instructions."""
    stored = entry(4, 1, number(1, 1) + text(2, "jit_f(1)") + text(5, number(1, 1) + text(6, text(1, text(1, "jit_f") + module))))
    metadata = text(1, number(1, 1) + text(2, "/host:metadata") + stored + names("hlo_proto"))
    named = lambda op: (text(4, number(1, 1) + text(5, op)), text(4, number(1, 2) + text(5, "jit_f")), int_stat(3, 1))
    events = b"".join(rich_event(k, *named(op)) for k, op in enumerate(ops))
    device = plane("/device:GPU:0", events, KERNEL, names("hlo_op", "hlo_module", "program_id"))
    return space(["op", "-select", "micros,float_ops"], metadata, device)


def instruction(name, opcode, number_, shape=b"", operands=(), called=(), more=b""):
    ids = b"".join(number(36, k) for k in operands) + b"".join(number(38, k) for k in called)
    return text(2, text(1, name) + text(2, opcode) + shape + number(35, number_) + ids + more)


def computation(number_, *instructions):
    return text(3, text(1, f"c{number_}") + b"".join(instructions) + number(5, number_))


def array(dims, *parts):
    kind = 13 if parts else 11
    return text(3, number(2, kind) + b"".join(number(3, d) for d in dims) + b"".join(text(4, p) for p in parts))


def program_calls(n):
    """Computations that call the next one twice, and the last one the first."""
    fusion = lambda k, name: instruction(f"{name}{k}", "fusion", 2 * k + (name == "b"), array([2]), (), [k + 2 if k + 1 < n else 1])
    return program(b"".join(computation(k + 1, fusion(k, "a"), fusion(k, "b")) for k in range(n)))


def program_tuple(n):
    """Instructions that read one tuple of many arrays."""
    large = instruction("t", "parameter", 1, array((), *[number(2, 11) + number(3, 2)] * n))
    return program(computation(1, large, *(instruction(f"a{k}", "add", 2 + k, array([2]), [1, 1]) for k in range(n))))


def program_rank(n):
    """Instructions that read one array of many dimensions."""
    large = instruction("t", "parameter", 1, array([1] * n))
    reduces = (instruction(f"a{k}", "reduce", 2 + k, array([2]), [1, 1], [1]) for k in range(n))
    return program(computation(1, large, *reduces))


def program_convolution(n):
    """A convolution of many dimensions."""
    window = text(15, text(1, number(1, 1)) * n)
    roles = text(16, b"".join(number(5, k) + number(11, k) + number(12, k) for k in range(n)))
    large = instruction("t", "parameter", 1, array([1] * n))
    return program(computation(1, large, instruction("a0", "convolution", 2, array([2] * n), [1, 1], (), window + roles)))


def program_stacks(n):
    """Instructions with one deep stack of a file with a long name."""
    frames = b"".join(text(4, number(1, 1) + number(2, k)) for k in range(1000))
    index = text(1, "F" * 10 * n) + text(2, "f") + text(3, number(1, 1) + number(2, 1) + number(3, 1)) + frames
    deep = text(7, text(2, "x/dot") + number(15, 1000))
    dots = (text(2, text(1, f"a{k}") + text(2, "dot") + deep) for k in range(n))
    return program(computation(1, *dots) + text(17, index), [f"a{k}" for k in range(n)])


# ---- graphs with branches and with debug info


def case_branches(n):
    """A Case with many branches, each a function of its own."""
    call = lambda name: text(9, text(1, name))
    branches = attr("branches", text(1, b"".join(call(f"f{k}") for k in range(n))))
    product = text(1, "r") + text(2, "MatMul") + text(3, "x") * 2
    signature = lambda k: text(1, text(1, f"f{k}") + text(2, text(1, "x") + number(3, 1)) + text(3, text(1, "y") + number(3, 1)))
    function = lambda k: text(1, signature(k) + text(3, product) + text(4, text(1, "y") + text(2, "r:product:0")))
    graph = node("p", "Placeholder") + node("c", "Case", ["p", "p"], branches) + text(2, b"".join(map(function, range(n))))
    return {"g.pb": graph}, ["cost", "--graph_path=g.pb"]


def debug_traces(n):
    """Nodes that name one trace of as many frames."""
    fixed = lambda field, value: varint(field << 3 | 1) + struct.pack("<Q", value)
    frames = b"".join(text(4, fixed(1, k + 1) + text(2, number(1, 0) + number(2, k + 1))) for k in range(n))
    one = text(6, fixed(1, 1) + text(2, text(2, b"".join(struct.pack("<Q", k + 1) for k in range(n)))))
    of_nodes = b"".join(text(5, text(1, f"n{k}") + fixed(2, 1)) for k in range(n))
    graph = b"".join(node(f"n{k}", "A") for k in range(n)) + text(5, text(1, "F" * 10 * n) + frames + one + of_nodes)
    return {"g.pb": graph}, ["code", "-select", "params,float_ops", "-max_depth", "3", "--graph_path=g.pb"]


# ---- traces of PyTorch


def torch_python_loop(n):
    """Python calls whose parents form a loop."""
    common = {"ph": "X", "pid": 1, "tid": 1}
    call = lambda k: {**common, "cat": "python_function", "name": f"m.py({k}): f", "ts": k, "dur": 3 * n - 2 * k, "args": {"Python id": k + 1, "Python parent id": (k + 2) % n + 1}}
    return trace([*map(call, range(n)), {**common, "cat": "cpu_op", "name": "aten::mm", "ts": n, "dur": 1}], "code")


def torch_one_correlation(n):
    """Ops and kernels that all have one id."""
    events = []
    for k in range(n):
        events.append({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": k, "dur": 3 * n - 2 * k, "args": {"External id": k % 5}})
        events.append({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": k, "dur": 2 * n, "args": {"External id": k % 5, "correlation": 1}})
    return trace(events, "scope")


# ---- partials


def signed(n):
    return varint(n << 1)


def section(kind, content, claimed=None, packed=None):
    if packed is None:
        encoder = zlib.compressobj(9, zlib.DEFLATED, -15)
        packed = encoder.compress(content) + encoder.flush()
    head = bytes([kind]) + varint(len(packed)) + varint(len(content) if claimed is None else claimed)
    return head + struct.pack("<I", binascii.crc32(packed, binascii.crc32(head))) + packed


def recording(k, has_steps):
    input_ = varint(1) + b"f" + varint(9) + struct.pack("<QQ", k, 0) + b"\1"
    return b"\1h\1l" + varint(1) + input_ + varint(1) + varint(0) + b"\0" + bytes([has_steps])


def partial(host, rows, steps=0, blocks=()):
    ledger = varint(1 + (1_000_000 << 1)) + b"\1\0\0\0" + varint(0) * 2 + b"\0" + signed(0)
    ledger += (varint(1) + signed(0) + varint(steps - 1) if steps else varint(0)) + varint(1) + recording(host, int(bool(blocks)))
    return b"TFPROFPT" + struct.pack("<I", 2) + section(1, ledger) + b"".join(blocks) + section(3, rows) + b"\0"


def partial_rows(count, sets, stacks=0, first_line=1):
    """Rows without sums, each with one of some sets of steps and, if there are stacks, with the deepest."""
    texts = varint(1 + count) + varint(0) + b"".join(varint(8) + b"n%07d" % k for k in range(count))
    frames = varint(2) + b"".join(varint(0) * 3 + signed(line) + signed(0) for line in (first_line, 3)) if stacks else varint(0)
    paths = varint(stacks) + b"".join(varint(k + 1) + varint(int(k > 0)) for k in range(stacks))
    ranges = lambda size: varint(size) + (signed(2) + varint(0)) * size
    out = texts + frames + paths + varint(1 + len(sets)) + varint(0) + b"".join(map(ranges, sets)) + varint(0) * 2
    stack = varint(stacks + 1 if stacks else 0)
    row = lambda k: bytes([0]) + varint(k + 1) + varint(0) * 7 + stack + signed(0) + b"\0" + varint(0) * 3 + b"\0" * 3 + varint(1 + k % len(sets) if sets else 0) * 2 + varint(0)
    return out + varint(count) + b"".join(map(row, range(count)))


def partial_sets(n):
    """Rows that ran in the same many steps."""
    return {"x.part": partial(0, partial_rows(n, [n]))}, ["op", "x.part"]


def partial_unions(n):
    """Two hosts whose rows ran in other sets of many steps."""
    files = {"x.part": partial(0, partial_rows(n, [n, n - 1])), "y.part": partial(1, partial_rows(n, [n - 2, n - 3, n - 4]))}
    return files, ["merge", "x.part", "y.part", "--outfile=z.part"]


def partial_stacks(n):
    """Two hosts whose rows have other deep stacks."""
    files = {"x.part": partial(0, partial_rows(n, (), n)), "y.part": partial(1, partial_rows(n, (), n, 2))}
    return files, ["merge", "x.part", "y.part", "--outfile=z.part"]


def partial_claim(n):
    """A block that claims to hold many steps, which nobody unpacks."""
    noise = b"".join(struct.pack("<Q", (k + 1) * 0x9E3779B97F4A7C15 % (1 << 64)) for k in range(n // 8))
    steps = 200 * n // 9
    return {"x.part": partial(0, partial_rows(1, ()), steps, [section(2, b"", 200 * n, noise)])}, ["op", "x.part"]


CASES = {
    one_text_many_events: 1000, long_ids: 1000, repeated_stats: 2000, long_module: 1000, many_lines: 2000, program_calls: 1000, program_tuple: 1000,
    program_rank: 1000, program_convolution: 4000, program_stacks: 300, case_branches: 500, debug_traces: 500, torch_python_loop: 1000, torch_one_correlation: 1000,
    partial_sets: 1000, partial_unions: 500, partial_stacks: 500, partial_claim: 20000,
}  # fmt: skip
