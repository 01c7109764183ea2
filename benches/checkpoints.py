"""Checkpoints: listing many tensors, listing with a data file of many GB, and statistics of all values, compared with
TensorFlow in the same run.

Usage: checkpoints.py [--tensors 100000] [--sparse-gb 40] [--stats-mb 512] [--tfprof target/release/tfprof]
Needs a Python with TensorFlow. Times are the best of three runs of the whole process, for both.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

# ---- a writer of indexes, for files that no machine wants to fill with numbers


def crc32c(data):
    if not hasattr(crc32c, "table"):
        crc32c.table = []
        for n in range(256):
            for _ in range(8):
                n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
            crc32c.table.append(n)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ crc32c.table[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8 & 0xFFFFFFFF).to_bytes(4, "little")


def varint(n):
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes(out) + bytes([n])


def block(entries):
    out, restarts = b"", []
    for key, value in entries:
        restarts.append(len(out))
        out += varint(0) + varint(len(key)) + varint(len(value)) + key + value
    out += b"".join(at.to_bytes(4, "little") for at in restarts or [0]) + max(len(restarts), 1).to_bytes(4, "little")
    return out


def write_sparse(prefix, count, each):
    """A bundle of `count` tensors of `each` bytes, whose data file is a hole."""
    dims = b"\x12" + varint(len(varint(each // 4)) + 1) + b"\x08" + varint(each // 4)
    entries = [(b"", b"\x08\x01\x1a\x02\x08\x01")]
    for i in range(count):
        entry = b"\x08\x01\x12" + varint(len(dims)) + dims + b"\x20" + varint(i * each) + b"\x28" + varint(each)
        entries.append((f"big/tensor_{i:06}".encode(), entry + b"\x35\0\0\0\0"))
    out, handles = b"", []
    for content in [block(entries), block([])]:
        handles.append(varint(len(out)) + varint(len(content)))
        out += content + b"\0" + crc32c(content + b"\0")
    content = block([(entries[-1][0], handles[0])])
    footer = handles[1] + varint(len(out)) + varint(len(content))
    out += content + b"\0" + crc32c(content + b"\0") + footer.ljust(40, b"\0") + bytes.fromhex("57fb808b247547db")
    with open(prefix + ".index", "wb") as file:
        file.write(out)
    with open(prefix + ".data-00000-of-00001", "wb") as file:
        file.truncate(count * each)


# ---- measuring


def measure(*words):
    """The best wall time of three, the least CPU time, and the largest memory of the last, in MB."""
    best, cpu = None, None
    for _ in range(3):
        began = time.perf_counter()
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        assert status == 0, (words, status)
        seconds = time.perf_counter() - began
        best = min(seconds, best or seconds)
        spent = usage.ru_utime + usage.ru_stime
        cpu = min(spent, cpu or spent)
    return best, cpu, usage.ru_maxrss / 1024


def row(what, seconds, cpu, megabytes, more=""):
    print(f"  {what:42} {seconds * 1000:8.1f} ms {cpu * 1000:8.1f} ms CPU {megabytes:6.0f} MB  {more}", flush=True)


TENSORFLOW = """
import sys, time, tensorflow as tf
began, cpu = time.perf_counter(), time.process_time()
found = tf.train.list_variables(sys.argv[1])
print(len(found), time.perf_counter() - began, time.process_time() - cpu)
"""


NUMPY = """
import sys, tensorflow as tf
reader = tf.train.load_checkpoint(sys.argv[1])
for name in reader.get_variable_to_shape_map():
    t = reader.get_tensor(name)
    t.min(), t.max(), t.mean(), t.std(), (t == 0).sum()
"""


def list_with_tensorflow(prefix):
    row("tf.train.list_variables, whole process", *measure(sys.executable, "-c", TENSORFLOW, prefix))
    done = subprocess.run([sys.executable, "-c", TENSORFLOW, prefix], capture_output=True, check=True)
    row("tf.train.list_variables, the call alone", *[float(word) for word in done.stdout.split()[1:]], 0)


def make(home, tensors, megabytes):
    """In a process of its own: what it takes would count as the memory of all that it starts."""
    import numpy as np
    import tensorflow as tf

    def save(prefix, names, tensors):
        tf.raw_ops.SaveV2(prefix=prefix, tensor_names=names, shape_and_slices=[""] * len(names), tensors=tensors)

    names = [f"scope_{i // 100:04}/layer_{i % 100:02}/kernel" for i in range(tensors)]
    save(f"{home}/many", names, [tf.constant([[1.0, 2.0], [3.0, 4.0]])] * len(names))
    values = np.random.default_rng(0).standard_normal((megabytes << 18) // 8, dtype=np.float32)
    save(f"{home}/stats", [f"w{i}" for i in range(8)], [tf.constant(values)] * 8)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tensors", type=int, default=100_000)
    parser.add_argument("--sparse-gb", type=int, default=40)
    parser.add_argument("--stats-mb", type=int, default=512)
    parser.add_argument("--tfprof", default="target/release/tfprof")
    parser.add_argument("--make", help=argparse.SUPPRESS)
    words = parser.parse_args()
    if words.make:
        return make(words.make, words.tensors, words.stats_mb)
    tfprof = [words.tfprof, "checkpoint"]
    with tempfile.TemporaryDirectory() as home:
        subprocess.run([sys.executable, *sys.argv, "--make", home], check=True)
        prefix = f"{home}/many"
        size = os.path.getsize(prefix + ".index") / 1e6
        print(f"{words.tensors} tensors, an index of {size:.1f} MB")
        row("tfprof checkpoint P", *measure(*tfprof, prefix))
        row("tfprof checkpoint P, json", *measure(*tfprof, prefix, "--format=json"))
        row("tfprof scope --checkpoint_path=P", *measure(words.tfprof, "scope", f"--checkpoint_path={prefix}"))
        list_with_tensorflow(prefix)

        prefix = f"{home}/sparse"
        write_sparse(prefix, 100, words.sparse_gb * 10_000_000)
        print(f"100 tensors with a data file of {words.sparse_gb} GB")
        row("tfprof checkpoint P", *measure(*tfprof, prefix))
        row("tfprof checkpoint P --values NAME[7:9]", *measure(*tfprof, prefix, "--values", "big/tensor_000099[7:9]"))
        list_with_tensorflow(prefix)

        prefix = f"{home}/stats"
        data = prefix + ".data-00000-of-00001"
        gigabytes = os.path.getsize(data) / 1e9
        print(f"{gigabytes:.2f} GB of floats, in the page cache")
        _, copying, memory = seconds, cpu, _ = measure("dd", f"if={data}", "of=/dev/null", "bs=1M", "status=none")
        row("dd to nowhere", seconds, cpu, memory, f"{gigabytes / cpu:.2f} GB per CPU second")
        for flag in ["--stats", "--verify"]:
            took, cpu, memory = measure(*tfprof, prefix, flag)
            share = f"{gigabytes / cpu:.2f} GB per CPU second, {copying / cpu:.0%} of dd; wall {seconds / took:.0%} of dd"
            row(f"tfprof checkpoint P {flag}", took, cpu, memory, share)
        took, cpu, memory = measure(sys.executable, "-c", NUMPY, prefix)
        row("the same of NumPy, through TensorFlow", took, cpu, memory, f"{gigabytes / cpu:.2f} GB per CPU second")
    return 0


if __name__ == "__main__":
    sys.exit(main())
