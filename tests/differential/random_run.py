"""The runs and the op log of a random model: times, devices, memory and call stacks."""

from vocabulary import (
    ALLOCATORS,
    CPUS,
    FILES,
    FUNCTIONS,
    GPUS,
    ODD_DEVICES,
    STREAMS,
    TYPES,
    amount,
    chance,
)


class RandomRun:
    """Fills `self.runs` and `self.log`, given the nodes of the graph."""

    # runs

    def _runs(self):
        rng = self.rng
        self.devices = [rng.choice(CPUS)] if chance(rng, 0.9) else []
        if self.has("gpu"):
            for gpu in rng.sample(GPUS, rng.choice([1, 1, 2])):
                self.devices.append(gpu)
                self.devices += [
                    gpu[max(gpu.find("/device"), 0) :] + s if chance(rng, 0.5) else gpu + s
                    for s in rng.sample(STREAMS, rng.randint(0, 4))
                ]
        if self.has("odd_devices"):
            self.devices += rng.sample(ODD_DEVICES, rng.randint(1, 4))
        # where each node has its home, so that most keep to one device
        homes = [d for d in self.devices if "/stream" not in d.lower() and "/mem" not in d]
        self.home = {n: rng.choice(homes or ["/cpu:0"]) for n in self.names}
        self.t0 = rng.choice([1, 1000, 1500000000000000])
        steps = sorted(rng.sample([0, 1, 2, 5, 7, 100, 12345, 10**10], rng.choice([1, 1, 2, 2, 3, 4])))
        for step in steps:
            self.runs.append((step, "run_meta_%d" % step, self._run()))
        if self.has("same_step"):
            step = rng.choice(steps)
            self.runs.append((step, "run_meta_%d_again" % step, self._run()))
        if self.has("no_step_stats"):
            meta = self.tf1.RunMetadata()
            if chance(rng, 0.5):
                meta.step_stats.SetInParent()
            else:
                meta.cost_graph.node.add(name="a")
            self.runs.append((9, "run_meta_9", meta))

    def _run(self):
        rng = self.rng
        meta = self.tf1.RunMetadata()
        meta.step_stats.SetInParent()
        devices = [d for d in self.devices if chance(rng, 0.9)]
        if chance(rng, 0.1) and devices:
            devices.append(rng.choice(devices))
        nodes = {n.name: n for n in self.graph.node}
        quiet = {n for n in self.names if chance(rng, 0.2)}
        for device in devices:
            stats = meta.step_stats.dev_stats.add(device=device)
            aside = device not in self.home.values()
            for name in self.names:
                if name in quiet or not chance(rng, 0.5 if aside else 0.95 if self.home[name] == device else 0.04):
                    continue
                for _ in range(rng.choice([1] * 8 + [2, 3, 4])):
                    self._record(stats, device, name, nodes[name].op, nodes[name].input, aside)
            if self.has("run_only"):
                for _ in range(rng.randint(0, 4)):
                    some = rng.choice(self.names) if self.names else "a"
                    name = rng.choice(
                        [
                            "_arg_x_0_0",
                            "_SINK",
                            "_SOURCE",
                            "RecvTensor",
                            "fused/" + some,
                            "edge_5_%s:MEMCPYHtoD" % some,
                            "xMEMCPYy",
                            some + "/_3",
                            some.split("/")[0],
                            "_retval_y_0_0",
                            "memcpy",
                        ]
                    )
                    self._record(stats, device, name, "Op", [], aside)
        return meta

    def _record(self, stats, device, name, op, inputs, aside):
        rng = self.rng
        s = stats.node_stats.add()
        s.node_name = name
        if chance(rng, 0.6 if aside else 0.04):
            s.node_name += rng.choice([":" + op, ":%s:2" % op, ":"])
        start = self.t0 + 50 * rng.randrange(60) + rng.choice([0, 0, 0, 1, 7])
        spent = rng.choice([0, 1, 2, 5, 10, 50, 100, 350, 999, 1000, 1500, 20000, 1000000])
        if self.has("no_start") and chance(rng, 0.1):
            start = rng.choice([0, 0, -5])
        if self.has("negative_times") and chance(rng, 0.15):
            spent = -rng.choice([1, 3, 40])
        s.all_start_micros = start
        s.op_start_rel_micros = rng.choice([0, 1, 2])
        s.op_end_rel_micros = spent
        s.all_end_rel_micros = spent + rng.choice([0, 0, 1, 5])
        s.scheduled_micros = start - 2
        s.thread_id = rng.randrange(4)
        if chance(rng, 0.1):
            s.all_start_nanos = start * 1000
        known = [i.split(":")[0] if chance(rng, 0.7) else i for i in inputs]
        if known and chance(rng, 0.1):
            known[0] += "/_12"
        s.timeline_label = rng.choice(
            ["%s = %s(%s)" % (name, op, ", ".join(known))] * 7
            + [
                "",
                "no label",
                "%s:%s#id=1#" % (name, op),
                "kernel@@%s:%s#id=1" % (name, op),
                "kernel@@%s#" % name,
                "#x@@y",
                "a = b = %s((x), %s)" % (op, name),
            ]
        )
        if self.has("memory") and (not aside or chance(rng, 0.2)):
            self._memory(s, start)

    def _memory(self, s, start):
        rng = self.rng
        for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
            mem = s.memory.add(allocator_name=rng.choice(ALLOCATORS))
            mem.total_bytes = amount(rng)
            mem.peak_bytes = amount(rng)
            mem.live_bytes = amount(rng) if chance(rng, 0.95) else -amount(rng, 5000)
            mem.allocator_bytes_in_use = rng.choice([0, 4096, 6000000, 12000000, amount(rng)])
            for _ in range(rng.choice([0, 1, 2, 3])):
                mem.allocation_records.add(
                    alloc_micros=max(start, 0) + rng.choice([-100, 0, 1, 50, 400, 2000]),
                    alloc_bytes=rng.choice([512, 1000000, 2999010, 2999010, 6000000, -512, -1000000]),
                )
        for slot in range(rng.choice([0, 1, 1, 1, 2, 3])):
            out = s.output.add(slot=slot if chance(rng, 0.9) else rng.choice([0, 7, -1]))
            if chance(rng, 0.05):
                continue
            desc = out.tensor_description
            desc.SetInParent()
            if chance(rng, 0.8):
                desc.dtype = rng.choice([1, 3, 9])
                self._shape(desc.shape)
            if chance(rng, 0.9):
                desc.allocation_description.requested_bytes = amount(rng)
                desc.allocation_description.allocated_bytes = amount(rng)
                desc.allocation_description.allocator_name = rng.choice(ALLOCATORS)
                desc.allocation_description.ptr = rng.choice([0, 4096, (1 << 64) - 1])
        if chance(rng, 0.4):
            s.memory_stats.SetInParent()
            s.memory_stats.temp_memory_size = amount(rng)
            s.memory_stats.persistent_memory_size = amount(rng)
            if chance(rng, 0.2):
                s.memory_stats.device_temp_memory_size = 99
                s.memory_stats.device_persistent_memory_size = 98
                s.memory_stats.persistent_tensor_alloc_ids.append(5)

    # op log

    def _log(self):
        rng = self.rng
        frames = self._frames() if self.has("traces") or self.has("empty_traces") else None
        names = list(self.names)
        for _, _, meta in self.runs:  # nodes that only the run knows
            names += [
                s.node_name for d in meta.step_stats.dev_stats for s in d.node_stats if s.node_name not in self.names
            ][:3]
        rng.shuffle(names)
        for name in names:
            for _ in range(rng.choice([0] + [1] * 9 + [2] * self.has("odd_log"))):
                entry = self.log.log_entries.add(name=name)
                if chance(rng, 0.5):
                    entry.float_ops = amount(rng)
                    if self.has("odd_log") and chance(rng, 0.15):
                        entry.float_ops *= -1
                if chance(rng, 0.3):
                    entry.types.extend(rng.choice(TYPES) for _ in range(rng.randint(1, 3)))
                if frames and chance(rng, 0.9):
                    entry.code_def.SetInParent()
                    if self.has("traces") and chance(rng, 0.97):
                        entry.code_def.traces.extend(rng.choice(frames))
        if self.has("odd_log"):
            self.log.log_entries.add(name="nobody", float_ops=5, types=["my_type"])

    def _frames(self):
        """Call stacks that share beginnings; some are the beginning of others."""
        rng = self.rng
        strings = ["none"] + rng.sample(FILES, rng.randint(1, 4))
        files = len(strings) - 1
        strings += rng.sample(FUNCTIONS, rng.randint(2, 6))
        functions = len(strings) - 1 - files
        strings += ["x = f(x)", "retour = été"]
        first = 0 if chance(rng, 0.8) else rng.choice([7, -3, 1 << 40])
        for i, text in enumerate(strings):
            self.log.id_to_string[i + first if i else 0] = text
        from tensorflow.core.profiler import tfprof_log_pb2

        stacks = [[]]
        for _ in range(rng.randint(2, 10)):
            base = rng.choice(stacks)
            stack = list(base[: rng.randint(0, len(base))] if chance(rng, 0.3) else base)
            for _ in range(rng.randint(1, 3)):
                trace = tfprof_log_pb2.CodeDef.Trace()
                trace.lineno = rng.choice([1, 2, 10, 20, 30, 40, 999, 100000, -1, 0])
                trace.func_start_line = rng.choice([-1, 1, 5, 0])
                trace.file_id = first + 1 + rng.randrange(files)
                trace.function_id = first + 1 + files + rng.randrange(functions)
                trace.line_id = first + len(strings) - rng.choice([1, 2])
                if self.has("unknown_ids") and chance(rng, 0.2):
                    trace.file_id = 4242
                stack.append(trace)
            stacks.append(stack)
        return stacks[1:]
