"""The corpus of the repository: questions, and the answers of the original."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2] / "corpus"


def file(model: str, name: str) -> Path:
    """A path `x` of a case means `x` or `x.gz`."""
    path = ROOT / model / name
    return path if path.exists() else path.with_name(path.name + ".gz")


def content(model: str, name: str) -> bytes:
    data = file(model, name).read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def cases(*commands: str) -> list[Any]:
    """Cases of these commands to which the original has a sound answer: model, name, case.

    Questions that it answers with an empty message (a timeline of all steps, pprof of two metrics) are not among them:
    we answer the one and refuse the other.
    """
    found = []
    for path in sorted(ROOT.glob("*/cases.json")):
        model = path.parent.name
        for case in json.loads(path.read_text())["cases"]:
            if case["cmd"] in commands and case["expect"].get("exit") == 0:
                sound = case["cmd"] in ("serialize", "chrome") or "proto" in case["expect"]
                if sound and case["name"] != "pprof_two_selects" and not {"rude", "checkpoint"} & set(case.get("tags", [])):
                    found.append((model, case["name"], case))
    return found
