#!/usr/bin/env python3
"""Lists the components of the program with their licences: `components.py OUT`.

OUT/sbom.cdx.json is a CycloneDX 1.5 bill of materials, OUT/THIRD-PARTY.txt has the licence texts. Crates come from the lock
file, as built for Linux; packages of the page from web/package-lock.json; SQLite is C code inside a crate.
"""

import json
import pathlib
import subprocess
import sys
import tomllib
import uuid

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = "x86_64-unknown-linux-musl"
# Packages of npm that the built page contains; the others only build it.
IN_THE_PAGE = ["preact", "@preact/signals", "@preact/signals-core"]
TEXTS = ("LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE")


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    components = sorted([*crates(), *page(), sqlite()], key=lambda one: (one["name"], one["version"]))
    unlicensed = [one["name"] for one in components if not one["licence"]]
    if unlicensed:
        sys.exit(f"without a licence: {', '.join(unlicensed)}")
    (out / "sbom.cdx.json").write_text(json.dumps(bill(version, components), indent=1) + "\n")
    (out / "THIRD-PARTY.txt").write_text(texts(components))
    print(f"{len(components)} components, {len({one['licence'] for one in components})} licence expressions")


def crates():
    """The dependencies of the program, found from its package by edges of the resolved graph."""
    cmd = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", TARGET]
    data = json.loads(subprocess.run(cmd, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    checksums = {
        (one["name"], one["version"]): one.get("checksum")
        for one in tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    }
    packages = {one["id"]: one for one in data["packages"]}
    edges = {one["id"]: one["deps"] for one in data["resolve"]["nodes"]}
    waiting = [one["id"] for one in data["packages"] if one["name"] in ("tfprof-cli", "tfprof-python")]
    seen = set(waiting)
    while waiting:
        for dep in edges[waiting.pop()]:
            # Tools of the build and of tests are not in the program.
            if dep["pkg"] not in seen and any(kind["kind"] is None for kind in dep["dep_kinds"]):
                seen.add(dep["pkg"])
                waiting.append(dep["pkg"])
    for package in (packages[one] for one in seen):
        if package["source"] is None:
            continue  # Ours.
        name, version = package["name"], package["version"]
        yield {
            "name": name,
            "version": version,
            "licence": package["license"],
            "purl": f"pkg:cargo/{name}@{version}",
            "sha256": checksums[name, version],
            "dir": pathlib.Path(package["manifest_path"]).parent,
        }


def page():
    lock = json.loads((ROOT / "web" / "package-lock.json").read_text())["packages"]
    for name in IN_THE_PAGE:
        one = lock[f"node_modules/{name}"]
        purl = f"pkg:npm/{name.replace('@', '%40')}@{one['version']}"
        yield {
            "name": name,
            "version": one["version"],
            "licence": one.get("license"),
            "purl": purl,
            "sha256": None,
            "dir": None,
        }


def sqlite():
    cmd = ["cargo", "metadata", "--format-version", "1", "--locked"]
    data = json.loads(subprocess.run(cmd, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    folder = next(
        pathlib.Path(one["manifest_path"]).parent for one in data["packages"] if one["name"] == "libsqlite3-sys"
    )
    header = (folder / "sqlite3" / "sqlite3.h").read_text()
    version = header.split("#define SQLITE_VERSION ", 1)[1].split('"')[1]
    return {
        "name": "sqlite",
        "version": version,
        "licence": "blessing",
        "purl": f"pkg:generic/sqlite@{version}",
        "sha256": None,
        "dir": None,
    }


def bill(version, components):
    def entry(one):
        # An old way to write "or".
        expression = one["licence"].replace("/", " OR ")
        entry = {
            "type": "library",
            "name": one["name"],
            "version": one["version"],
            "bom-ref": one["purl"],
            "purl": one["purl"],
            "licenses": [{"expression": expression}],
        }
        return entry | ({"hashes": [{"alg": "SHA-256", "content": one["sha256"]}]} if one["sha256"] else {})

    listed = [entry(one) for one in components]
    # The same components have the same number, so that two builds write the same file.
    serial = uuid.uuid5(uuid.NAMESPACE_URL, version + json.dumps(listed))
    program = {
        "type": "application",
        "name": "tfprof",
        "version": version,
        "bom-ref": f"pkg:cargo/tfprof-cli@{version}",
        "purl": f"pkg:cargo/tfprof-cli@{version}",
        "licenses": [{"expression": "Apache-2.0"}],
    }
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {"component": program},
        "components": listed,
        "dependencies": [{"ref": program["bom-ref"], "dependsOn": [one["bom-ref"] for one in listed]}],
    }


def texts(components):
    parts = [
        "tfprof contains the components below. Each is under the licence that is named, whose text follows once.\n"
    ]
    known = {}
    for one in components:
        parts.append(f"{one['name']} {one['version']}: {one['licence']}\n")
        files = (
            sorted(path for path in one["dir"].iterdir() if path.is_file() and path.name.upper().startswith(TEXTS))
            if one["dir"]
            else []
        )
        for path in files:
            known.setdefault(path.read_text(errors="replace").strip(), []).append(f"{one['name']} ({path.name})")
    for text, names in sorted(known.items(), key=lambda pair: pair[1]):
        parts.append(f"\n{'=' * 78}\n{', '.join(names)}\n{'=' * 78}\n{text}\n")
    parts.append(
        f"\n{'=' * 78}\nThe texts of preact and @preact/signals (MIT) are at the end of the page's script.\n"
        "SQLite is in the public domain; its authors give a blessing in place of a licence.\n"
    )
    return "".join(parts)


if __name__ == "__main__":
    main()
