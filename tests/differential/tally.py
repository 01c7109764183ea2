"""Coverage of random questions: commands, rows, events and the original's answers."""

import collections
import gzip
import json
import re

import oracle
from casekit import ALL
from survey import ROOT


class Tally(collections.Counter):
    """Counts what the questions reached."""

    SAID = [
        "has no start time, skipping",
        "gpu allocator for 1 node",
        "Invalid RunMetadata",
        "not found.",
        "No code trace information",
        "gradient nodes not accounted",
        "code view ignores account_displayed_op_only",
        "no tensor value to show",
        "Only 'code' view supports pprof",
        "op view doesn't support timeline",
        "Missing RunMetadata info",
        "Missing run_meta for",
        "Missing op_log",
        "Can only select 1",
        "pprof doesn't support",
        "Error parsing",
        "Invalid RE2",
        "map::at",
        "Check failed",
        "misses accelerator",
        "peak memory",
        "Incomplete shape",
        "Error:",
    ]

    def question(self, question, case, res, survey):
        self["kind: " + question.kind] += 1
        self["api: " + case["api"]] += 1
        if "rude" in case.get("tags", []):
            self["rude"] += 1
        if res["exit"] != 0:
            self["death: %s %s%s" % (res["exit"], question.kind, "".join(" " + w for w in question.rude))] += 1
        said = (
            res.get("stderr", "")
            + res.get("stdout", "")
            + res["files"].get("out.txt", b"").decode("utf-8", "replace").split("Profile:")[0]
        )
        for text in self.SAID:
            if text in said:
                self["said: " + text] += 1
        if "Invalid RE2" in said and "regex" not in question.rude:
            self["bad regexes not meant to be"] += 1
        for line in res.get("stderr", "").splitlines():
            if not any(text in line for text in self.SAID):
                self["said, other: " + re.sub(r"[0-9]+", "N", line)[:70]] += 1
        self._rows(case, res, survey)
        self._events(case, res)

    def _rows(self, case, res, survey):
        view = case["cmd"]
        if view not in oracle.VIEWS:
            return
        if not res.get("result"):
            self["answer: nothing"] += 1
            return
        proto = oracle.result_proto(view)
        proto.ParseFromString(res["result"])
        rows = []

        def walk(node):
            for child in node.children:
                rows.append((node.name, child.name))
                walk(child)

        walk(proto)
        self["answer: %s" % ("rows" if rows else "root only")] += 1
        self["rows: " + view] += len(rows)
        if view != "op":
            moved = [r for r in rows if r not in survey.edges[view]]
            if case["options"]["start_name_regexes"] == ALL:
                self["rows promoted: " + view] += len(moved)
                self["answers with promoted rows: " + view] += bool(moved)
            else:
                self["rows under a start name: " + view] += sum(r[0] == ROOT for r in moved)
        if len(rows) < len(survey.names[view]):
            self["answers with hidden rows: " + view] += 1
            self["rows hidden: " + view] += len(survey.names[view]) - len(rows)
        self["rows of gradients"] += sum(n.endswith(" (gradient)") for _, n in rows)
        text = res["files"].get("out.txt", b"").decode("utf-8", "replace")
        for name, regex in (
            ("not accounted", r"--/"),
            ("k", r"\d\.\d\dk"),
            ("m", r"\d\.\d\dm\b"),
            ("b", r"\d\.\d\db"),
            ("ms", r"\d\.\d\dms"),
            ("sec", r"\d\.\d\dsec"),
            ("KB", r"\d\.\d\dKB"),
            ("MB", r"\d\.\d\dMB"),
            ("negative", r"[ (/]-\d"),
            ("unknown input", r"\d:unknown"),
            ("input_type", r"\ninput_type:"),
        ):
            self["text has: " + name] += bool(re.search(regex, text))

    def _events(self, case, res):
        for name, data in res["files"].items():
            if name.startswith("timeline_") or name == "chrome.json":
                what = "chrome" if case["cmd"] == "chrome" else "timeline " + case["cmd"]
                self[what + ": files"] += 1
                for event in json.loads(data)["traceEvents"]:
                    self["%s: events %s" % (what, event["ph"])] += 1
                    if "Top Allocation 00" in event.get("args", {}):
                        self[what + ": top allocations"] += 1
            elif name == "pprof.gz":
                self["pprof: files"] += 1
                self["pprof: bytes"] += len(gzip.decompress(data))
        if case["cmd"] == "advise" and res.get("result"):
            proto = oracle.result_proto("advise")
            proto.ParseFromString(res["result"])
            for checker in proto.checkers:
                self["advise: " + checker] += 1
                self["advise: reports of " + checker] += len(proto.checkers[checker].reports)
