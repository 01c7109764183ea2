"""The graph of a random model: names, edges, shapes and attributes."""

from vocabulary import CPUS, GPUS, INT64_MAX, ODD_OPS, ODD_PIECES, OPS, PIECES, chance


class RandomGraph:
    """Fills `self.graph`; `self.rng` and `self.traits` say how."""

    # names

    def _names(self):
        rng = self.rng
        pieces = rng.sample(PIECES, rng.randint(3, 8))
        if self.has("odd_names"):
            pieces += rng.sample(ODD_PIECES, rng.randint(2, 5))
        stems = [rng.choice(pieces)]
        for _ in range(rng.randint(1, 6)):
            base = rng.choice(stems) + "/" if chance(rng, 0.65) else ""
            stems.append(base + rng.choice(pieces))
        names = []
        for _ in range(0 if self.has("empty_graph") else rng.choice([1, 5, 10, 15, 20, 25, 35])):
            name = rng.choice(stems)
            if chance(rng, 0.75):
                name += "/" + rng.choice(pieces)
            if chance(rng, 0.2):
                name = rng.choice([name + "_1", name + "b", name.replace("/", "_"), name.upper(), name[:-1] or name])
            if self.has("slashes") and chance(rng, 0.2):
                name = rng.choice([name.replace("/", "//", 1), name + "/", "/" + name, "//", name + "//x"])
            names.append(name)
        if self.has("odd_names") and chance(rng, 0.2):
            names.append("")
        names = list(dict.fromkeys(names))
        if self.has("gradients") and names:
            names += self._gradients(names)
        rng.shuffle(names)
        return list(dict.fromkeys(names))

    def _gradients(self, names):
        """Names read as gradients of others, and some that only look like it."""
        rng = self.rng
        forms = ["gradients/%s_grad/%s"] * 5 + [
            "train/gradients/%s_grad/%s",
            "gradients/%s_grad/x/%s",
            "mygradients/%s_grad/%s",
            "gradients/gone/%s_grad/%s",
            "gradients/%s_grad_%s",
            "gradients_1/%s_grad/%s",
            "a_grad/gradients/%s%.0s",
            "gradients/%.0s_grad/%s",
            "gradients/%s_grad/y_grad/%s",
            "gradients/gradients/%s_grad/%s",
        ]
        some = rng.sample(names, rng.randint(1, min(6, len(names))))
        return [
            rng.choice(forms) % (rng.choice(some), rng.choice(["MatMul", "x", "Sum_1", "a"]))
            for _ in range(rng.randint(1, 10))
        ]

    # graph

    def _graph(self):
        rng = self.rng
        ops = rng.sample(OPS, rng.randint(2, 7))
        if chance(rng, 0.15):
            ops.append(rng.choice(ODD_OPS))
        defined = list(self.names)
        if self.has("twice_defined") and defined:
            for _ in range(rng.randint(1, 3)):
                defined.insert(rng.randrange(len(defined) + 1), rng.choice(defined))
        for i, name in enumerate(defined):
            node = self.graph.node.add(name=name, op=rng.choice(ops))
            node.input.extend(self._inputs(defined, i))
            if chance(rng, 0.3):
                node.device = rng.choice(CPUS + GPUS)
            self._shapes(node)
            if self.has("attrs"):
                for _ in range(rng.randint(0, 3)):
                    self._attr(node.attr[rng.choice(["T", "dtype", "strides", "f", "value", "été", "_class", "N"])])
            if chance(rng, 0.1):
                node.attr["data_format"].s = rng.choice([b"NHWC", b"NCHW", b"nhwc"])
        if chance(rng, 0.5):
            self.graph.versions.producer = 22
        if self.has("library"):
            fun = self.graph.library.function.add()
            fun.signature.name = "fn"
            fun.node_def.add(name="inner", op="MatMul")

    def _inputs(self, defined, i):
        rng = self.rng
        inputs = []
        for _ in range(rng.choice([0, 0, 1, 1, 1, 2, 2, 3, 5])):
            if self.has("cycles") and chance(rng, 0.2):
                source = rng.choice(defined)  # itself and later ones too
            elif i:
                source = rng.choice(defined[:i])
            else:
                continue
            if self.has("missing_inputs") and chance(rng, 0.1):
                source = rng.choice(["ghost", source + "x", source[:-1]])
            form = rng.choice(["%s"] * 6 + ["%s:0", "%s:1", "%s:2", "^%s", "^%s"])
            inputs.append(form % source)
            if chance(rng, 0.1):
                inputs.append(inputs[-1])
        if self.has("odd_inputs") and chance(rng, 0.2) and i:
            source = rng.choice(defined[:i])
            inputs.append(
                rng.choice(
                    [
                        "",
                        "^",
                        ":0",
                        "^%s:1" % source,
                        "%s:x" % source,
                        "%s:0:1" % source,
                        "%s:-1" % source,
                        "^^" + source,
                    ]
                )
            )
        return inputs

    def _shape(self, shape):
        """Fills a TensorShapeProto; without dimensions it is a scalar's."""
        rng = self.rng
        shape.SetInParent()
        sizes = [1, 2, 3, 4, 8, 16, 64, 1000]
        if self.has("odd_shapes"):
            sizes += [0, -1, -1, 999, 65536]
            if chance(rng, 0.15):
                shape.unknown_rank = True
                if chance(rng, 0.85):
                    return
        if self.has("overflow") and chance(rng, 0.4):
            for size in rng.choice([[1 << 32, 1 << 32], [3037000500, 3037000500], [1 << 40, 3], [1 << 62], [-5, 2]]):
                shape.dim.add(size=size)
            return
        for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4])):
            dim = shape.dim.add(size=rng.choice(sizes))
            if chance(rng, 0.03):
                dim.name = "batch"

    def _shapes(self, node):
        rng = self.rng
        if chance(rng, 0.7 if node.op.startswith(("Var", "Place")) else 0.15):
            if self.has("odd_shapes") and chance(rng, 0.08):
                self._attr(node.attr["shape"])  # most likely not a shape
            else:
                self._shape(node.attr["shape"].shape)
        if chance(rng, 0.75):
            if self.has("odd_shapes") and chance(rng, 0.05):
                self._attr(node.attr["_output_shapes"])
            else:
                node.attr["_output_shapes"].list.SetInParent()
                for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
                    self._shape(node.attr["_output_shapes"].list.shape.add())

    def _attr(self, value, depth=0):
        """Fills an AttrValue of any kind."""
        rng = self.rng
        kind = rng.choice(["s", "i", "f", "b", "type", "shape", "tensor", "placeholder", "func", "list", "nothing"])
        text = [b"", b"abc", "été".encode(), b"\xff\x00raw", b"loc:@a/b", b'"q"\\\n']
        floats = [0.0, -0.0, 1.5, 1e-30, float("inf"), float("-inf"), float("nan")]
        ints = [0, 1, -1, 1 << 40, -(1 << 63), INT64_MAX]
        if kind == "s":
            value.s = rng.choice(text)
        elif kind == "i":
            value.i = rng.choice(ints)
        elif kind == "f":
            value.f = rng.choice(floats)
        elif kind == "b":
            value.b = chance(rng, 0.5)
        elif kind == "type":
            value.type = rng.choice([0, 1, 3, 7, 101])
        elif kind == "shape":
            self._shape(value.shape)
        elif kind == "tensor":
            self._tensor(value.tensor, text, floats)
        elif kind == "placeholder":
            value.placeholder = "later"
        elif kind == "func":
            value.func.name = "fn"
            if depth < 2:
                self._attr(value.func.attr["inner"], depth + 1)
        elif kind == "list":
            for _ in range(rng.randint(0, 2)):
                value.list.s.append(rng.choice(text))
                value.list.i.extend(rng.sample(ints, 2))
                value.list.f.append(rng.choice(floats))
                value.list.b.append(True)
                value.list.type.append(rng.choice([1, 9]))
                self._shape(value.list.shape.add())
                self._tensor(value.list.tensor.add(), text, floats)
                value.list.func.add(name="g")
            value.list.SetInParent()

    def _tensor(self, tensor, text, floats):
        rng = self.rng
        tensor.dtype = rng.choice([1, 7, 3])
        tensor.tensor_shape.dim.add(size=rng.randint(0, 4))
        if tensor.dtype == 1:
            tensor.float_val.extend(rng.sample(floats, 2))
        elif tensor.dtype == 7:
            tensor.string_val.extend(rng.sample(text, 2))
        else:
            tensor.tensor_content = bytes(rng.randrange(256) for _ in range(8))
