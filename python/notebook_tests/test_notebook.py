"""A notebook that asks tfprof, run by nbclient, and its HTML, drawn by Chromium."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

# Where the pictures go, to be looked at.
PICTURES = Path(os.environ.get("TFPROF_PICTURES", "target/test-notebook"))
CELLS = {
    "overview": "import tfprof\np = tfprof.demo()\np",
    "scope": "p.scope(select='micros,params', order_by='micros')",
    "op": "p.op(select='micros,bytes,occurrence', order_by='micros')",
    "code": "p.code(select='micros,device', order_by='micros', max_depth=100)",
    "graph": "p.graph(select='micros', start_name_regexes='cost', max_depth=30)",
    "values": "p.scope(select='params,tensor_value', show_name_regexes='unit_1_0.*gamma')",
    "advice": "p.advise()",
    "checkpoint": "import tempfile\nd = tempfile.mkdtemp() + '/dump'\n"
    "q = tfprof.demo(write=d)\nc = tfprof.checkpoint(d + '/model.ckpt')\nc.stats()",
    "verify": "c.verify()",
    "rude": "tfprof.open(b'node { name: \"<script>document.title=1</script>\" op: \"NoOp\" }').scope()",
    "frame": "p.op(select='micros', order_by='micros').to_pandas().head()",
}


@pytest.fixture(scope="module")
def outputs() -> dict[str, Any]:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in CELLS.values()])
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    found = {}
    for name, cell in zip(CELLS, notebook.cells, strict=True):
        shown = [output for output in cell.outputs if output.output_type == "execute_result"]
        assert len(shown) == 1, (name, cell.outputs)
        found[name] = shown[0].data
    return found


class Tags(HTMLParser):
    """Whether every tag is closed, and which there are."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.seen.add(tag)
        self.outside += [f"{tag} {name}" for name, _ in attributes if name in ("src", "href") or name.startswith("on")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", [name for name in CELLS if name != "frame"])
def test_cells_show_text_and_html(outputs: dict[str, Any], name: str) -> None:
    text, html = outputs[name]["text/plain"], outputs[name]["text/html"]
    assert len(text) > 10 and html.startswith('<div class="tfprof">')
    tags = Tags()
    tags.feed(html)
    assert tags.open == [] and tags.outside == []
    assert tags.seen <= {"div", "style", "details", "summary", "span", "i", "pre", "code", "table", "thead", "tbody", "tr", "th", "td"}
    assert "url(" not in html and "@import" not in html and len(html) < 1_000_000


def page(bodies: list[str], dark: bool) -> str:
    """A page like that of a notebook, which allows nothing but its own styles."""
    colours = "--jp-layout-color0:#111;--jp-content-font-color1:#e6e6e6;background:#111;color:#e6e6e6;color-scheme:dark"
    return (
        "<!DOCTYPE html><meta charset='utf-8'>"
        "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>notebook</title><body style='margin:16px;{colours if dark else ''}'>" + "<hr>".join(bodies)
    )


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_chromium_draws_it(outputs: dict[str, Any], dark: bool) -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    assert chromium, "Chromium is needed to draw pages; `make debian-tools` installs it"
    PICTURES.mkdir(parents=True, exist_ok=True)
    file = PICTURES.resolve() / f"notebook-{'dark' if dark else 'light'}.html"
    file.write_text(page([outputs[name]["text/html"] for name in CELLS if name != "frame"], dark))
    flags = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1000,4200"]
    picture = file.with_suffix(".png")
    subprocess.run([*flags, f"--screenshot={picture}", file.as_uri()], check=True, capture_output=True, timeout=120)
    assert picture.stat().st_size > 100_000
    dom = subprocess.run([*flags, "--dump-dom", file.as_uri()], check=True, capture_output=True, text=True, timeout=120)
    # The browser reads the same tree that was written: nothing was closed early or moved.
    written = "".join(outputs[name]["text/html"] for name in CELLS if name != "frame")
    for tag in ("details", "summary", "tr", "pre"):
        assert len(re.findall(f"<{tag}[ >]", dom.stdout)) == len(re.findall(f"<{tag}[ >]", written)), tag
    assert "<title>notebook</title>" in dom.stdout
