"""Peak memory relative to the input, for deep graphs that break recursive programs and for compressed files.

  peak_memory.py --binary target/release/tfprof

Each question runs with a stack of 1 MB. The table goes to standard output, as in docs/performance.md.
"""

import argparse
import gzip
import os
import resource
import sys
import tempfile


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number, value):
    """A field of a message: bytes, text or a number."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def node(name, op, inputs=()):
    return field(1, field(1, name) + field(2, op) + b"".join(field(3, source) for source in inputs))


def chain():
    for i in range(1_000_000):
        yield node("n%d" % i, "Add", ["n%d" % (i - 1)] if i else [])


def fan():
    yield node("sink", "AddN", ("source_%d:%d" % (i % 1000, i) for i in range(1_000_000)))
    for i in range(1000):
        yield node("source_%d" % i, "Const")


def scopes():
    yield node("s/" * 100_000 + "leaf", "Const")


def text():
    yield b"node { name: 'a' op: 'A' attr { key: 'k' value { "
    yield b"func { attr { key: 'k' value { " * 500_000
    yield b"} } } " * 500_000
    yield b"} } }"


def frames():
    for name in ("a", "b"):
        code = b"".join(field(1, field(2, line) + field(6, 1) + field(7, 1)) for line in range(1, 100_001))
        yield field(1, field(1, name) + field(4, code))
    yield field(2, field(1, 1) + field(2, "deep.py"))


def run():
    records = b"".join(
        field(2, field(1, "n%d" % (i % 1_000_000)) + field(2, 1 + i) + field(4, 5)) for i in range(2_000_000)
    )
    yield field(1, field(1, field(1, "/cpu:0") + records))


def bomb():
    yield gzip.compress(node("same", "Const") * 12_000_000, 9)


SHAPES = [  # what, file, its pieces, the question
    ("1,000,000 nodes in one chain", "graph.pb", chain, ["graph", "-max_depth", "4", "-select", "params"]),
    ("a node with 1,000,000 inputs", "graph.pb", fan, ["graph", "-max_depth", "5", "-select", "params"]),
    ("scopes 100,000 deep", "graph.pb", scopes, ["scope", "-max_depth", "3", "-select", "params"]),
    ("text nested 1,000,000 deep", "graph.pbtxt", text, ["op", "-select", "occurrence"]),
    ("call stacks of 100,000 frames", "tfprof_log", frames, ["op", "-select", "occurrence"]),
    ("2,000,000 records of a run", "run_meta_0", run, ["op", "-select", "micros"]),
    ("a gzip bomb, stopped", "graph.pb.gz", bomb, ["op", "-select", "occurrence"]),
]
FLAGS = {"graph": "--graph_path", "tfprof": "--op_log_path", "run": "--run_meta_path"}


def make(path, pieces):
    """Writes a file in a process of its own: the peak of a child begins with what its parent holds."""
    pid = os.fork()
    if pid == 0:
        with open(path, "wb") as file:
            for piece in pieces():
                file.write(piece)
        os._exit(0)
    os.waitpid(pid, 0)


def peak(words):
    """Runs the program; returns its exit code and the most memory it held, in bytes."""
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 20))
        os.environ["RUST_MIN_STACK"] = str(1 << 20)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        os.execv(words[0], words)
    _, status, usage = os.wait4(pid, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    args = parser.parse_args()
    print("| input | its size | peak memory | exit code |\n|---|---|---|---|")
    failed = False
    with tempfile.TemporaryDirectory() as directory:
        for what, name, pieces, question in SHAPES:
            path = os.path.join(directory, name)
            make(path, pieces)
            size = os.path.getsize(path)
            flag = FLAGS[name.split("_")[0].split(".")[0]]
            code, held = peak([args.binary, *question, flag, path])
            failed |= code not in (0, 4)
            print("| %s | %.2f MB | %.1f MB | %d |" % (what, size / 1e6, held / 1e6, code))
    sys.exit(failed)


if __name__ == "__main__":
    main()
