"""Random small models, random questions about them, and what the real tfprof answers.

  random_cases.py --seed S --models N --questions Q --out DIR
                  [--kinds K,K...] [--jobs J] [--report FILE]

DIR gets one directory per model, random_<seed>_<index>, in the layout of the corpus:
inputs, cases.json, golden/.  The same seed gives the same files; model I and its question
number J depend on the seed, I, J and --kinds only, not on N, Q or the number of jobs.

Reports in text begin at their `Profile:` line; standard output and error are not kept.
A question that makes no sense, or that kills tfprof, is tagged `rude`, and the end of its
name says why.
"""

import argparse
import collections
import gc
import gzip
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time

import oracle
from casekit import ALL, CHECKERS, METRICS, ORDERS, SELECTS, Cases, metas

ROOT = "_TFProfRoot"
INT64_MAX = (1 << 63) - 1
SECONDS = 20  # of processor time; a question that takes longer is left out
PATIENCE = 120  # seconds on the clock; then the machine is to blame: ask again
MEMORY = 8 << 30
# fmt: off
KINDS = {  # kind: weight
    'scope': 20, 'graph': 16, 'op': 18, 'code': 18, 'scope_timeline': 4,
    'graph_timeline': 7, 'code_timeline': 4, 'pprof': 6, 'serialize': 3, 'advise': 4,
    'chrome': 6, 'refused': 1,
}
CODE_KINDS = ('code', 'code_timeline', 'pprof')
# How often a model has each trait.
TRAITS = {
    'odd_names': .3, 'slashes': .35, 'gradients': .5, 'empty_graph': .02,
    'cycles': .35, 'missing_inputs': .15, 'odd_inputs': .05, 'twice_defined': .2,
    'attrs': .4, 'odd_shapes': .5, 'overflow': .05, 'library': .1,
    'no_runs': .1, 'gpu': .6, 'odd_devices': .35, 'run_only': .5, 'no_start': .3,
    'negative_times': .06, 'same_step': .3, 'no_step_stats': .05, 'memory': .75,
    'no_log': .07, 'traces': .85, 'empty_traces': .05, 'unknown_ids': .04, 'odd_log': .3,
}
PIECES = ['a', 'b', 'c', 'ab', 'a_b', 'A', 'w', 'x1', 'x9', 'x10', 'conv', 'conv_1',
          'BatchNorm', 'layer.0', 't-1', '_u', 'loss', 'train', 'save', 'MatMul']
ODD_PIECES = ['été', '日本', '\U0001f600', 'sp ace', 'q"uote', 'back\\slash', 'tab\t', '<x>',
              '(p)', '[0]', 'a+b', 'a|b', '100%', 'two\nlines', '\x01', "it's", 'x:0', '^a',
              'a' * 60]
OPS = ['VariableV2', 'Variable', 'VarHandleOp', 'Placeholder', 'Const', 'MatMul', 'Conv2D',
       'Add', 'Relu', 'Identity', 'NoOp', 'BatchNorm', 'FusedBatchNorm',
       'Conv2DBackpropFilter', 'ResourceSparseApplyAdagradV2']
ODD_OPS = ['', 'Opération', 'A.B', 'A|B', 'a', 'Const ', 'matmul']
CPUS = ['/job:localhost/replica:0/task:0/device:CPU:0', '/cpu:0', '/device:cpu:12',
        '/job:ps/replica:0/task:1/device:CPU:0']
GPUS = ['/job:localhost/replica:0/task:0/device:GPU:0', '/gpu:0', '/device:GPU:1',
        '/job:worker/task:2/gpu:3', '/DEVICE:gPu:1']
STREAMS = ['/stream:all', '/stream:all', '/stream:all', '/stream:13', '/memcpy',
           '/STREAM:ALL', '/stream:all#2']
ODD_DEVICES = ['/device:TPU:0', '/device:XLA_GPU:0', '/device:XLA_CPU:0', 'gpu:0', '',
               '/cpu:0/x', '/host:CPU', '/job:a/gpu:1/cpu:0', '/device:gpu:x', '/gpu:0 ',
               '/job:été/cpu:0', '/CPU:0']
ALLOCATORS = ['cpu', 'GPU_0_bfc', 'GPU_0_bfc', 'gpu_bfc', 'cuda_host_bfc', 'myGPU', '']
# Sizes near the places where the formats change and where rounding ties are.
AMOUNTS = [0, 1, 2, 3, 7, 10, 64, 100, 256, 512, 999, 1000, 1005, 1125, 1375, 4096, 9995,
           12345, 100000, 999994, 999995, 999999, 1000000, 1125000, 2999010, 999995000,
           1000000000, 1234567890123]
TYPES = ['_trainable_variables', '_checkpoint_variables', 'my_type', 'my_type_2', 'Const',
         '/device:gpu:0', 'тип', 'a|b', '']
FILES = ['/model/main.py', '/model/net/layers.py', '/other/main.py', '/model/été.py',
         '/model/日本/\U0001f600.py', '/model/dir.py/', 'noext', '.hidden', 'a.b.c.py', '',
         '/usr/lib/python3.11/site-packages/lib/nn.py']
FUNCTIONS = ['main', 'build', '<module>', '<lambda>', 'f', '', 'nineteen_chars_fn__',
             'exactly_twenty_chars', 'a_function_with_a_name_that_goes_on', 'é' * 9,
             'seventeen_ascii__é_and_more', 'with:colon', 'f (gradient)', 'call']


# fmt: on
def chance(rng, p):
    return rng.random() < p


def amount(rng, top=INT64_MAX):
    """A size: one of the telling ones, or any small one."""
    if chance(rng, 0.5):
        return rng.randrange(2000)
    return rng.choice([a for a in AMOUNTS if a <= top])


# ---------------------------------------------------------------- models


class Model:
    """A random GraphDef, its runs and its op log."""

    def __init__(self, rng, need_code=False):
        import tensorflow as tf
        from tensorflow.core.profiler import tfprof_log_pb2

        self.rng = rng
        self.tf1 = tf.compat.v1
        self.traits = {t for t, p in sorted(TRAITS.items()) if chance(rng, p)}
        if need_code:
            self.traits |= {"traces"}
            self.traits -= {"no_log", "empty_graph", "empty_traces", "unknown_ids"}
        self.graph = self.tf1.GraphDef()
        self.log = None if self.has("no_log") else tfprof_log_pb2.OpLogProto()
        self.names = self._names()
        self._graph()
        self.runs = []  # (step, file, RunMetadata)
        if not self.has("no_runs"):
            self._runs()
        if self.log is not None:
            self._log()

    def has(self, trait):
        return trait in self.traits

    # names

    def _names(self):
        rng = self.rng
        pieces = rng.sample(PIECES, rng.randint(3, 8))
        if self.has("odd_names"):
            pieces += rng.sample(ODD_PIECES, rng.randint(2, 5))
        stems = [rng.choice(pieces)]
        for _ in range(rng.randint(1, 6)):
            base = rng.choice(stems) + "/" if chance(rng, 0.65) else ""
            stems.append(base + rng.choice(pieces))
        names = []
        for _ in range(0 if self.has("empty_graph") else rng.choice([1, 5, 10, 15, 20, 25, 35])):
            name = rng.choice(stems)
            if chance(rng, 0.75):
                name += "/" + rng.choice(pieces)
            if chance(rng, 0.2):
                name = rng.choice([name + "_1", name + "b", name.replace("/", "_"), name.upper(), name[:-1] or name])
            if self.has("slashes") and chance(rng, 0.2):
                name = rng.choice([name.replace("/", "//", 1), name + "/", "/" + name, "//", name + "//x"])
            names.append(name)
        if self.has("odd_names") and chance(rng, 0.2):
            names.append("")
        names = list(dict.fromkeys(names))
        if self.has("gradients") and names:
            names += self._gradients(names)
        rng.shuffle(names)
        return list(dict.fromkeys(names))

    def _gradients(self, names):
        """Names read as gradients of others, and some that only look like it."""
        rng = self.rng
        forms = ["gradients/%s_grad/%s"] * 5 + [
            "train/gradients/%s_grad/%s",
            "gradients/%s_grad/x/%s",
            "mygradients/%s_grad/%s",
            "gradients/gone/%s_grad/%s",
            "gradients/%s_grad_%s",
            "gradients_1/%s_grad/%s",
            "a_grad/gradients/%s%.0s",
            "gradients/%.0s_grad/%s",
            "gradients/%s_grad/y_grad/%s",
            "gradients/gradients/%s_grad/%s",
        ]
        some = rng.sample(names, rng.randint(1, min(6, len(names))))
        return [
            rng.choice(forms) % (rng.choice(some), rng.choice(["MatMul", "x", "Sum_1", "a"]))
            for _ in range(rng.randint(1, 10))
        ]

    # graph

    def _graph(self):
        rng = self.rng
        ops = rng.sample(OPS, rng.randint(2, 7))
        if chance(rng, 0.15):
            ops.append(rng.choice(ODD_OPS))
        defined = list(self.names)
        if self.has("twice_defined") and defined:
            for _ in range(rng.randint(1, 3)):
                defined.insert(rng.randrange(len(defined) + 1), rng.choice(defined))
        for i, name in enumerate(defined):
            node = self.graph.node.add(name=name, op=rng.choice(ops))
            node.input.extend(self._inputs(defined, i))
            if chance(rng, 0.3):
                node.device = rng.choice(CPUS + GPUS)
            self._shapes(node)
            if self.has("attrs"):
                for _ in range(rng.randint(0, 3)):
                    self._attr(node.attr[rng.choice(["T", "dtype", "strides", "f", "value", "été", "_class", "N"])])
            if chance(rng, 0.1):
                node.attr["data_format"].s = rng.choice([b"NHWC", b"NCHW", b"nhwc"])
        if chance(rng, 0.5):
            self.graph.versions.producer = 22
        if self.has("library"):
            fun = self.graph.library.function.add()
            fun.signature.name = "fn"
            fun.node_def.add(name="inner", op="MatMul")

    def _inputs(self, defined, i):
        rng = self.rng
        inputs = []
        for _ in range(rng.choice([0, 0, 1, 1, 1, 2, 2, 3, 5])):
            if self.has("cycles") and chance(rng, 0.2):
                source = rng.choice(defined)  # itself and later ones too
            elif i:
                source = rng.choice(defined[:i])
            else:
                continue
            if self.has("missing_inputs") and chance(rng, 0.1):
                source = rng.choice(["ghost", source + "x", source[:-1]])
            form = rng.choice(["%s"] * 6 + ["%s:0", "%s:1", "%s:2", "^%s", "^%s"])
            inputs.append(form % source)
            if chance(rng, 0.1):
                inputs.append(inputs[-1])
        if self.has("odd_inputs") and chance(rng, 0.2) and i:
            source = rng.choice(defined[:i])
            inputs.append(
                rng.choice(
                    [
                        "",
                        "^",
                        ":0",
                        "^%s:1" % source,
                        "%s:x" % source,
                        "%s:0:1" % source,
                        "%s:-1" % source,
                        "^^" + source,
                    ]
                )
            )
        return inputs

    def _shape(self, shape):
        """Fills a TensorShapeProto; without dimensions it is a scalar's."""
        rng = self.rng
        shape.SetInParent()
        sizes = [1, 2, 3, 4, 8, 16, 64, 1000]
        if self.has("odd_shapes"):
            sizes += [0, -1, -1, 999, 65536]
            if chance(rng, 0.15):
                shape.unknown_rank = True
                if chance(rng, 0.85):
                    return
        if self.has("overflow") and chance(rng, 0.4):
            for size in rng.choice([[1 << 32, 1 << 32], [3037000500, 3037000500], [1 << 40, 3], [1 << 62], [-5, 2]]):
                shape.dim.add(size=size)
            return
        for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4])):
            dim = shape.dim.add(size=rng.choice(sizes))
            if chance(rng, 0.03):
                dim.name = "batch"

    def _shapes(self, node):
        rng = self.rng
        if chance(rng, 0.7 if node.op.startswith(("Var", "Place")) else 0.15):
            if self.has("odd_shapes") and chance(rng, 0.08):
                self._attr(node.attr["shape"])  # most likely not a shape
            else:
                self._shape(node.attr["shape"].shape)
        if chance(rng, 0.75):
            if self.has("odd_shapes") and chance(rng, 0.05):
                self._attr(node.attr["_output_shapes"])
            else:
                node.attr["_output_shapes"].list.SetInParent()
                for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
                    self._shape(node.attr["_output_shapes"].list.shape.add())

    def _attr(self, value, depth=0):
        """Fills an AttrValue of any kind."""
        rng = self.rng
        kind = rng.choice(["s", "i", "f", "b", "type", "shape", "tensor", "placeholder", "func", "list", "nothing"])
        text = [b"", b"abc", "été".encode(), b"\xff\x00raw", b"loc:@a/b", b'"q"\\\n']
        floats = [0.0, -0.0, 1.5, 1e-30, float("inf"), float("-inf"), float("nan")]
        ints = [0, 1, -1, 1 << 40, -(1 << 63), INT64_MAX]
        if kind == "s":
            value.s = rng.choice(text)
        elif kind == "i":
            value.i = rng.choice(ints)
        elif kind == "f":
            value.f = rng.choice(floats)
        elif kind == "b":
            value.b = chance(rng, 0.5)
        elif kind == "type":
            value.type = rng.choice([0, 1, 3, 7, 101])
        elif kind == "shape":
            self._shape(value.shape)
        elif kind == "tensor":
            self._tensor(value.tensor, text, floats)
        elif kind == "placeholder":
            value.placeholder = "later"
        elif kind == "func":
            value.func.name = "fn"
            if depth < 2:
                self._attr(value.func.attr["inner"], depth + 1)
        elif kind == "list":
            for _ in range(rng.randint(0, 2)):
                value.list.s.append(rng.choice(text))
                value.list.i.extend(rng.sample(ints, 2))
                value.list.f.append(rng.choice(floats))
                value.list.b.append(True)
                value.list.type.append(rng.choice([1, 9]))
                self._shape(value.list.shape.add())
                self._tensor(value.list.tensor.add(), text, floats)
                value.list.func.add(name="g")
            value.list.SetInParent()

    def _tensor(self, tensor, text, floats):
        rng = self.rng
        tensor.dtype = rng.choice([1, 7, 3])
        tensor.tensor_shape.dim.add(size=rng.randint(0, 4))
        if tensor.dtype == 1:
            tensor.float_val.extend(rng.sample(floats, 2))
        elif tensor.dtype == 7:
            tensor.string_val.extend(rng.sample(text, 2))
        else:
            tensor.tensor_content = bytes(rng.randrange(256) for _ in range(8))

    # runs

    def _runs(self):
        rng = self.rng
        self.devices = [rng.choice(CPUS)] if chance(rng, 0.9) else []
        if self.has("gpu"):
            for gpu in rng.sample(GPUS, rng.choice([1, 1, 2])):
                self.devices.append(gpu)
                self.devices += [
                    gpu[max(gpu.find("/device"), 0) :] + s if chance(rng, 0.5) else gpu + s
                    for s in rng.sample(STREAMS, rng.randint(0, 4))
                ]
        if self.has("odd_devices"):
            self.devices += rng.sample(ODD_DEVICES, rng.randint(1, 4))
        # where each node has its home, so that most keep to one device
        homes = [d for d in self.devices if "/stream" not in d.lower() and "/mem" not in d]
        self.home = {n: rng.choice(homes or ["/cpu:0"]) for n in self.names}
        self.t0 = rng.choice([1, 1000, 1500000000000000])
        steps = sorted(rng.sample([0, 1, 2, 5, 7, 100, 12345, 10**10], rng.choice([1, 1, 2, 2, 3, 4])))
        for step in steps:
            self.runs.append((step, "run_meta_%d" % step, self._run()))
        if self.has("same_step"):
            step = rng.choice(steps)
            self.runs.append((step, "run_meta_%d_again" % step, self._run()))
        if self.has("no_step_stats"):
            meta = self.tf1.RunMetadata()
            if chance(rng, 0.5):
                meta.step_stats.SetInParent()
            else:
                meta.cost_graph.node.add(name="a")
            self.runs.append((9, "run_meta_9", meta))

    def _run(self):
        rng = self.rng
        meta = self.tf1.RunMetadata()
        meta.step_stats.SetInParent()
        devices = [d for d in self.devices if chance(rng, 0.9)]
        if chance(rng, 0.1) and devices:
            devices.append(rng.choice(devices))
        nodes = {n.name: n for n in self.graph.node}
        quiet = {n for n in self.names if chance(rng, 0.2)}
        for device in devices:
            stats = meta.step_stats.dev_stats.add(device=device)
            aside = device not in self.home.values()
            for name in self.names:
                if name in quiet or not chance(rng, 0.5 if aside else 0.95 if self.home[name] == device else 0.04):
                    continue
                for _ in range(rng.choice([1] * 8 + [2, 3, 4])):
                    self._record(stats, device, name, nodes[name].op, nodes[name].input, aside)
            if self.has("run_only"):
                for _ in range(rng.randint(0, 4)):
                    some = rng.choice(self.names) if self.names else "a"
                    name = rng.choice(
                        [
                            "_arg_x_0_0",
                            "_SINK",
                            "_SOURCE",
                            "RecvTensor",
                            "fused/" + some,
                            "edge_5_%s:MEMCPYHtoD" % some,
                            "xMEMCPYy",
                            some + "/_3",
                            some.split("/")[0],
                            "_retval_y_0_0",
                            "memcpy",
                        ]
                    )
                    self._record(stats, device, name, "Op", [], aside)
        return meta

    def _record(self, stats, device, name, op, inputs, aside):
        rng = self.rng
        s = stats.node_stats.add()
        s.node_name = name
        if chance(rng, 0.6 if aside else 0.04):
            s.node_name += rng.choice([":" + op, ":%s:2" % op, ":"])
        start = self.t0 + 50 * rng.randrange(60) + rng.choice([0, 0, 0, 1, 7])
        spent = rng.choice([0, 1, 2, 5, 10, 50, 100, 350, 999, 1000, 1500, 20000, 1000000])
        if self.has("no_start") and chance(rng, 0.1):
            start = rng.choice([0, 0, -5])
        if self.has("negative_times") and chance(rng, 0.15):
            spent = -rng.choice([1, 3, 40])
        s.all_start_micros = start
        s.op_start_rel_micros = rng.choice([0, 1, 2])
        s.op_end_rel_micros = spent
        s.all_end_rel_micros = spent + rng.choice([0, 0, 1, 5])
        s.scheduled_micros = start - 2
        s.thread_id = rng.randrange(4)
        if chance(rng, 0.1):
            s.all_start_nanos = start * 1000
        known = [i.split(":")[0] if chance(rng, 0.7) else i for i in inputs]
        if known and chance(rng, 0.1):
            known[0] += "/_12"
        s.timeline_label = rng.choice(
            ["%s = %s(%s)" % (name, op, ", ".join(known))] * 7
            + [
                "",
                "no label",
                "%s:%s#id=1#" % (name, op),
                "kernel@@%s:%s#id=1" % (name, op),
                "kernel@@%s#" % name,
                "#x@@y",
                "a = b = %s((x), %s)" % (op, name),
            ]
        )
        if self.has("memory") and (not aside or chance(rng, 0.2)):
            self._memory(s, start)

    def _memory(self, s, start):
        rng = self.rng
        for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
            mem = s.memory.add(allocator_name=rng.choice(ALLOCATORS))
            mem.total_bytes = amount(rng)
            mem.peak_bytes = amount(rng)
            mem.live_bytes = amount(rng) if chance(rng, 0.95) else -amount(rng, 5000)
            mem.allocator_bytes_in_use = rng.choice([0, 4096, 6000000, 12000000, amount(rng)])
            for _ in range(rng.choice([0, 1, 2, 3])):
                mem.allocation_records.add(
                    alloc_micros=max(start, 0) + rng.choice([-100, 0, 1, 50, 400, 2000]),
                    alloc_bytes=rng.choice([512, 1000000, 2999010, 2999010, 6000000, -512, -1000000]),
                )
        for slot in range(rng.choice([0, 1, 1, 1, 2, 3])):
            out = s.output.add(slot=slot if chance(rng, 0.9) else rng.choice([0, 7, -1]))
            if chance(rng, 0.05):
                continue
            desc = out.tensor_description
            desc.SetInParent()
            if chance(rng, 0.8):
                desc.dtype = rng.choice([1, 3, 9])
                self._shape(desc.shape)
            if chance(rng, 0.9):
                desc.allocation_description.requested_bytes = amount(rng)
                desc.allocation_description.allocated_bytes = amount(rng)
                desc.allocation_description.allocator_name = rng.choice(ALLOCATORS)
                desc.allocation_description.ptr = rng.choice([0, 4096, (1 << 64) - 1])
        if chance(rng, 0.4):
            s.memory_stats.SetInParent()
            s.memory_stats.temp_memory_size = amount(rng)
            s.memory_stats.persistent_memory_size = amount(rng)
            if chance(rng, 0.2):
                s.memory_stats.device_temp_memory_size = 99
                s.memory_stats.device_persistent_memory_size = 98
                s.memory_stats.persistent_tensor_alloc_ids.append(5)

    # op log

    def _log(self):
        rng = self.rng
        frames = self._frames() if self.has("traces") or self.has("empty_traces") else None
        names = list(self.names)
        for _, _, meta in self.runs:  # nodes that only the run knows
            names += [
                s.node_name for d in meta.step_stats.dev_stats for s in d.node_stats if s.node_name not in self.names
            ][:3]
        rng.shuffle(names)
        for name in names:
            for _ in range(rng.choice([0] + [1] * 9 + [2] * self.has("odd_log"))):
                entry = self.log.log_entries.add(name=name)
                if chance(rng, 0.5):
                    entry.float_ops = amount(rng)
                    if self.has("odd_log") and chance(rng, 0.15):
                        entry.float_ops *= -1
                if chance(rng, 0.3):
                    entry.types.extend(rng.choice(TYPES) for _ in range(rng.randint(1, 3)))
                if frames and chance(rng, 0.9):
                    entry.code_def.SetInParent()
                    if self.has("traces") and chance(rng, 0.97):
                        entry.code_def.traces.extend(rng.choice(frames))
        if self.has("odd_log"):
            self.log.log_entries.add(name="nobody", float_ops=5, types=["my_type"])

    def _frames(self):
        """Call stacks that share beginnings; some are the beginning of others."""
        rng = self.rng
        strings = ["none"] + rng.sample(FILES, rng.randint(1, 4))
        files = len(strings) - 1
        strings += rng.sample(FUNCTIONS, rng.randint(2, 6))
        functions = len(strings) - 1 - files
        strings += ["x = f(x)", "retour = été"]
        first = 0 if chance(rng, 0.8) else rng.choice([7, -3, 1 << 40])
        for i, text in enumerate(strings):
            self.log.id_to_string[i + first if i else 0] = text
        from tensorflow.core.profiler import tfprof_log_pb2

        stacks = [[]]
        for _ in range(rng.randint(2, 10)):
            base = rng.choice(stacks)
            stack = list(base[: rng.randint(0, len(base))] if chance(rng, 0.3) else base)
            for _ in range(rng.randint(1, 3)):
                trace = tfprof_log_pb2.CodeDef.Trace()
                trace.lineno = rng.choice([1, 2, 10, 20, 30, 40, 999, 100000, -1, 0])
                trace.func_start_line = rng.choice([-1, 1, 5, 0])
                trace.file_id = first + 1 + rng.randrange(files)
                trace.function_id = first + 1 + files + rng.randrange(functions)
                trace.line_id = first + len(strings) - rng.choice([1, 2])
                if self.has("unknown_ids") and chance(rng, 0.2):
                    trace.file_id = 4242
                stack.append(trace)
            stacks.append(stack)
        return stacks[1:]

    def save(self, directory):
        from google.protobuf import text_format

        files = [("graph.pb", self.graph)] + [(f, m) for _, f, m in self.runs]
        if self.log is not None:
            files.append(("tfprof_log", self.log))
        for name, message in files:
            with open(os.path.join(directory, name), "wb") as f:
                f.write(message.SerializeToString(deterministic=True))
        with open(os.path.join(directory, "graph.pbtxt"), "w") as f:
            f.write(text_format.MessageToString(self.graph))


# ---------------------------------------------------------------- the survey


class Asker(oracle.Oracle):
    """An oracle with limits, that also answers `survey`: all about a model, in one child."""

    def run(self, case):
        for _ in range(3):
            res = super().run(case)
            if res["exit"] not in ("SIGALRM", "SIGKILL"):
                return res
        raise RuntimeError("%s/%s: %s three times" % (self.root, case["name"], res["exit"]))

    def _execute(self, case):
        signal.alarm(PATIENCE)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        if case["cmd"] != "survey":
            return super()._execute(case)
        native = self._native
        native.NewProfiler(
            self._input("graph.pb", graph=True),
            self._input(case["inputs"]["op_log"]) if case["inputs"]["op_log"] else b"",
        )
        steps = []
        for item in case["inputs"]["run_meta"]:
            native.AddStep(item["step"], b"", self._input(item["file"]), b"")
            steps.append(item["step"])
        full = {
            "max_depth": 1000,
            "account_type_regexes": ALL,
            "start_name_regexes": ALL,
            "show_name_regexes": ALL,
            "output": "none",
            "min_float_ops": -INT64_MAX,
            "min_micros": -INT64_MAX,
            "min_params": -INT64_MAX,
        }
        for view, step in (
            [("op", -1), ("scope", -1), ("graph", -1)] + [("scope", s) for s in steps] + [("op", s) for s in steps[:1]]
        ):
            opts = oracle.options_proto(dict(full, step=step)).SerializeToString()
            self._keep("%s_%d" % (view, step), native.Profile(view.encode(), opts))
        try:
            self._keep("profile", native.SerializeToString())
        except IndexError:
            pass  # an input names no node
        opts = oracle.options_proto(full).SerializeToString()
        self._keep("code_-1", native.Profile(b"code", opts))  # last: it may die
        return b""

    def _keep(self, name, data):
        with open(name, "wb") as f:
            f.write(data)


class Survey:
    """Names, types and values that tfprof knows about a model."""

    FIELDS = {
        "min_bytes": "total_requested_bytes",
        "min_peak_bytes": "total_peak_bytes",
        "min_residual_bytes": "total_residual_bytes",
        "min_output_bytes": "total_output_bytes",
        "min_micros": "total_exec_micros",
        "min_accelerator_micros": "total_accelerator_exec_micros",
        "min_cpu_micros": "total_cpu_exec_micros",
    }
    OWN = {"min_params": "parameters", "min_float_ops": "float_ops", "min_occurrence": "run_count"}

    def __init__(self, asker, model, op_log):
        res = asker.run(
            {
                "name": "survey",
                "cmd": "survey",
                "api": "multi_step",
                "inputs": {
                    "graph": "graph.pb",
                    "op_log": op_log,
                    "run_meta": metas(*[(s, f) for s, f, _ in model.runs]),
                },
            }
        )
        self.exit = res["exit"]
        self.profile = res["files"].get("profile")
        self.names = {v: [] for v in oracle.VIEWS}
        self.values = {v: collections.defaultdict(set) for v in oracle.VIEWS}
        self.edges = {v: set() for v in oracle.VIEWS}
        for name, data in sorted(res["files"].items()):
            view = name.split("_")[0]
            if view in oracle.VIEWS and data:
                proto = oracle.result_proto(view)
                proto.ParseFromString(data)
                self._walk(view, proto, name.endswith("_-1"))
        self.has_code = bool(self.names["code"])
        self.code_dies = "code_-1" not in res["files"]
        self.steps = sorted({s for s, _, m in model.runs if m.HasField("step_stats")})
        types = set(model.names[:2]) | {"_kTFScopeParent"}
        for entry in model.log.log_entries if model.log is not None else []:
            types |= set(entry.types)
        for _, _, meta in model.runs:
            types |= {d.device.lower() for d in meta.step_stats.dev_stats}
        self.types = sorted(types) + sorted({n.op for n in model.graph.node}) * 4

    def _walk(self, view, node, average):
        values = self.values[view]
        for key, field in self.FIELDS.items():
            values[key].add(getattr(node, field))
        for key, field in self.OWN.items():
            if view in ("scope", "graph"):
                values[key].add(getattr(node, field))
            elif key == "min_occurrence":
                values[key].add(len(node.graph_nodes))
            else:
                values[key].add(getattr(node, "total_" + field))
        if average and node.name != ROOT:
            self.names[view].append(node.name)
        for child in node.children:
            if average:
                self.edges[view].add((node.name, child.name))
            self._walk(view, child, average)


# ---------------------------------------------------------------- questions

BAD_REGEXES = ["(unclosed", "*x", "[z-a]", "a{2,1}", "back\\", "(?<n", "x)"]


def escape(text):
    return re.sub(r"([\\.+*?()\[\]{}|^$])", r"\\\1", text)


def pattern(rng, names, narrow=False):
    """A regex that has to do with the names, or now and then one that has not."""
    name = rng.choice(names) if names else "a"
    other = rng.choice(names) if names else "b"
    if chance(rng, 0.05 if narrow else 0.2):
        return rng.choice(
            [
                "[^/]*",
                "[^/]+/[^/]+",
                ".*[0-9]+",
                "[a-m].*",
                ".+",
                ".*?",
                "(.*)",
                ".",
                "",
                "\\w+",
                "\\pL+",
                "[[:alpha:]_/]+",
                ".*\\d",
                "(?s).*",
                "[^_].*",
                ".*_grad.*",
                ".*gpu.*",
                ".*cpu:0",
                "no_such_name",
                ".*\\b%s\\b.*" % escape(name[:1]),
                escape(name[:-1]),
            ]
        )
    i, j = sorted((rng.randint(0, len(name)), rng.randint(0, len(name))))
    if narrow:
        i, j = len(name) * 2 // 3, len(name) // 3
        if chance(rng, 0.5):
            return escape(name)
    return rng.choice(
        [
            escape(name),
            escape(name),
            escape(name),
            escape(name[: i + 1]) + ".*",
            escape(name[: i + 1]) + ".*",
            ".*" + escape(name[j:]),
            ".*%s.*" % escape(name[i:j]),
            escape(name.rsplit("/", 1)[0]) + "/.*",
            escape(name.split("/")[0]) + ".*",
            "%s|%s" % (escape(name), escape(other)),
            "(%s|%s).*" % (escape(name[:2]), escape(other)),
            "^%s$" % escape(name),
            "(?i)" + escape(name.upper()),
            "\\Q%s\\E" % name,
            ".*/%s" % escape(name.rsplit("/", 1)[-1]),
        ]
    )


class Question:
    """Draws one question: kind, inputs, options, and why it is rude if it is."""

    def __init__(self, rng, kinds, model, survey):
        self.rng, self.model, self.survey = rng, model, survey
        self.rude = []
        self.kind = self._kind(kinds)
        self.cmd = {"pprof": "code", "refused": rng.choice(["scope", "graph", "op"])}.get(
            self.kind, self.kind.split("_")[0]
        )
        self.api, self.inputs, self.steps = self._inputs()
        if self.cmd in oracle.VIEWS:
            self.options = self._view_options()
        elif self.cmd == "advise":
            self.options = {k: {} for k in CHECKERS if chance(rng, 0.7)}
            if chance(rng, 0.05):
                self.options["NoSuchChecker"] = {}
                self._rude("checker")
        elif self.cmd == "chrome":
            self.options = {"show_dataflow": chance(rng, 0.7), "show_memory": chance(rng, 0.5)}
            if chance(rng, 0.4):
                self.options["op_time"] = rng.choice(["gpu", "all", "schedule"])
        else:
            self.options = {}

    def _rude(self, why):
        self.rude.append(why)

    def _kind(self, kinds):
        """Keeps away from what the model cannot answer, most of the time."""
        rng, survey = self.rng, self.survey
        drawn = rng.choices(list(kinds), [KINDS[k] for k in kinds])[0]
        avoid = set()
        if not survey.has_code:
            avoid |= set(CODE_KINDS)
        if survey.code_dies:
            avoid.add("advise")
        if survey.profile is None:
            avoid.add("serialize")
        if not self.model.runs:
            avoid |= {"chrome", "scope_timeline", "graph_timeline", "code_timeline"}
        rest = [k for k in kinds if k not in avoid]
        if drawn in avoid and rest and (drawn == "chrome" or chance(rng, 0.8)):
            drawn = rng.choices(rest, [KINDS[k] for k in rest])[0]
        return drawn

    def _inputs(self):
        """(api, inputs of casekit.Cases.add, the steps there will be)."""
        rng, model = self.rng, self.model
        runs = [(s, f) for s, f, _ in model.runs]
        real = {f for _, f, m in model.runs if m.HasField("step_stats")}
        if self.kind == "chrome":
            return None, {"run_meta": metas(rng.choice(runs)) if runs else []}, []
        api = rng.choices(["one_shot", "multi_step", "from_profile"], [35, 45, 20])[0]
        if api == "from_profile" and self.survey.profile is None:
            api = "multi_step"
        if api == "one_shot" and self.cmd == "serialize":
            api = "multi_step"
        if api == "from_profile":
            return api, {"graph": None, "run_meta": [], "op_log": None, "profile": "profile.pb"}, self.survey.steps
        inputs = {}
        if chance(rng, 0.15):
            inputs["graph"] = "graph.pbtxt"
        if chance(rng, 0.03 if self.cmd == "code" else 0.1):
            inputs["op_log"] = None
        if api == "one_shot":
            use = [(0, rng.choice(runs)[1])] if runs and chance(rng, 0.85) else []
        else:
            use = list(runs)
            if chance(rng, 0.2):
                use = [r for r in runs if chance(rng, 0.6)]
            if chance(rng, 0.15):
                rng.shuffle(use)
        inputs["run_meta"] = metas(*use)
        return api, inputs, sorted({s for s, f in use if f in real})

    def _regexes(self, names, idle):
        """A regex list that does something; `idle` is the list that does nothing."""
        rng = self.rng
        narrow = not idle  # hide and trim: mostly one or two names
        if chance(rng, 0.05):
            return [] if idle else list(ALL)
        if chance(rng, 0.02):
            self._rude("regex")
            return [rng.choice(BAD_REGEXES), pattern(rng, names)]
        some = [pattern(rng, names, narrow) for _ in range(rng.choice([1, 1, 2] if narrow else [1, 1, 2, 2, 3, 4, 5]))]
        if chance(rng, 0.04):
            some.insert(rng.randrange(len(some) + 1), ".*")
        return some

    def _select(self):
        rng = self.rng
        if self.kind == "pprof":
            if chance(rng, 0.05):
                self._rude("select")
                return rng.choice([[], ["micros", "bytes"], ["device"], ["occurrence"]])
            return [rng.choice([m for m in METRICS if m != "occurrence"])]
        words = [w for w in SELECTS if w != "tensor_value"]
        if chance(rng, 0.03):
            words.append("tensor_value")
        if chance(rng, 0.5):
            some = rng.sample(words, rng.choice([0, 1, 1, 1, 2, 2, 3]))
        else:
            keep = rng.random()
            some = [w for w in words if chance(rng, keep)]
            rng.shuffle(some)
        if chance(rng, 0.01):
            self._rude("select")
            some.append("beauty")
        return some

    def _view_options(self):
        rng, survey, view = self.rng, self.survey, self.cmd
        names = survey.names[view]
        # Few filters at a time: with all of them hardly a row is left.
        filters = rng.sample(
            ["depth", "minimum", "account", "start", "trim", "show", "hide"],
            rng.choice([0, 1, 1, 2, 2, 3, 4] if self.kind in oracle.VIEWS else [0, 0, 1, 1, 2]),
        )
        options = {"max_depth": rng.choice([20, 100, 10000])}
        if "depth" in filters:
            options["max_depth"] = rng.choice([rng.randint(0, 20), rng.randint(2, 6)])
            if chance(rng, 0.03):
                options["max_depth"] = -1
                self._rude("depth")
            if view == "code" and options["max_depth"] < 1 and chance(rng, 0.8):
                options["max_depth"] = 1
        if "minimum" in filters:
            for key in rng.sample(sorted(Survey.FIELDS) + sorted(Survey.OWN), rng.choice([1, 1, 1, 2, 3])):
                options[key] = self._near(sorted(survey.values[view][key]))
        options["order_by"] = rng.choice(ORDERS)
        if chance(rng, 0.02):
            options["order_by"] = rng.choice(["", "beauty"])
            self._rude("order")
        for word, known, idle in (
            ("account_type", survey.types, ALL),
            ("start_name", names, ALL),
            ("trim_name", names, []),
            ("show_name", names, ALL),
            ("hide_name", names, []),
        ):
            options[word + "_regexes"] = self._regexes(known, idle) if word.split("_")[0] in filters else list(idle)
        if view == "code" and not chance(rng, 0.03):
            options["trim_name_regexes"] = [r for r in options["trim_name_regexes"] if not self._matches_root(r)]
        options["account_displayed_op_only"] = chance(rng, 0.35)
        options["select"] = self._select()
        options["step"] = -1
        if self.steps and chance(rng, 0.75 if self.kind == "graph_timeline" else 0.4):
            options["step"] = rng.choice(self.steps)
        elif chance(rng, 0.03):
            options["step"] = rng.choice([3, 4321])
            self._rude("step")
        options["output"] = "file"
        if self.kind.endswith("_timeline"):
            options["output"] = "timeline"
        elif self.kind == "pprof":
            options["output"] = "pprof"
        elif self.kind == "refused":
            options["output"] = rng.choice(["pprof", "timeline"]) if view == "op" else "pprof"
            self._rude("output")
        return options

    def _near(self, values):
        """A minimum at, or one off, one of the values; low ones more often."""
        rng = self.rng
        value = values[int(rng.random() ** 2 * len(values))] if values else 0
        value = min(value + rng.choice([-1, 0, 0, 0, 1]), INT64_MAX)
        if value < 0 and chance(rng, 0.6):
            value = 0
        if value < 0:
            self._rude("minimum")
        return value

    @staticmethod
    def _matches_root(regex):
        if "[[:" in regex:
            return True
        try:
            return re.fullmatch(regex.replace("\\pL", "\\w"), ROOT) is not None
        except re.error:
            return False


# ---------------------------------------------------------------- figures


class Tally(collections.Counter):
    """Counts what the questions reached."""

    SAID = [
        "has no start time, skipping",
        "gpu allocator for 1 node",
        "Invalid RunMetadata",
        "not found.",
        "No code trace information",
        "gradient nodes not accounted",
        "code view ignores account_displayed_op_only",
        "no tensor value to show",
        "Only 'code' view supports pprof",
        "op view doesn't support timeline",
        "Missing RunMetadata info",
        "Missing run_meta for",
        "Missing op_log",
        "Can only select 1",
        "pprof doesn't support",
        "Error parsing",
        "Invalid RE2",
        "map::at",
        "Check failed",
        "misses accelerator",
        "peak memory",
        "Incomplete shape",
        "Error:",
    ]

    def question(self, question, case, res, survey):
        self["kind: " + question.kind] += 1
        self["api: " + case["api"]] += 1
        if "rude" in case.get("tags", []):
            self["rude"] += 1
        if res["exit"] != 0:
            self["death: %s %s%s" % (res["exit"], question.kind, "".join(" " + w for w in question.rude))] += 1
        said = (
            res.get("stderr", "")
            + res.get("stdout", "")
            + res["files"].get("out.txt", b"").decode("utf-8", "replace").split("Profile:")[0]
        )
        for text in self.SAID:
            if text in said:
                self["said: " + text] += 1
        if "Invalid RE2" in said and "regex" not in question.rude:
            self["bad regexes not meant to be"] += 1
        for line in res.get("stderr", "").splitlines():
            if not any(text in line for text in self.SAID):
                self["said, other: " + re.sub(r"[0-9]+", "N", line)[:70]] += 1
        self._rows(case, res, survey)
        self._events(case, res)

    def _rows(self, case, res, survey):
        view = case["cmd"]
        if view not in oracle.VIEWS:
            return
        if not res.get("result"):
            self["answer: nothing"] += 1
            return
        proto = oracle.result_proto(view)
        proto.ParseFromString(res["result"])
        rows = []

        def walk(node):
            for child in node.children:
                rows.append((node.name, child.name))
                walk(child)

        walk(proto)
        self["answer: %s" % ("rows" if rows else "root only")] += 1
        self["rows: " + view] += len(rows)
        if view != "op":
            moved = [r for r in rows if r not in survey.edges[view]]
            if case["options"]["start_name_regexes"] == ALL:
                self["rows promoted: " + view] += len(moved)
                self["answers with promoted rows: " + view] += bool(moved)
            else:
                self["rows under a start name: " + view] += sum(r[0] == ROOT for r in moved)
        if len(rows) < len(survey.names[view]):
            self["answers with hidden rows: " + view] += 1
            self["rows hidden: " + view] += len(survey.names[view]) - len(rows)
        self["rows of gradients"] += sum(n.endswith(" (gradient)") for _, n in rows)
        text = res["files"].get("out.txt", b"").decode("utf-8", "replace")
        for name, regex in (
            ("not accounted", r"--/"),
            ("k", r"\d\.\d\dk"),
            ("m", r"\d\.\d\dm\b"),
            ("b", r"\d\.\d\db"),
            ("ms", r"\d\.\d\dms"),
            ("sec", r"\d\.\d\dsec"),
            ("KB", r"\d\.\d\dKB"),
            ("MB", r"\d\.\d\dMB"),
            ("negative", r"[ (/]-\d"),
            ("unknown input", r"\d:unknown"),
            ("input_type", r"\ninput_type:"),
        ):
            self["text has: " + name] += bool(re.search(regex, text))

    def _events(self, case, res):
        for name, data in res["files"].items():
            if name.startswith("timeline_") or name == "chrome.json":
                what = "chrome" if case["cmd"] == "chrome" else "timeline " + case["cmd"]
                self[what + ": files"] += 1
                for event in json.loads(data)["traceEvents"]:
                    self["%s: events %s" % (what, event["ph"])] += 1
                    if "Top Allocation 00" in event.get("args", {}):
                        self[what + ": top allocations"] += 1
            elif name == "pprof.gz":
                self["pprof: files"] += 1
                self["pprof: bytes"] += len(gzip.decompress(data))
        if case["cmd"] == "advise" and res.get("result"):
            proto = oracle.result_proto("advise")
            proto.ParseFromString(res["result"])
            for checker in proto.checkers:
                self["advise: " + checker] += 1
                self["advise: reports of " + checker] += len(proto.checkers[checker].reports)


# ---------------------------------------------------------------- the work


def make_model(args, index, tally):
    name = "random_%d_%04d" % (args.seed, index)
    directory = os.path.join(args.out, name)
    shutil.rmtree(directory, ignore_errors=True)
    golden = os.path.join(directory, "golden")
    os.makedirs(golden)
    model = Model(random.Random("%d/%d" % (args.seed, index)), need_code=all(k in CODE_KINDS for k in args.kinds))
    model.save(directory)
    op_log = "tfprof_log" if model.log is not None else None
    asker = Asker(directory)
    survey = Survey(asker, model, op_log)
    if survey.profile is not None:
        with open(os.path.join(directory, "profile.pb"), "wb") as f:
            f.write(oracle.canonical("serialize", survey.profile)[0])
    cases = Cases(
        name,
        run_meta=[(s, f) for s, f, _ in model.runs],
        op_log=op_log,
        about="random: " + ", ".join(sorted(model.traits)),
    )
    tally["models"] += 1
    tally["nodes"] += len(model.graph.node)
    for trait in model.traits:
        tally["models with " + trait] += 1
    if survey.exit != 0:
        tally["models whose survey dies: %s" % survey.exit] += 1
    for number in range(args.questions):
        rng = random.Random("%d/%d/%d" % (args.seed, index, number))
        question = Question(rng, args.kinds, model, survey)
        cases.add("q%02d" % number, question.cmd, question.options, api=question.api, inputs=question.inputs)
        case = cases.cases[-1]
        res = asker.run(case)
        if res["exit"] == "SIGXCPU":
            tally["left out, too slow"] += 1
            cases.cases.pop()
            continue
        if res["exit"] != 0:
            question.rude.append("dies")
        case["name"] += "_" + "_".join([question.kind] + ["rude"] * bool(question.rude) + question.rude)
        if question.rude:
            case["tags"] = ["rude"]
        tally.question(question, case, res, survey)
        res["stdout"] = res["stderr"] = ""
        case["expect"] = oracle.write_golden(case, res, golden)
    cases.save(args.out)


def work(args, job, path):
    tally = Tally()
    for index in range(job, args.models, args.jobs):
        make_model(args, index, tally)
    with open(path, "w") as f:
        json.dump(tally, f)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--models", type=int, default=10)
    parser.add_argument("--questions", type=int, default=8, help="for each model")
    parser.add_argument("--out", required=True)
    parser.add_argument("--kinds", default=",".join(KINDS), help="default: %(default)s")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--report", help="a JSON file of figures: what the questions reached")
    args = parser.parse_args()
    args.kinds = args.kinds.split(",")
    unknown = set(args.kinds) - set(KINDS)
    if unknown:
        parser.error("unknown kinds: %s" % ", ".join(sorted(unknown)))
    os.makedirs(args.out, exist_ok=True)
    oracle.Oracle(args.out)  # loads TensorFlow once, for all children
    gc.freeze()  # children share its pages
    begin = time.time()
    with tempfile.TemporaryDirectory(prefix="tfprof_random_") as temp:
        jobs = {}
        for job in range(args.jobs):
            path = os.path.join(temp, str(job))
            pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    work(args, job, path)
                    code = 0
                except BaseException:
                    sys.excepthook(*sys.exc_info())
                finally:
                    sys.stderr.flush()
                    os._exit(code)
            jobs[pid] = path
        tally, failed = Tally(), 0
        for pid, path in jobs.items():
            failed += os.waitpid(pid, 0)[1] != 0
            if os.path.exists(path):
                with open(path) as f:
                    tally.update(json.load(f))
    spent = time.time() - begin
    asked = sum(n for k, n in tally.items() if k.startswith("kind: "))
    if args.report:
        with open(args.report, "w") as f:
            json.dump(dict(sorted(tally.items())), f, indent=1)
    print(
        "%d models, %d questions, %d rude, %d of them deadly; %.0f questions a second"
        % (
            tally["models"],
            asked,
            tally["rude"],
            sum(n for k, n in tally.items() if k.startswith("death: ")),
            asked / max(spent, 0.001),
        )
    )
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
