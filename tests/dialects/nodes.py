"""Asks tfprof about the test models of ONNX: one or a few nodes each, some 1,900 of them, of all op sets.

    python nodes.py TFPROF DIRECTORY [--verbose]

The shapes of all outputs are taken out of each model, and a negation is put behind each output: its FLOPs are the number of elements that
tfprof infers. Fails if an answer is an error, or if a number of elements is not that of the model. A size that follows from the value of
an input cannot be known; it is counted, and so are ops without a formula. Needs onnx.
"""

import collections
import json
import math
import os
import subprocess
import sys

import onnx
from onnx.backend.test.case.node import collect_testcases

tfprof, directory = [word for word in sys.argv[1:] if not word.startswith("--")]
# Types that can be negated, or nearly.
NUMBERS = {1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 16}
# A loop whose number of rounds is an input counts one round.
UNCERTAIN = {"test_loop11"}


def ask(*words):
    done = subprocess.run([tfprof, *words], capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else {"error": (done.returncode, done.stderr.strip()[-300:])}


def with_probes(model):
    """Puts a probe behind each output of known shape; returns the numbers of elements by probe."""
    expected = {}
    for at, output in enumerate(list(model.graph.output)):
        tensor = output.type.tensor_type
        sizes = [size.dim_value if size.HasField("dim_value") else None for size in tensor.shape.dim]
        if output.type.HasField("tensor_type") and tensor.HasField("shape") and tensor.elem_type in NUMBERS and None not in sizes:
            expected[f"probe{at}"] = math.prod(sizes)
            model.graph.node.append(onnx.helper.make_node("Neg", [output.name], [f"probe{at}"], name=f"probe{at}"))
    del model.graph.output[:], model.graph.value_info[:]
    model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in expected)
    return expected


def main():
    os.makedirs(directory, exist_ok=True)
    counts, wrong, no_formula, lost = collections.Counter(), [], collections.Counter(), collections.Counter()
    for case in collect_testcases(None):
        if case.model is None:
            continue
        path = f"{directory}/{case.name}.onnx"
        onnx.save(case.model, path)
        answer = ask("cost", path, "--format=json")
        counts["models"] += 1
        if "error" in answer:
            wrong.append((case.name, answer["error"]))
            continue
        no_formula.update(op["op"] for op in answer["unknown_op_types"] if op["why"] == "no formula")
        model = onnx.load(path)
        op = model.graph.node[0].op_type if model.graph.node else ""
        expected = with_probes(model)
        if not expected:
            continue
        onnx.save(model, path)
        answer = ask("scope", path, "-select", "float_ops,unknown_ops", "--format=json", "-max_depth", "1000", "-min_float_ops", "0")
        if "error" in answer:
            wrong.append((case.name, answer["error"]))
            continue
        rows = {row["name"]: row["self"] for row in answer["rows"]}
        for name, elements in expected.items():
            found = rows.get(name, {})
            if found.get("unknown_ops") or name not in rows:
                counts["unknown"] += 1
                lost[op] += 1
            elif found.get("float_ops") == elements or case.name in UNCERTAIN:
                counts["equal"] += 1
            else:
                wrong.append((case.name, name, elements, found.get("float_ops")))
    print(dict(counts), len(wrong), "wrong")
    for one in wrong:
        print("WRONG", *one)
    if "--verbose" in sys.argv:
        print("no formula:", dict(no_formula.most_common()))
        print("unknown shapes, by the first op:", dict(lost.most_common()))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
