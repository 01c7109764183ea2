#!/usr/bin/env python3
"""Generates deterministic inputs for benchmarks.

Writes, into --out DIR:
  graph.pb      GraphDef
  run_N.pb      RunMetadata of step N (one file a step)
  oplog.pb      OpLogProto (types, float_ops, code traces)
  case.json     what was made (counts, bytes, settings)
and, with --pbtxt, the same as .pbtxt (needs the TensorFlow protos on the path;
give --tf-site DIR, a site-packages that holds tensorflow/).

The wire format is written by hand: no TensorFlow is needed for the binary
form, and 1M nodes take about a minute.

Shapes (--shape):
  model      towers of residual cells: 20 nodes a cell, forward + gradients +
             optimizer, name scopes ~6 deep, at most --chain cells in a row
  chain      N nodes in one line (node i reads node i-1)
  fanin      one node that reads all the others
  dense      layers of --width nodes, each reading the whole layer before it
  flat       N nodes, no '/' in any name
  deepscope  N nodes at the bottom of --depth nested name scopes
"""

import argparse
import json
import os
import random
import time

# ---------------------------------------------------------------- wire format


def _varint(n):
    if n < 0:
        n += 1 << 64
    out = bytearray()
    while n > 127:
        out.append((n & 127) | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


_SMALL = [_varint(i) for i in range(1 << 15)]


def vi(n):
    return _SMALL[n] if 0 <= n < 32768 else _varint(n)


def tag(field, wire):
    return vi(field << 3 | wire)


def i_(field, n):
    """varint field (proto3: zero is left out)."""
    return tag(field, 0) + vi(n) if n else b""


def s_(field, b):
    """length-delimited field."""
    return tag(field, 2) + vi(len(b)) + b


def shape_pb(dims):
    return b"".join(s_(2, i_(1, d)) for d in dims)


def attr(key, value):
    return s_(5, s_(1, key) + s_(2, value))


DT_FLOAT, DT_INT32 = 1, 3
T_FLOAT = attr(b"T", i_(6, DT_FLOAT))
DTYPE_FLOAT = attr(b"dtype", i_(6, DT_FLOAT))


def out_shapes(*shapes):
    return attr(b"_output_shapes", s_(1, b"".join(s_(7, shape_pb(d)) for d in shapes)))


# ------------------------------------------------------------- node templates

CPU = b"/job:localhost/replica:0/task:0/device:CPU:0"
GPUS = [b"/job:localhost/replica:0/task:0/device:GPU:%d" % k for k in range(2)]


class T:
    """One node of a cell: everything that does not depend on the cell."""

    __slots__ = ("name", "op", "ins", "gpu", "dims", "flops", "types", "attrs", "grad", "stats", "out", "dur")

    def __init__(self, name, op, ins, gpu, dims, flops=0, types=(), attrs=b"", grad=False, dur=8):
        self.name, self.op, self.ins, self.gpu = name, op, ins, gpu
        self.dims, self.flops, self.types, self.grad, self.dur = dims, flops, types, grad, dur
        self.attrs = attrs + out_shapes(dims)
        n = 4
        for d in dims:
            n *= d
        alloc = b"GPU_0_bfc" if gpu else b"cpu"
        mem = s_(1, alloc) + i_(2, n) + i_(3, n) + i_(4, n)
        # NodeExecStats pieces which never change: output tensor, memory_stats
        adesc = i_(1, n) + i_(2, (n + 255) // 256 * 256) + s_(3, alloc) + i_(4, 7) + i_(5, 1)
        self.out = (i_(1, DT_FLOAT) + s_(2, shape_pb(dims)), adesc)
        ms = i_(1, n // 2) + i_(3, n if op == b"VariableV2" else 0)
        self.stats = (mem, n, s_(12, ms) if ms else b"")


def cell_templates(conv):
    b, h = 32, 256
    if conv:
        y, w, mm = (b, 28, 28, 64), (3, 3, 64, 64), b"Conv2D"
        fl = 2 * b * 28 * 28 * 64 * 3 * 3 * 64
        a = (
            attr(b"strides", s_(1, s_(3, b"\x01\x01\x01\x01")))
            + attr(b"padding", s_(2, b"SAME"))
            + attr(b"data_format", s_(2, b"NHWC"))
            + T_FLOAT
        )
        g1, g2, ga = b"Conv2DBackpropInput", b"Conv2DBackpropFilter", a
    else:
        y, w, mm = (b, h), (h, h), b"MatMul"
        fl = 2 * b * h * h
        a = attr(b"transpose_a", b"\x28\x00") + attr(b"transpose_b", b"\x28\x00") + T_FLOAT
        g1, g2 = b"MatMul", b"MatMul_1"
        ga = attr(b"transpose_a", b"\x28\x01") + attr(b"transpose_b", b"\x28\x00") + T_FLOAT
    k = b"conv" if conv else b"dense"
    n = 1
    for d in y:
        n *= d
    var = lambda d: (
        attr(b"shape", s_(7, shape_pb(d)))
        + DTYPE_FLOAT
        + attr(b"container", s_(2, b""))
        + attr(b"shared_name", s_(2, b""))
    )
    tv = (b"_trainable_variables",)
    mg = mm + b"_grad/"
    bop = mm if not conv else None
    # inputs: P = previous cell's output, G = next cell's gradient, int = node of this cell
    return [
        T(k + b"/kernel/Initializer/random_uniform", b"RandomUniform", (), False, w, attrs=DTYPE_FLOAT, dur=30),
        T(k + b"/kernel", b"VariableV2", (), True, w, types=tv, attrs=var(w), dur=2),
        T(k + b"/kernel/Assign", b"Assign", (1, 0), True, w, attrs=T_FLOAT, dur=6),
        T(k + b"/kernel/read", b"Identity", (1,), True, w, attrs=T_FLOAT, dur=2),
        T(k + b"/" + mm, mm, ("P", 3), True, y, flops=fl, attrs=a, dur=120 if conv else 40),
        T(k + b"/bias", b"VariableV2", (), True, (y[-1],), types=tv, attrs=var((y[-1],)), dur=2),
        T(k + b"/bias/read", b"Identity", (5,), True, (y[-1],), attrs=T_FLOAT, dur=2),
        T(k + b"/BiasAdd", b"BiasAdd", (4, 6), True, y, flops=n, attrs=T_FLOAT),
        T(k + b"/Reshape/shape", b"Const", (), False, (len(y),), attrs=attr(b"dtype", i_(6, DT_INT32)), dur=1),
        T(k + b"/Reshape", b"Reshape", (7, 8), True, y, attrs=T_FLOAT, dur=2),
        T(k + b"/Relu", b"Relu", (9,), True, y, attrs=T_FLOAT),
        T(k + b"/dropout/keep_prob", b"Const", (), False, (), attrs=DTYPE_FLOAT, dur=1),
        T(k + b"/dropout/mul", b"Mul", (10, 11), True, y, flops=n, attrs=T_FLOAT),
        T(k + b"/add", b"Add", (12, "P"), True, y, flops=n, attrs=T_FLOAT),
        T(k + b"/Relu_grad/ReluGrad", b"ReluGrad", ("G", 10), True, y, attrs=T_FLOAT, grad=True),
        T(k + b"/BiasAdd_grad/BiasAddGrad", b"BiasAddGrad", (14,), True, (y[-1],), attrs=T_FLOAT, grad=True),
        T(k + b"/" + mg + g1, bop or b"Conv2DBackpropInput", (14, 3), True, y, flops=fl, attrs=ga, grad=True, dur=90),
        T(
            k + b"/" + mg + g2,
            bop or b"Conv2DBackpropFilter",
            (14, "P"),
            True,
            w,
            flops=fl,
            attrs=ga,
            grad=True,
            dur=90,
        ),
        T(k + b"/dropout/mul_grad/Mul", b"Mul", (14, 11), True, y, flops=n, attrs=T_FLOAT, grad=True),
        T(k + b"/kernel/ApplyAdam", b"ApplyAdam", (1, 17, "^C"), True, w, attrs=T_FLOAT, dur=20),
    ]


def plain_template(op=b"Add"):
    return T(b"", op, (), True, (32, 256), flops=8192, attrs=T_FLOAT)


# --------------------------------------------------------------------- graphs


def build_model(n, chain):
    """-> names, template index, inputs (wire), templates"""
    tpl = cell_templates(True) + cell_templates(False)
    size = 20
    names, kinds, wires = [], [], []
    cells = max(1, n // size)
    towers = (cells + chain - 1) // chain
    per = (cells + towers - 1) // towers
    left = n
    for t in range(towers):
        prev_out, scopes = None, []
        for c in range(min(per, cells - t * per)):
            scopes.append(b"tower_%d/stage_%d/block_%d/layer_%d/" % (t, c // 48, c // 6 % 8, c % 6))
        for c, sc in enumerate(scopes):
            base = 0 if c % 2 == 0 else size
            full = [(b"gradients/" + sc + x.name) if x.grad else (sc + x.name) for x in tpl[base : base + size]]
            nb = size - base  # the next cell's kind is the other one
            nxt = scopes[c + 1] + tpl[nb + 16].name if c + 1 < len(scopes) else None
            for j in range(size):
                x = tpl[base + j]
                w = b""
                for k in x.ins:
                    if k == "P":
                        if prev_out:
                            w += s_(3, prev_out)
                    elif k == "G":
                        w += s_(3, b"gradients/" + nxt if nxt else full[13])
                    elif k == "^C":
                        w += s_(3, b"^" + full[15])
                    else:
                        w += s_(3, full[k] + b":0" if k == 0 else full[k])
                names.append(full[j])
                kinds.append(base + j)
                wires.append(w)
                left -= 1
            prev_out = full[13]
    for q in range(left):  # remainder: plain constants
        names.append(b"misc/Const_%d" % q)
        kinds.append(8)
        wires.append(b"")
    return names, kinds, wires, tpl


def build_shape(shape, n, width, depth):
    tpl = [plain_template(o) for o in (b"Add", b"Mul", b"Relu", b"Identity", b"MatMul")]
    if shape == "chain":
        names = [b"chain/op_%07d" % i for i in range(n)]
        wires = [s_(3, names[i - 1]) if i else b"" for i in range(n)]
    elif shape == "fanin":
        names = [b"in/op_%07d" % i for i in range(n - 1)] + [b"out/AddN"]
        wires = [b""] * (n - 1) + [b"".join(s_(3, x) for x in names[:-1])]
    elif shape == "dense":
        names = [b"layer_%d/op_%d" % (i // width, i % width) for i in range(n)]
        layer = {}
        wires = []
        for i in range(n):
            l = i // width
            if l and l not in layer:
                layer[l] = b"".join(s_(3, x) for x in names[(l - 1) * width : l * width])
            wires.append(layer[l] if l else b"")
    elif shape == "flat":
        names = [b"op_%07d" % i for i in range(n)]
        wires = [s_(3, names[i - 1]) if i % 16 else b"" for i in range(n)]
    elif shape == "deepscope":
        scope = b"/".join(b"s%d" % i for i in range(depth))
        names = [b"g%d/" % (i % 10) + scope + b"/op_%07d" % i for i in range(n)]
        wires = [s_(3, names[i - 1]) if i % 16 else b"" for i in range(n)]
    else:
        raise SystemExit("unknown shape " + shape)
    return names, [i % len(tpl) for i in range(n)], wires, tpl


# ---------------------------------------------------------------------- files


def write_graph(path, names, kinds, wires, tpl):
    ops = [s_(2, x.op) for x in tpl]
    dev = [s_(4, GPUS[0] if x.gpu else CPU) for x in tpl]
    att = [x.attrs for x in tpl]
    with open(path, "wb") as f:
        buf = []
        for i, nm in enumerate(names):
            k = kinds[i]
            body = b"\x0a" + vi(len(nm)) + nm + ops[k] + wires[i] + dev[k] + att[k]
            buf.append(b"\x0a" + vi(len(body)) + body)
            if len(buf) == 20000:
                f.write(b"".join(buf))
                buf = []
        f.write(b"".join(buf))
        f.write(s_(4, i_(1, 1882)))


def wire_inputs(w):
    """the names in a run of `input` fields, as timeline_label has them: b"a, b" """
    out, i = [], 0
    while i < len(w):
        i += 1
        n = sh = 0
        while True:
            c = w[i]
            i += 1
            n |= (c & 127) << sh
            sh += 7
            if c < 128:
                break
        out.append(w[i : i + n])
        i += n
    return b", ".join(out)


def write_run(path, step, names, kinds, tpl, rng, labels=None, shuffle=0):
    """One RunMetadata: CPU:0, GPU:0..1 and, for each GPU, stream:all + one stream."""
    t0 = 1_700_000_000_000_000 + step * 60_000_000
    clock = [t0, t0 + 3, t0 + 5]
    in_use = [0, 1 << 28, 1 << 28]
    dev = [[], [], []]
    stream = [[], []]
    ptr = 0x7F0000000000
    half = len(names) // 2
    n_stats = 0
    order = list(range(len(names)))
    if shuffle:  # executors run nodes out of graph order: permute inside windows
        for w in range(0, len(order), shuffle):
            part = order[w : w + shuffle]
            rng.shuffle(part)
            order[w : w + shuffle] = part
    for i in order:
        nm = names[i]
        x = tpl[kinds[i]]
        g = 0 if not x.gpu else (1 if i < half else 2)
        start = clock[g]
        d = x.dur + int(rng.random() * 6)
        clock[g] = start + d + 1
        sched = d // 4 + 1
        mem, nb, ms = x.stats
        ptr += (nb + 255) // 256 * 256
        in_use[g] = (in_use[g] + nb) % (1 << 34)
        if g:
            mem = mem + i_(5, in_use[g]) + s_(6, i_(1, start) + i_(2, nb)) + s_(6, i_(1, start + d) + i_(2, -nb))
        od, ad = x.out
        out = s_(3, od + s_(4, ad + i_(6, ptr)))
        nf = b"\x0a" + vi(len(nm)) + nm
        op_end = sched if g else d
        body = (
            nf
            + b"\x10"
            + vi(start)
            + b"\x18\x01"
            + b"\x20"
            + vi(op_end)
            + b"\x28"
            + vi(op_end + 1)
            + s_(6, mem)
            + s_(7, out)
            + s_(8, nm + b" = " + x.op + b"(" + (labels[i] if labels else b"") + b")")
            + i_(9, start - 1)
            + i_(10, 1 + i % 4)
            + ms
        )
        dev[g].append(b"\x12" + vi(len(body)) + body)
        n_stats += 1
        if g:
            lab = nm + b":" + x.op
            body = (
                b"\x0a"
                + vi(len(lab))
                + lab
                + b"\x10"
                + vi(start + 1)
                + b"\x20"
                + vi(d)
                + b"\x28"
                + vi(d)
                + s_(8, lab)
                + i_(9, start)
            )
            stream[g - 1].append(b"\x12" + vi(len(body)) + body)
            n_stats += 2
    parts = [(CPU, dev[0])]
    for k in range(2):
        if dev[k + 1]:
            parts.append((GPUS[k], dev[k + 1]))
            parts.append((GPUS[k] + b"/stream:all", stream[k]))
            parts.append((GPUS[k] + b"/stream:%d" % (13 + k), stream[k]))
    heads = []
    total = 0
    for name, rows in parts:
        h = s_(1, name)
        ln = len(h) + sum(map(len, rows))
        h = b"\x0a" + vi(ln) + h
        heads.append((h, rows))
        total += len(h) + ln - len(s_(1, name))
    with open(path, "wb") as f:
        f.write(b"\x0a" + vi(total))
        for h, rows in heads:
            f.write(h)
            f.write(b"".join(rows))
    return n_stats


def code_stacks(frames, distinct, rng):
    """`distinct` call stacks which share prefixes; -> (list of CodeDef bytes, strings)"""
    strings = {}

    def sid(s):
        return strings.setdefault(s, len(strings) + 1)

    files = [
        "/usr/lib/python3/site-packages/tensorflow/python/framework/ops.py",
        "/usr/lib/python3/site-packages/tensorflow/python/ops/math_ops.py",
        "/usr/lib/python3/site-packages/tensorflow/python/ops/gen_math_ops.py",
        "/home/user/project/train.py",
        "/home/user/project/model/network.py",
        "/home/user/project/model/layers.py",
    ] + ["/home/user/project/model/block_%d.py" % i for i in range(20)]

    def frame(path, line, fn, text):
        return s_(1, i_(2, line) + i_(5, max(1, line - 7)) + i_(6, sid(path)) + i_(7, sid(fn)) + i_(8, sid(text)))

    common = max(1, frames * 2 // 5)
    tail = max(1, frames // 6)
    mid = max(0, frames - common - tail)
    prefix = [
        frame(files[3 + i % 2], 100 + 11 * i, "stage_%d" % i, "return self._stage_%d(x, training)" % i)
        for i in range(common)
    ]
    stacks = []
    for d in range(distinct):
        m = []
        for i in range(mid):
            # a tree of call sites: frame i depends on the high digits of d only
            site = d >> max(0, mid - 1 - i)
            f = files[5 + site % (len(files) - 5)]
            m.append(
                frame(
                    f,
                    20 + (site * 7 + i) % 900,
                    "build_layer_%d" % (site % 97),
                    "x = self.layer_%d(x, name='l%d')" % (site % 97, i),
                )
            )
        e = [
            frame(files[i % 3], 300 + i * 17, "create_op_%d" % i, "ret = _op_impl_%d(inputs, name=name)" % i)
            for i in range(tail)
        ]
        stacks.append(b"".join(prefix + m + e))
    return stacks, strings


def write_oplog(path, names, kinds, tpl, frames, distinct, unique, rng):
    stacks, strings = code_stacks(frames, distinct, rng) if frames else ([b""], {})
    types = [b"".join(s_(3, y) for y in x.types) for x in tpl]
    flops = [i_(2, x.flops) for x in tpl]
    with open(path, "wb") as f:
        buf = []
        for i, nm in enumerate(names):
            k = kinds[i]
            st = stacks[i % len(stacks) if unique else (k * 37 + (i // 20) % 40 * 41) % len(stacks)]
            body = s_(1, nm) + flops[k] + types[k] + (s_(4, st) if st else b"")
            buf.append(b"\x0a" + vi(len(body)) + body)
            if len(buf) == 10000:
                f.write(b"".join(buf))
                buf = []
        f.write(b"".join(buf))
        for s, i in strings.items():
            f.write(s_(2, i_(1, i) + s_(2, s.encode())))


def to_text(out, tf_site):
    import sys
    import types

    if tf_site:  # only the protos: do not run tensorflow/__init__.py
        sys.path.insert(0, tf_site)
        m = types.ModuleType("tensorflow")
        m.__path__ = [os.path.join(tf_site, "tensorflow")]
        sys.modules["tensorflow"] = m
    from google.protobuf import text_format
    from tensorflow.core.framework import graph_pb2
    from tensorflow.core.profiler import tfprof_log_pb2
    from tensorflow.core.protobuf import config_pb2

    for fn in sorted(os.listdir(out)):
        if not fn.endswith(".pb"):
            continue
        m = {"graph": graph_pb2.GraphDef, "oplog": tfprof_log_pb2.OpLogProto}.get(fn[:-3], config_pb2.RunMetadata)()
        with open(os.path.join(out, fn), "rb") as f:
            m.ParseFromString(f.read())
        with open(os.path.join(out, fn + "txt"), "w") as f:
            f.write(text_format.MessageToString(m))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", required=True)
    p.add_argument("--nodes", type=int, default=1000)
    p.add_argument("--steps", type=int, default=1, help="RunMetadata files (0: none)")
    p.add_argument("--shape", default="model", choices=["model", "chain", "fanin", "dense", "flat", "deepscope"])
    p.add_argument("--chain", type=int, default=200, help="model: most cells in a row")
    p.add_argument("--width", type=int, default=50, help="dense: nodes a layer")
    p.add_argument("--depth", type=int, default=500, help="deepscope: nested scopes")
    p.add_argument("--frames", type=int, default=30, help="frames a code trace (0: none)")
    p.add_argument("--stacks", type=int, default=800, help="distinct call stacks")
    p.add_argument("--unique-stacks", action="store_true", help="spread nodes over all the stacks in turn")
    p.add_argument(
        "--shuffle",
        type=int,
        default=0,
        metavar="W",
        help="permute the node stats inside windows of W (0: graph order, which flatters a reader that guesses "
        "the next node)",
    )
    p.add_argument(
        "--label-inputs",
        action="store_true",
        help="input names in timeline_label (timeline.py's dataflow arrows are made from them)",
    )
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--pbtxt", action="store_true")
    p.add_argument("--tf-site", default="")
    a = p.parse_args()
    t = time.time()
    os.makedirs(a.out, exist_ok=True)
    rng = random.Random(a.seed)
    if a.shape == "model":
        names, kinds, wires, tpl = build_model(a.nodes, a.chain)
    else:
        names, kinds, wires, tpl = build_shape(a.shape, a.nodes, a.width, a.depth)
    edges = sum(1 for w in wires if w)
    write_graph(os.path.join(a.out, "graph.pb"), names, kinds, wires, tpl)
    labels = [wire_inputs(w) for w in wires] if a.label_inputs else None
    del wires
    stats = 0
    for s in range(a.steps):
        stats = write_run(os.path.join(a.out, "run_%d.pb" % s), s, names, kinds, tpl, rng, labels, a.shuffle)
    write_oplog(os.path.join(a.out, "oplog.pb"), names, kinds, tpl, a.frames, a.stacks, a.unique_stacks, rng)
    if a.pbtxt:
        to_text(a.out, a.tf_site)
    size = {f: os.path.getsize(os.path.join(a.out, f)) for f in sorted(os.listdir(a.out)) if not f.endswith(".json")}
    info = dict(vars(a), nodes=len(names), nodes_with_inputs=edges, stats_per_step=stats, bytes=size)
    info.pop("out"), info.pop("tf_site")
    with open(os.path.join(a.out, "case.json"), "w") as f:
        json.dump(info, f, indent=1)
    print(
        json.dumps(
            {
                "case": os.path.basename(os.path.abspath(a.out)),
                "nodes": len(names),
                "stats": stats,
                "mb": round(sum(size.values()) / 1e6, 1),
                "seconds": round(time.time() - t, 1),
            }
        )
    )


if __name__ == "__main__":
    main()
