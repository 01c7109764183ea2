"""Any calls in any order with any arguments: an answer, or one of the exceptions that are promised, and never an abort."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any, is_typeddict

import pytest

# Data frames need libraries that may not be there; what has keys and rows raises as lists and dicts do.
PROMISED = (TypeError, ValueError, OSError, ImportError, LookupError)


def arguments(rng: random.Random, tmp: Path, messages: list[Any]) -> Any:
    """A value, mostly wrong."""
    simple: list[Any] = [None, 0, 1, -1, 3.5, 2**70, -(2**63), True, "", "scope", "\udcff", b"", b"\x0a\xff", b"\xff" * 9]
    odd: list[Any] = [[], [1], ["x"], {}, {"a": 1}, set(), object(), object, len, range(3), (), memoryview(b"ab")]
    paths: list[Any] = [tmp, tmp / "none", str(tmp), "/dev/null", "/"]
    options: list[Any] = [
        {"max_depth": rng.choice(simple)},
        {"select": rng.choice([["micros"], ["x"], "micros", None, [1]])},
        {"output": rng.choice(["none", "file:outfile=" + str(tmp / "out"), "pprof", "timeline:outfile=", 3, "x:y=z"])},
        {"start_name_regexes": rng.choice([["("], [".*"], None, [None]]), "show_name_regexes": [".*"]},
        {"step": rng.choice([0, -1, 7, None, 2**64]), "order_by": rng.choice(["name", "x", None])},
    ]
    return rng.choice(rng.choice([simple, odd, paths, options, messages or simple]))


def calls(seed: int, count: int, tmp: Path) -> None:
    """Makes random calls; what is returned may be an argument of later ones."""
    import tfprof
    from tfprof import _native, model_analyzer, profile_context, tfprof_logger, timeline

    rng = random.Random(seed)
    messages: list[Any] = [tfprof.GraphNodeProto(), tfprof.OpLogProto(), _native.Profile(), _native.Shapes()]
    modules = [tfprof, model_analyzer, profile_context, tfprof_logger, timeline]
    functions = [getattr(module, name) for module in modules for name in module.__all__]
    # These work with frameworks and engines, and have tests beside them.
    apart = ("tfprof.patch", "tfprof.recording", "tfprof.recording._recording", "tfprof._fleet")
    functions = [f for f in functions if callable(f) and getattr(f, "__module__", "") not in apart]
    private = (_native.Profile, _native.Shapes, _native.TraceWriter)
    functions += [*private, _native.chrome_trace]
    functions = [f for f in functions if not is_typeddict(f)]
    classes = tuple(f for f in functions if isinstance(f, type) and not issubclass(f, (Exception, tuple)))
    # `open`, `diff`, `table` and `checkpoint` alone make the objects that they return.
    given_out = ("tfprof._open", "tfprof._view", "tfprof._diff", "tfprof._facts", "tfprof._checkpoint")
    functions = [f for f in functions if f not in classes or f.__module__ not in given_out]
    for _ in range(count):
        function = rng.choice(functions)
        owners = [message for message in messages if isinstance(message, classes)]
        if owners and rng.random() < 0.6:
            owner = rng.choice(owners)
            # The profiler of a context is one of TensorFlow's default graph.
            names = [name for name in dir(owner) if not name.startswith("_") and name != "profiler"]
            function = getattr(owner, rng.choice(names))
        given = [arguments(rng, tmp, messages) for _ in range(rng.randint(0, 5))]
        try:
            answer = function(*given)
        except (*PROMISED, tfprof.Error) as error:
            # Python's own sequences say nothing of what they do not have.
            assert str(error) or getattr(function, "__name__", "") == "index", (function, given)
        except OverflowError:
            assert function in private or isinstance(getattr(function, "__self__", _native), (*private, type(_native)))
        except Exception as error:
            raise AssertionError(f"seed {seed}: {function}({', '.join(map(repr, given))}): {error!r}") from error
        else:
            messages.append(answer)
            del messages[8:-20]


def test_without_tensorflow() -> None:
    import tfprof

    if importlib.util.find_spec("tensorflow") is not None:
        pytest.skip("TensorFlow is installed")
    for call in (lambda: tfprof.ProfilerHook, tfprof.patch_tensorflow, tfprof.ProfileContext("x").__enter__):
        with pytest.raises(ImportError, match=r"needs TensorFlow, which cannot be imported here"):
            call()
    tfprof.unpatch_tensorflow()


@pytest.mark.parametrize("seed", range(0, 40, 10))
def test_any_order(seed: int, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-X", "faulthandler", __file__, str(seed), str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


if __name__ == "__main__":
    first, directory = int(sys.argv[1]), Path(sys.argv[2])
    for number in range(first, first + 10):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            calls(number, 300, directory)
