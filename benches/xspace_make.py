#!/usr/bin/env python3
"""Records a profile of TensorFlow or JAX: a small dense network, trained for some steps.

  xspace_make.py tf|jax LOGDIR STEPS      (with a Python that has the framework)

A step of TensorFlow is about 21 KB, one of JAX 23 KB. Prints the file and its size.
"""

import glob
import os
import sys

LAYERS = 30
WIDTH = 64


def tensorflow(logdir, steps):
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf
    weights = [tf.Variable(tf.random.normal([WIDTH, WIDTH])) for _ in range(LAYERS)]

    @tf.function
    def train(x):
        with tf.GradientTape() as tape:
            hidden = x
            for weight in weights:
                hidden = tf.nn.relu(tf.linalg.matmul(hidden, weight)) + 0.1 * hidden
            loss = tf.reduce_mean(tf.square(hidden))
        for weight, gradient in zip(weights, tape.gradient(loss, weights)):
            weight.assign_sub(0.001 * tf.clip_by_value(gradient, -1.0, 1.0))
        return loss

    x = tf.random.normal([8, WIDTH])
    train(x)
    tf.profiler.experimental.start(logdir)
    for step in range(steps):
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            train(x)
    tf.profiler.experimental.stop()


def jax(logdir, steps):
    import jax
    import jax.numpy as jnp
    keys = jax.random.split(jax.random.PRNGKey(0), LAYERS)
    weights = [jax.random.normal(key, (WIDTH, WIDTH)) for key in keys]

    def loss(weights, x):
        hidden = x
        for weight in weights:
            hidden = jax.nn.relu(hidden @ weight) + 0.1 * hidden
        return jnp.mean(hidden * hidden)

    @jax.jit
    def train(weights, x):
        gradients = jax.grad(loss)(weights, x)
        return [weight - 0.001 * jnp.clip(gradient, -1, 1) for weight, gradient in zip(weights, gradients)]

    x = jnp.ones((8, WIDTH))
    weights = train(weights, x)
    jax.profiler.start_trace(logdir)
    for step in range(steps):
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            weights = train(weights, x)
    jax.block_until_ready(weights)
    jax.profiler.stop_trace()


if __name__ == "__main__":
    kind, logdir, steps = sys.argv[1:]
    {"tf": tensorflow, "jax": jax}[kind](logdir, int(steps))
    for path in glob.glob(os.path.join(logdir, "plugins", "profile", "*", "*.xplane.pb")):
        print(path, f"{os.path.getsize(path) / 1e6:.1f} MB")
