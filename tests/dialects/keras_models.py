"""Makes eleven Keras applications and fifteen models of our own in every format that tfprof reads.

    python keras_models.py DIRECTORY [--keras tf_keras] [NAME...]

Each becomes NAME.keras, NAME.h5, NAME.json, NAME_saved/, NAME.tflite and NAME.onnx; our own also become quantized
TensorFlow Lite files. facts.json holds the parameters that Keras counts, and what a converter refused.
Needs tensorflow, tf2onnx and onnx; for tf.keras 2 also tf_keras.
"""

import argparse
import json
import os

os.environ.update(CUDA_VISIBLE_DEVICES="-1", TF_CPP_MIN_LOG_LEVEL="3")
import numpy as np  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("directory")
parser.add_argument("names", nargs="*")
parser.add_argument("--keras", choices=["keras", "tf_keras"], default="keras")
arguments = parser.parse_intermixed_args()
if arguments.keras == "keras":
    import keras
else:
    os.environ["TF_USE_LEGACY_KERAS"] = "1"
    import tf_keras as keras
import tensorflow as tf  # noqa: E402

layers = keras.layers

APPLICATIONS = {
    "mobilenet": ("MobileNet", 224),
    "mobilenet_v2": ("MobileNetV2", 224),
    "mobilenet_v3_small": ("MobileNetV3Small", 224),
    "resnet50": ("ResNet50", 224),
    "resnet50_v2": ("ResNet50V2", 224),
    "densenet121": ("DenseNet121", 224),
    "efficientnet_b0": ("EfficientNetB0", 224),
    "inception_v3": ("InceptionV3", 299),
    "xception": ("Xception", 299),
    "nasnet_mobile": ("NASNetMobile", 224),
    "convnext_tiny": ("ConvNeXtTiny", 224),
}


@keras.utils.register_keras_serializable("mine")
class Scale(layers.Layer):
    """A custom layer: a learned factor for each channel."""

    def build(self, shape):
        self.factor = self.add_weight(shape=(shape[-1],), initializer="ones", name="factor")
        super().build(shape)

    def call(self, x):
        return x * self.factor

    def compute_output_shape(self, shape):
        return shape


@keras.utils.register_keras_serializable("mine")
class Gated(layers.Layer):
    """A custom layer that is made of layers."""

    def __init__(self, units, **options):
        super().__init__(**options)
        self.units = units
        self.value, self.gate = layers.Dense(units, name="value"), layers.Dense(units, activation="sigmoid", name="gate")

    def build(self, shape):
        self.value.build(shape)
        self.gate.build(shape)
        super().build(shape)

    def call(self, x):
        return self.value(x) * self.gate(x)

    def compute_output_shape(self, shape):
        return (*shape[:-1], self.units)

    def get_config(self):
        return {**super().get_config(), "units": self.units}


def mlp():
    return keras.Sequential([keras.Input((64,)), layers.Dense(128, "relu"), layers.Dense(32, "gelu"), layers.Dense(1)])


def cnn():
    x = inputs = keras.Input((32, 32, 3))
    for filters, stride in ((16, 1), (32, 2), (48, 2)):
        x = layers.Conv2D(filters, 3, stride, "same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
    x = layers.MaxPooling2D()(x)
    return keras.Model(inputs, layers.Dense(10, "softmax")(layers.Flatten()(x)))


def separable():
    x = inputs = keras.Input((40, 40, 8))
    x = layers.SeparableConv2D(24, 3, padding="same", activation="relu6")(x)
    x = layers.DepthwiseConv2D(5, 2, padding="valid", depth_multiplier=2)(x)
    return keras.Model(inputs, layers.GlobalAveragePooling2D()(x))


def grouped():
    x = inputs = keras.Input((20, 20, 8))
    return keras.Model(inputs, layers.Conv2D(4, 1)(layers.Conv2D(12, 3, groups=4, padding="same")(x)))


def dilated():
    x = inputs = keras.Input((33, 29, 4))
    x = layers.Conv2D(6, 3, dilation_rate=2)(x)
    x = layers.Conv2D(5, 3, padding="same", dilation_rate=(3, 3))(x)
    return keras.Model(inputs, layers.DepthwiseConv2D(3, dilation_rate=2, padding="same")(x))


def shared():
    """Two inputs, two towers with one set of weights: a model in a model, called twice."""
    tower = keras.Sequential([keras.Input((24, 24, 3)), layers.Conv2D(12, 3, activation="relu"), layers.GlobalMaxPooling2D(), layers.Dense(16)])
    a, b = keras.Input((24, 24, 3), name="a"), keras.Input((24, 24, 3), name="b")
    return keras.Model([a, b], layers.Dense(2)(layers.Subtract()([tower(a), tower(b)])))


def nested():
    """Models inside of models, called several times, and a custom layer."""
    inner_in = keras.Input((16, 16, 8))
    inner = keras.Model(inner_in, layers.Add()([inner_in, Scale()(layers.Conv2D(8, 3, padding="same")(inner_in))]))
    x = inputs = keras.Input((16, 16, 8))
    for _ in range(3):
        x = inner(x)
    return keras.Model(inputs, layers.Dense(4)(layers.AveragePooling2D(4)(x)))


def custom():
    """Custom layers made of layers, one of them shared, and a model around them."""
    gate = Gated(12)
    body = keras.Sequential([keras.Input((12,)), Gated(16), Scale(), layers.Dense(12)])
    x = inputs = keras.Input((12,))
    return keras.Model(inputs, layers.Dense(3)(gate(body(gate(x)))))


def reused():
    """A model that two models call, one of which is in the other, and layers that two models have in common."""
    x = keras.Input((8,))
    inner = keras.Model(x, layers.Dense(8, "relu", name="part")(x), name="inner")
    y = keras.Input((8,))
    middle = keras.Model(y, inner(inner(y)), name="middle")
    a = keras.Input((8,))
    hidden = layers.Dense(6, name="hidden")(a)
    base, features = keras.Model(a, layers.Dense(5, name="top")(hidden), name="base"), keras.Model(a, hidden, name="features")
    z = keras.Input((8,))
    half = middle(z)
    return keras.Model(z, [base(inner(half)), features(half)])


def multi_input():
    """Three inputs of several types, two outputs, layers that are shared between calls."""
    image, vector, words = keras.Input((16, 16, 3), name="image"), keras.Input((10,), name="vector"), keras.Input((7,), dtype="int32", name="words")
    dense = layers.Dense(8, activation="tanh", name="shared_dense")
    seen = dense(layers.Flatten()(layers.Conv2D(4, 3, strides=2)(image)))
    read = layers.GlobalAveragePooling1D()(layers.Embedding(50, 8)(words))
    both = layers.Concatenate()([seen, layers.Dense(8)(vector), read])
    return keras.Model([image, vector, words], [layers.Dense(3, name="class")(both), layers.Dense(1, activation="sigmoid", name="score")(layers.Multiply()([seen, read]))])


def recurrent():
    """Stacked and bidirectional recurrent layers."""
    x = inputs = keras.Input((20, 12))
    x = layers.Bidirectional(layers.LSTM(16, return_sequences=True))(x)
    x = layers.GRU(8, return_sequences=True)(x)
    x = layers.TimeDistributed(layers.Dense(6))(x)
    return keras.Model(inputs, layers.Dense(5)(layers.SimpleRNN(4)(x)))


def attention():
    """Two blocks of a transformer as models in a model."""
    x = inputs = keras.Input((10, 32))
    for _ in range(2):
        y = block_in = keras.Input((10, 32))
        y = layers.LayerNormalization()(layers.Add()([y, layers.MultiHeadAttention(4, 8)(y, y)]))
        z = layers.Dense(32)(layers.Dense(64, "gelu")(y))
        x = keras.Model(block_in, layers.LayerNormalization()(layers.Add()([y, z])))(x)
    return keras.Model(inputs, layers.Dense(2)(layers.GlobalAveragePooling1D()(x)))


def sequence():
    x = inputs = keras.Input((50, 6))
    x = layers.Conv1D(16, 5, 2, "same", activation="relu")(x)
    x = layers.Conv1D(16, 3, padding="causal", dilation_rate=2)(x)
    x = layers.Conv1DTranspose(4, 3, strides=2)(layers.MaxPooling1D(2)(x))
    return keras.Model(inputs, layers.Dense(3)(layers.GlobalAveragePooling1D()(x)))


def unet():
    x = inputs = keras.Input((32, 32, 4))
    skip = layers.Conv2D(8, 3, padding="same", activation="relu")(x)
    x = layers.Conv2D(16, 3, 2, "same", activation="relu")(skip)
    x = layers.Conv2DTranspose(8, 3, 2, "same")(x)
    x = layers.Concatenate()([x, skip])
    return keras.Model(inputs, layers.UpSampling2D(2, interpolation="bilinear")(layers.Conv2D(1, 1)(x)))


def volumes():
    x = inputs = keras.Input((6, 12, 12, 2))
    z = layers.MaxPooling3D((1, 2, 2))(layers.Conv3D(4, 3)(x))
    return keras.Model(inputs, [layers.ConvLSTM2D(3, 3, padding="same")(x), layers.Conv3DTranspose(2, 2, strides=2)(z)])


OWN = [mlp, cnn, separable, grouped, dilated, shared, nested, custom, reused, multi_input, recurrent, attention, sequence, unet, volumes]


def randomize(model):
    """Converters drop biases of zero and factors of one, so no weight keeps its first value."""
    random = np.random.default_rng(1)
    for weight in model.weights:
        if "float" in str(weight.dtype):
            weight.assign(random.uniform(0.05, 0.15, weight.shape).astype("float32"))


def attempt(faults, what, action):
    """Runs a converter. One that refuses a model is a fact about the converter."""
    try:
        return action()
    except Exception as error:
        faults[what] = (str(error) or type(error).__name__).splitlines()[0][:200]
        return None


def quantized(converter, kind, shapes):
    """Sets how a converter quantizes."""
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if kind == "float16":
        converter.target_spec.supported_types = [tf.float16]
    if kind == "int8":
        def samples():
            for _ in range(2):
                yield [np.random.rand(1, *shape[1:]).astype(dtype) for shape, dtype in shapes]

        converter.representative_dataset = samples
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = converter.inference_output_type = tf.int8


def concrete(model, batch):
    """The inference of a model as a function, and its inputs."""
    signature = [tf.TensorSpec([batch, *x.shape[1:]], x.dtype, name=x.name.split(":")[0]) for x in model.inputs]
    call = tf.function(lambda *x: model(list(x) if len(x) > 1 else x[0], training=False), input_signature=signature)
    return call, signature


def lite(model, base, kinds, faults):
    """Converts to TensorFlow Lite. Recurrent layers need a fixed batch, or ops of TensorFlow ("flex")."""
    shapes = [(x.shape, "float32") for x in model.inputs]

    def convert(converter, kind):
        if kind not in ("", "flex"):
            quantized(converter, kind, shapes)
        if kind == "flex":
            converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS, tf.lite.OpsSet.SELECT_TF_OPS]
            converter._experimental_lower_tensor_list_ops = False
        content = converter.convert()
        with open(f"{base}{'_' + kind if kind else ''}.tflite", "wb") as file:
            file.write(content)

    for kind in kinds:
        refused = {}
        attempt(refused, "tflite", lambda: convert(tf.lite.TFLiteConverter.from_saved_model(f"{base}_saved"), kind))
        if refused:
            one = concrete(model, 1)[0].get_concrete_function()
            attempt(faults, f"tflite_{kind}" if kind else "tflite", lambda: convert(tf.lite.TFLiteConverter.from_concrete_functions([one], model), kind))
        if refused and not kind:
            attempt(faults, "tflite_flex", lambda: convert(tf.lite.TFLiteConverter.from_saved_model(f"{base}_saved"), "flex"))


def onnx(model, base, faults):
    import tf2onnx

    call, signature = concrete(model, None)
    attempt(faults, "onnx", lambda: tf2onnx.convert.from_function(call, signature, opset=17, output_path=f"{base}.onnx"))


def write(model, name, directory, kinds):
    base, faults = f"{directory}/{name}", {}
    attempt(faults, "keras", lambda: model.save(f"{base}.keras"))
    attempt(faults, "h5", lambda: model.save(f"{base}.h5"))
    # tf.keras refuses weights of equal names when a part of the file is written.
    if "h5" in faults and os.path.exists(f"{base}.h5"):
        os.remove(f"{base}.h5")
    with open(f"{base}.json", "w") as file:
        file.write(model.to_json())
    export = (lambda: model.export(f"{base}_saved", verbose=False)) if arguments.keras == "keras" else lambda: model.export(f"{base}_saved")
    attempt(faults, "saved", export)
    lite(model, base, kinds, faults)
    onnx(model, base, faults)
    return faults


def facts_of(model, faults):
    count = lambda weights: int(sum(np.prod(weight.shape) for weight in weights))
    norms = [layer for layer in model._flatten_layers() if isinstance(layer, layers.BatchNormalization)]
    return {
        "parameters": int(model.count_params()),
        # A config does not say that a layer of two models is one, so that Keras makes two of it.
        "from_config": int(keras.models.model_from_json(model.to_json()).count_params()),
        "trainable": count(model.trainable_weights),
        "batch_norm": int(sum(layer.count_params() for layer in norms)),
        "faults": faults,
    }


def main():
    directory = arguments.directory
    os.makedirs(directory, exist_ok=True)
    path = f"{directory}/facts.json"
    facts = json.load(open(path)) if os.path.exists(path) else {}
    makers = {maker.__name__: maker for maker in OWN}
    for name, (application, size) in APPLICATIONS.items():
        makers[name] = lambda application=application, size=size: getattr(keras.applications, application)(weights=None, input_shape=(size, size, 3))
    for name in arguments.names or makers:
        keras.utils.set_random_seed(1)
        keras.backend.clear_session()
        model = makers[name]()
        randomize(model)
        kinds = ["", "dynamic", "float16", "int8"] if name not in APPLICATIONS or name == "mobilenet_v2" else [""]
        facts[name] = facts_of(model, write(model, name, directory, kinds))
        print(name, facts[name], flush=True)
        with open(path, "w") as file:
            json.dump(facts, file, indent=1)


if __name__ == "__main__":
    main()
