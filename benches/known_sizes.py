#!/usr/bin/env python3
"""Products, convolutions and copies of known size: FLOP/s and bytes/s of tfprof beside size over time.

  known_sizes.py torch|tensorflow|jax DIRECTORY [--binary F] [--runs 8] [--size 1]

Run it with a Python that has the framework. Each op runs --runs times, alone, on one thread. Times are those that the framework's
own reader finds in the recording (json, RunMetadata, jax.profiler.ProfileData); a clock around each call, which also counts
how the op is called and what else the machine does meanwhile, is shown beside. The exit code is 1 if a figure differs by
more than 2 %.
"""

import argparse
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"):
    os.environ.setdefault(name, "1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

N, M, K = 1024, 768, 1536
BATCH, CHANNELS, SIDE, FILTERS = 8, 64, 56, 96
COPIED = 32 << 20


class Case:
    """What an op does by definition: FLOPs, or bytes read and written, and its names in the answer."""

    def __init__(self, what, names, flops=None, moved=None):
        self.what, self.names, self.flops, self.moved, self.seconds = what, names, flops, moved, []
        self.recorded = []

    def timed(self, function):
        start = time.perf_counter()
        function()
        self.seconds.append(time.perf_counter() - start)


def cases(product, convolution, copy):
    return [
        Case("product", product, flops=2 * N * M * K),
        Case("convolution", convolution, flops=2 * BATCH * (SIDE - 2) ** 2 * FILTERS * CHANNELS * 9),
        Case("copy", copy, moved=2 * 4 * COPIED),
    ]


def with_torch(directory, runs):
    import torch
    from torch.profiler import ProfilerActivity, profile

    torch.set_num_threads(1)
    a, b = torch.randn(N, K), torch.randn(K, M)
    image, filters = torch.randn(BATCH, CHANNELS, SIDE, SIDE), torch.randn(FILTERS, CHANNELS, 3, 3)
    source, target = torch.randn(COPIED), torch.empty(COPIED)
    functions = [
        lambda: torch.mm(a, b),
        lambda: torch.conv2d(image, filters),
        lambda: target.copy_(source),
    ]
    all_cases = cases({"aten::mm"}, {"aten::mkldnn_convolution"}, {"aten::copy_"})
    for function in functions:
        function()
    with torch.no_grad(), profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        for case, function in zip(all_cases, functions):
            for _ in range(runs):
                case.timed(function)
    profiler.export_chrome_trace(os.path.join(directory, "trace.json"))
    with open(os.path.join(directory, "trace.json")) as file:
        for event in json.load(file)["traceEvents"]:
            for case in all_cases:
                if event.get("cat") == "cpu_op" and event["name"] in case.names:
                    case.recorded.append(event["dur"] / 1e6)
    return all_cases, [os.path.join(directory, "trace.json")]


def with_tensorflow(directory, runs):
    import tensorflow as tf

    v1 = tf.compat.v1
    v1.disable_eager_execution()
    config = v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    fetches = []
    with tf.Graph().as_default() as graph:
        def variable(shape, name):
            return v1.get_variable(name, shape, initializer=v1.random_normal_initializer(), use_resource=False)
        product = tf.matmul(variable([N, K], "a"), variable([K, M], "b"), name="product")
        image = variable([BATCH, SIDE, SIDE, CHANNELS], "image")
        convolution = tf.nn.conv2d(image, variable([3, 3, CHANNELS, FILTERS], "filters"), 1, "VALID", name="convolution")
        halves = [variable([COPIED // 2], "first"), variable([COPIED // 2], "second")]
        copy = tf.concat(halves, 0, name="copy")
        fetches = [product.op, convolution.op, copy.op]
        all_cases = cases({"product"}, {"convolution"}, {"copy"})
        options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
        metadata = v1.RunMetadata()
        paths = []
        with v1.Session(config=config) as session:
            session.run(v1.global_variables_initializer())
            for case, fetch in zip(all_cases, fetches):
                session.run(fetch)
                session.run(fetch, options=options, run_metadata=metadata)
                for at in range(runs):
                    metadata = v1.RunMetadata()
                    case.timed(lambda fetch=fetch, metadata=metadata: session.run(
                        fetch, options=options, run_metadata=metadata))
                    for device in metadata.step_stats.dev_stats:
                        for node in device.node_stats:
                            if node.node_name in case.names:
                                case.recorded.append((node.op_end_rel_nanos - node.op_start_rel_nanos) / 1e9)
                    path = os.path.join(directory, f"{case.what}{at}.pb")
                    with open(path, "wb") as out:
                        out.write(metadata.SerializeToString())
                    paths.append(path)
        with open(os.path.join(directory, "graph.pb"), "wb") as out:
            out.write(graph.as_graph_def(add_shapes=True).SerializeToString())
    return all_cases, ["--graph_path=" + os.path.join(directory, "graph.pb"), "--run_meta_path=" + ",".join(paths)]


def with_jax(directory, runs):
    import jax
    import jax.numpy as jnp

    key = jax.random.key(0)
    a, b = jax.random.normal(key, (N, K)), jax.random.normal(key, (K, M))
    image = jax.random.normal(key, (BATCH, SIDE, SIDE, CHANNELS))
    filters = jax.random.normal(key, (3, 3, CHANNELS, FILTERS))
    source = jax.random.normal(key, (COPIED,))

    def convolve(image, filters):
        numbers = ("NHWC", "HWIO", "NHWC")
        return jax.lax.conv_general_dilated(image, filters, (1, 1), "VALID", dimension_numbers=numbers)

    def copy(source):
        return jnp.copy(source)

    jitted = [(jax.jit(jnp.matmul), (a, b)), (jax.jit(convolve), (image, filters)), (jax.jit(copy), (source,))]
    functions = [lambda f=f, args=args: f(*args).block_until_ready() for f, args in jitted]
    all_cases = cases({"dot_general"}, {"conv_general_dilated"}, {"copy"})
    programs = {"jit_matmul": all_cases[0], "jit_convolve": all_cases[1], "jit_copy": all_cases[2]}
    for function in functions:
        function()
    with jax.profiler.trace(directory):
        for case, function in zip(all_cases, functions):
            for _ in range(runs):
                case.timed(function)
    files = [os.path.join(at, name) for at, _, names in os.walk(directory) for name in names if name.endswith(".pb")]
    profile = jax.profiler.ProfileData.from_file(max(files, key=os.path.getmtime))
    for event in (event for plane in profile.planes for line in plane.lines for event in line.events):
        stats = dict(event.stats)
        case = programs.get(str(stats.get("hlo_module", "")).split("(")[0])
        if case and "hlo_op" in stats:
            case.recorded.append(event.duration_ns / 1e9)
    return all_cases, [directory]


def rows(binary, paths):
    command = [binary, "graph" if paths[0].startswith("--graph") else "op", *paths]
    if command[1] == "graph":
        command[1] = "scope"
    command += ["-step", "all", "-min_occurrence", "0", "-max_depth", "100", "-select",
                "float_ops,io_bytes,flops_per_second,bytes_per_second,micros,occurrence", "-output", "json:outfile=-"]
    answer = subprocess.run(command, capture_output=True, text=True)
    if answer.returncode not in (0, 4):
        sys.exit(answer.stderr)
    return json.loads(answer.stdout)["rows"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("framework", choices=["torch", "tensorflow", "jax"])
    parser.add_argument("directory")
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--binary", default=os.path.join(HERE, "..", "target", "debug", "tfprof"))
    args = parser.parse_args()
    os.makedirs(args.directory, exist_ok=True)
    all_cases, paths = globals()[f"with_{args.framework}"](args.directory, args.runs)
    found = rows(args.binary, paths)
    failed = False
    print(f"{'case':12} {'by a clock':>11} {'recorded':>11} {'tfprof':>11} {'difference':>11}")
    for case in all_cases:
        size, key = (case.flops, "flops_per_second") if case.flops else (case.moved, "bytes_per_second")
        if not case.recorded:
            sys.exit(f"{case.what}: the recording has no such op")
        expected = size * len(case.recorded) / sum(case.recorded)
        by_clock = size * len(case.seconds) / sum(case.seconds)
        ours = [row["self"].get(key) for row in found if row["name"].split("/")[-1] in case.names]
        ours = max((figure for figure in ours if figure is not None), default=None)
        if ours is None:
            print(f"{case.what:12} {by_clock:11.4g} {expected:11.4g} {'none':>11}")
            failed = True
            continue
        difference = ours / expected - 1
        failed |= abs(difference) > 0.02
        print(f"{case.what:12} {by_clock:11.4g} {expected:11.4g} {ours:11.4g} {difference:+11.2%}", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
