#!/usr/bin/env python3
"""Checks models that nobody here made, beside TensorFlow and beside the manifests that lie with them.

  check.py --tfprof BINARY --infer EXAMPLE [--only NAME] DIRECTORY      (a Python with TensorFlow)

Each folder of DIRECTORY holds models and a manifest.json; `files[].tensorflow` has the number of nodes, and `flops`, the
figures of TensorFlow's RegisterStatistics by op type at batch 1. inputs.json, beside this script, says what to give where
the shape of an input is open, the number of nodes whose shapes depend on data, the warnings that are right, and the facts
of a manifest: figures of `cost`, FLOPs by op type, and commands with words of their answers. For each graph:

- TensorFlow's figures, made again, are those of the manifest;
- each node that TensorFlow has a figure for has the same one here, and no shape contradicts TensorFlow's;
- the number of nodes is the manifest's;
- with the inputs, 99 % of the nodes that do not depend on data have a cost, and no warning speaks of a contradiction.

The samples are not part of this repository.
"""

import argparse
import collections
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.python.framework import ops

CONTRADICTIONS = ("shape_conflict", "trip_count")


def read(path, kind):
    """The graph of a file, as TensorFlow's message."""
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    if ".pbtxt" in path.name:
        return text_format.Parse(content, tf.compat.v1.GraphDef())
    if kind == "meta":
        return tf.compat.v1.MetaGraphDef.FromString(content).graph_def
    if kind == "saved_model":
        return saved_model_pb2.SavedModel.FromString(content).meta_graphs[0].graph_def
    return tf.compat.v1.GraphDef.FromString(content)


def at_batch_1(definition):
    """The first size of a placeholder is the batch, if it is open. Stored shapes of a former inference go."""
    for node in definition.node:
        node.attr.pop("_output_shapes", None)
        shape = node.attr["shape"].shape if node.op == "Placeholder" else None
        if shape and shape.dim and shape.dim[0].size == -1:
            shape.dim[0].size = 1


class Tally:
    def __init__(self):
        self.failures = []
        self.checked = collections.Counter()

    def check(self, holds, text):
        if not holds:
            self.failures.append(text)
            print(f"  FAILS: {text}")


def beside_tensorflow(definition, figures, infer, tally, label):
    """Figures and shapes of each node at batch 1."""
    at_batch_1(definition)
    try:
        with tf.Graph().as_default() as graph:
            tf.import_graph_def(definition, name="")
    except Exception as error:  # whatever TensorFlow has against a graph is the answer
        print(f"  TensorFlow cannot import it: {str(error).splitlines()[0][:110]}")
        tally.checked["graphs that TensorFlow cannot import"] += 1
        tally.check(figures is None, f"{label}: the manifest has figures of a graph that TensorFlow cannot import")
        return
    with tempfile.NamedTemporaryFile(suffix=".pb") as file:
        file.write(definition.SerializeToString())
        file.flush()
        lines = subprocess.run([infer, file.name], check=True, capture_output=True, text=True).stdout.splitlines()
    ours = {line["name"]: line for line in map(json.loads, lines)}
    sums, nodes, different = collections.Counter(), 0, collections.defaultdict(list)
    for operation in graph.get_operations():
        compare_shapes(operation, ours[operation.name], tally, label)
        try:
            theirs = ops.get_stats_for_node_def(graph, operation.node_def, "flops").value
        except ValueError:  # its formula wants a shape that is not known
            theirs = None
        if theirs is None:
            continue
        sums[operation.type] += int(theirs)
        nodes += 1
        cost = ours[operation.name]["cost"]
        mine = json.loads(cost)[0] if cost.startswith("[") else cost
        if mine != theirs:
            different[operation.type].append((operation.name, mine, theirs))
    found = sum(map(len, different.values()))
    print(f"  {nodes} nodes with a figure of TensorFlow's, {nodes - found} equal")
    for op, cases in different.items():
        print(f"    {op}: {len(cases)}, such as {cases[0]}")
        tally.check(not_taken(cases), f"{label}: {op} {cases[0]}")
    tally.checked["nodes with a figure"] += nodes
    tally.checked["nodes with the same figure"] += nodes - found
    if figures is not None:
        known = {op: count for op, count in sums.items() if count}
        tally.check(known == {op: count for op, count in figures.items() if count},
                    f"{label}: TensorFlow says {known}, the manifest {figures}")
        tally.checked["graphs with figures in their manifest"] += 1


def not_taken(cases):
    """docs/differences.md: a node of a branch that is not taken costs nothing here, and its figure in TensorFlow."""
    return all(mine == 0 for _, mine, _ in cases)


def compare_shapes(operation, line, tally, label):
    for at, output in enumerate(operation.outputs):
        theirs = output.shape.as_list() if output.shape.rank is not None else None
        mine = line["shapes"][at] if at < len(line["shapes"]) else None
        if theirs is None or mine is None:
            continue
        tally.checked["shapes that both know"] += 1
        same = len(mine) == len(theirs) and all(a < 0 or b is None or a == b for a, b in zip(mine, theirs))
        tally.check(same, f"{label}: {operation.type} {operation.name}:{at} is {mine}, TensorFlow says {theirs}")


def coverage(binary, path, given, tally, label, nodes):
    words = [*(f"--input={text}" for text in given.get("inputs", [])), *given.get("flags", [])]
    answer = subprocess.run([binary, "cost", path, "--format=json", *words], capture_output=True, text=True)
    tally.check(answer.returncode == given.get("exit", 0), f"{label}: exit code {answer.returncode}: {answer.stderr.strip()[:200]}")
    if not answer.stdout:
        return
    cost = json.loads(answer.stdout)
    depend = cost["data_dependent_nodes"]
    coverable = cost["nodes"] - depend
    share = 100 * cost["covered_nodes"] / coverable if coverable else 100
    listed = f", {depend} depend on data" if depend else ""
    print(f"  {cost['covered_nodes']} of {coverable} nodes covered, {share:.2f} %{listed}; {cost['parameters']} parameters, "
          f"{cost['macs']} multiply-adds {' '.join(words)}")
    tally.check(share >= 99, f"{label}: {share:.2f} % covered: {[row['node'] + ' ' + row['why'] for row in cost['missing_shapes']][:4]}")
    tally.check(depend == given.get("data_dependent", 0), f"{label}: {depend} nodes depend on data")
    tally.check(nodes is None or cost["nodes"] == nodes, f"{label}: {cost['nodes']} nodes, the manifest says {nodes}")
    for fact, value in given.get("facts", {}).items():
        tally.check(cost[fact] == value, f"{label}: {fact} {cost[fact]}, the manifest says {value}")
        tally.checked["facts"] += 1
    by_type = {row["op"]: row["float_ops"] for row in cost["op_types"]}
    for op, value in given.get("flops", {}).items():
        tally.check(by_type.get(op) == value, f"{label}: {op} {by_type.get(op)}, the manifest says {value}")
        tally.checked["facts"] += 1
    for warning in cost["warnings"]:
        if warning["code"] in CONTRADICTIONS and warning["code"] not in given.get("warnings", []):
            tally.check(False, f"{label}: {warning['message']}")
    tally.checked["models with coverage"] += 1


def commands(binary, folder, listed, tally):
    for words, expected in listed:
        answer = subprocess.run([binary, *words], cwd=folder, capture_output=True, text=True).stdout
        print(f"  {' '.join(words)}: {expected}")
        tally.check(expected in answer, f"{folder.name}: `{' '.join(words)}` does not say `{expected}`")
        tally.checked["facts"] += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tfprof", required=True)
    parser.add_argument("--infer", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("directory", type=pathlib.Path)
    args = parser.parse_args()
    args.tfprof = os.path.abspath(args.tfprof)
    given = json.loads((pathlib.Path(__file__).parent / "inputs.json").read_text())
    tally = Tally()
    for manifest in sorted(args.directory.glob("*/manifest.json")):
        content = json.loads(manifest.read_text())
        for file in content["files"]:
            label = f"{manifest.parent.name}/{file['file']}"
            theirs = file.get("tensorflow")
            if theirs is None or args.only not in label:
                continue
            print(label)
            path = manifest.parent / file["file"]
            beside_tensorflow(read(path, theirs["kind"]), theirs.get("flops"), args.infer, tally, label)
            # The cost of a SavedModel is that of its serving signature, and a manifest counts all nodes.
            whole = theirs["nodes"] if theirs["kind"] != "saved_model" else None
            coverage(args.tfprof, path, given.get(label, {}), tally, label, whole)
        if args.only in manifest.parent.name:
            commands(args.tfprof, manifest.parent, given.get(manifest.parent.name, []), tally)
    print()
    for text, count in tally.checked.items():
        print(f"{count} {text}")
    print(f"{len(tally.failures)} failures")
    for text in tally.failures:
        print(f"  {text}")
    sys.exit(bool(tally.failures) or not tally.checked)


if __name__ == "__main__":
    main()
