#!/usr/bin/env python3
"""Compares the interfaces that semantic versioning covers (docs/semver.md) with those of the last release.

  interfaces.py --binary F           fails if a name came or went that the newest section of CHANGELOG.md does not mention
  interfaces.py --binary F --write   writes the listing of this version; part of a release

The listing, docs/interfaces.txt, has a line for each command, option, key of JSON, column of a table, name of the Python
package and item of the Rust API.
"""

import argparse
import ast
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LISTING = ROOT / "docs" / "interfaces.txt"
HEADING = "# Written by scripts/interfaces.py --write, for a release.\n"
# Commands whose answers have every key of their JSON.
JSON = [
    "scope corpus/mlp_small --format=json",
    "op corpus/mlp_small --format=json",
    "code corpus/mlp_small --format=json",
    "cost tests/models/dense_save --format=json",
    "layers tests/models/dense_save --format=json",
    "info corpus/mlp_small --format=json",
    "advise corpus/mlp_small --format=json",
    "demo checkpoint --format=json",
    "diff op corpus/mlp_small corpus/mlp_small --format=json",
]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=ROOT / "target" / "debug" / "tfprof", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    lines = sorted({*command_line(), *json_keys(args.binary.resolve()), *tables(), *python(), *rust()})
    if args.write:
        LISTING.write_text(HEADING + "".join(line + "\n" for line in lines))
        print(f"{LISTING.relative_to(ROOT)}: {len(lines)} lines")
        return
    before = set(LISTING.read_text().removeprefix(HEADING).splitlines())
    said = newest_section((ROOT / "CHANGELOG.md").read_text())
    came, went = [line for line in lines if line not in before], sorted(before - set(lines))
    types = types_among(came + went)
    silent = [f"+ {line}" for line in came if not mentions(said, line, types)]
    silent += [f"- {line}" for line in went if not mentions(said, line, types)]
    if silent:
        sys.exit(
            "these changed since the last release, and the newest section of CHANGELOG.md does not mention them:\n  "
            + "\n  ".join(silent)
            + "\nname each in a line for users; docs/semver.md says which version must follow"
        )
    print(f"{len(lines)} names of interfaces; each change since the last release is in CHANGELOG.md")


def newest_section(changelog):
    return changelog.split("\n## [", 2)[1]


def types_among(changes):
    """The types of the Rust API that came or went."""
    found = (re.fullmatch(r"rust (?:struct|enum|trait|type) (\w+)(?: \(may grow\))?", line) for line in changes)
    return {match[1] for match in found if match}


def mentions(section, line, types):
    """Whether the section names what changed. A type that came or went speaks for its fields, and for fields that hold it."""
    words = set(re.findall(r"\w+", section.replace("-", "_"))) | set(re.findall(r"\w+", section))
    return word_of(line) in words or bool(types & words & set(re.findall(r"\w+", line)))


def word_of(line):
    """The word of a line that a reader looks for."""
    kind, rest = line.removesuffix(" (may grow)").split(" ", 1)
    if kind == "rust":
        inner = re.search(r"\bfn (\w+)", rest) or re.search(r" (\w+)(?:: |\(|$)", rest) or re.search(r"(\w+)", rest)
        return inner[1]
    path = re.split(r"[( ]", rest.split(" ")[-1] if kind == "json" else rest)[0].rstrip(":").split(".")
    return path[-2] if path[-1] == "__init__" else path[-1]


def command_line():
    """Commands and options, from the reference, which a test keeps equal to the program's tables."""
    for cell in re.findall(r"^\| `([^`]*)` \|", (ROOT / "docs" / "options.md").read_text(), re.MULTILINE):
        words = cell.replace("\\|", "|").split()
        yield f"option {words[0].lstrip('-').split('=')[0]}" if words[0].startswith("-") else f"command {words[0]}"


def json_keys(binary):
    for command in JSON:
        run = subprocess.run([binary, *command.split()], check=False, cwd=ROOT, capture_output=True, text=True)
        if run.returncode:
            sys.exit(f"tfprof {command}: {run.stderr.strip()}")
        word = command.removeprefix("demo ").split()[0]
        yield from (f"json {word} {key}" for key in paths(json.loads(run.stdout)))


def paths(value):
    """Paths of keys; names that are data (of ops, layers and metrics) are left out."""
    found, open_values = set(), [("", value)]
    while open_values:
        prefix, value = open_values.pop()
        if isinstance(value, list):
            open_values += [(prefix, entry) for entry in value]
        elif isinstance(value, dict):
            for key, inner in value.items():
                if re.fullmatch(r"[a-z][a-z0-9_]*", key):
                    found.add(prefix + key)
                    open_values.append((f"{prefix}{key}.", inner))
    return found


def tables():
    """Columns, from the page that shows `.schema`; a test compares it with the program."""
    table = None
    for line in (ROOT / "docs" / "tables.md").read_text().splitlines():
        if match := re.match(r"CREATE (?:TABLE|VIEW) (\w+)", line):
            table = match[1]
        elif match := re.match(r'\s+"(\w+)" (\w+)', line):
            yield f"column {table}.{match[1]}: {match[2]}"


def python():
    """Public names of the package, with the arguments of functions and methods."""
    package = ROOT / "python" / "tfprof"
    init = ast.parse((package / "__init__.py").read_text())
    public = {
        name.value
        for node in ast.walk(init)
        if isinstance(node, ast.Assign) and any(getattr(target, "id", "") == "__all__" for target in node.targets)
        for name in getattr(node.value, "elts", [])
    }
    public |= {
        key.value
        for node in ast.walk(init)
        if isinstance(node, ast.Assign)
        and any(getattr(target, "id", "") == "_BESIDE_TENSORFLOW" for target in node.targets)
        for key in node.value.keys
    }
    yield from (f"python {name}" for name in public)
    files = {
        path: public
        for path in [
            *package.glob("_*.py"),
            *package.glob("_*.pyi"),
            package / "recording" / "_recording.py",
            package / "recording" / "__init__.py",
            package / "timeline.py",
            package / "patch.py",
            package / "profile_context.py",
            package / "option_builder.py",
        ]
    }
    for name in ["keras", "jax", "torch"]:
        files[package / f"{name}.py"] = None
    for path, wanted in files.items():
        prefix = f"{path.stem}." if wanted is None else ""
        for node in ast.parse(path.read_text()).body:
            if (
                isinstance(node, (ast.FunctionDef, ast.ClassDef))
                and not node.name.startswith("_")
                and (wanted is None or node.name in wanted)
            ):
                yield from members(prefix, node)


def members(prefix, node):
    if isinstance(node, ast.FunctionDef):
        yield f"python {prefix}{node.name}({arguments(node)})"
        return
    for inner in node.body:
        if isinstance(inner, ast.FunctionDef) and (not inner.name.startswith("_") or inner.name == "__init__"):
            yield f"python {prefix}{node.name}.{inner.name}({arguments(inner)})"


def arguments(node):
    args = node.args
    names = [arg.arg for arg in [*args.posonlyargs, *args.args]]
    if args.vararg or args.kwonlyargs:
        names.append("*" + (args.vararg.arg if args.vararg else ""))
    names += [arg.arg for arg in args.kwonlyargs]
    if args.kwarg:
        names.append("**" + args.kwarg.arg)
    return ", ".join(name for name in names if name != "self")


def rust():
    """The listing of the API, which a test keeps true, with the type before each of its members."""
    owner = ""
    for line in (ROOT / "crates" / "tfprof" / "public-api.txt").read_text().splitlines():
        if not line.startswith(" "):
            owner = line
            yield f"rust {line}"
        elif not line.strip().startswith("is "):
            yield f"rust {owner.split(' (')[0].split('<')[0]} {line.strip()}"


if __name__ == "__main__":
    main()
