"""Runs recorded cases again with the real tfprof and compares with the goldens.

  verify_corpus.py CORPUS_DIR [--models A,B] [--every N] [--only REGEX]

Exits with 1 when something differs. Nothing is written. What went to standard output and error is not
compared, as the corpus does not keep it: the wording there is ours.
"""

import argparse
import gzip
import json
import os
import re
import sys

import oracle


def golden(root, rel):
    return oracle.read_bytes(os.path.join(root, rel))


def plain(kind, data):
    """What is compared: pprof output without its gzip, a text without its header."""
    if kind == "text":
        return oracle.profile_text(data)
    return gzip.decompress(data) if kind == "pprof" and data[:2] == b"\x1f\x8b" else data


def compare(root, case, res):
    """A list of (kind, 'differs' | 'reordered' | 'missing' | 'extra')."""
    expect = dict(case["expect"])
    found = []
    if expect.pop("exit") != res["exit"]:
        found.append(("exit", "differs"))
    files = oracle.to_files(case, res)
    if "text" in expect and "text" not in files and "stdout" in files:  # asked to print instead
        files["text"] = ("", files["stdout"][1].split(b"\n======================End of Report")[0])
    for kind, rel in expect.items():
        if kind not in files:
            found.append((kind, "missing"))
            continue
        want, got = golden(root, rel), files.pop(kind)[1]
        want, got = plain(kind, want), plain(kind, got)
        if want != got:
            same = sorted(want.split(b"\n")) == sorted(got.split(b"\n"))
            found.append((kind, "reordered" if same else "differs"))
    found.extend((kind, "extra") for kind in files if kind not in ("stdout", "stderr"))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus")
    parser.add_argument("--models")
    parser.add_argument("--every", type=int, default=1, help="take each Nth case")
    parser.add_argument("--only")
    args = parser.parse_args()
    models = (
        args.models.split(",")
        if args.models
        else sorted(d for d in os.listdir(args.corpus) if os.path.exists(os.path.join(args.corpus, d, "cases.json")))
    )
    total = bad = skipped = 0
    for model in models:
        root = os.path.join(args.corpus, model)
        path = os.path.join(root, "cases.json")
        with open(path) as f:
            doc = json.load(f)
        runner = oracle.Oracle(root)
        for case in doc["cases"][:: args.every]:
            if args.only and not re.search(args.only, case["name"]):
                continue
            if case["inputs"].get("checkpoint"):
                skipped += 1
                continue
            total += 1
            found = compare(root, case, runner.run(case))
            if case.get("unordered"):
                found = [pair for pair in found if pair[1] != "reordered"]
            if found:
                bad += 1
                print("%s/%s: %s" % (model, case["name"], ", ".join("%s %s" % pair for pair in found)))
    print("%d cases run again, %d differ, %d skipped (Python cannot hand tfprof a checkpoint)" % (total, bad, skipped))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
