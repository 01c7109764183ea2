#!/usr/bin/env python3
"""Does everything of a release that needs no account: `make release-check`.

  release.py [--allow-dirty] [--once] [--out DIR] [STEP...]

The steps, in order; each checks what it made:

  package   the crates, packed as `cargo publish` packs them
  install   the program for musl, linked statically, by `cargo install` from the unpacked crates, elsewhere
  again     the same in another directory: the bytes must be equal (left out with --once)
  chroot    the demo in a directory that holds nothing but the program and an empty /tmp (needs root)
  archive   the program with completions, manual page and licences as one tar file
  wheel     the wheel, and the source distribution; each is installed into a fresh environment, and runs the demo
  sums      the bill of materials, and the SHA-256 of every file

The results are in DIR, target/dist unless given.
"""

import argparse
import gzip
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
CRATES = ["tfprof-proto", "tfprof", "tfprof-server", "tfprof-cli"]
TARGET = "x86_64-unknown-linux-musl"
STEPS = ["package", "install", "again", "chroot", "archive", "wheel", "sums"]
DEMO = ["demo", "op", "-select", "params", "-max_depth", "3"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="*", choices=[*STEPS, []], metavar="STEP")
    parser.add_argument("--allow-dirty", action="store_true", help="pack files that are not committed")
    parser.add_argument("--once", action="store_true", help="do not build twice")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "target" / "dist")
    args = parser.parse_args()
    release = Release(args)
    for step in args.steps or STEPS:
        if step == "again" and args.once:
            continue
        print(f"== {step}", flush=True)
        getattr(release, step)()
    print(f"release-check: all of it is in {args.out}")


class Release:
    def __init__(self, args):
        self.allow_dirty, self.out = args.allow_dirty, args.out.resolve()
        self.version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
        self.built = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
        self.out.mkdir(parents=True, exist_ok=True)
        self.program = self.built / "release-check" / "first" / "bin" / "tfprof"

    def package(self):
        flags = ["--allow-dirty"] if self.allow_dirty else []
        names = [word for crate in CRATES for word in ("-p", crate)]
        # The build from the unpacked crates verifies them all at once.
        run("cargo", "package", "--locked", "--no-verify", "--quiet", *flags, *names, stderr=subprocess.DEVNULL)
        for crate in CRATES:
            shutil.copy(self.built / "package" / f"{crate}-{self.version}.crate", self.out)

    def install(self):
        self.build("first")

    def again(self):
        first, second = digest(self.program), digest(self.build("second"))
        if first != second:
            sys.exit(f"two builds differ: {first}, {second}")
        print(f"two builds are equal: {first}")

    def build(self, name):
        """Installs the program from the unpacked crates, in a directory without the repository around it."""
        base = self.built / "release-check"
        with tempfile.TemporaryDirectory(prefix="tfprof-crates-") as crates:
            for crate in CRATES:
                with tarfile.open(self.out / f"{crate}-{self.version}.crate") as packed:
                    packed.extractall(crates, filter="data")
            self.write_workspace(pathlib.Path(crates))
            home = os.environ.get("CARGO_HOME", os.path.expanduser("~/.cargo"))
            flags = [f"--remap-path-prefix={home}=/cargo", f"--remap-path-prefix={crates}=/tfprof"]
            env = {
                **os.environ,
                "CARGO_TARGET_DIR": str(base / name / "target"),
                "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags),
            }
            run(
                "cargo",
                "install",
                "--quiet",
                "--locked",
                "--target",
                TARGET,
                "--path",
                f"tfprof-cli-{self.version}",
                "--root",
                base / name,
                "--force",
                "--no-track",
                cwd=crates,
                env=env,
            )
        program = base / name / "bin" / "tfprof"
        shows_the_demo(program)
        return program

    def write_workspace(self, crates):
        """Siblings stand in for the registry; versions and profile are those of the repository."""
        folders = {crate: f"{crate}-{self.version}" for crate in CRATES}
        profile = re.search(r"^\[profile\.release\]\n(?:[^\[]+\n)*", (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[0]
        lines = ["[workspace]", 'resolver = "3"', f"members = {list(folders.values())}", profile, "[patch.crates-io]"]
        lines += [f'{crate} = {{ path = "{folder}" }}' for crate, folder in folders.items()]
        (crates / "Cargo.toml").write_text("\n".join(lines) + "\n")
        shutil.copy(ROOT / "Cargo.lock", crates)
        # Only drops what the lock file has beside these crates.
        run("cargo", "update", "--quiet", "--workspace", cwd=crates)

    def chroot(self):
        with tempfile.TemporaryDirectory(prefix="tfprof-root-") as empty:
            shutil.copy(self.program, empty)
            # The demo unpacks its sample there.
            pathlib.Path(empty, "tmp").mkdir()
            found = subprocess.run(
                ["chroot", empty, "/tfprof", *DEMO], check=True, capture_output=True, text=True
            ).stdout
            check_demo(found)

    def archive(self):
        name = f"tfprof-{self.version}-{TARGET}"
        with tempfile.TemporaryDirectory() as folder:
            top = pathlib.Path(folder, name)
            install_files(self.program, top)
            shutil.copy(ROOT / "LICENSE", top)
            shutil.copy(ROOT / "crates" / "tfprof-cli" / "README.md", top)
            run(sys.executable, ROOT / "scripts" / "components.py", folder)
            shutil.copy(pathlib.Path(folder, "THIRD-PARTY.txt"), top)
            shutil.copy(pathlib.Path(folder, "sbom.cdx.json"), self.out)
            write_archive(top, self.out / f"{name}.tar.gz")

    def wheel(self):
        maturin = shutil.which("maturin") or sys.exit("maturin is missing: make release-check installs it")
        for old in [*self.out.glob("*.whl"), *self.out.glob("tfprof-*.tar.gz")]:
            if TARGET not in old.name:
                old.unlink()
        run(
            maturin,
            "build",
            "--quiet",
            "--locked",
            "--release",
            "--manifest-path",
            ROOT / "python" / "Cargo.toml",
            "--out",
            self.out,
        )
        run(maturin, "sdist", "--quiet", "--manifest-path", ROOT / "python" / "Cargo.toml", "--out", self.out)
        for pattern in ["*.whl", "tfprof-*[0-9].tar.gz"]:
            [packed] = self.out.glob(pattern)
            with tempfile.TemporaryDirectory(prefix="tfprof-venv-") as venv:
                run(sys.executable, "-m", "venv", venv)
                run(
                    f"{venv}/bin/python",
                    "-m",
                    "pip",
                    "install",
                    "--quiet",
                    "--disable-pip-version-check",
                    packed,
                    cwd=venv,
                )
                shows_the_demo(f"{venv}/bin/tfprof")
                run(f"{venv}/bin/python", "-c", "import tfprof; assert tfprof.demo().op(select='params')", cwd=venv)
                print(f"{packed.name}: installed, and the demo runs")

    def sums(self):
        files = sorted(path for path in self.out.iterdir() if path.name != "SHA256SUMS")
        text = "".join(f"{digest(path)}  {path.name}\n" for path in files)
        (self.out / "SHA256SUMS").write_text(text)
        print(text, end="")


def install_files(program, top):
    """The program, its completions and its manual page, where packages put them below a prefix."""
    places = {
        "bin/tfprof": None,
        "share/man/man1/tfprof.1": ["man"],
        "share/bash-completion/completions/tfprof": ["completions", "bash"],
        "share/zsh/site-functions/_tfprof": ["completions", "zsh"],
        "share/fish/vendor_completions.d/tfprof.fish": ["completions", "fish"],
    }
    for place, words in places.items():
        path = top / place
        path.parent.mkdir(parents=True, exist_ok=True)
        if words is None:
            shutil.copy(program, path)
        else:
            path.write_bytes(subprocess.run([program, *words], check=True, stdout=subprocess.PIPE).stdout)


def write_archive(folder, to):
    """A tar file whose bytes depend on the contents alone: no dates, no owners, in order of names."""
    with (
        open(to, "wb") as raw,
        gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for path in sorted(folder.rglob("*")):
            entry = archive.gettarinfo(path, f"{folder.name}/{path.relative_to(folder)}")
            entry.uid = entry.gid = entry.mtime = 0
            entry.uname = entry.gname = ""
            with open(path, "rb") if path.is_file() else open(os.devnull, "rb") as content:
                archive.addfile(entry, content if path.is_file() else None)


def shows_the_demo(program):
    with tempfile.TemporaryDirectory() as empty:
        check_demo(subprocess.run([program, *DEMO], cwd=empty, check=True, capture_output=True, text=True).stdout)


def check_demo(text):
    # The variables of the sample, a ResNet-32 with its optimizer.
    if not re.search(r"VariableV2 +930\.58k params", text):
        sys.exit(f"this is not the answer of the demo:\n{text}")


def digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def run(*words, **settings):
    subprocess.run([str(word) for word in words], check=True, **{"cwd": ROOT, **settings})


if __name__ == "__main__":
    main()
