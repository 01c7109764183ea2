"""What editors and notebooks see: real signatures, made from the table of options, and no names beside the public ones."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path
from typing import Any

import pytest
import tfprof
from tfprof import _native

VIEWS = ("scope", "graph", "op", "code")


def table() -> list[tuple[str, str]]:
    return [(name, kind) for name, _, kind in _native.options()]


@pytest.mark.parametrize("view", VIEWS)
def test_signatures_are_the_table_of_options(view: str) -> None:
    found = list(inspect.signature(getattr(tfprof.Profile, view)).parameters.values())
    assert found[0].name == "self"
    assert [(p.name, p.annotation) for p in found[1:]] == [(name, f"{kind} | None") for name, kind in table()]
    assert all(p.kind is p.KEYWORD_ONLY and p.default is None for p in found[1:])
    bound = inspect.signature(getattr(tfprof.demo(), view))
    assert list(bound.parameters) == [name for name, _ in table()]


@pytest.mark.parametrize("view", VIEWS)
def test_stubs_are_the_table_of_options(view: str) -> None:
    classes = {node.name: node for node in ast.parse(stubs()).body if isinstance(node, ast.ClassDef)}
    methods = {node.name: node for node in classes["Views"].body if isinstance(node, ast.FunctionDef)}
    arguments = methods[view].args
    found = [(a.arg, ast.unparse(a.annotation or ast.Constant(None))) for a in arguments.kwonlyargs]
    assert found == [(name, f"{kind} | None") for name, kind in table()]
    assert arguments.kwarg is None and [a.arg for a in arguments.args] == ["self"]
    fields = [node for node in classes["Options"].body if isinstance(node, ast.AnnAssign)]
    assert [(ast.unparse(f.target), ast.unparse(f.annotation)) for f in fields] == table()


def stubs() -> str:
    return (Path(tfprof.__file__).parent / "_views.pyi").read_text()


def test_no_public_function_hides_its_keywords() -> None:
    functions: list[Any] = [tfprof.open, tfprof.load, tfprof.cost, tfprof.flops, tfprof.params, tfprof.checkpoint]
    functions += [tfprof.Checkpoint.table, tfprof.Checkpoint.compare, *(getattr(tfprof.Profile, view) for view in VIEWS)]
    for function in functions:
        parameters = inspect.signature(function).parameters.values()
        assert not any(p.kind is p.VAR_KEYWORD for p in parameters), function
    keywords = [list(inspect.signature(f).parameters) for f in (tfprof.cost, tfprof.flops, tfprof.params)]
    assert keywords[0] == keywords[1] == keywords[2]


def test_dir_lists_what_users_need() -> None:
    shown = dir(tfprof)
    assert set(tfprof.__all__) <= set(shown)
    assert [name for name in shown if name.startswith("_")] == ["__doc__"]
    modules = [name for name in shown if name != "ProfilerHook" and inspect.ismodule(getattr(tfprof, name))]
    assert modules == [] and {"open", "load", "demo", "cost", "Profile"} <= set(shown)


def test_old_paths_can_be_imported() -> None:
    for name in ("model_analyzer", "option_builder", "tfprof_logger", "tfprof_log_pb2", "timeline", "profile_context"):
        assert importlib.import_module(f"tfprof.{name}") is getattr(tfprof, name)
    assert tfprof.model_analyzer.print_model_analysis and tfprof.tfprof_logger.write_op_log


def test_load_is_open() -> None:
    assert tfprof.load is tfprof.open
    assert len(tfprof.load(b'node { name: "a" op: "NoOp" }').scope()) == 2


def test_a_profile_knows_its_cost() -> None:
    cost = tfprof.demo().cost()
    assert cost.parameters == 930_581 and cost.float_ops == 53_910_286_421
    assert "parameters by layer" in str(cost)
