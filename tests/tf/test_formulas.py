"""Compares the FLOPs of every op for which TensorFlow has a formula.

Nodes are made at random: shapes, strides, paddings, data formats, dilations, types, transposes, broadcasts, and shapes
that are not known, in part or at all.
"""

from __future__ import annotations

import random

import pytest
import tensorflow as tf
import tfprof
from tensorflow.python.framework import ops
from tensorflow.python.profiler import tfprof_logger as theirs
from tfprof import tfprof_logger

tf1 = tf.compat.v1
raw = tf.raw_ops
FLOATS = [tf.float32, tf.float64, tf.float16, tf.bfloat16]


class Maker:
    def __init__(self, seed):
        self.rng = random.Random(seed)

    def pick(self, *choices):
        return self.rng.choice(choices)

    def size(self, most=9):
        return self.rng.randint(1, most)

    def tensor(self, shape, dtype=tf.float32):
        """A tensor of a shape of which, now and then, not everything is known."""
        luck = self.rng.random()
        if luck < 0.04:
            return tf1.placeholder(dtype, None)
        if luck < 0.12:
            shape = [None if self.rng.random() < 0.4 else size for size in shape]
        return tf1.placeholder(dtype, shape)

    def shape(self, most_rank=4):
        return [self.rng.randint(0, 6) or 1 for _ in range(self.rng.randint(0, most_rank))]

    def unary(self, make, dtypes=FLOATS):
        return make(self.tensor(self.shape(), self.pick(*dtypes)))

    def binary(self, make, dtypes=FLOATS):
        shape, dtype = self.shape(), self.pick(*dtypes)
        other = [size if self.rng.random() < 0.7 else 1 for size in shape[self.rng.randint(0, len(shape)) :]]
        pair = [self.tensor(shape, dtype), self.tensor(other, dtype)]
        self.rng.shuffle(pair)
        return make(x=pair[0], y=pair[1])

    def reduction(self, make):
        shape = [self.size(5) for _ in range(self.rng.randint(1, 4))]
        axes = self.rng.sample(range(len(shape)), self.rng.randint(1, len(shape)))
        return make(input=self.tensor(shape), axis=tf.constant(axes), keep_dims=self.pick(True, False))

    def arg(self, make):
        shape = [self.size(5) for _ in range(self.rng.randint(1, 4))]
        return make(input=self.tensor(shape), dimension=tf.constant(self.rng.randrange(len(shape))))

    def assign(self, make):
        shape = self.shape()
        with tf1.variable_scope(f"v{self.rng.random()}"):
            variable = tf1.get_variable("v", shape, use_resource=False)
        return make(ref=variable._ref(), value=self.tensor(shape))

    def image(self, depth=None):
        return [self.size(3), self.rng.randint(6, 12), self.rng.randint(6, 12), depth or self.size(4)]

    def window(self, data_format, *sizes):
        return [1, *sizes, 1] if data_format == "NHWC" else [1, 1, *sizes]

    def laid_out(self, shape, data_format):
        return shape if data_format == "NHWC" else [shape[0], shape[3], shape[1], shape[2]]

    def pooling(self):
        data_format = self.pick("NHWC", "NHWC", "NCHW")
        return {
            "ksize": self.window(data_format, self.size(3), self.size(3)),
            "strides": self.window(data_format, self.size(3), self.size(3)),
            "padding": self.pick("SAME", "VALID"),
            "data_format": data_format,
        }

    def pool(self, make, name):
        options = self.pooling()
        return make(**{name: self.tensor(self.laid_out(self.image(), options["data_format"]))}, **options)

    def average_pool_grad(self):
        options = self.pooling()
        shape = self.laid_out(self.image(), options["data_format"])
        out = tf.nn.avg_pool2d(tf1.placeholder(tf.float32, shape), **options)
        return raw.AvgPoolGrad(orig_input_shape=tf.constant(shape), grad=self.tensor(out.shape.as_list()), **options)

    def max_pool_grad(self):
        options = self.pooling()
        before = self.tensor(self.laid_out(self.image(), options["data_format"]))
        out = raw.MaxPool(input=before, **options)
        return raw.MaxPoolGrad(orig_input=before, orig_output=out, grad=tf.ones_like(out), **options)

    def convolution(self):
        data_format = self.pick("NHWC", "NHWC", "NCHW")
        return {
            "strides": self.window(data_format, *[self.size(3)] * 2),
            "padding": self.pick("SAME", "VALID"),
            "data_format": data_format,
        }

    def conv(self):
        options, depth = self.convolution(), self.size(4)
        dilations = self.window(options["data_format"], self.size(2), self.size(2))
        image = self.tensor(self.laid_out(self.image(depth), options["data_format"]), self.pick(*FLOATS))
        kernel = tf.cast(self.tensor([self.size(3), self.size(3), depth, self.size(5)]), image.dtype)
        return raw.Conv2D(input=image, filter=kernel, dilations=dilations, **options)

    def conv_back(self, to_filter):
        options, depth = self.convolution(), self.size(4)
        shape = self.laid_out(self.image(depth), options["data_format"])
        kernel = [self.size(3), self.size(3), depth, self.size(5)]
        out = raw.Conv2D(input=tf1.placeholder(tf.float32, shape), filter=tf1.placeholder(tf.float32, kernel), **options)
        out = self.tensor(out.shape.as_list())
        if to_filter:
            image = self.tensor(shape)
            return raw.Conv2DBackpropFilter(input=image, filter_sizes=tf.constant(kernel), out_backprop=out, **options)
        kernel = self.tensor(kernel)
        return raw.Conv2DBackpropInput(input_sizes=tf.constant(shape), filter=kernel, out_backprop=out, **options)

    def conv3d(self):
        depth, stride = self.size(3), self.size(2)
        image = self.tensor([self.size(2), 5, 6, 7, depth])
        kernel = self.tensor([self.size(3), self.size(3), self.size(3), depth, self.size(3)])
        return raw.Conv3D(input=image, filter=kernel, strides=[1, stride, stride, stride, 1], padding=self.pick("SAME", "VALID"))

    def depthwise(self):
        options, depth = self.convolution(), self.size(4)
        image = self.tensor(self.laid_out(self.image(depth), options["data_format"]))
        kernel = self.tensor([self.size(3), self.size(3), depth, self.size(3)])
        return raw.DepthwiseConv2dNative(input=image, filter=kernel, **options)

    def dilation(self):
        depth, rate = self.size(4), self.size(2)
        kernel = self.tensor([self.size(3), self.size(3), depth])
        strides = [1, self.size(2), self.size(2), 1]
        image = self.tensor(self.image(depth))
        return raw.Dilation2D(input=image, filter=kernel, strides=strides, rates=[1, rate, rate, 1], padding=self.pick("SAME", "VALID"))

    def bias(self, grad):
        data_format = self.pick("NHWC", "NCHW")
        shape = self.laid_out(self.image(), data_format)
        if grad:
            return raw.BiasAddGrad(out_backprop=self.tensor(shape), data_format=data_format)
        depth = shape[3] if data_format == "NHWC" else shape[1]
        return raw.BiasAdd(value=self.tensor(shape), bias=self.tensor([depth]), data_format=data_format)

    def add_n(self):
        shape = self.shape()
        with tf1.control_dependencies([tf.no_op() for _ in range(self.rng.randint(0, 2))]):
            return raw.AddN(inputs=[self.tensor(shape) for _ in range(self.size(4))])

    def matmul(self):
        rows, inner, columns = self.size(), self.size(), self.size()
        a, b, dtype = self.pick(True, False), self.pick(True, False), self.pick(*FLOATS, tf.int32, tf.complex64)
        one = self.tensor([inner, rows] if a else [rows, inner], dtype)
        other = self.tensor([columns, inner] if b else [inner, columns], dtype)
        return raw.MatMul(a=one, b=other, transpose_a=a, transpose_b=b)

    def batch_matmul(self, make, broadcast=True, **more):
        rows, inner, columns = self.size(), self.size(), self.size()
        batch = [self.size(4) for _ in range(self.rng.randint(0, 2))]
        x, y = self.pick(True, False), self.pick(True, False)
        one = batch + ([inner, rows] if x else [rows, inner])
        other = ([] if broadcast and self.pick(True, False) else batch) + ([columns, inner] if y else [inner, columns])
        return make(x=self.tensor(one), y=self.tensor(other), adj_x=x, adj_y=y, **more)


UNARY = {"Reciprocal": raw.Reciprocal, "Square": raw.Square, "Log": raw.Log, "Neg": raw.Neg, "Rsqrt": raw.Rsqrt}
COMPARED = {name: getattr(raw, name) for name in ("GreaterEqual", "Greater", "LessEqual", "Less", "Maximum", "Minimum")}
BINARY = {name: getattr(raw, name) for name in ("Add", "AddV2", "Sub", "Mul", "RealDiv", "Pow", "SquaredDifference")}
MAKERS = {
    **{name: lambda m, make=make: m.unary(lambda x: make(x=x)) for name, make in UNARY.items()},
    **{name: lambda m, make=make: m.binary(make) for name, make in BINARY.items()},
    **{name: lambda m, make=make: m.binary(make, [*FLOATS, tf.int32, tf.int64]) for name, make in COMPARED.items()},
    "Equal": lambda m: m.binary(lambda x, y: raw.Equal(x=x, y=y)),
    "NotEqual": lambda m: m.binary(lambda x, y: raw.NotEqual(x=x, y=y)),
    "RsqrtGrad": lambda m: m.unary(lambda x: raw.RsqrtGrad(y=x, dy=x)),
    "Softmax": lambda m: raw.Softmax(logits=m.tensor([m.size(), m.size()], m.pick(*FLOATS))),
    "L2Loss": lambda m: m.unary(lambda x: raw.L2Loss(t=x)),
    "AssignAdd": lambda m: m.assign(raw.AssignAdd),
    "AssignSub": lambda m: m.assign(raw.AssignSub),
    "Mean": lambda m: m.reduction(raw.Mean),
    "Sum": lambda m: m.reduction(raw.Sum),
    "ArgMax": lambda m: m.arg(raw.ArgMax),
    "ArgMin": lambda m: m.arg(raw.ArgMin),
    "BiasAdd": lambda m: m.bias(grad=False),
    "BiasAddGrad": lambda m: m.bias(grad=True),
    "AvgPool": lambda m: m.pool(raw.AvgPool, "value"),
    "MaxPool": lambda m: m.pool(raw.MaxPool, "input"),
    "AvgPoolGrad": lambda m: m.average_pool_grad(),
    "MaxPoolGrad": lambda m: m.max_pool_grad(),
    "Conv2D": lambda m: m.conv(),
    "Conv2DBackpropInput": lambda m: m.conv_back(to_filter=False),
    "Conv2DBackpropFilter": lambda m: m.conv_back(to_filter=True),
    "Conv3D": lambda m: m.conv3d(),
    "DepthwiseConv2dNative": lambda m: m.depthwise(),
    "Dilation2D": lambda m: m.dilation(),
    "AddN": lambda m: m.add_n(),
    "MatMul": lambda m: m.matmul(),
    "BatchMatMul": lambda m: m.batch_matmul(raw.BatchMatMul, broadcast=False),
    "BatchMatMulV2": lambda m: m.batch_matmul(raw.BatchMatMulV2),
    "BatchMatMulV3": lambda m: m.batch_matmul(raw.BatchMatMulV3, Tout=tf.float32),
}


def test_every_formula_has_a_maker():
    registered = {name.partition(",")[0] for name in ops._stats_registry.list() if name.endswith(",flops")}
    assert registered == set(MAKERS)
    assert len(MAKERS) == 46


@pytest.mark.parametrize("seed", range(4))
def test_figures_are_the_same(seed):
    with tf.Graph().as_default() as graph:
        maker, counted = Maker(seed), dict.fromkeys(MAKERS, 0)
        for op, make in MAKERS.items():
            for _ in range(12):
                # Shapes that fit nothing, as random ones may, are refused by TensorFlow itself.
                try:
                    make(maker)
                except ValueError:
                    continue
        for node in graph.get_operations():
            if node.type in counted:
                counted[node.type] += 1
    ours = tfprof_logger.merge_default_with_oplog(graph, add_trace=False)
    original = theirs.merge_default_with_oplog(graph, add_trace=False)
    assert list(ours.log_entries) == list(original.log_entries)
    assert ours == original
    named = {entry.name for entry in ours.log_entries}
    seen = {node.type for node in graph.get_operations() if node.name in named}
    assert min(counted.values()) >= 6
    assert seen >= set(MAKERS)
    # The same through a whole answer.
    options = tfprof.ProfileOptionBuilder(tfprof.ProfileOptionBuilder.float_operation()).with_empty_output().build()
    assert tfprof.profile(graph, cmd="op", options=options) == tf1.profiler.profile(graph, cmd="op", options=options)


def test_formulas_that_a_user_registers():
    @ops.RegisterStatistics("Cumsum", "flops")
    def cumsum(graph, node):
        return ops.OpStats("flops", 1000 * graph.get_tensor_by_name(node.name + ":0").shape.num_elements())

    try:
        with tf.Graph().as_default() as graph:
            tf.cumsum(tf.ones([3, 4]) + 1.0, name="mine")
        for trace in (False, True):
            ours = tfprof_logger.merge_default_with_oplog(graph, add_trace=trace)
            original = theirs.merge_default_with_oplog(graph, add_trace=trace)
            assert {entry.name: entry for entry in ours.log_entries} == {
                entry.name: entry for entry in original.log_entries
            }
        options = tfprof.ProfileOptionBuilder(tfprof.ProfileOptionBuilder.float_operation()).with_empty_output().build()
        ours = tfprof.profile(graph, options=options)
        assert ours.total_float_ops == 12012
        assert ours == tf1.profiler.profile(graph, options=options)
    finally:
        del ops._stats_registry._registry["Cumsum,flops"]
