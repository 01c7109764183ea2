"""Compares tfprof's figures about models in several formats with those of their frameworks and of other tools.

    python compare.py TFPROF DIRECTORY

DIRECTORY is what keras_models.py and torch_models.py wrote. onnx-tool is asked if it is installed. Prints a table in
Markdown, and fails if parameters or multiply-adds differ where no converter changed the model (EXPLAINED).
"""

import glob
import json
import os
import subprocess
import sys

# Converters that change a model, and how.
EXPLAINED = {
    ("tflite", "parameters"): "the converter folds batch normalisation into convolutions, and drops unused weights",
    ("onnx", "parameters"): "tf2onnx and torch.onnx fold batch normalisation into convolutions",
}


def cost(tfprof, path):
    answer = subprocess.run([tfprof, "cost", path, "--format=json"], capture_output=True, text=True, check=False)
    return json.loads(answer.stdout) if answer.stdout.startswith("{") else {"error": answer.stderr.strip()}


def onnx_tool_macs(path):
    try:
        import onnx_tool
    except ImportError:
        return None
    try:
        model = onnx_tool.Model(path)
        model.graph.shape_infer(None)
        model.graph.profile()
        return int(sum(model.graph.macs))
    except Exception as error:  # another tool's failure is a finding about that tool
        return f"failed: {type(error).__name__}"


def main():
    tfprof, directory = sys.argv[1:]
    facts = json.load(open(f"{directory}/facts.json"))
    wrong = 0
    print("| file | parameters | framework | macs | SavedModel or framework | onnx-tool | covered |")
    print("|---|---|---|---|---|---|---|")
    for name, fact in facts.items():
        saved = f"{directory}/{name}_saved"
        reference = fact["flops"] // 2 if "flops" in fact else cost(tfprof, saved).get("macs") if os.path.isdir(saved) else None
        files = sorted(glob.glob(f"{directory}/{name}.*") + glob.glob(f"{directory}/{name}_int8.*") + glob.glob(f"{directory}/{name}_dynamo.onnx"))
        for path in files:
            kind = os.path.splitext(path)[1][1:]
            if kind not in ("onnx", "tflite"):
                continue
            own = cost(tfprof, path)
            if "error" in own:
                print(f"| {os.path.basename(path)} | {own['error']} | | | | | |")
                wrong += 1
                continue
            peer = onnx_tool_macs(path) if kind == "onnx" else None
            covered = f"{own['covered_nodes']} of {own['nodes']}"
            print(f"| {os.path.basename(path)} | {own['parameters']} | {fact['parameters']} | {own['macs']} | {reference} | {peer} | {covered} |")
            if reference is not None and own["macs"] != reference:
                wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
