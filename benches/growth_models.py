"""Hostile models, weights and traces for growth.py: Keras, HDF5, archives, safetensors, ONNX, TensorFlow Lite, traces of PyTorch."""

import io
import json
import struct
import zipfile

# ---- protobuf


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out + bytes([n]))


def text(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def number(field, n):
    return varint(field << 3) + varint(n)


# ---- graphs and XSpaces


def attr(key, value):
    return text(5, text(1, key) + text(2, value))


def node_def(name, op, inputs=(), attrs=b""):
    return text(1, name) + text(2, op) + b"".join(text(3, i) for i in inputs) + attrs


def node(*words):
    return text(1, node_def(*words))


def entry(field, key, message):
    """An entry of a map whose values are messages."""
    return text(field, number(1, key) + text(2, message))


def plane(name, line, *rest):
    return text(1, number(1, 2) + text(2, name) + text(3, number(1, 1) + text(2, "Stream #1") + line) + b"".join(rest))


def event(meta, offset, length):
    return text(4, number(1, meta) + number(2, offset) + number(3, length))


# ---- Keras: each layer is a dictionary of its config


def dense(name, *reads, units=1, class_name="Dense"):
    nodes = [[[read, 0, 0, {}] for read in reads]] if reads else []
    return {"class_name": class_name, "name": name, "config": {"name": name, "units": units}, "inbound_nodes": nodes}


def input_layer(name):
    config = {"name": name, "batch_input_shape": [None, 4], "dtype": "float32"}
    return {"class_name": "InputLayer", "name": name, "config": config, "inbound_nodes": []}


def functional(name, layers, inputs, outputs):
    config = {"name": name, "layers": layers, "input_layers": [[i, 0, 0] for i in inputs], "output_layers": [[o, 0, 0] for o in outputs]}
    return {"class_name": "Functional", "name": name, "config": config}


def keras(model):
    return {"m.json": json.dumps(model).encode()}, ["cost", "m.json"]


def keras_reversed(n):
    """Each layer reads the one behind it."""
    layers = [dense(f"d{k}", f"d{k - 1}" if k else "in") for k in reversed(range(n))]
    return keras(functional("m", [*layers, input_layer("in")], ["in"], [f"d{n - 1}"]))


def keras_inputs(n):
    names = [f"in{k}" for k in range(n)]
    add = dense("add", *names, class_name="Add")
    return keras(functional("m", [*map(input_layer, names), add], names, ["add"]))


def keras_models(n):
    """Many models in one, each called by number 1, as Keras numbers the calls of a model."""
    inner = lambda k: functional(f"m{k}", [input_layer("in"), dense("d", "in")], ["in"], ["d"])
    layers = [{**inner(k), "inbound_nodes": [[["in", 0, 0, {}]]]} for k in range(n)]
    add = dense("add", class_name="Add") | {"inbound_nodes": [[[f"m{k}", 1, 0, {}] for k in range(n)]]}
    return keras(functional("m", [input_layer("in"), *layers, add], ["in"], ["add"]))


def keras_shared(n):
    """Twenty models within each other, each of which calls the next one twice."""
    model = functional("m0", [input_layer("in"), dense("d", "in")], ["in"], ["d"])
    for k in range(1, 21):
        inner = model | {"inbound_nodes": [[["in", 0, 0, {}]], [["in", 0, 0, {}]]]}
        model = functional(f"m{k}", [input_layer("in"), inner], ["in"], [model["name"]])
    model["config"]["padding"] = "x" * n
    return keras(model)


def keras_objects(n):
    """Objects that weigh a few bytes each in the file."""
    return {"m.json": b'{"class_name":"Functional","config":{"name":"m","layers":[' + b",".join([b'{"":{}}'] * n) + b"]}}"}, ["cost", "--graph_path=m.json"]


def keras_long_name(n):
    inner = functional("s" * 10 * n, [input_layer("in"), *(dense(f"d{k}", "in") for k in range(n))], ["in"], ["d0"])
    layers = [input_layer("in"), inner | {"inbound_nodes": [[["in", 0, 0, {}]]]}]
    return keras(functional("m", layers, ["in"], ["in"]))


# ---- HDF5: headers of the second version, with links inside


def message(kind, body):
    return struct.pack("<BHB", kind, len(body), 0) + body


def header(*messages):
    body = b"".join(messages)
    return b"OHDR\x02\x02" + struct.pack("<I", len(body)) + body + bytes(4)


class Hdf5:
    def __init__(self):
        self.out = bytearray(48)

    def put(self, content):
        self.out += content
        return len(self.out) - len(content)

    def group(self, children, *messages):
        # Flags 1: the length of the name takes two bytes.
        links = [message(6, struct.pack("<BBH", 1, 1, len(name)) + name.encode() + struct.pack("<Q", at)) for name, at in children]
        info = message(2, b"\0\0" + b"\xff" * 16)
        return self.put(header(info, *links, *messages))

    def dataset(self, dims=(2, 2)):
        space = message(1, struct.pack("<BBBB", 2, len(dims), 0, 1) + b"".join(struct.pack("<Q", d) for d in dims))
        float32 = message(3, bytes([0x11, 0x20, 0x1F, 0, 4, 0, 0, 0, 0, 0, 32, 0, 23, 8, 0, 23, 127, 0, 0, 0]))
        layout = message(8, struct.pack("<BBQQ", 3, 1, (1 << 64) - 1, 16))
        return self.put(header(space, float32, layout))

    def finish(self, root):
        self.out[:48] = b"\x89HDF\r\n\x1a\n\x02\x08\x08\0" + struct.pack("<QQQQ", 0, (1 << 64) - 1, len(self.out), root) + bytes(4)
        return bytes(self.out)


def text_attribute(name, content):
    kind = bytes([0x13, 0, 0, 0]) + struct.pack("<I", len(content))
    space = bytes([2, 0, 0, 0])
    name = name.encode() + b"\0"
    return message(0x0C, struct.pack("<BBHHHB", 3, 0, len(name), len(kind), len(space), 0) + name + kind + space + content)


def archive(config, weights, method=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as packed:
        packed.writestr("metadata.json", "{}")
        packed.writestr("config.json", json.dumps(config))
        packed.writestr("model.weights.h5", weights)
    return out.getvalue()


def keras_weights(n):
    """As many layers as groups of weights."""
    file = Hdf5()
    groups = [("dense" + (f"_{k}" if k else ""), file.group([("vars", file.group([("0", file.dataset())]))])) for k in range(n)]
    weights = file.finish(file.group([("layers", file.group(groups))]))
    layers = [input_layer("in"), *(dense(f"d{k}", f"d{k - 1}" if k else "in") for k in range(n))]
    return {"m.keras": archive(functional("m", layers, ["in"], ["d0"]), weights)}, ["cost", "m.keras"]


def keras_old_weights(n):
    """The same by name, as the second version of Keras wrote it."""
    file = Hdf5()
    groups = [(f"d{k}", file.group([(f"d{k}", file.group([("kernel:0", file.dataset())]))])) for k in range(n)]
    layers = [input_layer("in"), *(dense(f"d{k}", f"d{k - 1}" if k else "in") for k in range(n))]
    config = json.dumps(functional("m", layers, ["in"], ["d0"])).encode()
    # Parts of the config: no message is longer than 64 KB.
    root = file.group([("model_weights", file.group(groups))], text_attribute("model_config", config[:60_000]))
    return {"m.keras": archive(functional("m", layers, ["in"], ["d0"]), file.finish(root))}, ["cost", "m.keras"]


def hdf5_links(n):
    """Many links to one dataset."""
    file = Hdf5()
    one = file.dataset()
    return {"w.h5": file.finish(file.group([(f"d{k}", one) for k in range(n)]))}, ["checkpoint", "w.h5"]


def hdf5_groups(n):
    """Each group has two links to the next."""
    file = Hdf5()
    at = file.dataset()
    for _ in range(n):
        at = file.group([("a", at), ("b", at)])
    return {"w.h5": file.finish(at)}, ["checkpoint", "w.h5"]


def hdf5_deep(n):
    file = Hdf5()
    at = file.dataset()
    for _ in range(n):
        at = file.group([("a", at)])
    return {"w.h5": file.finish(at)}, ["checkpoint", "w.h5"]


def hdf5_shared(n):
    """Datasets that share the datatype of an object with many messages."""
    file = Hdf5()
    float32 = bytes([0x11, 0x20, 0x1F, 0, 4, 0, 0, 0, 0, 0, 32, 0, 23, 8, 0, 23, 127, 0, 0, 0])
    owner = file.put(header(*[message(0, b"")] * n, message(3, float32)))
    space = message(1, struct.pack("<BBBBQ", 2, 1, 0, 1, 4))
    layout = message(8, struct.pack("<BBQQ", 3, 1, (1 << 64) - 1, 16))
    shared = struct.pack("<BHB", 3, 10, 2) + struct.pack("<BBQ", 2, 0, owner)
    datasets = [(f"d{k}", file.put(header(space, shared, layout))) for k in range(n)]
    return {"w.h5": file.finish(file.group(datasets))}, ["checkpoint", "w.h5"]


def zip_entries(n):
    """Files of an archive that all lie in one place."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        packed.writestr("metadata.json", "{}")
        packed.writestr("config.json", json.dumps(functional("m", [input_layer("in"), dense("d", "in")], ["in"], ["d"])))
        for k in range(n):
            packed.filelist.append(packed.filelist[0])
    return {"m.keras": out.getvalue()}, ["cost", "m.keras"]


def zip_bomb(n):
    """Weights that unpack to a thousand times their size."""
    return {"m.keras": archive({}, bytes(n * 1000), zipfile.ZIP_DEFLATED)}, ["checkpoint", "m.keras"]


def safetensors_names(n):
    index = {f"t{k}": {"dtype": "F32", "shape": [1] * 20, "data_offsets": [0, 4]} for k in range(n)}
    content = json.dumps(index).encode()
    return {"w.safetensors": struct.pack("<Q", len(content)) + content + bytes(4)}, ["checkpoint", "w.safetensors"]


def safetensors_long_name(n):
    index = {"a" * 20 * n: {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}
    index |= {f"t{k}": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]} for k in range(n)}
    content = json.dumps(index).encode()
    return {"w.safetensors": struct.pack("<Q", len(content)) + content + bytes(4)}, ["checkpoint", "w.safetensors"]


# ---- ONNX


def onnx_node(op, inputs, outputs, *attributes, domain=""):
    names = b"".join(text(1, i) for i in inputs) + b"".join(text(2, o) for o in outputs)
    return names + text(4, op) + b"".join(text(5, a) for a in attributes) + (text(7, domain) if domain else b"")


def onnx_value(name):
    return text(1, name) + text(2, text(1, number(1, 1) + text(2, text(1, number(1, 4)))))


def onnx_graph(nodes, inputs=("x",), outputs=("y",)):
    return b"".join(text(1, n) for n in nodes) + text(2, "g") + b"".join(text(11, onnx_value(i)) for i in inputs) + b"".join(text(12, onnx_value(o)) for o in outputs)


def onnx(nodes, functions=(), inputs=("x",)):
    model = number(1, 8) + text(2, "test") + text(7, onnx_graph(nodes, inputs)) + text(8, number(2, 18)) + b"".join(text(25, f) for f in functions)
    return {"m.onnx": model}, ["cost", "m.onnx"]


def onnx_function(name, nodes, defaults=()):
    return text(1, name) + text(4, "x") + text(5, "y") + b"".join(text(7, n) for n in nodes) + text(10, "own") + b"".join(text(11, d) for d in defaults)


def onnx_call(name, *attributes, out="y", read="x"):
    return onnx_node(name, [read], [out], *attributes, domain="own")


def onnx_doubling(n):
    """Functions that call the next one twice."""
    functions = [onnx_function(f"f{k}", [onnx_call(f"f{k + 1}", out="a"), onnx_call(f"f{k + 1}", read="a")]) for k in range(n)]
    functions.append(onnx_function(f"f{n}", [onnx_node("Relu", ["x"], ["y"])]))
    return onnx([onnx_call("f0")], functions)


def onnx_attribute_calls(n):
    """One long attribute that a function hands on to many calls."""
    long = text(1, "a") + text(4, "v" * 20 * n) + number(20, 3)
    handed = text(1, "a") + text(21, "a") + number(20, 3)
    calls = [onnx_call("g", handed, out=f"y{k}") for k in range(n)]
    functions = [onnx_function("f", calls, [long]), onnx_function("g", [onnx_node("Relu", ["x"], ["y"])])]
    return onnx([onnx_call("f")], functions)


def onnx_attribute_names(n):
    """A function of many attributes, and a node that reads them all."""
    defaults = [text(1, f"a{k}") + number(3, k) + number(20, 2) for k in range(n)]
    handed = [text(1, f"b{k}") + text(21, f"a{n - 1 - k}") + number(20, 2) for k in range(n)]
    return onnx([onnx_call("f")], [onnx_function("f", [onnx_node("Relu", ["x"], ["y"], *handed)], defaults)])


def onnx_nested(n):
    """Branches within branches that read an outer value."""
    graph = onnx_graph([onnx_node("Relu", ["x"], ["y"])], ())
    for _ in range(n):
        branches = [text(1, name) + text(6, graph) + number(20, 5) for name in ("then_branch",)]
        other = text(1, "else_branch") + text(6, onnx_graph([onnx_node("Relu", ["x"], ["y"])], ())) + number(20, 5)
        graph = onnx_graph([onnx_node("If", ["x"], ["y"], *branches, other)], ())
    return onnx([onnx_node("If", ["x"], ["y"], text(1, "then_branch") + text(6, graph) + number(20, 5), text(1, "else_branch") + text(6, graph) + number(20, 5))])


def onnx_branches(n):
    """Many conditionals side by side."""
    branch = lambda name, op: text(1, name) + text(6, onnx_graph([onnx_node(op, ["x"], ["y"])], ())) + number(20, 5)
    return onnx([onnx_node("If", ["x"], [f"y{k}"], branch("then_branch", "Relu"), branch("else_branch", "Abs")) for k in range(n)])


def onnx_names(n):
    """Nodes of one name."""
    return onnx([onnx_node("Relu", ["x"], [f"y{k}"]) + text(3, "same") for k in range(n)])


# ---- TensorFlow Lite: tables that name their fields' offsets, from the front


class Flat:
    def __init__(self):
        self.out = bytearray(b"\0\0\0\0TFL3")
        self.wait = {}

    def later(self, place, make):
        """An offset at `place` leads to what `make` writes."""
        self.wait.setdefault(getattr(make, "rank", 0), []).append((place, make))

    @staticmethod
    def shared(rank, make):
        """Offsets lead forward, so what many tables refer to comes behind all of them: the higher the rank, the later."""
        make.rank = rank
        return make

    def table(self, fields):
        """Fields by number: an int, or a function of the place where the offset is."""
        count = max(fields, default=-1) + 1
        vtable = len(self.out)
        self.out += struct.pack("<HH", 4 + 2 * count, 4 + 4 * len(fields))
        places = {field: 4 + 4 * at for at, field in enumerate(fields)}
        self.out += b"".join(struct.pack("<H", places.get(field, 0)) for field in range(count))
        self.out += bytes(-len(self.out) % 4)
        at = len(self.out)
        self.out += struct.pack("<i", at - vtable) + bytes(4 * len(fields))
        for field, value in fields.items():
            place = at + places[field]
            if isinstance(value, int):
                struct.pack_into("<i", self.out, place, value)
            else:
                self.later(place, value)
        return at

    def flush(self):
        """Writes what tables refer to behind them."""
        done = {}
        while self.wait:
            rank = min(self.wait)
            place, make = self.wait[rank].pop()
            if not self.wait[rank]:
                del self.wait[rank]
            if rank == 0 or make not in done:
                done[make] = make()
            struct.pack_into("<I", self.out, place, done[make] - place)

    def ints(self, values):
        return lambda: self.raw(struct.pack("<I", len(values)) + struct.pack(f"<{len(values)}i", *values))

    def string(self, content):
        return lambda: self.raw(struct.pack("<I", len(content)) + content + b"\0")

    def raw(self, content):
        self.out += bytes(-len(self.out) % 4)
        self.out += content
        return len(self.out) - len(content)

    def tables(self, makers):
        def make():
            at = self.raw(struct.pack("<I", len(makers)) + bytes(4 * len(makers)))
            for k, maker in enumerate(makers):
                self.later(at + 4 + 4 * k, maker)
            return at

        return make

    def finish(self, root):
        self.later(0, root)
        self.flush()
        return bytes(self.out)


def tflite(make):
    flat = Flat()
    subgraphs, codes = make(flat)
    code = [lambda number=number: flat.table({0: min(number, 127), 3: number}) for number in codes]
    return {"m.tflite": flat.finish(lambda: flat.table({0: 3, 1: flat.tables(code), 2: flat.tables(subgraphs)}))}, ["cost", "m.tflite"]


def parts(flat, name=b"t"):
    """A tensor, a list of it alone, and the list of its number: shared by all tables."""
    label, dims = flat.shared(9, flat.string(name)), flat.shared(9, flat.ints([4]))
    one = flat.shared(8, lambda: flat.table({0: dims, 3: label}))
    return one, flat.shared(7, flat.tables([one])), flat.shared(9, flat.ints([0]))


def calls_of_all(flat, n, numbers):
    """A list of n operators, each of which calls another subgraph."""
    return flat.tables([lambda k=k: flat.table({0: 0, 1: numbers, 2: numbers, 4: lambda: flat.table({0: k + 1})}) for k in range(n)])


def tflite_subgraphs(n):
    """A subgraph that calls all others, which are one table."""

    def make(flat):
        _, listed, numbers = parts(flat)
        inner = flat.shared(1, lambda: flat.table({0: listed, 1: numbers, 2: numbers}))
        return [lambda: flat.table({0: listed, 1: numbers, 2: numbers, 3: calls_of_all(flat, n, numbers)}), *[inner] * n], [31]

    return tflite(make)


def tflite_tensors(n):
    """One tensor with a long name, listed often."""

    def make(flat):
        one, _, numbers = parts(flat, b"n" * 4 * n)
        operator = flat.shared(1, lambda: flat.table({0: 0, 1: numbers, 2: numbers}))
        return [lambda: flat.table({0: flat.tables([one] * n), 1: numbers, 2: numbers, 3: flat.tables([operator] * n)})], [0]

    return tflite(make)


def tflite_inputs(n):
    """Operators that share one long list of inputs."""

    def make(flat):
        _, listed, numbers = parts(flat)
        many = flat.shared(9, flat.ints([0] * n))
        operator = flat.shared(1, lambda: flat.table({0: 0, 1: many, 2: numbers}))
        return [lambda: flat.table({0: listed, 1: numbers, 2: numbers, 3: flat.tables([operator] * n)})], [2]

    return tflite(make)


def tflite_listed_subgraphs(n):
    """Subgraphs that share one long list of tensors."""

    def make(flat):
        one, _, numbers = parts(flat)
        listed = flat.shared(2, flat.tables([one] * n))
        inner = flat.shared(1, lambda: flat.table({0: listed, 1: numbers, 2: numbers}))
        return [lambda: flat.table({0: listed, 1: numbers, 2: numbers, 3: calls_of_all(flat, n, numbers)}), *[inner] * n], [31]

    return tflite(make)


# ---- traces of PyTorch


def trace(events, *words):
    return {"a.pt.trace.json": b'{"schemaVersion":1,"traceEvents":[' + b",\n".join(json.dumps(e).encode() for e in events) + b"]}"}, [*words, "a.pt.trace.json"]


def calls(n):
    """Python calls within calls."""
    common = {"ph": "X", "cat": "python_function", "pid": 1, "tid": 1}
    for k in range(n):
        yield {**common, "name": f"m{k % 50}.py({k}): f{k}", "ts": k, "dur": 3 * n - 2 * k, "args": {"Python id": k + 1, "Python parent id": k}}
    yield {**common, "cat": "cpu_op", "name": "aten::mm", "ts": n + 1, "dur": 1}


def torch_stacks_code(n):
    return trace(calls(n), "code")


def torch_stacks_info(n):
    return trace(calls(n), "info")


def torch_stacks_scope(n):
    return trace(calls(n), "scope")


def torch_ops(n, *words):
    """Ops within ops."""
    op = {"ph": "X", "cat": "cpu_op", "pid": 1, "tid": 1}
    return trace(({**op, "name": f"aten::op{k % 9}", "ts": k, "dur": 3 * n - 2 * k} for k in range(n)), *(words or ["scope"]))


def torch_ops_info(n):
    return torch_ops(n, "info")


def torch_ops_advise(n):
    return torch_ops(n, "advise")


def torch_modules(n):
    """Stacks of modules, all of which lead to one op each."""
    common = {"ph": "X", "pid": 1, "tid": 1}
    events = [{**common, "cat": "python_function", "name": f"nn.Module: Block_{k}", "ts": k, "dur": 5 * n - 2 * k, "args": {"Python id": k + 1, "Python parent id": k}} for k in range(n)]
    events += [{**common, "cat": "cpu_op", "name": "aten::mm", "ts": n + 2 * k, "dur": 1, "args": {"External id": k}} for k in range(n)]
    return trace(events, "scope")


def torch_launches(n):
    """Kernels that name launches by one id."""
    events = []
    for k in range(n):
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 2 * k, "dur": 1, "args": {"correlation": 7}})
        events.append({"ph": "X", "cat": "kernel", "name": f"k{k}", "pid": 0, "tid": 7, "ts": 2 * k, "dur": 1, "args": {"correlation": 7, "stream": 7}})
    return trace(events, "op")


def torch_long_name(n):
    """Ops that lie in a range of a long name."""
    common = {"ph": "X", "pid": 1, "tid": 1}
    events = [{**common, "cat": "user_annotation", "name": "r" * 50 * n, "ts": 0, "dur": 10 * n}]
    events += [{**common, "cat": "cpu_op", "name": f"aten::op{k}", "ts": 2 * k + 1, "dur": 1} for k in range(n)]
    return trace(events, "scope")


def torch_steps(n):
    common = {"ph": "X", "pid": 1, "tid": 1}
    events = [{**common, "cat": "user_annotation", "name": f"ProfilerStep#{k}", "ts": 10 * k, "dur": 9} for k in range(n)]
    return trace(events + [{**common, "cat": "cpu_op", "name": "aten::mm", "ts": 10 * k, "dur": 5} for k in range(n)], "info")


def torch_threads(n):
    return trace(({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": k, "tid": k, "ts": k, "dur": 5} for k in range(n)), "info")


def torch_deep_values(n):
    deep = b"[" * n + b"1" + b"]" * n
    event = b'{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":1,"args":{"Input Dims":' + deep + b"}}"
    return {"a.pt.trace.json": b'{"schemaVersion":1,"traceEvents":[' + event + b"]}"}, ["op", "a.pt.trace.json"]


CASES = {
    keras_reversed: 1000, keras_inputs: 1000, keras_models: 500, keras_shared: 1000, keras_objects: 20000, keras_long_name: 500,
    keras_weights: 500, keras_old_weights: 500, hdf5_links: 2000, hdf5_groups: 1000, hdf5_deep: 1000, hdf5_shared: 500, zip_entries: 2000,
    zip_bomb: 1000, safetensors_names: 1000, safetensors_long_name: 1000, onnx_doubling: 500, onnx_attribute_calls: 1000,
    onnx_attribute_names: 1000, onnx_nested: 50, onnx_branches: 500, onnx_names: 2000, tflite_subgraphs: 1000, tflite_tensors: 500,
    tflite_inputs: 500, tflite_listed_subgraphs: 500, torch_stacks_code: 1000, torch_stacks_info: 1000, torch_stacks_scope: 1000,
    torch_ops: 1000, torch_ops_info: 1000, torch_ops_advise: 1000, torch_modules: 1000, torch_launches: 1000, torch_long_name: 500, torch_steps: 1000,
    torch_threads: 1000, torch_deep_values: 20000,
}  # fmt: skip
