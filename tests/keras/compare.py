"""Models of Keras 3 and tf.keras 2 as .keras, .h5, JSON and SavedModel: parameters as `count_params()` says, multiply-adds
equal in all formats.

Usage: compare.py DIR [--tfprof target/release/tfprof]   (DIR was filled by models.py)
"""

import argparse
import json
import pathlib
import subprocess
import sys


def cost(tfprof, path):
    done = subprocess.run([*tfprof, "cost", str(path), "--format=json"], capture_output=True)
    return json.loads(done.stdout) if done.stdout else {"error": done.stderr.decode()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--tfprof", default="target/release/tfprof")
    arguments = parser.parse_args()
    wrong = 0
    for facts in sorted(arguments.directory.glob("*.facts")):
        expected, base = json.loads(facts.read_text()), facts.with_suffix("")
        saved = cost([arguments.tfprof], f"{base}_saved")
        for ending in [".keras", ".h5", ".json"]:
            path = base.with_suffix(ending)
            if not path.exists():
                continue
            found = cost([arguments.tfprof], path)
            # Without weights, those of a custom layer are not known.
            same = all([
                found.get("parameters") == expected["parameters"] or ending == ".json" and base.name == "custom",
                found.get("trainable_parameters") == expected["trainable"] or ending == ".json" and base.name == "custom",
                "error" in saved or found.get("macs") == saved["macs"],
            ])
            wrong += not same
            figures = {key: found.get(key) for key in ("parameters", "trainable_parameters", "macs", "nodes", "covered_nodes")}
            print("ok   " if same else "WRONG", path.name, figures, "" if same else (expected, saved.get("macs"), found.get("error", "")))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
