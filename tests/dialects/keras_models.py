"""Makes ten Keras applications and ten models of our own, and converts each to TensorFlow Lite and ONNX.

    python keras_models.py DIRECTORY [NAME...]

Needs tensorflow, tf2onnx and onnx. Beside the files, facts.json holds the parameters that Keras counts.
"""

import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from keras import layers  # noqa: E402

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
}


class Scale(layers.Layer):
    """A custom layer: a learned factor for each channel."""

    def build(self, shape):
        self.factor = self.add_weight(shape=(shape[-1],), initializer="ones", name="factor")

    def call(self, x):
        return x * self.factor


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


def shared():
    """Two towers with one set of weights."""
    tower = keras.Sequential([layers.Conv2D(12, 3, activation="relu"), layers.GlobalMaxPooling2D(), layers.Dense(16)])
    a, b = keras.Input((24, 24, 3), name="a"), keras.Input((24, 24, 3), name="b")
    return keras.Model([a, b], layers.Dense(2)(layers.Subtract()([tower(a), tower(b)])))


def nested():
    """Models inside of models, and a custom layer."""
    inner_in = keras.Input((16, 16, 8))
    inner = keras.Model(inner_in, layers.Add()([inner_in, Scale()(layers.Conv2D(8, 3, padding="same")(inner_in))]))
    x = inputs = keras.Input((16, 16, 8))
    for _ in range(3):
        x = inner(x)
    return keras.Model(inputs, layers.Dense(4)(layers.AveragePooling2D(4)(x)))


def recurrent():
    x = inputs = keras.Input((20, 12), batch_size=1)
    x = layers.LSTM(16, return_sequences=True)(x)
    return keras.Model(inputs, layers.Dense(5)(layers.LSTM(8)(x)))


def attention():
    x = inputs = keras.Input((10, 32))
    y = layers.MultiHeadAttention(4, 8)(x, x)
    x = layers.LayerNormalization()(layers.Add()([x, y]))
    y = layers.Dense(32)(layers.Dense(64, "gelu")(x))
    return keras.Model(inputs, layers.LayerNormalization()(layers.Add()([x, y])))


def sequence():
    x = inputs = keras.Input((50, 6))
    x = layers.Conv1D(16, 5, 2, "same", activation="relu")(x)
    x = layers.Conv1D(16, 3, padding="causal", dilation_rate=2)(x)
    return keras.Model(inputs, layers.Dense(3)(layers.GlobalAveragePooling1D()(x)))


def unet():
    x = inputs = keras.Input((32, 32, 4))
    skip = layers.Conv2D(8, 3, padding="same", activation="relu")(x)
    x = layers.Conv2D(16, 3, 2, "same", activation="relu")(skip)
    x = layers.Conv2DTranspose(8, 3, 2, "same")(x)
    x = layers.Concatenate()([x, skip])
    return keras.Model(inputs, layers.UpSampling2D(2, interpolation="bilinear")(layers.Conv2D(1, 1)(x)))


def embedding():
    x = inputs = keras.Input((30,), dtype="int32")
    x = layers.Embedding(500, 24)(x)
    return keras.Model(inputs, layers.Dense(2, "sigmoid")(layers.GlobalAveragePooling1D()(x)))


OWN = [mlp, cnn, separable, shared, nested, recurrent, attention, sequence, unet, embedding]


def function_of(model):
    signature = [tf.TensorSpec([1, *x.shape[1:]], x.dtype, name=x.name) for x in model.inputs]
    call = lambda *x: model(list(x) if len(x) > 1 else x[0], training=False)
    return tf.function(call, input_signature=signature), signature


def write(model, name, directory):
    """Writes NAME.tflite, NAME_int8.tflite (weights as int8) and NAME.onnx; returns what went wrong."""
    import tf2onnx

    call, signature = function_of(model)
    concrete = call.get_concrete_function()
    faults = {}
    for suffix, quantize in (("", False), ("_int8", True)):
        converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete], model)
        if quantize:
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
        try:
            with open(f"{directory}/{name}{suffix}.tflite", "wb") as file:
                file.write(converter.convert())
        except Exception as error:  # a converter that refuses a model is a fact about the converter
            faults[f"tflite{suffix}"] = str(error).splitlines()[0]
    try:
        tf2onnx.convert.from_function(call, signature, opset=17, output_path=f"{directory}/{name}.onnx")
    except Exception as error:
        faults["onnx"] = str(error).splitlines()[0]
    model.export(f"{directory}/{name}_saved", verbose=False)
    return faults


def main():
    directory, *names = sys.argv[1:]
    os.makedirs(directory, exist_ok=True)
    path = f"{directory}/facts.json"
    facts = json.load(open(path)) if os.path.exists(path) else {}
    makers = {maker.__name__: maker for maker in OWN}
    for name, (application, size) in APPLICATIONS.items():
        makers[name] = lambda application=application, size=size: getattr(keras.applications, application)(
            weights=None, input_shape=(size, size, 3)
        )
    for name in names or makers:
        keras.utils.set_random_seed(1)
        keras.backend.clear_session()
        model = makers[name]()
        faults = write(model, name, directory)
        facts[name] = {"parameters": int(model.count_params()), "faults": faults}
        print(name, facts[name], flush=True)
        with open(path, "w") as file:
            json.dump(facts, file, indent=1)


if __name__ == "__main__":
    np.random.seed(1)
    main()
