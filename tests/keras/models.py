"""Saves Keras models in all formats, with their figures, for comparison. Usage: models.py {keras|tf_keras} DIR [names]"""
import json, os, sys
os.environ.update(CUDA_VISIBLE_DEVICES="-1", TF_CPP_MIN_LOG_LEVEL="3")
which, directory = sys.argv[1], sys.argv[2]
if which == "keras":
    import keras
else:
    import tf_keras as keras
import numpy
layers = keras.layers

def own():
    models = {}
    def sequential():
        return keras.Sequential([keras.Input((28, 28, 1)), layers.Conv2D(8, 3, activation="relu", name="c1"), layers.BatchNormalization(), layers.MaxPooling2D(), layers.Conv2D(16, 3, strides=2, padding="same"), layers.GlobalAveragePooling2D(), layers.Dropout(0.5), layers.Dense(10, activation="softmax")])
    def functional():
        a, b = keras.Input((16,)), keras.Input((24,))
        x = layers.Concatenate()([layers.Dense(8)(a), layers.Dense(8, use_bias=False)(b)])
        y = layers.Add()([x, layers.Dense(16, activation="gelu")(x)])
        return keras.Model([a, b], [layers.Dense(3)(y), layers.Dense(1, activation="sigmoid")(x)])
    def shared():
        tower = layers.Dense(12, activation="relu", name="tower")
        a, b = keras.Input((20,)), keras.Input((20,))
        return keras.Model([a, b], layers.Dense(1)(layers.Multiply()([tower(a), tower(b)])))
    def nested():
        inner = keras.Sequential([keras.Input((8, 8, 3)), layers.Conv2D(4, 3), layers.Flatten()], name="encoder")
        a, b = keras.Input((8, 8, 3)), keras.Input((8, 8, 3))
        block_in = keras.Input((144,))
        block = keras.Model(block_in, layers.Dense(7)(layers.LayerNormalization()(block_in)), name="head")
        return keras.Model([a, b], layers.Subtract()([block(inner(a)), block(inner(b))]))
    def recurrent():
        x = keras.Input((10, 6))
        y = layers.Bidirectional(layers.LSTM(5, return_sequences=True))(x)
        y = layers.GRU(4, return_sequences=True)(y)
        y = layers.TimeDistributed(layers.Dense(3))(y)
        return keras.Model(x, layers.SimpleRNN(2)(y))
    def text():
        x = keras.Input((12,), dtype="int32")
        y = layers.Embedding(100, 16)(x)
        z = layers.MultiHeadAttention(4, 8)(y, y)
        y = layers.LayerNormalization()(layers.Add()([y, z]))
        y = layers.EinsumDense("abc,cd->abd", output_shape=(None, 20), bias_axes="d", activation="relu")(y)
        return keras.Model(x, layers.Dense(2)(layers.GlobalAveragePooling1D()(y)))
    def convolutions():
        x = keras.Input((16, 16, 4))
        y = layers.SeparableConv2D(6, 3, padding="same")(x)
        y = layers.DepthwiseConv2D(3, depth_multiplier=2)(y)
        y = layers.Conv2DTranspose(5, 3, strides=2, padding="same")(y)
        y = layers.ZeroPadding2D(1)(layers.UpSampling2D()(y))
        y = layers.AveragePooling2D(2)(layers.Cropping2D(2)(y))
        y = layers.Conv2D(6, 3, groups=1, dilation_rate=2)(y)
        return keras.Model(x, layers.PReLU(shared_axes=[1, 2])(y))
    def sequences():
        x = keras.Input((32, 5))
        y = layers.Conv1D(8, 5, padding="causal", dilation_rate=2)(x)
        y = layers.MaxPooling1D(2)(y)
        y = layers.SeparableConv1D(6, 3)(y)
        y = layers.Conv1DTranspose(4, 3, strides=2)(y)
        return keras.Model(x, layers.GlobalMaxPooling1D()(y))
    def volumes():
        x = keras.Input((6, 12, 12, 2))
        y = layers.ConvLSTM2D(3, 3, padding="same")(x)
        z = layers.Conv3D(4, 3)(x)
        z = layers.MaxPooling3D((1, 2, 2))(z)
        return keras.Model(x, [y, layers.Conv3DTranspose(2, 2, strides=2)(z)])
    def custom():
        @keras.saving.register_keras_serializable("mine") if which == "keras" else keras.utils.register_keras_serializable("mine")
        class Scale(layers.Layer):
            def build(self, shape):
                self.w = self.add_weight(shape=(shape[-1],), name="w")
                super().build(shape)
            def call(self, x):
                return x * self.w
            def compute_output_shape(self, shape):
                return shape
        x = keras.Input((9,))
        return keras.Model(x, layers.Dense(4)(Scale(name="scale")(layers.Dense(6)(x))))
    for make in [sequential, functional, shared, nested, recurrent, text, convolutions, sequences, volumes, custom]:
        models[make.__name__] = make
    return models

APPLICATIONS = ["MobileNetV2", "ResNet50", "VGG16", "InceptionV3", "Xception", "DenseNet121", "EfficientNetB0", "NASNetMobile", "MobileNetV3Small", "ConvNeXtTiny"]

def all_models():
    for name, make in own().items():
        yield name, make
    for name in APPLICATIONS:
        yield name, lambda name=name: getattr(keras.applications, name)(weights=None)

only = sys.argv[3:]
os.makedirs(directory, exist_ok=True)
for name, make in all_models():
    if only and name not in only:
        continue
    keras.backend.clear_session()
    model = make()
    base = os.path.join(directory, name)
    model.save(base + ".keras"); 
    try: model.save(base + ".h5")
    except Exception as error: print(name, "h5", error)
    open(base + ".json", "w").write(model.to_json())
    count = lambda ws: int(sum(numpy.prod(w.shape) for w in ws))
    facts = {"parameters": model.count_params(), "trainable": count(model.trainable_weights), "non_trainable": count(model.non_trainable_weights)}
    json.dump(facts, open(base + ".facts", "w"))
    try:
        model.export(base + "_saved")
    except Exception as error: print(name, "export", error)
    print(name, facts, flush=True)
