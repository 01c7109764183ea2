"""Random models of each class of layers, and what Keras, TensorFlow and tfprof count of them.

    python layers.py TFPROF DIRECTORY [--keras tf_keras] [--seed N] [--rounds N] [--only CLASS,...] [--convert]

Each class of layers gets models with random arguments, saved as .keras, .h5, JSON and SavedModel; with --convert also as
TensorFlow Lite and ONNX. Fails if the parameters differ from Keras's, the multiply-adds from those of the ops that TensorFlow runs, or
the FLOPs by more than 3 %. Augmentation that a SavedModel would do is left out: the model is saved as it infers.
"""

import argparse
import collections
import json
import os
import random
import shutil
import subprocess
import sys

os.environ.update(CUDA_VISIBLE_DEVICES="-1", TF_CPP_MIN_LOG_LEVEL="3")
parser = argparse.ArgumentParser()
parser.add_argument("tfprof")
parser.add_argument("directory")
parser.add_argument("--keras", choices=["keras", "tf_keras"], default="keras")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--rounds", type=int, default=4)
parser.add_argument("--only", default="")
parser.add_argument("--convert", action="store_true")
parser.add_argument("--verbose", action="store_true")
arguments = parser.parse_args()
if arguments.keras == "keras":
    import keras
else:
    os.environ["TF_USE_LEGACY_KERAS"] = "1"
    import tf_keras as keras
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

layers = keras.layers
is_new = arguments.keras == "keras"
pick = random.Random(arguments.seed)
one = pick.choice
flag = lambda: pick.random() < 0.5
some = lambda low, high: pick.randint(low, high)

ACTIVATIONS = [None, "linear", "relu", "sigmoid", "tanh", "softmax", "elu", "selu", "softplus", "softsign", "exponential", "gelu", "swish", "hard_sigmoid"]
if is_new:
    ACTIVATIONS += ["relu6", "leaky_relu", "log_softmax", "mish", "silu", "hard_silu", "hard_swish", "celu", "hard_tanh", "log_sigmoid", "tanh_shrink", "soft_shrink",
                    "hard_shrink", "squareplus", "sparse_plus", "sparse_sigmoid", "threshold"]
activation = lambda: one(ACTIVATIONS)
INITS = ["zeros", "glorot_uniform"]


def batch(*sizes, dtype="float32"):
    return keras.Input(sizes, dtype=dtype)


def sizes(rank, low=8, high=17):
    return tuple(some(low, high) for _ in range(rank))


def image(rank, channels=None, low=8, high=17):
    return batch(*sizes(rank, low, high), channels or some(1, 6))


def first_or_last(rank, channels, low=8, high=17):
    """An input, and its format."""
    if pick.random() < 0.2:
        return batch(channels, *sizes(rank, low, high)), "channels_first"
    return batch(*sizes(rank, low, high), channels), "channels_last"


def tuple_or_int(rank, low, high):
    return some(low, high) if flag() else tuple(some(low, high) for _ in range(rank))


CASES = {}


def case(*names):
    def add(maker):
        for name in names:
            if hasattr(layers, name):
                CASES[name] = (name, maker)
        return maker

    return add


rank_of = lambda name: next((int(digit) for digit in name if digit.isdigit()), 2)


@case("Dense")
def dense(name):
    x = one([batch(some(2, 20)), batch(some(2, 9), some(2, 20)), batch(3, 4, some(2, 20))])
    return x, layers.Dense(some(1, 20), activation(), use_bias=flag())(x)


@case("EinsumDense")
def einsum_dense(name):
    a, b, c = some(2, 6), some(2, 6), some(2, 6)
    equation, shape, out, bias = one([
        ("ab,bc->ac", (a,), c, "c"), ("abc,cd->abd", (a, b), (None, c), "d"), ("...x,xy->...y", (a, b), c, "y"), ("abc,cde->abde", (a, b), (None, c, 5), "de"),
        ("abde,def->abf", (a, b, c), (None, 7), "f"), ("...abc,...abd->...cd", (3, a, b), (b, 4), None), ("bnm,mnh->bnh", (a, b), (a, 6), "nh")])
    x = batch(*shape)
    return x, layers.EinsumDense(equation, output_shape=out, bias_axes=bias if flag() else None, activation=activation())(x)


@case("Embedding")
def embedding(name):
    x = batch(*sizes(one([0, 1, 1, 2]), 2, 9), dtype=one(["int32", "int64", "float32"]))
    return x, layers.Embedding(some(3, 40), some(1, 12), mask_zero=flag())(x)


@case("ReversibleEmbedding")
def reversible(name):
    x = batch(some(2, 9), dtype="int32")
    layer = layers.ReversibleEmbedding(some(3, 40), some(1, 12), tie_weights=flag())
    y = layer(x)
    return x, layer(y, reverse=True) if flag() else y


@case("Conv1D", "Conv2D", "Conv3D")
def convolution(name):
    rank = rank_of(name)
    groups = one([1, 1, 1, 2, 3])
    channels = groups * some(1, 4)
    x, form = first_or_last(rank, channels)
    strides, rate = one([(1, 1), (tuple_or_int(rank, 1, 3), 1), (1, tuple_or_int(rank, 1, 3))])
    padding = one(["valid", "same"] + (["causal"] if rank == 1 and form == "channels_last" else []))
    layer = getattr(layers, name)(groups * some(1, 5), tuple_or_int(rank, 1, 3), strides=strides, padding=padding, data_format=form, dilation_rate=rate,
                                  groups=groups, activation=activation(), use_bias=flag())
    return x, layer(x)


@case("DepthwiseConv1D", "DepthwiseConv2D", "SeparableConv1D", "SeparableConv2D")
def depthwise(name):
    rank = rank_of(name)
    x, form = first_or_last(rank, some(1, 5))
    strides, rate = one([(1, 1), (some(1, 3), 1), (1, some(1, 3))])
    own = {"filters": some(1, 6)} if name.startswith("Sep") else {}
    padding = one(["valid", "same"] + (["causal"] if name == "SeparableConv1D" and form == "channels_last" and not is_new else []))
    kernel = some(1, 4) if rank == 1 or flag() else (some(1, 4),) * 2
    return x, getattr(layers, name)(kernel_size=kernel, strides=strides, padding=padding, depth_multiplier=some(1, 3), data_format=form, dilation_rate=rate,
                                    activation=activation(), use_bias=flag(), **own)(x)


@case("Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose")
def transposed(name):
    rank = rank_of(name)
    x, form = first_or_last(rank, some(1, 4), 4, 9)
    strides = tuple_or_int(rank, 1, 3)
    padding = one(["valid", "same"])
    output = None
    if pick.random() < 0.2:
        output = 0
    options = {"output_padding": output} if output is not None and (rank > 1 or is_new) else {}
    if rank == 1 and options:
        options = {"output_padding": 0}
    return x, getattr(layers, name)(some(1, 5), tuple_or_int(rank, 1, 4), strides=strides, padding=padding, data_format=form, activation=activation(), use_bias=flag(), **options)(x)


@case(*[f"{kind}Pooling{rank}D" for kind in ("Max", "Average") for rank in (1, 2, 3)])
def pooling(name):
    rank = rank_of(name)
    x, form = first_or_last(rank, some(1, 5))
    strides = one([None, tuple_or_int(rank, 1, 3)])
    return x, getattr(layers, name)(tuple_or_int(rank, 1, 4), strides=strides, padding=one(["valid", "same"]), data_format=form)(x)


@case(*[f"Global{kind}Pooling{rank}D" for kind in ("Max", "Average") for rank in (1, 2, 3)])
def global_pooling(name):
    rank = rank_of(name)
    x, form = first_or_last(rank, some(1, 5))
    return x, getattr(layers, name)(data_format=form, keepdims=flag())(x)


@case(*[f"Adaptive{kind}Pooling{rank}D" for kind in ("Max", "Average") for rank in (1, 2, 3)])
def adaptive(name):
    rank = rank_of(name)
    x, form = first_or_last(rank, some(1, 5))
    return x, getattr(layers, name)(tuple_or_int(rank, 1, 5), data_format=form)(x)


@case("BatchNormalization")
def batch_norm(name):
    x = one([batch(some(2, 9)), image(1), image(2), image(3, low=3, high=5)])
    axis = one([-1, len(x.shape) - 1, 1])
    x2 = layers.BatchNormalization(axis=axis, center=flag(), scale=flag(), **({"renorm": True} if False else {}))(x)
    return x, x2


@case("LayerNormalization")
def layer_norm(name):
    x = one([batch(some(2, 9)), image(1), image(2)])
    axes = one([-1, -1, list(range(1, len(x.shape))), [len(x.shape) - 1], 1])
    options = {"rms_scaling": True} if is_new and hasattr(layers.LayerNormalization, "rms_scaling") else {}
    return x, layers.LayerNormalization(axis=axes, center=flag(), scale=flag(), **options)(x)


@case("RMSNormalization", "UnitNormalization")
def other_norm(name):
    x = one([batch(some(2, 9)), image(1), image(2)])
    return x, getattr(layers, name)(axis=-1)(x)


@case("GroupNormalization")
def group_norm(name):
    groups = one([1, 2, 3])
    x = one([image(1, groups * some(1, 3)), image(2, groups * some(1, 3))])
    return x, layers.GroupNormalization(one([groups, -1]), center=flag(), scale=flag())(x)


@case("SpectralNormalization")
def spectral(name):
    x = image(2)
    inner = one([lambda: layers.Conv2D(3, 2), lambda: layers.Dense(4), lambda: layers.Conv2DTranspose(3, 2)])()
    return x, layers.SpectralNormalization(inner)(x)


@case("Normalization")
def normalization(name):
    x = one([batch(some(2, 9)), image(2)])
    kind = some(0, 2)
    if kind == 0:
        return x, layers.Normalization(mean=0.5, variance=2.0)(x)
    layer = layers.Normalization(axis=one([-1, None]))
    layer.adapt(np.random.rand(3, *x.shape[1:]).astype("float32"))
    return x, layer(x)


def recurrent_options(name):
    own = {"activation": one(["tanh", "relu", "sigmoid"]), "use_bias": flag(), "return_sequences": flag(), "go_backwards": flag(), "unroll": pick.random() < 0.2}
    if name in ("LSTM", "GRU") and flag():
        own["recurrent_activation"] = one(["sigmoid", "hard_sigmoid", "relu"])
    if name == "GRU":
        own["reset_after"] = flag()
    if name == "LSTM":
        own["unit_forget_bias"] = flag()
    return own


@case("LSTM", "GRU", "SimpleRNN")
def recurrent(name):
    x = batch(some(2, 9), some(1, 9))
    return x, getattr(layers, name)(some(1, 9), **recurrent_options(name))(x)


@case("RNN")
def cells(name):
    x = batch(some(2, 9), some(1, 9))
    make = lambda: one([layers.LSTMCell, layers.GRUCell, layers.SimpleRNNCell])(some(1, 9), use_bias=flag())
    cell = make() if flag() else [make() for _ in range(some(1, 3))]
    if isinstance(cell, list) and flag():
        cell = layers.StackedRNNCells(cell)
    return x, layers.RNN(cell, return_sequences=flag())(x)


@case("Bidirectional")
def bidirectional(name):
    x = batch(some(2, 9), some(1, 9))
    kind = one(["LSTM", "GRU", "SimpleRNN"])
    own = {**recurrent_options(kind), "go_backwards": False}
    return x, layers.Bidirectional(getattr(layers, kind)(some(1, 9), **own), merge_mode=one(["concat", "sum", "mul", "ave"]))(x)


@case("TimeDistributed")
def time_distributed(name):
    if flag():
        x = batch(some(2, 5), some(2, 9))
        return x, layers.TimeDistributed(layers.Dense(some(1, 9), activation()))(x)
    x = batch(some(2, 5), *sizes(2, 6, 9), some(1, 3))
    inner = one([lambda: layers.Conv2D(3, 3, padding=one(["same", "valid"])), lambda: layers.GlobalAveragePooling2D(), lambda: layers.Flatten(),
                 lambda: layers.BatchNormalization(),
                 lambda: keras.Sequential([keras.Input(x.shape[2:]), layers.Conv2D(2, 3), layers.Flatten(), layers.Dense(3)])])()
    return x, layers.TimeDistributed(inner)(x)


@case("ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D")
def conv_lstm(name):
    rank = rank_of(name)
    x = batch(some(2, 4), *sizes(rank, 5, 8), some(1, 3))
    strides, rate = one([(1, 1), (1, 1), (2, 1)])
    return x, getattr(layers, name)(some(1, 4), some(1, 3), strides=strides, dilation_rate=rate, padding=one(["valid", "same"]), return_sequences=flag(), use_bias=flag())(x)


@case("MultiHeadAttention")
def multi_head(name):
    width = some(2, 9)
    x = batch(some(2, 9), width)
    own = {"use_bias": flag(), "value_dim": one([None, 5]), "output_shape": one([None, 7])}
    layer = layers.MultiHeadAttention(some(1, 4), some(1, 6), **own)
    if flag():
        return x, layer(x, x)
    y = batch(some(2, 9), some(2, 6))
    return [x, y], layer(x, y)


@case("GroupQueryAttention")
def grouped_query(name):
    x, y = batch(some(2, 9), some(2, 9)), batch(some(2, 9), some(2, 9))
    shared = some(1, 3)
    y = batch(some(2, 9), x.shape[-1])
    layer = layers.GroupQueryAttention(some(1, 6), shared * some(1, 3), shared, use_bias=flag())
    return [x, y], layer(x, y)


@case("Attention", "AdditiveAttention")
def attention(name):
    width = some(2, 9)
    x, y = batch(some(2, 9), width), batch(some(2, 9), width)
    own = {"use_scale": flag()}
    if name == "Attention":
        own["score_mode"] = one(["dot", "concat"])
    inputs = [x, y]
    if flag():
        inputs.append(batch(y.shape[1], width))
    return inputs, getattr(layers, name)(**own)(inputs)


@case("Add", "Subtract", "Multiply", "Maximum", "Minimum", "Average", "Concatenate", "Dot")
def merges(name):
    shape = sizes(some(1, 3), 2, 6)
    count = 2 if name in ("Subtract", "Dot") else some(2, 4)
    inputs = [batch(*shape) for _ in range(count)]
    own = {}
    if name == "Concatenate":
        own = {"axis": one([-1, 1])}
    elif name == "Dot":
        own = {"axes": one([-1, 1, (1, 1)]), "normalize": flag()}
    elif len(shape) > 1 and flag() and name != "Subtract":
        inputs[-1] = batch(*([1] + list(shape[1:])))
    return inputs, getattr(layers, name)(**own)(inputs)


@case("Activation")
def activations(name):
    x = batch(*sizes(some(1, 3), 2, 9))
    return x, layers.Activation(activation())(x)


@case("ReLU", "LeakyReLU", "ELU", "PReLU", "Softmax", "ThresholdedReLU")
def advanced(name):
    x = image(2)
    own = {}
    if name == "ReLU":
        own = one([{}, {"max_value": 6.0}, {"negative_slope": 0.1}, {"threshold": 0.5}, {"max_value": 2.0, "negative_slope": 0.2, "threshold": 0.1}])
    elif name == "PReLU":
        own = {"shared_axes": one([None, [1, 2], [1]])}
    elif name == "Softmax":
        own = {"axis": one([-1, 1, [1, 2]])}
    return x, getattr(layers, name)(**own)(x)


@case("Flatten", "Reshape", "Permute", "RepeatVector", "Identity", "Masking", "ActivityRegularization")
def moving(name):
    if name == "RepeatVector":
        x = batch(some(2, 9))
        return x, layers.RepeatVector(some(2, 5))(x)
    x = image(one([1, 2]) if name != "Masking" else 1)
    if name == "Reshape":
        all_sizes = int(np.prod(x.shape[1:]))
        return x, layers.Reshape(one([(-1,), (all_sizes,), (x.shape[-1], -1), (-1, x.shape[1])]))(x)
    if name == "Permute":
        order = list(range(1, len(x.shape)))
        pick.shuffle(order)
        return x, layers.Permute(tuple(order))(x)
    return x, getattr(layers, name)()(x)


@case(*[f"{kind}{rank}D" for kind in ("Cropping", "ZeroPadding") for rank in (1, 2, 3)])
def padding(name):
    rank = rank_of(name)
    form = one(["channels_last"] * 3 + ["channels_first"]) if rank > 1 or is_new else "channels_last"
    x = batch(some(1, 4), *sizes(rank)) if form == "channels_first" else batch(*sizes(rank), some(1, 4))
    amount = one([some(0, 3), tuple(some(0, 3) for _ in range(rank)) if rank > 1 else (some(0, 3), some(0, 3)), tuple((some(0, 3), some(0, 3)) for _ in range(rank)) if rank > 1 else 1])
    own = {"data_format": form} if rank > 1 or (is_new and name == "ZeroPadding1D") else {}
    if rank == 1 and not own:
        x = image(1)
    return x, getattr(layers, name)(amount, **own)(x)


@case("UpSampling1D", "UpSampling2D", "UpSampling3D")
def upsampling(name):
    rank = rank_of(name)
    x = image(rank, low=3, high=6)
    own = {"interpolation": one(["nearest", "bilinear"] + (["bicubic"] if flag() else []))} if rank == 2 else {}
    return x, getattr(layers, name)(some(1, 3), **own)(x)


AUGMENT = [name for name in dir(layers) if name.startswith("Random") or name in ("RandAugment", "AugMix", "MixUp", "CutMix", "AutoContrast", "Equalization", "Solarization")]


@case("Dropout", "GaussianNoise", "GaussianDropout", "AlphaDropout", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D")
def regularization(name):
    x = image(rank_of(name) if name[-1] == "D" else some(1, 3))
    return x, getattr(layers, name)(0.3)(x)


@case(*AUGMENT)
def augmentation(name):
    x = image(2, 3)
    own = {"RandomFlip": {}, "RandomRotation": {"factor": 0.2}, "RandomZoom": {"height_factor": 0.2}, "RandomContrast": {"factor": 0.2}, "RandomBrightness": {"factor": 0.2},
           "RandomTranslation": {"height_factor": 0.1, "width_factor": 0.1}, "RandomCrop": {"height": 5, "width": 6}, "RandomHue": {"factor": 0.2, "value_range": (0, 1)},
           "RandomSaturation": {"factor": 0.2}, "RandomSharpness": {"factor": 0.2}, "RandomPosterization": {"factor": 4}, "RandomShear": {"x_factor": 0.2, "y_factor": 0.1},
           "RandomColorDegeneration": {"factor": 0.2}, "RandomGrayscale": {"factor": 0.2}, "RandomHeight": {"factor": 0.2}, "RandomWidth": {"factor": 0.2}}.get(name, {})
    return x, getattr(layers, name)(**own)(x)


@case("Rescaling", "Resizing", "CenterCrop")
def preprocessing(name):
    x = image(2, 3)
    if name == "Rescaling":
        return x, layers.Rescaling(1 / 255, offset=one([0, -1.0]))(x)
    if name == "CenterCrop":
        return x, layers.CenterCrop(some(2, 8), some(2, 8))(x)
    return x, layers.Resizing(some(3, 30), some(3, 30), interpolation=one(["bilinear", "nearest", "bicubic", "area"] if flag() else ["bilinear"]),
                              crop_to_aspect_ratio=pick.random() < 0.2)(x)


@case("CategoryEncoding", "Discretization", "Hashing", "HashedCrossing", "IntegerLookup", "StringLookup", "TextVectorization")
def features(name):
    if name == "CategoryEncoding":
        mode = one(["multi_hot", "one_hot", "count"])
        x = batch(some(1, 5) if mode != "one_hot" else 1, dtype="int32")
        return x, layers.CategoryEncoding(some(3, 9), output_mode=mode)(x)
    if name == "Discretization":
        x = batch(some(1, 5))
        return x, layers.Discretization([0.0, 0.5, 1.0])(x)
    if name == "Hashing":
        x = batch(some(1, 5), dtype=one(["int32", "string"]))
        return x, layers.Hashing(some(3, 9))(x)
    if name == "HashedCrossing":
        a, b = batch(1, dtype="int32"), batch(1, dtype="int32")
        return [a, b], layers.HashedCrossing(5)((a, b))
    if name == "IntegerLookup":
        x = batch(some(1, 5), dtype="int64")
        return x, layers.IntegerLookup(vocabulary=[1, 5, 7], output_mode=one(["int", "multi_hot", "count"]))(x)
    if name == "StringLookup":
        x = batch(some(1, 5), dtype="string")
        return x, layers.StringLookup(vocabulary=["a", "b"], output_mode=one(["int", "multi_hot", "count"]))(x)
    x = batch(1, dtype="string")
    return x, layers.TextVectorization(vocabulary=["a", "b", "c"], output_sequence_length=7)(x)


@case("MelSpectrogram", "STFTSpectrogram")
def audio(name):
    x = batch(some(200, 400))
    if name == "MelSpectrogram":
        return x, layers.MelSpectrogram(fft_length=64, sequence_stride=32, num_mel_bins=8)(x)
    x = batch(some(200, 400), 1)
    return x, layers.STFTSpectrogram(mode=one(["log", "magnitude", "psd", "real"]), frame_length=64, frame_step=32)(x)


def ask(path):
    done = subprocess.run([arguments.tfprof, "cost", path, "--format=json"], capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.stdout.startswith("{") else {"error": done.stderr.strip()[-300:]}


def attempt(action):
    try:
        action()
        return None
    except Exception as error:
        return (str(error) or type(error).__name__).splitlines()[0][:160]


def save_inference(model, path):
    """Saves what the model computes at inference; tables of words need Keras's own export."""
    signature = [tf.TensorSpec(x.shape, x.dtype, name=f"in{at}") for at, x in enumerate(model.inputs)]
    call = tf.function(lambda *x: model(list(x) if len(x) > 1 else x[0], training=False), input_signature=signature)
    module = tf.Module()
    module.kept = [weight.value if is_new else weight for weight in model.weights]
    module.others = [weight.value if is_new else weight for weight in model.variables if not any(weight is one for one in model.weights)] if is_new else []
    module.call = call
    try:
        tf.saved_model.save(module, path, signatures=call.get_concrete_function())
    except Exception:
        shutil.rmtree(path, ignore_errors=True)
        model.export(path, **({"verbose": False} if is_new else {}))


def write(model, base):
    """Saves a model in all formats. What Keras refuses is no finding."""
    faults = {}
    attempt_all = {".keras": lambda: model.save(f"{base}.keras"), ".h5": lambda: model.save(f"{base}.h5"),
                   "_saved": lambda: save_inference(model, f"{base}_saved")}
    for ending, save in attempt_all.items():
        fault = attempt(save)
        if fault:
            faults[ending] = fault
            if os.path.isfile(base + ending):
                os.remove(base + ending)
    with open(f"{base}.json", "w") as file:
        file.write(model.to_json())
    if arguments.convert:
        import tf2onnx

        def lite():
            content = tf.lite.TFLiteConverter.from_saved_model(f"{base}_saved").convert()
            with open(f"{base}.tflite", "wb") as file:
                file.write(content)

        faults[".tflite"] = attempt(lite)
        signature = [tf.TensorSpec(x.shape, x.dtype, name=f"in{at}") for at, x in enumerate(model.inputs)]
        call = tf.function(lambda *x: model(list(x) if len(x) > 1 else x[0], training=False), input_signature=signature)
        faults[".onnx"] = attempt(lambda: tf2onnx.convert.from_function(call, signature, opset=17, output_path=f"{base}.onnx"))
    return faults


def randomize(model):
    values = np.random.default_rng(1)
    for weight in model.weights:
        if "float" in str(weight.dtype):
            weight.assign(values.uniform(0.05, 0.15, weight.shape).astype("float32"))


counts = collections.Counter()
wrong = []

# No formula yet.
UNKNOWN = {"MelSpectrogram", "STFTSpectrogram"}


def is_dilated(model):
    """TensorFlow computes a dilated convolution on blocks that it pads, so that the SavedModel has more products."""
    rates = [layer.get_config().get("dilation_rate", 1) for layer in model.layers]
    return any(rate != 1 if isinstance(rate, int) else any(one != 1 for one in rate) for rate in rates)


def about_equal(found, expected):
    """Loops count their rounds, and indices are computed: a few FLOPs that no layer has."""
    return abs(found - expected) <= max(48, 0.03 * expected)


def check(name, number):
    keras.backend.clear_session()
    maker = CASES[name][1]
    try:
        inputs, outputs = maker(name)
        model = keras.Model(inputs, outputs)
    except Exception as error:
        counts["not made"] += 1
        if arguments.verbose:
            print("not made", name, str(error).splitlines()[0][:160])
        return
    randomize(model)
    base = f"{arguments.directory}/{name}_{number}"
    faults = write(model, base)
    count = lambda weights: int(sum(np.prod(weight.shape) for weight in weights))
    config = {key: value for key, value in model.layers[-1].get_config().items() if "initializer" not in key and "regularizer" not in key and "constraint" not in key and value is not None}
    expected = {"parameters": model.count_params(), "trainable_parameters": count(model.trainable_weights)}
    saved = ask(f"{base}_saved") if os.path.exists(f"{base}_saved") else {}
    results = collections.defaultdict(list)
    for ending in (".keras", ".h5", ".json", "_saved", ".tflite", ".onnx"):
        path = base + ending
        if not os.path.exists(path):
            counts[f"{ending} not written"] += 1
            continue
        found = saved if ending == "_saved" else ask(path)
        counts[ending] += 1
        faulty = []
        if "error" in found:
            faulty.append(found["error"])
        else:
            if ending not in (".tflite", ".onnx"):
                faulty += [f"{key} {found[key]} for {value}" for key, value in expected.items() if found[key] != value and not (ending == "_saved" and key != "parameters")]
            if ending == "_saved" and name == "Normalization":
                faulty = []  # its moments are constants
            if found["unknown_ops"] and name not in UNKNOWN and not saved.get("unknown_ops"):
                faulty.append(f"unknown {found['unknown_op_types']}")
            if ending != "_saved" and "macs" in saved:
                if found["macs"] != saved["macs"] and not is_dilated(model) and name not in UNKNOWN:
                    faulty.append(f"macs {found['macs']} for {saved['macs']}")
                comparable = ending not in (".tflite", ".onnx") and not saved["unknown_ops"] and not found["unknown_ops"]
                if comparable and not is_dilated(model) and not about_equal(found["float_ops"], saved["float_ops"]):
                    faulty.append(f"float_ops {found['float_ops']} for {saved['float_ops']}")
        if faulty:
            wrong.append((name, ending, faulty))
            results["; ".join(faulty)].append(ending)
    for text, endings in results.items():
        config.pop("dtype", None), config.pop("trainable", None), config.pop("name", None)
        print(f"{name}_{number} {' '.join(endings)}: {text[:300]}\n      {[tuple(x.shape) for x in model.inputs]} {str(config)[:300]}", flush=True)


def main():
    shutil.rmtree(arguments.directory, ignore_errors=True)
    os.makedirs(arguments.directory)
    names = arguments.only.split(",") if arguments.only else sorted(CASES)
    for name in names:
        for number in range(arguments.rounds):
            check(name, number)
    print(dict(counts), len(wrong), "differ")
    missing = [name for name in dir(layers) if name[0].isupper() and name not in CASES]
    print("classes without a case:", missing)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
