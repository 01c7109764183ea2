"""Each snippet that `tfprof info` recommends for a profile of JAX runs, and what was missing is there afterwards."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from typing import Any

import jax
import jax.numpy as jnp


def overview(tfprof: str, logdir: str) -> dict[str, Any]:
    words = [tfprof, "info", logdir, "-output", "json:outfile=-"]
    return json.loads(subprocess.run(words, capture_output=True, check=True).stdout)["overview"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tfprof", required=True)
    tfprof = os.path.abspath(parser.parse_args().tfprof)
    product = jax.jit(lambda x: jnp.tanh(x @ x))

    def step() -> None:
        product(jnp.ones((64, 64))).block_until_ready()

    step()
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        options = jax.profiler.ProfileOptions()
        options.python_tracer_level = 0
        jax.profiler.start_trace("logs", profiler_options=options)
        step()
        jax.profiler.stop_trace()
        found = {missing["code"]: missing["how"] for missing in overview(tfprof, "logs")["missing"]}
        assert {"no_python_calls", "no_step_markers"} <= set(found), found
        assert not any("tf." in how for how in found.values()), found
        exec(found["no_python_calls"], {"jax": jax})
        exec(found["no_step_markers"], {"jax": jax, "step": step})
        jax.profiler.stop_trace()
        better = overview(tfprof, "logdir")
        left = {missing["code"] for missing in better["missing"]}
        assert len(better["steps"]) == 10 and not {"no_python_calls", "no_step_markers"} & left, (better["steps"], left)
    print("advice for JAX: all snippets run")


if __name__ == "__main__":
    main()
