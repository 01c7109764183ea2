"""Surveys a model with the original, so that random questions fit the model."""

import collections
import resource
import signal

import oracle
from casekit import ALL, metas
from vocabulary import INT64_MAX

ROOT = "_TFProfRoot"
SECONDS = 20  # of processor time; a question that takes longer is left out
PATIENCE = 120  # seconds on the clock; then the machine is to blame: ask again
MEMORY = 8 << 30


class Asker(oracle.Oracle):
    """An oracle with limits, that also answers `survey`: all about a model, in one child."""

    def run(self, case):
        for _ in range(3):
            res = super().run(case)
            if res["exit"] not in ("SIGALRM", "SIGKILL"):
                return res
        raise RuntimeError("%s/%s: %s three times" % (self.root, case["name"], res["exit"]))

    def _execute(self, case):
        signal.alarm(PATIENCE)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        if case["cmd"] != "survey":
            return super()._execute(case)
        native = self._native
        native.NewProfiler(
            self._input("graph.pb", graph=True),
            self._input(case["inputs"]["op_log"]) if case["inputs"]["op_log"] else b"",
        )
        steps = []
        for item in case["inputs"]["run_meta"]:
            native.AddStep(item["step"], b"", self._input(item["file"]), b"")
            steps.append(item["step"])
        full = {
            "max_depth": 1000,
            "account_type_regexes": ALL,
            "start_name_regexes": ALL,
            "show_name_regexes": ALL,
            "output": "none",
            "min_float_ops": -INT64_MAX,
            "min_micros": -INT64_MAX,
            "min_params": -INT64_MAX,
        }
        for view, step in (
            [("op", -1), ("scope", -1), ("graph", -1)] + [("scope", s) for s in steps] + [("op", s) for s in steps[:1]]
        ):
            opts = oracle.options_proto(dict(full, step=step)).SerializeToString()
            self._keep("%s_%d" % (view, step), native.Profile(view.encode(), opts))
        try:
            self._keep("profile", native.SerializeToString())
        except IndexError:
            pass  # an input names no node
        opts = oracle.options_proto(full).SerializeToString()
        self._keep("code_-1", native.Profile(b"code", opts))  # last: it may die
        return b""

    def _keep(self, name, data):
        with open(name, "wb") as f:
            f.write(data)


class Survey:
    """Names, types and values that tfprof knows about a model."""

    FIELDS = {
        "min_bytes": "total_requested_bytes",
        "min_peak_bytes": "total_peak_bytes",
        "min_residual_bytes": "total_residual_bytes",
        "min_output_bytes": "total_output_bytes",
        "min_micros": "total_exec_micros",
        "min_accelerator_micros": "total_accelerator_exec_micros",
        "min_cpu_micros": "total_cpu_exec_micros",
    }
    OWN = {"min_params": "parameters", "min_float_ops": "float_ops", "min_occurrence": "run_count"}

    def __init__(self, asker, model, op_log):
        res = asker.run(
            {
                "name": "survey",
                "cmd": "survey",
                "api": "multi_step",
                "inputs": {
                    "graph": "graph.pb",
                    "op_log": op_log,
                    "run_meta": metas(*[(s, f) for s, f, _ in model.runs]),
                },
            }
        )
        self.exit = res["exit"]
        self.profile = res["files"].get("profile")
        self.names = {v: [] for v in oracle.VIEWS}
        self.values = {v: collections.defaultdict(set) for v in oracle.VIEWS}
        self.edges = {v: set() for v in oracle.VIEWS}
        for name, data in sorted(res["files"].items()):
            view = name.split("_")[0]
            if view in oracle.VIEWS and data:
                proto = oracle.result_proto(view)
                proto.ParseFromString(data)
                self._walk(view, proto, name.endswith("_-1"))
        self.has_code = bool(self.names["code"])
        self.code_dies = "code_-1" not in res["files"]
        self.steps = sorted({s for s, _, m in model.runs if m.HasField("step_stats")})
        types = set(model.names[:2]) | {"_kTFScopeParent"}
        for entry in model.log.log_entries if model.log is not None else []:
            types |= set(entry.types)
        for _, _, meta in model.runs:
            types |= {d.device.lower() for d in meta.step_stats.dev_stats}
        self.types = sorted(types) + sorted({n.op for n in model.graph.node}) * 4

    def _walk(self, view, node, average):
        values = self.values[view]
        for key, field in self.FIELDS.items():
            values[key].add(getattr(node, field))
        for key, field in self.OWN.items():
            if view in ("scope", "graph"):
                values[key].add(getattr(node, field))
            elif key == "min_occurrence":
                values[key].add(len(node.graph_nodes))
            else:
                values[key].add(getattr(node, "total_" + field))
        if average and node.name != ROOT:
            self.names[view].append(node.name)
        for child in node.children:
            if average:
                self.edges[view].add((node.name, child.name))
            self._walk(view, child, average)
