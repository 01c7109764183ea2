"""Random small TensorFlow models: built node by node, run, each with an op log."""

import numpy as np
import tensorflow as tf
from vocabulary import TYPES, amount, chance

tf1 = tf.compat.v1


class LiveModel:
    """A `tf.Graph`, the RunMetadata of some steps and an OpLogProto or none."""

    def __init__(self, rng):
        self.rng = rng
        self.feeds = {}
        self.graph = tf1.Graph()
        with self.graph.as_default():
            if chance(rng, 0.3):
                tf1.disable_control_flow_v2()
            if chance(rng, 0.97):
                self._build()
            self.runs = self._run() if self.graph.get_operations() and chance(rng, 0.85) else []
        self.log = self._log() if chance(rng, 0.4) else None

    def _build(self):
        rng = self.rng
        self.batch = rng.choice([1, 2, 5])
        known = self.batch if chance(rng, 0.5) else None
        if chance(rng, 0.4):
            x = self._images(known)
        else:
            width = rng.choice([1, 3, 8])
            x = tf1.placeholder(tf.float32, [known, width])
            self.feeds[x] = np.ones([self.batch, width])
        for i in range(rng.randint(1, 5)):
            name = rng.choice(["layer", "block%d" % i, "a/b", "tower"])
            with tf1.variable_scope(name, reuse=tf1.AUTO_REUSE, use_resource=chance(rng, 0.5)):
                x = self._layer(x, i)
        self.result = tf.reduce_mean(tf.cast(x, tf.float32), name="result")
        self.fetches = [self.result]
        if chance(rng, 0.6) and tf1.trainable_variables():
            optimizer = rng.choice([tf1.train.GradientDescentOptimizer, tf1.train.AdamOptimizer])
            try:
                self.fetches.append(optimizer(0.01).minimize(self.result))
            except ValueError:
                pass  # No variable leads to the result.
        if chance(rng, 0.2):
            tf.no_op(name="beside/nothing")

    def _images(self, known):
        rng = self.rng
        size, depth = rng.choice([4, 8]), rng.choice([1, 3])
        x = tf1.placeholder(tf.float32, [known, size, size, depth], name="images")
        self.feeds[x] = np.ones([self.batch, size, size, depth])
        for i in range(rng.randint(1, 2)):
            kernel = tf1.get_variable("kernel%d" % i, [rng.choice([1, 3]), 3, x.shape[-1], rng.choice([2, 4])])
            x = tf1.nn.conv2d(x, kernel, strides=[1, rng.choice([1, 2]), 1, 1], padding=rng.choice(["SAME", "SAME"]))
            if chance(rng, 0.5):
                depth = x.shape[-1]
                x = tf1.nn.fused_batch_norm(x, tf.ones([depth]), tf.zeros([depth]))[0]
            if chance(rng, 0.4):
                x = tf1.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
        return tf.reshape(x, [-1, int(np.prod(x.shape[1:]))])

    def _layer(self, x, i):
        rng = self.rng
        width = int(x.shape[-1])
        kinds = ["dense", "dense", "activate", "combine", "reduce", "loop", "branch", "call", "unknown"]
        kind = rng.choice(kinds)
        if kind == "dense":
            units = rng.choice([1, 2, 7])
            weights = tf1.get_variable("w%d" % i, [width, units], trainable=chance(rng, 0.8))
            x = tf.matmul(x, weights)
            return tf.nn.bias_add(x, tf1.get_variable("b%d" % i, [units])) if chance(rng, 0.6) else x
        if kind == "activate":
            return rng.choice([tf.nn.relu, tf.tanh, tf.sigmoid, tf.nn.softmax, tf.exp, tf.identity])(x)
        if kind == "combine":
            return rng.choice([tf.add, tf.multiply, tf.subtract, tf.maximum])(x, self._twin(x))
        if kind == "reduce":
            return tf.concat([x, tf.reduce_sum(x, axis=1, keepdims=True)], axis=1)
        if kind == "loop":
            rounds = rng.randint(1, 4)
            return tf1.while_loop(lambda n, y: n < rounds, lambda n, y: (n + 1, tf.tanh(y * 0.5)), [tf.constant(0), x])[1]
        if kind == "branch":
            return tf1.cond(tf.reduce_sum(x) > 0.0, lambda: x * 2.0, lambda: x - 1.0)
        if kind == "call":
            return tf.function(lambda y: tf.nn.relu(y) + 1.0)(x)
        # A shape that only a run can tell.
        y = tf1.placeholder_with_default(tf.ones([self.batch, width]), None)
        return tf.ensure_shape(y, [None, width]) + x

    def _twin(self, x):
        return tf.ones_like(x) if chance(self.rng, 0.5) else x

    def _run(self):
        runs = []
        options = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE)
        with tf1.Session(graph=self.graph, config=tf1.ConfigProto(device_count={"CPU": self.rng.choice([1, 2])})) as session:
            session.run(tf1.global_variables_initializer())
            for _ in range(self.rng.randint(1, 3)):
                meta = tf1.RunMetadata()
                session.run(self.rng.choice([self.fetches, self.fetches[:1]]), self.feeds, options=options, run_metadata=meta)
                runs.append(meta)
        return runs

    def _log(self):
        from tensorflow.core.profiler import tfprof_log_pb2

        rng = self.rng
        log = tfprof_log_pb2.OpLogProto()
        names = [op.name for op in self.graph.get_operations()] + ["nobody"]
        for name in rng.sample(names, min(len(names), rng.randint(1, 6))):
            entry = log.log_entries.add(name=name)
            if chance(rng, 0.6):
                entry.float_ops = amount(rng, 100000)
            if chance(rng, 0.6):
                entry.types.append(rng.choice([t for t in TYPES if t]))
        return log
