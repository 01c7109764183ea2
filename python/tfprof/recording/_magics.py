"""The magics of notebooks: `%load_ext tfprof`, then `%%tfprof` at the top of a cell, or `%tfprof STATEMENT`."""

from __future__ import annotations

import shlex
from typing import Any

from tfprof.recording import Recording, record


def load(shell: Any) -> None:
    """Registers the magics."""

    def tfprof(line: str, cell: str | None = None) -> Recording:
        """Records a cell (`%%tfprof [DIRECTORY]`) or a statement (`%tfprof STATEMENT`), and shows the answer."""
        words = shlex.split(line) if cell is not None else []
        if len(words) > 1:
            raise ValueError(f"%%tfprof takes one directory, found {line!r}")
        with record(words[0] if words else "tfprof-run", quiet=True) as recording:
            # An error of the cell comes before one about a recording of nothing.
            shell.run_cell(cell if cell is not None else line).raise_error()
        return recording

    shell.register_magic_function(tfprof, magic_kind="line_cell", magic_name="tfprof")
