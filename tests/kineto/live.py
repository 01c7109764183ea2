"""Records traces with the installed torch (CPU) and compares tfprof with torch: `live.py TFPROF DIRECTORY`.

Each recording has `key_averages()` beside it, which `check_facts.py` compares row by row. A recording with quotes in a
name is no JSON, so it is compared with the same recording without them. `flops.py` compares FLOPs.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import check_facts
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function, schedule


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 6 * 6, 10))

    def forward(self, x):
        with record_function("body of the net"):
            return self.body(x)


def train_step(model, optimizer, batch=8):
    optimizer.zero_grad()
    with record_function("forward"):
        loss = nn.functional.cross_entropy(model(torch.randn(batch, 3, 8, 8)), torch.randint(0, 10, (batch,)))
    loss.backward()
    optimizer.step()
    return loss.item()


def save(prof, directory, by_shapes=False):
    directory.mkdir(parents=True, exist_ok=True)
    prof.export_chrome_trace(str(directory / "trace.json"))
    rows = prof.key_averages(group_by_input_shape=by_shapes)
    table = [{"key": row.key, "count": row.count, "self_cpu_us": row.self_cpu_time_total, "flops": row.flops} for row in rows]
    nests_python = hasattr(prof.events()[0], "is_python_function")
    oracle = {"total_self_cpu_us": rows.self_cpu_time_total, "rows": table, "nests_python": nests_python}
    (directory / "torch.oracle.json").write_text(json.dumps(oracle))


def eager(directory, **options):
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters())
    train_step(model, optimizer)
    with profile(activities=[ProfilerActivity.CPU], **options) as prof:
        for _ in range(3):
            train_step(model, optimizer)
    save(prof, directory, by_shapes=options.get("record_shapes", False))


def scheduled(directory):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    plan = schedule(skip_first=1, wait=1, warmup=1, active=2, repeat=2)
    rounds = []

    def ready(prof):
        rounds.append(len(rounds))
        save(prof, directory / f"round{len(rounds)}")

    with profile(activities=[ProfilerActivity.CPU], schedule=plan, on_trace_ready=ready) as prof:
        for _ in range(9):
            train_step(model, optimizer)
            prof.step()
    assert len(rounds) == 2, rounds


def compiled(directory):
    model = torch.compile(Net())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train_step(model, optimizer)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
        for _ in range(3):
            train_step(model, optimizer)
    save(prof, directory)


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, at):
        return torch.full((3, 8, 8), float(at))


def loaded(directory):
    model = Net()
    loader = torch.utils.data.DataLoader(Numbers(), batch_size=8, num_workers=2)
    with profile(activities=[ProfilerActivity.CPU]) as prof:
        for batch in loader:
            model(batch).sum().backward()
    save(prof, directory)


def threads(directory):
    """Ops of several threads, recursion, ranges within ranges."""
    from concurrent.futures import ThreadPoolExecutor

    def nested(depth):
        with record_function(f"level {depth % 3}"):
            torch.ones(4) + depth
            if depth:
                nested(depth - 1)

    with profile(activities=[ProfilerActivity.CPU], with_stack=True) as prof:
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(nested, [3, 5, 8, 13]))
        nested(40)
    save(prof, directory)


def open_range(directory):
    with profile(activities=[ProfilerActivity.CPU]) as prof:
        record_function("left open").__enter__()
        torch.mm(torch.ones(4, 4), torch.ones(4, 4))
    save(prof, directory)


def recurrent(directory):
    model = nn.LSTM(16, 32, num_layers=2)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True) as prof:
        model(torch.randn(5, 3, 16))[0].sum().backward()
    save(prof, directory)


RECORDINGS = {
    "eager": eager,
    "memory": lambda to: eager(to, profile_memory=True),
    "stack": lambda to: eager(to, with_stack=True, with_modules=True),
    "shapes": lambda to: eager(to, record_shapes=True, with_flops=True),
    "everything": lambda to: eager(to, record_shapes=True, profile_memory=True, with_stack=True, with_flops=True),
    "scheduled": scheduled,
    "compiled": compiled,
    "loader": loaded,
    "threads": threads,
    "open_range": open_range,
    "recurrent": recurrent,
}


def quotes(program, directory):
    """torch writes a name with quotes as it is: that event is lost, and nothing else."""
    directory.mkdir(parents=True, exist_ok=True)
    for word, names in {"plain": ["a b", "c d"], "quoted": ['a "b"', 'c "d": {"x"']}.items():
        with profile(activities=[ProfilerActivity.CPU]) as prof:
            for at in range(12):
                with record_function(names[at % 2] if at % 3 == 0 else f"range {at}"):
                    torch.ones(8, 8) @ torch.ones(8, 8)
        prof.export_chrome_trace(str(directory / f"{word}.json"))

    def ask(word):
        command = [program, "op", directory / f"{word}.json", "-select", "occurrence", "-max_depth", "1000", "-output", "json:outfile=-"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        rows = {row["name"]: row["self"]["runs"] for row in json.loads(done.stdout)["rows"][1:]}
        return rows, done

    try:
        json.loads((directory / "quoted.json").read_text())
        print("        this torch escapes quotes: the file is JSON")
        escapes = True
    except json.JSONDecodeError:
        escapes = False
    (plain, _), (quoted, done) = ask("plain"), ask("quoted")
    ours = {name: runs for name, runs in quoted.items() if "\"" not in name and not name.startswith(("a ", "c "))}
    expected = {name: runs for name, runs in plain.items() if not name.startswith(("a ", "c "))}
    problems = []
    if ours != expected:
        problems.append(f"quotes: {sorted(set(ours.items()) ^ set(expected.items()))}")
    if done.returncode != (0 if escapes else 4):
        problems.append(f"quotes: exit {done.returncode}: {done.stderr}")
    return problems


def main(program, directory):
    directory = Path(directory)
    shutil.rmtree(directory, ignore_errors=True)
    print(f"torch {torch.__version__}")
    failed = False
    for name, record in RECORDINGS.items():
        record(directory / name)
        for path in sorted((directory / name).rglob("trace.json")):
            problems = check_facts.check(program, path)
            failed |= bool(problems)
            rows = len(json.loads((path.parent / "torch.oracle.json").read_text())["rows"])
            print(f"{'FAILED' if problems else 'ok':7}{path.parent.relative_to(directory)}: {rows} rows of key_averages()")
            for problem in problems[:8]:
                print("       ", problem)
    problems = quotes(program, directory / "quotes")
    print(f"{'FAILED' if problems else 'ok':7}quotes")
    for problem in problems:
        print("       ", problem)
    return 1 if failed or problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
