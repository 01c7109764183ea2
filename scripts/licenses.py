#!/usr/bin/env python3
"""Checks that every dependency has a licence that deny.toml allows: `make licenses`.

`cargo deny check` does the same and also checks advisories, but has to download their database. This script only needs the
lock file, so it runs with every test.
"""

import json
import pathlib
import re
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOKEN = re.compile(r"\(|\)|[A-Za-z0-9.+-]+(?: WITH [A-Za-z0-9.+-]+)?")


def main():
    allowed = set(tomllib.loads((ROOT / "deny.toml").read_text())["licenses"]["allow"])
    refused = []
    seen = 0
    for manifest in [ROOT / "Cargo.toml", ROOT / "fuzz" / "Cargo.toml"]:
        cmd = ["cargo", "metadata", "--format-version", "1", "--locked", "--manifest-path", str(manifest)]
        packages = json.loads(subprocess.run(cmd, check=True, stdout=subprocess.PIPE).stdout)["packages"]
        for package in packages:
            if package["source"] is None:
                continue  # Ours.
            seen += 1
            licence = package["license"] or ""
            if not permits(licence, allowed):
                refused.append(f"{package['name']} {package['version']}: {licence or 'no licence'}")
            if not package["source"].startswith("registry+"):
                refused.append(f"{package['name']} {package['version']}: comes from {package['source']}")
    if refused:
        sys.exit("licences that deny.toml does not allow:\n  " + "\n  ".join(sorted(set(refused))))
    print(f"{seen} dependencies, all with licences that deny.toml allows")


def permits(expression, allowed):
    """Whether the allowed licences satisfy an SPDX expression."""
    tokens = TOKEN.findall(expression.replace("/", " OR "))

    def term():
        token = tokens.pop(0)
        if token == "(":
            value = either()
            tokens.pop(0)
            return value
        return token in allowed

    def both():
        value = term()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            value = term() and value
        return value

    def either():
        value = both()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            value = both() or value
        return value

    return bool(tokens) and either()


if __name__ == "__main__":
    main()
