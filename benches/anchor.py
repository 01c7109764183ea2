#!/usr/bin/env python3
"""Time the real tfprof (TensorFlow's C++, through its Python binding) on a case made by gen.py.

  anchor.py --python TF_PYTHON CASE_DIR [--do scope,op,code,graph] [--steps N] [--repeat 3] [--limit 300]

Prints ONE JSON line: for each phase the median wall and CPU seconds, the RSS
it added, the process's peak, and how it ended (ok / exit signal / timeout).
Each repeat is a fresh process, so no view profits from another's warm caches
of a former run. The phases, in order:

  load     NewProfiler(graph, oplog): parse both, build the node map
  step_N   AddStep(N, "", run_N, ""): parse one RunMetadata and add it. The graph
           is NOT passed again (the Python API does that on each add_step), so
           this is the form most in tfprof's favour
  scope|graph|op|code      one view, text to a file
  timeline                 graph view of step 0 as Chrome trace JSON
  scope_timeline           scope view as Chrome trace JSON
  pprof                    code view as a gzipped pprof profile
  serialize                the ProfileProto as bytes
  advise                   the three public checkers
  free                     destructors
Reading the files and importing TensorFlow are timed apart (read, import).
--do takes a comma list of the view phases; --select, --max-depth, --order-by,
--account set the view's options. TensorFlow's __init__ is not run: only the tfprof
extension and its option protos are loaded.
"""

import argparse
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time


def rss_kb():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * (os.sysconf("SC_PAGE_SIZE") // 1024)


def worker(a):
    out = open(a.worker, "a", buffering=1)

    def phase(name, fn):
        r0 = rss_kb()
        c0, w0 = time.process_time(), time.perf_counter()
        out.write(json.dumps({"phase": name, "begin": 1}) + "\n")
        v = fn()
        w, c = time.perf_counter() - w0, time.process_time() - c0
        out.write(
            json.dumps(
                {
                    "phase": name,
                    "wall": w,
                    "cpu": c,
                    "rss_mb": rss_kb() / 1024,
                    "added_mb": (rss_kb() - r0) / 1024,
                    "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                    "bytes": len(v) if isinstance(v, bytes) else None,
                }
            )
            + "\n"
        )
        return v

    def load_tf():
        import site
        import types

        tf = next(
            os.path.join(p, "tensorflow")
            for p in site.getsitepackages()
            if os.path.isdir(os.path.join(p, "tensorflow"))
        )
        for n in ("tensorflow", "tensorflow.python", "tensorflow.python.util"):
            m = types.ModuleType(n)
            m.__path__ = [os.path.join(tf, *n.split(".")[1:])]
            sys.modules[n] = m
        from tensorflow.core.profiler import tfprof_options_pb2
        from tensorflow.python.util import _pywrap_tfprof

        return _pywrap_tfprof, tfprof_options_pb2

    P, O = phase("import", load_tf)

    def read(n):
        p = os.path.join(a.case, n)
        if not os.path.exists(p):
            return b""
        with open(p, "rb") as f:
            return f.read()

    def opts(output, select, step=-1):
        o = O.OptionsProto()
        o.max_depth = a.max_depth
        o.step = step
        o.order_by = a.order_by
        o.account_type_regexes.extend(a.account.split(","))
        for f in ("start_name_regexes", "show_name_regexes"):
            getattr(o, f).append(".*")
        o.select.extend(select.split(","))
        o.output = output
        return o.SerializeToString()

    tmp = tempfile.mkdtemp()
    ext = "pbtxt" if a.text else "pb"
    graph, oplog = phase("read", lambda: (read("graph." + ext), b"" if a.no_oplog else read("oplog.pb")))
    phase("load", lambda: P.NewProfiler(graph, oplog))
    del graph, oplog
    n = 0
    while n < a.steps and os.path.exists(os.path.join(a.case, "run_%d.pb" % n)):
        r = read("run_%d.pb" % n)
        phase("step_%d" % n, lambda: P.AddStep(n, b"", r, b""))
        del r
        n += 1
    view_out = a.save or tmp + "/view.txt"
    for v in filter(None, a.do.split(",")):
        if v in ("scope", "graph", "op", "code"):
            o = opts("none" if a.no_text else "file:outfile=" + view_out, a.select)
            phase(v, lambda: P.Profile(v.encode(), o))
            if os.path.exists(view_out):
                out.write(json.dumps({"phase": v, "text_bytes": os.path.getsize(view_out)}) + "\n")
        elif v in ("timeline", "scope_timeline"):
            o = opts("timeline:outfile=%s/tl" % tmp, "micros,bytes", 0 if n else -1)
            phase(v, lambda: P.Profile(b"graph" if v == "timeline" else b"scope", o))
            out.write(
                json.dumps(
                    {
                        "phase": v,
                        "text_bytes": sum(
                            os.path.getsize(tmp + "/" + f) for f in os.listdir(tmp) if f.startswith("tl")
                        ),
                    }
                )
                + "\n"
            )
        elif v == "pprof":
            o = opts("pprof:outfile=%s/pp" % tmp, "micros", -1)
            phase(v, lambda: P.Profile(b"code", o))
            out.write(json.dumps({"phase": v, "text_bytes": os.path.getsize(tmp + "/pp")}) + "\n")
        elif v == "serialize":
            phase(v, lambda: P.SerializeToString())
        elif v == "advise":
            o = O.AdvisorOptionsProto()
            for c in ("ExpensiveOperationChecker", "AcceleratorUtilizationChecker", "OperationChecker"):
                o.checkers[c].SetInParent()
            o = o.SerializeToString()
            phase(v, lambda: P.Profile(b"advise", o))
    phase("free", lambda: P.DeleteProfiler())
    for f in os.listdir(tmp):
        os.unlink(os.path.join(tmp, f))
    os.rmdir(tmp)
    out.close()
    os._exit(0)


def one_run(a):
    fd, res = tempfile.mkstemp()
    os.close(fd)
    cmd = [
        a.python,
        os.path.abspath(__file__),
        a.case,
        "--worker",
        res,
        "--do",
        a.do,
        "--steps",
        str(a.steps),
        "--select",
        a.select,
        "--max-depth",
        str(a.max_depth),
        "--order-by",
        a.order_by,
        "--account",
        a.account,
    ]
    for f in ("no_oplog", "no_text", "text"):
        if getattr(a, f, False):
            cmd.append("--" + f.replace("_", "-"))
    if getattr(a, "save", ""):
        cmd += ["--save", a.save]
    env = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3")
    t0 = time.perf_counter()

    def lim():
        os.setsid()
        if a.mem_gb:
            resource.setrlimit(resource.RLIMIT_AS, (a.mem_gb << 30,) * 2)
        if a.cpu_limit:
            resource.setrlimit(resource.RLIMIT_CPU, (a.cpu_limit,) * 2)

    p = subprocess.Popen(cmd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env, preexec_fn=lim)
    end = "ok"
    while True:
        pid, st, ru = os.wait4(p.pid, os.WNOHANG)
        if pid:
            break
        if time.perf_counter() - t0 > a.limit:
            os.kill(p.pid, signal.SIGKILL)
            end = "timeout"
            _, st, ru = os.wait4(p.pid, 0)
            break
        time.sleep(0.005)
    p.returncode = 0  # already reaped
    wall = time.perf_counter() - t0
    if end == "ok" and os.WIFSIGNALED(st):
        end = signal.Signals(os.WTERMSIG(st)).name
    elif end == "ok" and os.WEXITSTATUS(st):
        end = "exit %d" % os.WEXITSTATUS(st)
    phases, begun = {}, None
    with open(res) as f:
        for line in f:
            d = json.loads(line)
            k = d.pop("phase")
            if d.pop("begin", None):
                begun = k
            else:
                phases.setdefault(k, {}).update(d)
                begun = None
    os.unlink(res)
    return {
        "end": end,
        "in": begun,
        "wall": wall,
        "cpu": ru.ru_utime + ru.ru_stime,
        "peak_mb": ru.ru_maxrss / 1024,
        "phases": phases,
    }


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("case")
    p.add_argument("--python", default=os.environ.get("TF_PYTHON", sys.executable))
    p.add_argument("--do", default="scope,op,code,graph")
    p.add_argument("--steps", type=int, default=1)
    p.add_argument("--repeat", type=int, default=3)
    p.add_argument("--limit", type=float, default=300)
    p.add_argument("--cpu-limit", type=int, default=0, help="CPU seconds (for a shared machine, where wall time lies)")
    p.add_argument("--mem-gb", type=int, default=0, help="address-space limit of the worker")
    p.add_argument("--select", default="micros,bytes,params,float_ops")
    p.add_argument("--max-depth", type=int, default=10000)
    p.add_argument("--order-by", default="micros")
    p.add_argument("--account", default=".*")
    p.add_argument("--no-oplog", action="store_true")
    p.add_argument("--no-text", action="store_true", help="views compute only, output none")
    p.add_argument("--text", action="store_true", help="graph.pbtxt in place of graph.pb")
    p.add_argument("--save", default="", metavar="F", help="keep the text of the last view in F")
    p.add_argument("--worker", help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.worker:
        worker(a)
    runs = [one_run(a) for _ in range(a.repeat)]
    with open(os.path.join(a.case, "case.json")) as f:
        case = json.load(f)
    med = lambda xs: round(statistics.median(xs), 4)
    phases = {}
    for k in runs[0]["phases"]:
        got = [r["phases"][k] for r in runs if k in r["phases"]]
        d = {f: med([g[f] for g in got]) for f in ("wall", "cpu", "added_mb", "rss_mb", "peak_mb") if f in got[0]}
        for f in ("bytes", "text_bytes"):
            if got[0].get(f):
                d[f] = got[0][f]
        phases[k] = d
    print(
        json.dumps(
            {
                "tool": "tfprof",
                "case": os.path.basename(os.path.abspath(a.case)),
                "shape": case["shape"],
                "nodes": case["nodes"],
                "steps": min(a.steps, case["steps"]),
                "stats_per_step": case["stats_per_step"],
                "select": a.select,
                "max_depth": a.max_depth,
                "repeat": a.repeat,
                "end": sorted({r["end"] + (" in " + r["in"] if r["in"] else "") for r in runs}),
                "wall": med([r["wall"] for r in runs]),
                "cpu": med([r["cpu"] for r in runs]),
                "cpu_min": round(min(r["cpu"] for r in runs), 4),
                "peak_mb": med([r["peak_mb"] for r in runs]),
                "phases": phases,
            }
        )
    )


if __name__ == "__main__":
    main()
