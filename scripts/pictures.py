#!/usr/bin/env python3
"""Draws the pictures of the README and the docs by running the program: terminals as SVG, pages as PNG by Chromium.

  pictures.py [--binary F] [--check]

--check draws nothing; it fails if a terminal's picture is not what the program prints today.
"""

import argparse
import fcntl
import html
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PICTURES = os.path.join(ROOT, "docs", "pictures")
LARGEST = 150_000

# Name, command, columns, lines.
TERMINALS = [
    ("overview", "tfprof info corpus/resnet32", 90, 28),
    ("op", "tfprof op corpus/xspace/jax_mlp -select micros,occurrence", 90, 22),
]
# Name, command, the page that it writes, width, height.
PAGES = [
    ("flame", "tfprof scope corpus/resnet32 -select micros -output flamegraph:outfile={}", "time.svg", 1200, 230),
    ("page", "tfprof scope corpus/resnet32 -select micros,params -order_by micros -output html:outfile={}", "time.html", 1000, 560),
]

CHAR, LINE, PAD = 8.4, 18, 16
STYLES = {"1": "font-weight='bold'", "2": "opacity='.65'", "36": "fill='#5cc8d7'", "31": "fill='#ef7b7b'", "33": "fill='#e6c07b'"}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--binary", default=os.path.join(ROOT, "target", "release", "tfprof"))
    p.add_argument("--check", action="store_true")
    a = p.parse_args()
    os.makedirs(PICTURES, exist_ok=True)
    for name, command, columns, lines in TERMINALS:
        path = os.path.join(PICTURES, name + ".svg")
        picture = drawn(command, printed(a.binary, command, columns), columns, lines)
        if not a.check:
            with open(path, "w") as f:
                f.write(picture)
        elif open(path).read() != picture:
            sys.exit(f"{path} is not what `{command}` prints; run scripts/pictures.py")
    for page in [] if a.check else PAGES:
        photograph(a.binary, *page)
    for name in os.listdir(PICTURES):
        size = os.path.getsize(os.path.join(PICTURES, name))
        if size > LARGEST:
            sys.exit(f"{name} has {size} bytes; the limit is {LARGEST}")


def printed(binary, command, columns):
    """The output of a command on a terminal."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(ROOT)
        os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8")
        os.environ.pop("NO_COLOR", None)
        sys.stdin.readline()
        os.execv(binary, command.split())
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    os.write(terminal, b"go\n")
    out = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:
            break
        if not part:
            break
        out += part
    os.waitpid(pid, 0)
    return out.decode().replace("\r\n", "\n").removeprefix("go\n").strip("\n")


def drawn(command, text, columns, most):
    """A terminal as SVG."""
    rows = [f"\x1b[1m$ {command}\x1b[0m", *text.split("\n")]
    if len(rows) > most:
        rows = [*rows[:most], "\x1b[2m…\x1b[0m"]
    width, height = columns * CHAR + 2 * PAD, len(rows) * LINE + 2 * PAD
    out = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:.0f} {height}' width='{width:.0f}'>",
        f"<rect width='100%' height='100%' rx='8' fill='#15191f'/>",
        "<g font-family='ui-monospace,Menlo,Consolas,DejaVu Sans Mono,monospace' font-size='14' fill='#dde3ea'>",
    ]
    style = ""
    for number, row in enumerate(rows):
        y, column = PAD + LINE * number + 13, 0
        for part in re.split(r"(\x1b\[[\d;]*m)", row):
            if part.startswith("\x1b"):
                style = STYLES.get(part[2:-1], "")
            elif part:
                x = PAD + column * CHAR
                column += len(part)
                if part.strip():
                    length = f"textLength='{len(part) * CHAR:.1f}' lengthAdjust='spacingAndGlyphs'"
                    out.append(f"<text x='{x:.1f}' y='{y}' {length} xml:space='preserve' {style}>{html.escape(part)}</text>")
    return "\n".join([*out, "</g>", "</svg>", ""])


def photograph(binary, name, command, page, width, height):
    """A page as PNG."""
    chromium = shutil.which("chromium") or sys.exit("Chromium draws the pages; `make debian-tools` installs it")
    with tempfile.TemporaryDirectory() as directory:
        # The page shows the command as a user would type it, in a clone.
        os.symlink(os.path.join(ROOT, "corpus"), os.path.join(directory, "corpus"))
        words = command.format(page).split()[1:]
        subprocess.run([binary, *words], cwd=directory, check=True, stderr=subprocess.DEVNULL)
        picture = os.path.join(PICTURES, name + ".png")
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={directory}/profile"]
        subprocess.run(
            [chromium, *flags, f"--window-size={width},{height}", f"--screenshot={picture}", f"file://{directory}/{page}"],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


if __name__ == "__main__":
    main()
