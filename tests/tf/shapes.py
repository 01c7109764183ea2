"""Compares the shapes that tfprof infers with TensorFlow's, node by node.

Graphs are made of random ops, of layers with their gradients, and of Keras models; what they state of shapes is taken
away before tfprof sees them. A shape must never contradict TensorFlow's, types must be the same, and at least 99 % of
the shapes that TensorFlow knows must be found.

Usage: shapes.py [--infer target/debug/examples/infer] [--seed N] [--rounds N] [--keras NAME,...]
"""

import argparse
import collections
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
raw = tf.raw_ops


class Tally:
    def __init__(self):
        self.known = 0
        self.found = 0
        self.nodes = 0
        self.contradictions = []
        self.types = []
        self.lost = collections.Counter()
        self.example = {}
        self.no_formula = collections.Counter()
        self.no_rule = collections.Counter()

    def compare(self, graph, infer):
        """Adds the outputs of all ops of a graph."""
        definition = graph.as_graph_def()
        for node in definition.node:
            node.attr.pop("_output_shapes", None)
        with tempfile.NamedTemporaryFile(suffix=".pb") as file:
            file.write(definition.SerializeToString())
            file.flush()
            lines = subprocess.run([infer, file.name], check=True, capture_output=True, text=True).stdout.splitlines()
        for line in map(json.loads, lines):
            self.nodes += 1
            op = graph.get_operation_by_name(line["name"])
            if line["cost"] == "NoFormula":
                self.no_formula[line["op"]] += 1
            for at, output in enumerate(op.outputs):
                self.output(line, at, output)

    def output(self, line, at, output):
        ours = line["shapes"][at] if at < len(line["shapes"]) else None
        theirs = output.shape.as_list() if output.shape.rank is not None else None
        where = (line["op"], at)
        if at >= len(line["types"]):
            self.no_rule[line["op"]] += 1
        elif line["types"][at] != output.dtype.base_dtype.as_datatype_enum:
            self.types.append((line["op"], line["name"], at, line["types"][at], output.dtype.name))
        if ours is not None:
            ours = [None if size < 0 else size for size in ours]
        both = ours is not None and theirs is not None
        if both and (len(ours) != len(theirs) or any(a not in (None, b) and b is not None for a, b in zip(ours, theirs))):
            self.contradictions.append((line["op"], line["name"], at, ours, theirs))
        if theirs is not None and None not in theirs:
            self.known += 1
            if ours is not None and None not in ours:
                self.found += 1
            else:
                self.lost[where] += 1
                self.example.setdefault(where, (line["name"], ours, theirs))

    def report(self):
        share = 100 * self.found / max(self.known, 1)
        print(f"{self.nodes} nodes; {self.found} of {self.known} known shapes found ({share:.2f} %)")
        for where, count in self.lost.most_common(30):
            print(f"  lost {count}: {where} {self.example[where]}")
        for what in self.contradictions[:30]:
            print("  CONTRADICTION", *what)
        for what in self.types[:30]:
            print("  WRONG TYPE", *what)
        if self.no_rule:
            print("  no rule:", dict(self.no_rule.most_common(40)))
        if self.no_formula:
            print("  no formula:", dict(self.no_formula.most_common(40)))
        return share >= 99 and not self.contradictions and not self.types


def random_ops(rng):
    """One graph with most kinds of ops, on tensors of random shapes, some of them partly unknown."""

    def size():
        return rng.randint(1, 6)

    def tensor(dims, dtype=tf.float32, open_sizes=True):
        shape = [None if open_sizes and rng.random() < 0.15 else d for d in dims]
        if open_sizes and rng.random() < 0.03:
            shape = None
        return v1.placeholder(dtype, shape)

    def attempt(make):
        try:
            make()
        except (ValueError, TypeError, tf.errors.OpError) as error:
            if os.environ.get("VERBOSE"):
                print("  left out:", str(error).splitlines()[0][:150])

    dims = [size() for _ in range(rng.randint(0, 4))]
    x, y = tensor(dims), tensor([d if rng.random() < 0.7 else 1 for d in dims])
    i, j = tensor(dims, tf.int32), tensor(dims[rng.randint(0, len(dims)) :], tf.int32)
    b = tensor(dims, tf.bool)
    unary = "Abs Acos Asinh Ceil Cos Elu Erf Exp Expm1 Floor LeakyRelu Lgamma Log Log1p Neg Reciprocal Relu Relu6 Rint Round Rsqrt Selu Sigmoid Sign Sin Softplus Softsign Sqrt Square Tan Tanh ZerosLike OnesLike IsFinite IsNan Identity StopGradient Shape Size Rank".split()
    for name in rng.sample(unary, 12):
        arg = {"x": x}
        if name in ("Elu", "LeakyRelu", "Relu", "Relu6", "Selu", "Softplus", "Softsign"):
            arg = {"features": x}
        elif name in ("Identity", "StopGradient", "Shape", "Size", "Rank"):
            arg = {"input": x}
        attempt(lambda: getattr(raw, name)(**arg))
    binary = "Add AddV2 Sub Mul RealDiv Maximum Minimum Pow SquaredDifference Less LessEqual Greater GreaterEqual Equal NotEqual FloorDiv FloorMod DivNoNan Atan2 Xlogy".split()
    for name in rng.sample(binary, 10):
        attempt(lambda: getattr(raw, name)(x=x, y=y))
    for name in "FloorDiv FloorMod BitwiseAnd LeftShift TruncateDiv".split():
        attempt(lambda: getattr(raw, name)(x=i, y=j))
    attempt(lambda: raw.LogicalAnd(x=b, y=b))
    attempt(lambda: raw.SelectV2(condition=b, t=x, e=y))
    attempt(lambda: tf.cast(x, rng.choice([tf.int32, tf.float16, tf.bool, tf.complex64])))
    attempt(lambda: raw.AddN(inputs=[x, x, x]))

    def shape_math():
        s = tf.shape(x)
        n = s[0]
        tf.reshape(x, [-1, s[-1]])
        tf.reshape(x, tf.concat([s[:1], [-1]], 0))
        tf.zeros(tf.stack([n, 3, n * 2 + 1]))
        tf.fill([tf.maximum(n, 2), tf.reduce_prod(s)], 1.0)
        tf.range(n // 2, n * 3, 2)
        tf.broadcast_to(x, tf.concat([[2], s], 0))
        tf.tile(x, tf.ones_like(s) * 2)
        tf.expand_dims(s, rng.randint(-2, 1))
        tf.reshape(x, tf.where(s > 0, s, s))
        tf.zeros(tf.gather(s, tf.range(tf.rank(x))[::-1]))
        tf.unstack(s)
        tf.zeros(tf.transpose(tf.stack([s, s]))[:, 1])
        tf.one_hot(i, n)

    attempt(shape_math)
    rank = len(dims)
    if rank:
        axis = rng.randrange(-rank, rank)
        axes = rng.sample(range(rank), rng.randint(1, rank))
        for name in ["reduce_sum", "reduce_mean", "reduce_max", "reduce_prod", "reduce_euclidean_norm", "reduce_logsumexp"]:
            attempt(lambda: getattr(tf.math, name)(x, axis=axes, keepdims=rng.random() < 0.5))
        attempt(lambda: tf.reduce_any(b, axis=axis))
        attempt(lambda: tf.argmax(x, axis=axis))
        attempt(lambda: tf.cumsum(x, axis=axis))
        attempt(lambda: tf.nn.softmax(x, axis=axis))
        attempt(lambda: tf.nn.log_softmax(x))
        attempt(lambda: tf.concat([x, x, tensor(dims)], axis))
        attempt(lambda: tf.stack([x, tensor(dims)], axis))
        attempt(lambda: tf.unstack(x, axis=axis))
        attempt(lambda: tf.split(x, 2 if dims[axis] % 2 == 0 else 1, axis))
        attempt(lambda: tf.split(x, [1, -1], axis))
        attempt(lambda: tf.transpose(x, rng.sample(range(rank), rank)))
        attempt(lambda: tf.pad(x, [[rng.randint(0, 2), rng.randint(0, 2)] for _ in dims]))
        attempt(lambda: tf.reverse(x, axes))
        attempt(lambda: tf.roll(x, 1, axis))
        attempt(lambda: tf.squeeze(tf.expand_dims(x, axis), axis))
        attempt(lambda: tf.squeeze(x))
        attempt(lambda: tf.gather(x, tensor([size(), 2], tf.int32), axis=axis))
        attempt(lambda: tf.gather_nd(x, tensor([size(), rng.randint(1, rank)], tf.int32)))
        attempt(lambda: tf.scatter_nd(tensor([4, 1], tf.int32, False), tensor([4, 3], open_sizes=False), [7, 3]))
        attempt(lambda: tf.slice(x, [0] * rank, [rng.choice([-1, 1]) for _ in dims]))
        key = []
        for d in dims:
            pick = rng.random()
            if pick < 0.25:
                key.append(rng.randrange(-d, d))
            elif pick < 0.75:
                ends = [None, *range(-d - 1, d + 2)]
                key.append(slice(rng.choice(ends), rng.choice(ends), rng.choice([None, 1, 2, -1, -2])))
            else:
                key.append(slice(None))
            if rng.random() < 0.15:
                key.append(tf.newaxis)
        if rng.random() < 0.3:
            key = [*key[:1], Ellipsis]
        attempt(lambda: x[tuple(key)])
        attempt(lambda: tf.shape(x)[rng.randint(-2, 1) : rng.choice([None, 1, 2]) : rng.choice([1, -1])])
        attempt(lambda: tf.nn.top_k(x, 1))
        attempt(lambda: tf.unique(tf.reshape(x, [-1])))
        attempt(lambda: tf.where(b))
        attempt(lambda: tf.boolean_mask(x, b))
        attempt(lambda: tf.math.unsorted_segment_sum(x, tensor(dims[:1], tf.int32), 5))
        attempt(lambda: tf.math.segment_sum(x, tensor(dims[:1], tf.int32)))
        attempt(lambda: tf.sort(x))
        attempt(lambda: tf.linalg.diag(x))
        attempt(lambda: tf.dynamic_partition(x, tensor(dims[:1], tf.int32), 3))
        attempt(lambda: tf.repeat(x, 3, axis=axis))
        attempt(lambda: tf.meshgrid(tf.range(3), tf.range(4)))
        attempt(lambda: tf.nn.bias_add(x, tensor(dims[-1:])))
        attempt(lambda: tf.image.adjust_contrast(x, 2.0))
        attempt(lambda: tf.linalg.band_part(x, 1, 1))
        attempt(lambda: tf.nn.l2_loss(x))
        attempt(lambda: tf.clip_by_value(x, 0.0, 1.0))
        attempt(lambda: tf.random.normal(tf.shape(x)))
        attempt(lambda: tf.strings.as_string(x))

    m, k, n, batch = size(), size(), size(), size()
    flips = [rng.random() < 0.5 for _ in range(2)]
    a = tensor([k, m] if flips[0] else [m, k])
    c = tensor([n, k] if flips[1] else [k, n])
    attempt(lambda: raw.MatMul(a=a, b=c, transpose_a=flips[0], transpose_b=flips[1]))
    aa = tensor([batch, *([k, m] if flips[0] else [m, k])])
    cc = tensor([rng.choice([1, batch]), *([n, k] if flips[1] else [k, n])])
    attempt(lambda: raw.BatchMatMulV2(x=aa, y=cc, adj_x=flips[0], adj_y=flips[1]))
    attempt(lambda: tf.matmul(aa, c if not flips[1] else tf.transpose(c), transpose_a=flips[0]))
    attempt(lambda: tf.einsum("bij,jk->bik", tensor([batch, m, k]), tensor([k, n])))
    attempt(lambda: tf.einsum("...ij,...jk->...ik", tensor([batch, 2, m, k]), tensor([k, n])))
    attempt(lambda: tf.einsum("abc,cde->abde", tensor([batch, m, k]), tensor([k, n, 2])))
    attempt(lambda: tf.einsum("aecd,abcd->acbe", tensor([2, m, 3, k]), tensor([2, n, 3, k])))
    attempt(lambda: tf.tensordot(tensor([batch, m, k], open_sizes=False), tensor([k, n], open_sizes=False), 1))
    attempt(lambda: tf.linalg.inv(tensor([batch, m, m])))
    attempt(lambda: tf.linalg.cholesky(tensor([m, m])))
    attempt(lambda: tf.linalg.solve(tensor([m, m]), tensor([m, n])))
    attempt(lambda: tf.linalg.det(tensor([batch, m, m])))
    attempt(lambda: tf.signal.fft(tensor([batch, 8], tf.complex64)))
    attempt(lambda: tf.signal.rfft(tensor([batch, 8], open_sizes=False)))
    attempt(lambda: tf.signal.irfft(tensor([batch, 5], tf.complex64, False)))

    h, w, channels, filters = rng.randint(5, 12), rng.randint(5, 12), size(), size()
    image = tensor([batch, h, w, channels])
    window, stride, dilation = rng.randint(1, 3), rng.randint(1, 3), rng.randint(1, 2)
    padding = rng.choice(["SAME", "VALID"])
    kernel = tensor([window, window, channels, filters])
    attempt(lambda: raw.Conv2D(input=image, filter=kernel, strides=[1, stride, stride, 1], padding=padding, dilations=[1, dilation, dilation, 1]))
    attempt(lambda: raw.Conv2D(input=image, filter=kernel, strides=[1, stride, stride, 1], padding="EXPLICIT", explicit_paddings=[0, 0, 1, 2, 0, 1, 0, 0]))
    nchw = tensor([batch, channels, h, w])
    attempt(lambda: raw.Conv2D(input=nchw, filter=kernel, strides=[1, 1, stride, stride], padding=padding, data_format="NCHW"))
    attempt(lambda: tf.nn.depthwise_conv2d(image, kernel, [1, stride, stride, 1], padding))
    attempt(lambda: tf.nn.conv2d_transpose(image, tensor([window, window, filters, channels]), tf.stack([tf.shape(image)[0], h * stride, w * stride, filters]), stride, padding))
    attempt(lambda: tf.nn.conv1d(tensor([batch, h, channels]), tensor([window, channels, filters]), stride, padding))
    attempt(lambda: tf.nn.conv3d(tensor([batch, h, w, 5, channels]), tensor([window, window, window, channels, filters]), [1, stride, stride, stride, 1], padding))
    attempt(lambda: tf.nn.atrous_conv2d(image, kernel, 2, padding))
    for name in ["AvgPool", "MaxPool"]:
        attempt(lambda: getattr(raw, name)(**{"value" if name == "AvgPool" else "input": image}, ksize=[1, window, window, 1], strides=[1, stride, stride, 1], padding=padding))
        attempt(lambda: getattr(raw, name)(**{"value" if name == "AvgPool" else "input": nchw}, ksize=[1, 1, window, window], strides=[1, 1, stride, stride], padding=padding, data_format="NCHW"))
    attempt(lambda: tf.nn.max_pool_with_argmax(image, window, stride, padding))
    attempt(lambda: tf.nn.avg_pool3d(tensor([batch, h, w, 5, channels]), window, stride, padding))
    vector = tensor([channels])
    attempt(lambda: v1.nn.fused_batch_norm(image, vector, vector, is_training=True))
    attempt(lambda: v1.nn.fused_batch_norm(image, vector, vector, vector, vector, is_training=False))
    attempt(lambda: tf.image.resize(image, [h * 2, w + 1], rng.choice(["bilinear", "nearest", "bicubic", "area"])))
    attempt(lambda: tf.image.crop_and_resize(image, tensor([3, 4]), tensor([3], tf.int32), [4, 5]))
    attempt(lambda: tf.nn.space_to_depth(tensor([batch, 4, 6, channels]), 2))
    attempt(lambda: tf.nn.depth_to_space(tensor([batch, 4, 6, 8]), 2))
    attempt(lambda: tf.space_to_batch(tensor([batch, 4, 6, channels], open_sizes=False), [2, 2], [[0, 0], [1, 1]]))
    attempt(lambda: tf.image.extract_patches(image, [1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], padding))
    attempt(lambda: tf.nn.local_response_normalization(image))
    logits = tensor([batch, 7])
    attempt(lambda: raw.SoftmaxCrossEntropyWithLogits(features=logits, labels=tensor([batch, 7])))
    attempt(lambda: raw.SparseSoftmaxCrossEntropyWithLogits(features=logits, labels=tensor([batch], tf.int32)))
    attempt(lambda: tf.math.in_top_k(tensor([batch], tf.int32), logits, 3))
    attempt(lambda: tf.sparse.sparse_dense_matmul(tf.sparse.SparseTensor(tensor([5, 2], tf.int64), tensor([5]), [m, k]), tensor([k, n])))
    attempt(lambda: tf.quantization.fake_quant_with_min_max_args(x))
    attempt(lambda: raw.LSTMBlockCell(x=tensor([batch, k]), cs_prev=tensor([batch, m]), h_prev=tensor([batch, m]), w=tensor([k + m, 4 * m]), wci=tensor([m]), wcf=tensor([m]), wco=tensor([m]), b=tensor([4 * m])))
    attempt(lambda: raw.BlockLSTM(seq_len_max=tf.constant(4, tf.int64), x=tensor([4, batch, k]), cs_prev=tensor([batch, m]), h_prev=tensor([batch, m]), w=tensor([k + m, 4 * m]), wci=tensor([m]), wcf=tensor([m]), wco=tensor([m]), b=tensor([4 * m])))
    rare_ops(rng, tensor, attempt, [batch, h, w, channels], kernel, padding)
    attempt(lambda: raw.GRUBlockCell(x=tensor([batch, k]), h_prev=tensor([batch, m]), w_ru=tensor([k + m, 2 * m]), w_c=tensor([k + m, m]), b_ru=tensor([2 * m]), b_c=tensor([m])))


def rare_ops(rng, tensor, attempt, dims, kernel, padding):
    """Ops that few models have, and sizes that floats lead to."""
    batch, h, w, channels = dims
    image = tensor(dims)
    fixed = tensor([h, w], open_sizes=False)
    half = tf.cast(tf.math.ceil(tf.cast(tf.shape(fixed)[0], tf.float32) / rng.choice([1.5, 2.0, 3.0])), tf.int32)
    attempt(lambda: tf.range(half))
    attempt(lambda: tf.range(tf.reduce_max(tf.stack([half, half]))))
    attempt(lambda: tf.range(0.0, rng.uniform(0.5, 9.5), rng.uniform(0.1, 2.0)))
    attempt(lambda: tf.range(tf.constant(rng.uniform(5, 9), tf.float64), 1.0, -0.3))
    values = [[rng.randint(0, 4) for _ in range(3)] for _ in range(2)]
    attempt(lambda: tf.zeros(tf.argmax(values, axis=rng.choice([0, 1, -1]))))
    attempt(lambda: tf.zeros(tf.argmin([[float(n) for n in row] for row in values], axis=0)))
    attempt(lambda: tf.zeros(raw.ListDiff(x=[4, 2, 3, 2], y=[2])[0]))
    attempt(lambda: raw.DynamicPartition(data=tensor([3, w]), partitions=[0, 1, 0], num_partitions=2))
    pads = [[0, 0], [rng.randint(0, 2), 1], [0, rng.randint(0, 2)], [0, 0]]
    strides = [1, rng.randint(1, 2), 1, 1]
    fused = dict(filter=kernel, mode="REFLECT", strides=strides, padding=padding)
    attempt(lambda: raw.FusedPadConv2D(input=image, paddings=pads, **fused))
    attempt(lambda: raw.FusedResizeAndPadConv2D(input=image, size=[h * 2, w + 1], paddings=pads, **fused))
    lengths = tensor([batch], tf.int32, False)
    attempt(lambda: raw.CTCBeamSearchDecoder(inputs=tensor([h, batch, w]), sequence_length=lengths, beam_width=4, top_paths=2))
    attempt(lambda: raw.CTCGreedyDecoder(inputs=tensor([h, batch, w]), sequence_length=lengths))
    attempt(lambda: raw.BoostedTreesBucketize(float_values=[tensor([h]), tensor([w])], bucket_boundaries=[tensor([3]), tensor([4])]))
    ids = tensor([batch, h], tf.int32)
    attempt(lambda: raw.DenseToDenseSetOperation(set1=ids, set2=tensor([batch, w], tf.int32), set_operation="union"))
    sparse = [tensor([None, 2], tf.int64), tensor([None], tf.int32), tf.constant([batch, w], tf.int64)]
    names = ["indices", "values", "shape"]
    attempt(lambda: raw.DenseToSparseSetOperation(set1=ids, set_operation="union", **{f"set2_{n}": t for n, t in zip(names, sparse)}))
    truth = [tensor([None, 2], tf.int64), tensor([None], tf.int32), tf.constant([batch, h], tf.int64)]
    both = {f"hypothesis_{n}": t for n, t in zip(names, sparse)} | {f"truth_{n}": t for n, t in zip(names, truth)}
    attempt(lambda: raw.EditDistance(**both))
    attempt(lambda: raw.FFTND(input=tensor([batch, h, w], tf.complex64), fft_length=[h, w], axes=[1, 2]))


def training(rng, optimizer, resource, nchw=False):
    """A small network of TensorFlow 1 with gradients and an optimizer."""
    v1.disable_control_flow_v2()
    batch = rng.choice([None, 4])
    x = v1.placeholder(tf.float32, [batch, 12, 12, 3])
    labels = v1.placeholder(tf.int32, [batch])

    def variable(name, *shape):
        return v1.get_variable(name, shape, use_resource=resource)

    net = x
    for layer in range(2):
        channels = net.shape[-1]
        net = tf.nn.conv2d(net, variable(f"w{layer}", 3, 3, channels, 4), rng.randint(1, 2), "SAME")
        net = tf.nn.bias_add(net, variable(f"b{layer}", 4))
        net, _, _ = v1.nn.fused_batch_norm(net, variable(f"g{layer}", 4), variable(f"o{layer}", 4))
        net = rng.choice([tf.nn.relu, tf.nn.elu, tf.sigmoid, tf.tanh, tf.nn.softplus, tf.nn.leaky_relu, tf.nn.selu, tf.nn.relu6])(net)
        if rng.random() < 0.7:
            net = rng.choice([tf.nn.max_pool2d, tf.nn.avg_pool2d])(net, 2, 2, "SAME")
    net = tf.nn.depthwise_conv2d(net, variable("d", 2, 2, 4, 2), [1, 1, 1, 1], "SAME")
    net = tf.concat([net, tf.pad(net, [[0, 0], [0, 0], [0, 0], [1, 2]])], 3)
    net = tf.reshape(tf.reduce_mean(net, [1, 2]), [-1, net.shape[-1]])
    net = net * variable("scale", 1, net.shape[-1]) + variable("shift", net.shape[-1])
    table = variable("table", 10, 4)
    net = tf.concat([net, tf.gather(table, labels)], 1)
    logits = tf.matmul(net, variable("out", net.shape[-1], 10))
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    loss += 0.1 * tf.add_n([tf.nn.l2_loss(v) for v in v1.trainable_variables()])
    optimizer.minimize(loss, global_step=v1.train.get_or_create_global_step())
    v1.summary.scalar("loss", loss)
    v1.train.Saver()


def recurrent(rng):
    """Loops of TensorFlow 1 and their gradients."""
    v1.disable_control_flow_v2()
    x = v1.placeholder(tf.float32, [rng.choice([None, 3]), 5, 6])
    w, u = v1.get_variable("w", [6, 8]), v1.get_variable("u", [8, 8])
    steps = tf.transpose(x, [1, 0, 2])
    inputs = tf.TensorArray(tf.float32, 5).unstack(steps)
    outputs = tf.TensorArray(tf.float32, 5)
    state = tf.zeros([tf.shape(x)[0], 8])
    state.set_shape([x.shape[0], 8])

    def body(t, state, outputs):
        state = tf.tanh(tf.matmul(inputs.read(t), w) + tf.matmul(state, u))
        return t + 1, state, outputs.write(t, state)

    _, last, outputs = tf.while_loop(lambda t, *_: t < 5, body, [0, state, outputs])
    chosen = tf.cond(tf.reduce_sum(last) > 0, lambda: last * 2.0, lambda: tf.nn.relu(last))
    loss = tf.reduce_sum(outputs.stack()) + tf.reduce_sum(chosen)
    v1.train.AdamOptimizer().minimize(loss)


def keras_model(name):
    import keras
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    keras.backend.clear_session()
    layers = keras.layers
    if name == "attention":
        inputs = keras.Input((10, 16))
        net = layers.MultiHeadAttention(2, 8)(inputs, inputs)
        net = layers.LayerNormalization()(net + inputs)
        net = layers.Dense(16, activation="gelu")(net)
        model = keras.Model(inputs, layers.GlobalAveragePooling1D()(layers.Dense(3, activation="swish")(net)))
    elif name == "upsampling":
        inputs = keras.Input((16, 16, 3))
        net = layers.SeparableConv2D(8, 3, padding="same")(inputs)
        net = layers.GroupNormalization(4)(net)
        net = layers.Conv2DTranspose(4, 3, 2, padding="same")(layers.UpSampling2D()(net))
        model = keras.Model(inputs, layers.Flatten()(layers.ZeroPadding2D()(layers.Cropping2D()(net))))
    else:
        model = getattr(keras.applications, name)(weights=None)
    concrete = tf.function(lambda x: model(x, training=False)).get_concrete_function(
        tf.TensorSpec((None, *model.input_shape[1:]), tf.float32)
    )
    frozen = convert_variables_to_constants_v2(concrete, lower_control_flow=False).graph.as_graph_def()
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(frozen, name="")
    return graph


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("--infer", default=str(root / "target/debug/examples/infer"))
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--keras", default="attention,upsampling,MobileNetV2,EfficientNetB0")
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    tally = Tally()
    print(f"seed {arguments.seed}, {arguments.rounds} rounds")
    for _ in range(arguments.rounds):
        with tf.Graph().as_default() as graph:
            random_ops(rng)
        tally.compare(graph, arguments.infer)
    train = v1.train
    for optimizer in [
        train.GradientDescentOptimizer(0.1),
        train.MomentumOptimizer(0.1, 0.9),
        train.AdamOptimizer(),
        train.RMSPropOptimizer(0.1),
        train.AdagradOptimizer(0.1),
        train.AdadeltaOptimizer(),
        train.FtrlOptimizer(0.1),
    ]:
        for resource in [False, True]:
            with tf.Graph().as_default() as graph:
                training(rng, optimizer, resource)
            tally.compare(graph, arguments.infer)
    for _ in range(2):
        with tf.Graph().as_default() as graph:
            recurrent(rng)
        tally.compare(graph, arguments.infer)
    for name in filter(None, arguments.keras.split(",")):
        tally.compare(keras_model(name), arguments.infer)
    sys.exit(0 if tally.report() else 1)


if __name__ == "__main__":
    main()
