"""The cost of a Keras application: `tfprof cost` compared with the usual way in TensorFlow.

Usage: cost.py [--model MobileNetV2] [--repeat 5] [--tfprof target/release/tfprof]
Needs a Python with TensorFlow. TensorFlow's side is a fresh process that imports it, loads the SavedModel, freezes it and
asks `tf.compat.v1.profiler.profile`; both are asked in turns. Wall time and the largest resident memory of the processes.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

THEIRS = """
import sys
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

model = tf.saved_model.load(sys.argv[1])
served = model.signatures["serving_default"]
shapes = {name: tf.TensorSpec([1, *spec.shape[1:]], spec.dtype, name) for name, spec in served.structured_input_signature[1].items()}
concrete = tf.function(lambda **inputs: served(**inputs)).get_concrete_function(**shapes)
frozen = convert_variables_to_constants_v2(concrete).graph.as_graph_def()
with tf.Graph().as_default() as graph:
    tf.graph_util.import_graph_def(frozen, name="")
    options = tf.compat.v1.profiler.ProfileOptionBuilder(tf.compat.v1.profiler.ProfileOptionBuilder.float_operation())
    print(tf.compat.v1.profiler.profile(graph, options=options.with_empty_output().build()).total_float_ops)
"""


def measured(command: list[str]) -> tuple[float, float, str]:
    """Seconds, megabytes and the output of a process."""
    with tempfile.TemporaryFile("w+") as out:
        start = time.perf_counter()
        pid = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL).pid
        _, status, usage = os.wait4(pid, 0)
        seconds = time.perf_counter() - start
        if status != 0:
            sys.exit(f"bench: {command[0]} ended with {status}")
        out.seek(0)
        return seconds, usage.ru_maxrss / 1024, out.read()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="MobileNetV2")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--tfprof", default="target/release/tfprof")
    parser.add_argument("--python", default=sys.executable)
    arguments = parser.parse_args()
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")
    with tempfile.TemporaryDirectory(prefix="tfprof_bench_") as directory:
        make = "import sys, tensorflow as tf; getattr(tf.keras.applications, sys.argv[1])(weights=None).export(sys.argv[2])"
        subprocess.run(
            [arguments.python, "-c", make, arguments.model, directory], check=True, capture_output=True
        )
        ours, theirs = [], []
        for _ in range(arguments.repeat):
            ours.append(measured([arguments.tfprof, "cost", directory, "--format=json"]))
            theirs.append(measured([arguments.python, "-c", THEIRS, directory]))
        cost = json.loads(ours[0][2])
        print(f"{arguments.model}: {cost['float_ops']} FLOPs here, {theirs[0][2].strip()} there (46 op types)")
        times = [their[0] / our[0] for our, their in zip(ours, theirs)]
        memory = [their[1] / our[1] for our, their in zip(ours, theirs)]
        middle = statistics.median
        print(f"wall time   {middle([our[0] for our in ours]) * 1e3:8.1f} ms  {middle([t[0] for t in theirs]) * 1e3:10.1f} ms  "
              f"ratio {middle(times):.0f} ({min(times):.0f} to {max(times):.0f})")
        print(f"memory      {middle([our[1] for our in ours]):8.1f} MB  {middle([t[1] for t in theirs]):10.1f} MB  "
              f"ratio {middle(memory):.0f} ({min(memory):.0f} to {max(memory):.0f})")


if __name__ == "__main__":
    main()
