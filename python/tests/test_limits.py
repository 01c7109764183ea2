"""Under a small address space, hostile and large inputs are exceptions that `except Exception` catches."""

import subprocess
import sys

import pytest

resource = pytest.importorskip("resource")

SCRIPT = """
import resource, sys, tfprof
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
try:
    profile = tfprof.open(sys.argv[1])
    getattr(profile, sys.argv[2])(**eval(sys.argv[3]))
    print("answered")
except Exception as error:
    print("caught", type(error).__name__, error)
"""


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out + bytes([n]))


def field(number, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def node(name, op):
    return field(1, field(1, name) + field(2, op))


def run(path, call, words):
    done = subprocess.run([sys.executable, "-c", SCRIPT, path, call, repr(words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_deep_scope_is_an_exception(tmp_path):
    path = tmp_path / "graph.pb"
    path.write_bytes(node("s/" * 60_000 + "leaf", "Const") + node("a", "B") * 3)
    told = run(str(path), "scope", {"max_depth": 1_000_000, "select": "occurrence", "output": f"json:outfile={tmp_path / 'x'}"})
    assert told.startswith(("caught", "answered"))


def test_a_large_graph_is_an_answer_or_an_exception(tmp_path):
    path = tmp_path / "graph.pb"
    path.write_bytes(b"".join(node(f"a_rather_long_scope_{i}/" + "n" * 60, "Add") for i in range(900_000)))
    told = run(str(path), "scope", {"max_depth": 100, "select": "occurrence"})
    assert told.startswith("answered") or (told.startswith("caught") and "memory" in told.lower()), told


def test_a_bomb_is_an_exception(tmp_path):
    gzip = pytest.importorskip("gzip")
    path = tmp_path / "graph.pb.gz"
    with gzip.open(path, "wb") as file:
        for i in range(300):
            file.write(b"".join(node(f"n{i}_{k}" + "m" * 1000, "Add") for k in range(2000)))
    assert run(str(path), "op", {"select": "occurrence"}).startswith(("caught", "answered"))
