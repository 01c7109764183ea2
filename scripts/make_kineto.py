"""Makes `corpus/kineto`: `gpu.json.gz`, a small trace of two steps on two GPUs with all kinds of events that torch writes,
and `hta.json.gz`, some steps of one GPU for HolisticTraceAnalysis.

The seeds of the fuzz target and of the mutations; no machine recorded it. Run it as `scripts/make_kineto.py`.
"""

import gzip
import json
from pathlib import Path

TARGET = Path(__file__).parent.parent / "corpus" / "kineto"


def span(category, name, thread, start, length, process=100, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": process, "tid": thread, "ts": start, "dur": length, "args": args}


def step(number, zero):
    """One step: a module with a product, its gradient on another thread, an optimizer, a collective and a graph."""
    ids = iter(range(number * 100, number * 100 + 100))
    events = [
        span("user_annotation", f"ProfilerStep#{number}", 1, zero, 1000.5, **{"External id": next(ids)}),
        span("python_function", "train.py(12): step", 1, zero + 1, 990, **{"Python id": 1, "Python parent id": None}),
        span("python_function", "nn.Module: Linear_0", 1, zero + 5, 120, **{"Python id": 2, "Python parent id": 1}),
    ]
    def launch(name, thread, start, stream, kernel, length, **args):
        correlation = next(ids)
        kind = "gpu_memcpy" if kernel.startswith("Memcpy") else "kernel"
        device = {"device": number % 2, "stream": stream, "correlation": correlation, **args}
        return [
            span("cuda_runtime", name, thread, start, 3.25, correlation=correlation, cbid=211),
            span(kind, kernel, stream, start + 20, length, process=number % 2, **device),
            {"ph": "s", "id": correlation, "pid": 100, "tid": thread, "ts": start, "cat": "ac2g", "name": "ac2g"},
            {"ph": "f", "id": correlation, "pid": number % 2, "tid": stream, "ts": start + 20, "cat": "ac2g", "name": "ac2g", "bp": "e"},
        ]

    external = next(ids)
    shapes = {"Input Dims": [[32], [8, 64], [64, 32], [], []], "Input type": ["float", "float", "float", "Scalar", "Scalar"]}
    values = {"Concrete Inputs": ["", "", "", "1", "1"], "Sequence number": number, "Fwd thread id": 0}
    events += [span("cpu_op", "aten::linear", 1, zero + 10, 60, **{"External id": next(ids), "Sequence number": number, "Fwd thread id": 0})]
    events += [span("cpu_op", "aten::addmm", 1, zero + 20.125, 40.5, **{"External id": external}, **shapes, **values)]
    launched = {"External id": external, "grid": [4, 1, 1], "block": [256, 1, 1], "registers per thread": 64, "shared memory": 0, "est. achieved occupancy %": 31}
    events += launch("cudaLaunchKernel", 1, zero + 30, 7, "void gemm<float>(…)", 25.75, **launched)
    events += [span("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 2, zero + 200, 80, **{"External id": next(ids), "Sequence number": number, "Fwd thread id": 1})]
    events += launch("cudaLaunchKernel", 2, zero + 210, 7, "void gemm<float>(…)", 40)
    events += launch("cudaMemcpyAsync", 1, zero + 300, 7, "Memcpy HtoD (Pageable -> Device)", 12, bytes=4096, **{"memory bandwidth (GB/s)": 0.34})
    collective = {"Collective name": "allreduce", "In msg nelems": 2048, "Out msg nelems": 2048, "dtype": "Float", "Group size": 2, "Process Group Ranks": "[0, 1]"}
    events += launch("cudaLaunchKernel", 2, zero + 320, 20, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(…)", 90, **collective)
    graph = launch("cudaGraphLaunch", 1, zero + 500, 7, "fused_a", 10, **{"graph node id": 1, "graph id": 2})
    events += graph + [dict(graph[1], name="fused_b", ts=zero + 540)]
    events += [span("cuda_sync", "Stream Sync", 7, zero + 600, 30, process=number % 2, stream=7, cuda_sync_kind="Stream Sync")]
    events += [span("gpu_user_annotation", f"ProfilerStep#{number}", 7, zero + 50, 600, process=number % 2)]
    for at, size in enumerate([4096, 8192, -4096]):
        memory = {"Bytes": size, "Addr": 1000 + at, "Device Type": 1, "Device Id": number % 2, "Total Allocated": 4096 + abs(size), "Total Reserved": 65536}
        events += [{"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 100, "tid": 1, "ts": zero + 25 + at, "args": memory}]
    return events


def trace():
    events = [{"ph": "M", "name": "process_labels", "pid": gpu, "tid": 0, "ts": 0, "args": {"labels": f"GPU {gpu}"}} for gpu in (0, 1)]
    events += [{"ph": "M", "name": "thread_name", "pid": 100, "tid": 1, "ts": 0, "args": {"name": "thread 1 (python)"}}]
    events += step(3, 5000.0) + step(4, 6100.25)
    events += [span("overhead", "CUPTI resource", -1, 4990, 5, process=-1)]
    about = {"backend": "nccl", "rank": 0, "world_size": 2}
    device = [{"id": at, "name": "A GPU", "totalGlobalMem": 1 << 34} for at in (0, 1)]
    return {"schemaVersion": 1, "deviceProperties": device, "record_shapes": 1, "distributedInfo": about, "traceEvents": events, "baseTimeNanoseconds": 1700000000000000000}


def one_gpu():
    """Kernels, copies and collectives on two streams that overlap, with decimals."""
    whole = trace()
    events = [event for at in (2, 4, 6, 8) for event in step(at, 5000.0 + 1100.25 * at)]
    for at, event in enumerate(events):
        if event["ph"] == "X":
            event["dur"] = event["dur"] + (at * 37 % 101) / 8
    return dict(whole, traceEvents=events)


def write(name, content):
    text = json.dumps(content, indent=1, ensure_ascii=False)
    (TARGET / f"{name}.json.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    TARGET.mkdir(exist_ok=True)
    write("gpu", trace())
    write("hta", one_gpu())
