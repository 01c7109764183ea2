"""Random traces in every form that a writer may choose, compared with plain Python: `odd_traces.py TFPROF [SEED] [COUNT]`.

Each trace has several processes and threads, ops that overlap in part, ranges, kernels with and without ids, graph launches,
steps, backward ops on threads of their own, memory. It is written in one of many forms: events in any order, keys in any
order, ids and times as text, decimals with few or many places, exponents, categories of 2021, numbers beyond 2^63, keys after
the events, with blanks or without, compressed or not. Every form must give the figures that are computed here.
"""

import gzip
import json
import random
import subprocess
import sys
import tempfile
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

OLD = {"cpu_op": "Operator", "user_annotation": "Operator", "kernel": "Kernel", "gpu_memcpy": "Memcpy",
       "gpu_memset": "Memset", "cuda_runtime": "Runtime"}
SECRET = "hunter2-token"


class Span:
    def __init__(self, kind, name, start, end, pid, tid, **args):
        self.kind, self.name, self.start, self.end, self.pid, self.tid, self.args = kind, name, start, end, pid, tid, args
        self.inside, self.parent = [], None


def grow(rng, spans, pid, tid, start, end, depth, ids):
    """Ops and ranges within an interval, in the order of their start; some cross the end of their neighbour."""
    at = start
    while at < end and len(spans) < 4000:
        at += rng.randrange(0, 3000)
        length = rng.choice([0, 1, rng.randrange(1, 2000), rng.randrange(1, 40_000)])
        stop = min(at + length, end)
        if at >= end:
            break
        ids[0] += 1
        kind = rng.choice(["cpu_op"] * 4 + ["user_annotation"])
        name = rng.choice(["aten::mm", "aten::add", "aten::relu", "mine::op", "\u00fcber", "a/b", "back\\slash", "tab\tname"]) \
            if kind == "cpu_op" else rng.choice(["forward", "loss", "block 1"])
        spans.append(Span(kind, name, at, stop, pid, tid, id=ids[0]))
        if depth and rng.random() < 0.6:
            grow(rng, spans, pid, tid, at, stop, depth - 1, ids)
        # The next one may begin before this one ends.
        at = stop if rng.random() < 0.9 else max(at, stop - rng.randrange(0, 300))


def make(rng):
    base = rng.choice([0, 5_000_000, 1_711_234_567_890_123_000])
    hosts, launches, work, memory, steps = [], [], [], [], []
    ids = [rng.choice([0, 2**31, 2**63 - 5, 2**63 + 11])]
    length = rng.choice([50_000, 400_000])
    for pid in rng.sample([7, 4411, 90210], rng.choice([1, 1, 2])):
        for tid in rng.sample([0, 7, 4411, 139_872_001_234_560], rng.choice([1, 2, 3])):
            grow(rng, hosts, pid, tid, base, base + length, 3, ids)
    if rng.random() < 0.7:
        count, first = rng.choice([1, 3, 5]), rng.choice([0, 17, 2**40])
        cut = sorted(rng.sample(range(length), count + 1))
        pid, tid = hosts[0].pid, hosts[0].tid
        for at in range(count):
            ids[0] += 1
            gap = rng.choice([0, 0, (cut[at + 1] - cut[at]) // 4])
            steps.append(Span("user_annotation", f"ProfilerStep#{first + at}", base + cut[at], base + cut[at + 1] - gap, pid, tid, id=ids[0]))
    correlation = rng.choice([0, 2**32, 2**63 + 3])
    for op in rng.sample(hosts, min(len(hosts), 200)):
        if op.name.startswith("ProfilerStep"):
            continue
        correlation += 1
        graph = rng.random() < 0.05
        start = op.start + rng.randrange(0, op.end - op.start + 1)
        end = start + rng.choice([0, 5, rng.randrange(1, 4000)])
        name = rng.choice(["cudaGraphLaunch", "hipGraphLaunch"]) if graph else "cudaLaunchKernel"
        launch = Span("cuda_runtime", name, start, end, op.pid, op.tid, correlation=correlation)
        if rng.random() < 0.95:
            launches.append(launch)
        for _ in range(rng.choice([1, 1, 1, 3]) * (20 if graph else 1)):
            device, stream = rng.choice([0, 0, 1]), rng.choice([7, 20])
            begin = end + rng.randrange(0, 90_000)
            kind = rng.choice(["kernel"] * 5 + ["gpu_memcpy", "gpu_memset"])
            name = {"kernel": rng.choice(["gemm", "void add<float>(int, float*)", "relu_kernel"]),
                    "gpu_memcpy": "Memcpy HtoD (Pageable -> Device)", "gpu_memset": "Memset (Device)"}[kind]
            how = rng.random()
            named = op.args["id"] if how < 0.5 else 2**50 + 3 if how < 0.6 else 0 if how < 0.7 else None
            work.append(Span(kind, name, begin, begin + rng.randrange(0, 30_000), device, stream, id=named, device=device,
                             correlation=correlation))
    for _ in range(rng.choice([0, 3])):
        work.append(Span("kernel", "lone", base + rng.randrange(length), base + length, 0, 7, id=None, device=0, correlation=None))
    total = 0
    for at in sorted(rng.sample(range(length), rng.choice([0, 60]))):
        pid, tid = rng.choice([(op.pid, op.tid) for op in hosts])
        size = rng.choice([512, -512, 2**33, 100])
        total += size
        memory.append((base + at, size, total, pid, tid))
    rng.shuffle(memory)
    return hosts + steps, launches, work, memory


def nest(spans):
    """The tree of each thread: by start, the longer first, then by id."""
    lines = defaultdict(list)
    for span in spans:
        span.inside, span.parent = [], None
        lines[span.pid, span.tid].append(span)
    for line in lines.values():
        line.sort(key=lambda span: (span.start, -span.end, span.args["id"]))
        stack = []
        for span in line:
            while stack and not (stack[-1].start <= span.start and span.end <= stack[-1].end):
                stack.pop()
            if stack:
                span.parent = stack[-1]
                stack[-1].inside.append(span)
            stack.append(span)
    return lines


def around(line, start, end):
    """The innermost op that holds an interval, else the innermost that it begins in, as a call may outlive its op."""
    stack = []
    for span in line:
        if span.start >= start and not (span.start == start):
            break
        while stack and not (stack[-1].start <= span.start and span.end <= stack[-1].end):
            stack.pop()
        stack.append(span)
    stack = [span for span in stack]
    while stack and stack[-1].end < start:
        stack.pop()
    holding = [span for span in stack if span.end >= end]
    return (holding or stack or [None])[-1]


def row_of(name):
    return "ProfilerStep*" if name.startswith("ProfilerStep#") else name


def expected(trace):
    hosts, launches, work, memory = trace
    lines = nest(hosts)
    steps = sorted((int(span.name.split("#")[1]), span.start, span.end) for span in hosts if span.name.startswith("ProfilerStep#"))

    def step_at(time):
        return next((number for number, start, end in steps if start <= time < end), None) if steps else 0

    rows = defaultdict(lambda: defaultdict(int))

    def add(step, name, word, amount):
        rows[step][name, word] += amount
        rows["all"][name, word] += amount

    for span in hosts:
        own = span.end - span.start
        covered, until = 0, span.start
        for child in span.inside:
            begin = max(child.start, until)
            if child.end > begin:
                covered += child.end - begin
                until = child.end
        step = step_at(span.start)
        add(step, row_of(span.name), "cpu", own - covered)
        add(step, row_of(span.name), "runs", 1)
    by_id = {span.args["id"]: span for span in hosts}
    launch_of = {launch.args["correlation"]: launch for launch in launches}
    for span in work:
        launch = launch_of.get(span.args["correlation"])
        owner = by_id.get(span.args["id"]) if span.args["id"] else None
        if launch and "Graph" in launch.name:
            name = launch.name
        else:
            if owner is None and launch:
                owner = around(lines[launch.pid, launch.tid], launch.start, launch.end)
            name = row_of(owner.name) if owner else span.name
        begun = launch.start if launch else owner.start if owner else span.start
        add(step_at(begun), name, "gpu", span.end - span.start)
    return rows, [number for number, _, _ in steps]


def number(rng, nanos, style):
    """Nanoseconds as microseconds, written in some way that is exact."""
    whole, rest = divmod(nanos, 1000)
    text = {0: f"{whole}.{rest:03}", 1: f"{whole}.{rest:03}".rstrip("0").rstrip("."), 2: f"{whole}.{rest:03}000000",
            3: f"{Decimal(nanos).scaleb(-3):E}"}[style if rng.random() < 0.9 else rng.randrange(4)]
    return text


def written(rng, trace):
    """The text of a trace."""
    hosts, launches, work, memory = trace
    old, texts, style, pretty = rng.random() < 0.3, rng.random() < 0.3, rng.randrange(4), rng.choice([None, 2])
    times_as_text = rng.random() < 0.15
    events = []

    def raw(text):
        return f'"{text}"' if times_as_text else text

    def event(fields, args):
        args = dict(args)
        if rng.random() < 0.3:
            args["odd \"key\" {"] = rng.choice(['}]{"', [1, {"a": ["]"]}], 2**64 + 5, None, "\u2028"])
        parts = list(fields.items()) + [("args", json.dumps(args))]
        if rng.random() < 0.5:
            rng.shuffle(parts)
        glue = ",\n    " if pretty else ","
        return "{" + glue.join(f'"{key}":{" " if pretty else ""}{value}' for key, value in parts) + "}"

    def place(value):
        return json.dumps(str(value)) if texts and rng.random() < 0.5 else json.dumps(value)

    def identity(value):
        return str(value) if texts and rng.random() < 0.5 else value

    for span in hosts + launches + work:
        args = {}
        if span.args.get("id") is not None:
            args[rng.choice(["External id", "external id"])] = identity(span.args["id"])
        if span.args.get("correlation") is not None:
            args["correlation"] = identity(span.args["correlation"])
        if "device" in span.args:
            args["device"], args["stream"] = span.args["device"], span.tid
        stream = f"stream {span.tid}" if "device" in span.args and old else None
        events.append(event({
            "ph": '"X"', "cat": json.dumps(OLD[span.kind] if old else span.kind), "name": json.dumps(span.name, ensure_ascii=rng.random() < 0.5),
            "pid": place(span.pid), "tid": json.dumps(stream) if stream else place(span.tid),
            "ts": raw(number(rng, span.start, style)), "dur": raw(number(rng, span.end - span.start, style))}, args))
        if span.kind == "user_annotation" and not old:
            events.append(event({"ph": '"X"', "cat": '"gpu_user_annotation"', "name": json.dumps(span.name), "pid": "0", "tid": "7",
                                 "ts": number(rng, span.start, style), "dur": number(rng, span.end - span.start, style)}, {}))
    for time, size, total, pid, tid in memory:
        args = {"Device Type": 0, "Device Id": -1, "Bytes": size, "Addr": 2**63 + 7}
        if not old:
            args |= {"Total Allocated": total, "Total Reserved": 2**40}
        events.append(event({"ph": '"i"', "name": '"[memory]"', "cat": '"cpu_instant_event"', "s": '"t"', "pid": place(pid), "tid": place(tid),
                             "ts": number(rng, time, style)}, args))
    events.append('{"ph":"M","name":"process_name","pid":"x","tid":0,"ts":1,"args":{"name":"python"}}')
    rng.shuffle(events)
    top = [("schemaVersion", "1"), ("metadata", json.dumps({"env": {"TOKEN": SECRET}, "list": ["]", "}"]})), (SECRET, '"x"'),
           ("deviceProperties", "[]"), ("INFO", json.dumps(["[", SECRET])), ("huge", str(2**70))]
    rng.shuffle(top)
    cut = rng.randrange(len(top) + 1)
    blank = "\n" if pretty else ""
    listed = "[" + blank + ("," + blank).join(events) + blank + "]"
    body = [f'"{key}": {value}' for key, value in top[:cut]] + [f'"traceEvents": {listed}'] + [f'"{key}": {value}' for key, value in top[cut:]]
    text = rng.choice(["", "\ufeff"]) + "{" + blank + ("," + blank).join(body) + blank + "}" + rng.choice(["", "\n", "  \n"])
    data = text.encode()
    form = rng.randrange(3)
    if form == 1:
        data = gzip.compress(data)
    elif form == 2:
        # Two members, as programs that append write them.
        data = gzip.compress(data[:len(data) // 2]) + gzip.compress(data[len(data) // 2:])
    return data


def ask(program, *words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
    if SECRET in done.stdout + done.stderr:
        raise AssertionError(f"{words}: an unknown top-level key is echoed")
    if done.returncode:
        raise AssertionError(f"{words}: exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout, parse_float=Decimal)


def rows_of(program, path, step):
    answer = ask(program, "op", path, "-step", step, "-select", "cpu_micros,accelerator_micros,occurrence", "-max_depth", 1000000,
                 "-output", "json:outfile=-")
    return {row["name"]: row["self"] for row in answer["rows"][1:]}


def check(program, path, trace):
    rows, steps = expected(trace)
    problems = []
    for step in ["all", *steps]:
        ours = rows_of(program, path, step)
        names = {name for name, _ in rows[step]} | set(ours)
        for name in sorted(names):
            for word, column in {"cpu": "cpu_micros", "gpu": "accelerator_micros"}.items():
                want = Decimal(rows[step].get((name, word), 0)) / 1000
                got = Decimal(ours.get(name, {}).get(column) or 0)
                if want != got:
                    problems.append(f"step {step}, {name!r}, {word}: tfprof {got}, file {want}")
    return problems


def main(program, seed=1, count=200):
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        for at in range(int(seed), int(seed) + int(count)):
            rng = random.Random(at)
            trace = make(rng)
            path = Path(directory) / "trace.json"
            path.write_bytes(written(rng, trace))
            try:
                problems = check(program, path, trace)
            except AssertionError as error:
                problems = [str(error)[:600]]
            if problems:
                failed += 1
                print(f"seed {at}: {len(problems)} differences")
                for problem in problems[:5]:
                    print("   ", problem)
    print(f"{int(count)} traces, {failed} with differences")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
