#!/usr/bin/env python3
"""Memory of training steps: parts that tfprof states for a graph, beside the peak that TensorFlow's allocator recorded.

  keras_memory.py DIRECTORY [MODEL...] [--batch 8] [--size 96] [--binary F]

Run it with a Python that has TensorFlow. Each model of keras.applications (without weights) trains a step with Adam on the
CPU. TensorFlow's allocator `mklcpu` hands requests below 256 KB to malloc (kSmallAllocationsThreshold in mkl_cpu_allocator.h),
which records nothing, so that tensors as small are also counted on their own.
"""

import argparse
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
SMALL = 262144
MODELS = ["InceptionV3", "ConvNeXtTiny"]


def record(name, directory, batch, size):
    import keras
    import tensorflow as tf
    from tensorflow.core.protobuf import config_pb2

    model = getattr(keras.applications, name)(weights=None, classes=1000, input_shape=(size, size, 3))
    optimizer = keras.optimizers.Adam()
    optimizer.build(model.trainable_variables)
    images, labels = tf.random.normal((batch, size, size, 3)), tf.zeros((batch,), tf.int32)

    @tf.function(autograph=False)
    def step(images, labels):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(labels, model(images, training=True)))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    step(images, labels)
    function = step.get_concrete_function(images, labels)
    path = os.path.join(directory, name + ".pb")
    with open(path, "wb") as out:
        out.write(function.graph.as_graph_def(add_shapes=True).SerializeToString())
    tf.profiler.experimental.start(os.path.join(directory, name))
    step(images, labels)
    tf.profiler.experimental.stop()
    variables = list(model.variables) + list(optimizer.variables)
    bytes_of = [int(variable.numpy().nbytes) for variable in variables]
    small = sum(size for size in bytes_of if size < SMALL)
    return path, os.path.join(directory, name), sum(bytes_of), small


def answer(binary, *words):
    done = subprocess.run([binary, *words], capture_output=True, text=True)
    if done.returncode not in (0, 4):
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory")
    parser.add_argument("models", nargs="*")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--size", type=int, default=96)
    parser.add_argument("--binary", default=os.path.join(HERE, "..", "target", "debug", "tfprof"))
    args = parser.parse_args()
    os.makedirs(args.directory, exist_ok=True)
    for name in args.models or MODELS:
        graph, run, variables, small = record(name, args.directory, args.batch, args.size)
        print(f"{name}: variables {variables / 1e6:.1f} MB, of them {small / 1e6:.1f} in tensors below 256 KB", flush=True)
        if os.path.exists(args.binary):
            layers = answer(args.binary, "layers", graph, "--format=json")
            print("  ", {key: value for key, value in layers.items() if "memory" in key or "peak" in key})
            info = answer(args.binary, "info", run, "--format=json")
            print("  ", json.dumps(info.get("overview", info))[:600])


if __name__ == "__main__":
    main()
