"""Helpers to write case lists: default options, names of metrics, a collector of cases."""

import copy
import os

import oracle

ALL = [".*"]
# What ProfileOptionBuilder() starts from, with the result written to a file.
BUILDER = {
    "max_depth": 100,
    "min_bytes": 0,
    "min_micros": 0,
    "min_params": 0,
    "min_float_ops": 0,
    "min_occurrence": 0,
    "order_by": "name",
    "account_type_regexes": ALL,
    "start_name_regexes": ALL,
    "trim_name_regexes": [],
    "show_name_regexes": ALL,
    "hide_name_regexes": [],
    "account_displayed_op_only": False,
    "select": ["micros"],
    "step": -1,
    "output": "file",
}
METRICS = [
    "bytes",
    "peak_bytes",
    "residual_bytes",
    "output_bytes",
    "micros",
    "accelerator_micros",
    "cpu_micros",
    "params",
    "float_ops",
    "occurrence",
]
SELECTS = METRICS + ["device", "op_types", "input_shapes", "tensor_value"]
ORDERS = ["name"] + METRICS
CHECKERS = ["ExpensiveOperationChecker", "AcceleratorUtilizationChecker", "JobChecker", "OperationChecker"]


class Cases:
    """Collects the cases of one model."""

    def __init__(self, model, graph="graph.pb", run_meta=None, op_log="tfprof_log", about=""):
        self.model = model
        self.about = about
        self.inputs = {
            "graph": graph,
            "op_log": op_log,
            "run_meta": [{"step": s, "file": f} for s, f in run_meta or []],
        }
        self.cases = []
        self.names = set()

    def add(self, name, cmd, base=None, api=None, inputs=None, tags=None, **overrides):
        """Adds a case: `overrides` go over `base` options; None removes an input."""
        assert name not in self.names, name
        self.names.add(name)
        use = copy.deepcopy(self.inputs)
        for key, value in (inputs or {}).items():
            if value is None:
                use.pop(key, None)
            else:
                use[key] = value
        if not use.get("run_meta"):
            use["run_meta"] = []
        if cmd in oracle.VIEWS:
            options = dict(BUILDER if base is None else base)
        else:
            options = dict(base or {})
        options.update(overrides)
        if api is None:
            api = "multi_step"
            if cmd in oracle.VIEWS and len(use["run_meta"]) < 2:
                api = "one_shot"
            if cmd == "chrome":
                api = "python"
        case = {"name": name, "api": api, "cmd": cmd, "inputs": use, "options": options}
        if tags:
            case["tags"] = tags
        if cmd == "advise" and len(options) > 1:
            case["unordered"] = True  # checkers report in the order of a hash map
        self.cases.append(case)

    def save(self, root):
        path = os.path.join(root, self.model, "cases.json")
        oracle.save_cases(path, {"model": self.model, "about": self.about, "cases": self.cases})
        return path


def metas(*pairs):
    return [{"step": s, "file": f} for s, f in pairs]
