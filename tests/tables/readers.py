"""Opens the tables that tfprof writes in DuckDB, polars, pandas and pyarrow, and compares their sums with the views.

    python tests/tables/readers.py TFPROF CORPUS DIRECTORY [--spark]
"""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import duckdb
import pandas
import polars
import pyarrow.ipc
import pyarrow.parquet

# A run with two steps, one on a GPU, a trace of JAX, of two hosts, of a GPU; a model without runs.
INPUTS = ["resnet32", "gpu_synthetic", "xspace/jax_mlp", "xspace/jax_two_hosts", "xspace/gpu_like", "mlp_small/graph.pb.gz"]


def tfprof(*words: object) -> str:
    done = subprocess.run([TFPROF, *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 4):
        sys.exit(f"tfprof {' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


def of_view(path: pathlib.Path) -> dict[str, int]:
    """Picoseconds by op type, from the op view; exact."""
    text = tfprof("op", path, "-step", "all", "-select", "micros", "--format=json", "-max_depth", "1000000")
    rows = json.loads(text, parse_float=str)["rows"][1:]
    return {row["name"]: picos(row["total"]["micros"]) for row in rows if picos(row["total"]["micros"])}


def picos(micros: object) -> int:
    whole, _, part = str(micros).partition(".")
    return int(whole) * 1_000_000 + int(part.ljust(6, "0")[:6] or 0)


def sums(pairs: object) -> dict[str, int]:
    return {op: int(total) for op, total in pairs if total is not None and int(total)}


def check(what: str, found: object, expected: object) -> None:
    if found != expected:
        sys.exit(f"{what}: expected {str(expected)[:300]}, found {str(found)[:300]}")


def check_input(path: pathlib.Path, directory: pathlib.Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    tfprof("tables", path, "-output", f"{directory}/")
    tfprof("tables", path, "-output", f"arrow:outfile={directory}/")
    tfprof("tables", path, "-output", directory / "all.sqlite")
    expected = of_view(path) if "graph.pb" not in path.name else {}
    file = str(directory / "totals.parquet")

    query = "select op, sum(self_ps) from '{}' group by op"
    check("DuckDB", sums(duckdb.sql(query.format(file)).fetchall()), expected)
    frame = polars.read_parquet(file).group_by("op").agg(polars.col("self_ps").sum())
    check("polars", sums(frame.rows()), expected)
    frame = pandas.read_parquet(file, dtype_backend="pyarrow").groupby("op")["self_ps"].sum()
    check("pandas", sums(frame.items()), expected)
    table = pyarrow.parquet.read_table(file).group_by("op").aggregate([("self_ps", "sum")])
    check("pyarrow", sums((row["op"], row["self_ps_sum"]) for row in table.to_pylist()), expected)
    rows = tfprof("sql", path, query.format("totals").replace("'", ""), "--format=json")
    check("tfprof sql", sums(tuple(row.values()) for row in json.loads(rows)["rows"]), expected)

    # Every table is the same in every reader, missing cells included.
    for parquet in sorted(directory.glob("*.parquet")):
        as_arrow = pyarrow.parquet.read_table(parquet)
        with pyarrow.ipc.open_stream(str(parquet.with_suffix(".arrow"))) as stream:
            streamed = stream.read_all()
        rows = as_arrow.to_pylist()
        check(f"{parquet}: Arrow", streamed.to_pylist(), rows)
        check(f"{parquet}: polars", polars.read_parquet(parquet).to_dicts(), rows)
        check(f"{parquet}: DuckDB", duckdb.sql(f"select * from '{parquet}'").to_arrow_table().to_pylist(), rows)
        duckdb.sql(f"select count(*) from '{parquet}'").fetchall()
        listed = tfprof("sql", path, f"select * from {parquet.stem}", "--format=json")
        check(f"{parquet}: SQL", [flags_as_numbers(row) for row in rows], json.loads(listed)["rows"])
        statistics(parquet)


def flags_as_numbers(row: dict[str, object]) -> dict[str, object]:
    return {name: int(cell) if isinstance(cell, bool) else cell for name, cell in row.items()}


def statistics(parquet: pathlib.Path) -> None:
    """The smallest and largest values that the file states are those of its rows."""
    file = pyarrow.parquet.ParquetFile(parquet)
    for at in range(file.metadata.num_row_groups):
        rows = file.read_row_group(at)
        for column in range(file.metadata.num_columns):
            chunk = file.metadata.row_group(at).column(column)
            cells = [cell for cell in rows.column(column).to_pylist() if cell is not None]
            check(f"{parquet} {chunk.path_in_schema} nulls", chunk.statistics.null_count, rows.num_rows - len(cells))
            if chunk.statistics.has_min_max and cells:
                stated = (chunk.statistics.min, chunk.statistics.max)
                check(f"{parquet} {chunk.path_in_schema}", stated, (min(cells), max(cells)))


def check_spark(directory: pathlib.Path) -> None:
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    for name in INPUTS:
        expected = sums(duckdb.sql(f"select op, sum(self_ps) from '{directory / name}/totals.parquet' group by op").fetchall())
        frame = session.read.parquet(str(directory / name / "totals.parquet")).groupBy("op").sum("self_ps")
        check("Spark", sums(tuple(row) for row in frame.collect()), expected)
    session.stop()


TFPROF = sys.argv[1]

if __name__ == "__main__":
    corpus, directory = pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    for name in INPUTS:
        check_input(corpus / name, directory / name)
    if "--spark" in sys.argv:
        check_spark(directory)
    print(f"{len(INPUTS)} inputs: all tables are the same in DuckDB, polars, pandas, pyarrow and SQL; sums are those of the views")
