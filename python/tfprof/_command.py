"""The `tfprof` command, as the wheel installs it."""

from __future__ import annotations

import signal
import sys

from tfprof import _native


def main() -> int:
    """Runs the words of the command line."""
    if sys.argv[1:2] == ["run"]:
        from tfprof.recording import _script

        return _script.main(sys.argv[2:])
    # Ctrl-C ends the command at once; there is no Python to clean up after.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.run_command(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
