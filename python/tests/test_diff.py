"""`tfprof.diff`: rows, tables and errors of a comparison."""

import pytest

import tfprof

SHAPE = 'attr { key: "shape" value { shape { dim { size: %d } } } }'


def graph(**variables: int) -> bytes:
    nodes = (f'node {{ name: "{name}" op: "VariableV2" {SHAPE % size} }}' for name, size in variables.items())
    return "\n".join(nodes).encode()


def test_rows_have_both_sides() -> None:
    view = tfprof.diff(graph(w=8, old=3), graph(w=10, new=5)).scope(select="params")
    row = view["w"]
    assert (row.status, row.match) == ("changed", "name")
    assert (row.before.total["params"], row.after.total["params"], row.percent.self["params"]) == (8, 10, 25)
    assert view["old"].status == "removed" and view["old"].after.total["params"] is None
    assert view["new"].status == "added" and view["new"].before.total["params"] is None
    assert "rows    1 changed, 1 added, 1 removed" in str(view)
    assert 'class="c d up' in view._repr_html_()


def test_a_rename_pairs_rows() -> None:
    difference = tfprof.diff(graph(old=3), graph(new=3), rename="s/old/new/")
    row = difference.scope(select="params")["new"]
    assert (row.status, row.match, row.before_name) == ("same", "rename", "old")
    with pytest.raises(tfprof.Error, match="expected s/PATTERN/REPLACEMENT/"):
        tfprof.diff(graph(w=1), graph(w=1), rename="old")
