"""Tables and SQL from Python. The libraries that take Arrow are checked where they are installed."""

from __future__ import annotations

import pytest

import tfprof


@pytest.fixture(scope="module")
def profile() -> tfprof.Profile:
    return tfprof.demo()


def test_tables_have_rows_and_units(profile: tfprof.Profile) -> None:
    assert {"nodes", "totals", "executions"} <= set(profile.tables)
    totals = profile.table("totals")
    assert totals.unit("self_ps") == "ps" and totals.unit("op") == ""
    assert len(totals) == len(list(totals)) and totals[-1] == totals[len(totals) - 1]
    assert all(row["runs"] is None or row["runs"] >= 0 for row in totals[:50])
    with pytest.raises(IndexError):
        totals[len(totals)]
    with pytest.raises(ValueError, match="did you mean `totals`"):
        profile.table("total")


def test_sql_agrees_with_the_view(profile: tfprof.Profile) -> None:
    rows = profile.sql("select op, sum(self_ps) as ps from totals where step = 0 group by op having ps > 0")
    view = profile.op(step=0, select="micros", max_depth=1000)
    micros = {row.name: row.total["micros"] for row in view if row.depth > 0 and row.total["micros"]}
    assert {row["op"]: row["ps"] / 1e6 for row in rows} == micros


def test_sql_only_reads(profile: tfprof.Profile) -> None:
    for statement in ["create table x(y)", "attach 'x' as y", "select 1; select 2", "selec"]:
        with pytest.raises((tfprof.Error, ValueError), match="SQL"):
            profile.sql(statement)
    assert profile.sql("select null as missing, 1.5 as x")[0] == {"missing": None, "x": 1.5}


def test_capsules_can_be_dropped(profile: tfprof.Profile) -> None:
    table = profile.table("steps")
    for _ in range(3):
        table.__arrow_c_stream__()
        table.__arrow_c_schema__()


def test_libraries_take_tables_and_views(profile: tfprof.Profile) -> None:
    pa = pytest.importorskip("pyarrow")
    for table in [profile.table("nodes"), profile.sql("select * from executions"), profile.table("hosts")]:
        assert pa.table(table).to_pylist() == list(table)
    view = profile.scope(select="micros,params")
    assert pa.table(view).column("name").to_pylist() == [row.name for row in view]
    nodes = profile.table("nodes")
    pl = pytest.importorskip("polars")
    assert pl.DataFrame(nodes).to_dicts() == list(nodes)
    duckdb = pytest.importorskip("duckdb")
    assert duckdb.sql("select count(*) from nodes").fetchall() == [(len(nodes),)]
    pytest.importorskip("pandas")
    assert len(nodes.to_pandas()) == len(nodes)
