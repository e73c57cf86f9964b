"""The public names are there, documented, and come without a user interface."""

import ast
import inspect
import subprocess
import sys

import pytest

import clusterlens
from tests.folders import ROOT

GROUPS = (
    *("table", "pool", "ensemble", "ranking", "consensus", "indices", "fuzzy"),
    *("estimators", "assigning", "scale"),
)
STUB = ast.parse((ROOT / "clusterlens/__init__.pyi").read_text(encoding="utf-8"))


def test_public_names_exist_and_are_documented():
    for name in clusterlens.__all__:
        assert getattr(clusterlens, name).__doc__, name


def test_every_name_of_a_group_is_on_top_as_well():
    groups = [getattr(clusterlens, name) for name in GROUPS]
    for group in groups:
        assert set(dir(group)) == set(group.__all__)
        for name in group.__all__:
            assert getattr(clusterlens, name) is getattr(group, name)
    names = [name for group in groups for name in group.__all__]
    assert len(names) == len(set(names))


def test_completion_offers_the_groups_and_what_most_work_needs():
    offered = set(dir(clusterlens))
    assert set(GROUPS) < offered
    assert 35 <= len(offered & set(clusterlens.__all__)) <= 45


def test_importing_the_package_imports_no_heavy_library():
    code = (
        "import sys, clusterlens; "
        "print(sorted({'numpy', 'sklearn', 'numba', 'panel'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nowhere"):
        clusterlens.nowhere  # noqa: B018


def test_a_type_checker_is_told_every_public_name():
    """`tests/typed_program.py` checks their types; groups have stubs."""
    named, groups = set(), set()
    for node in STUB.body:
        if isinstance(node, ast.FunctionDef):
            named.add(node.name)
        elif isinstance(node, ast.ImportFrom) and node.module != "typing":
            names = {alias.name for alias in node.names}
            (groups if names == {"*"} else named).update(
                {node.module.rpartition(".")[2]} if names == {"*"} else names
            )
    assert groups == set(GROUPS)
    grouped = {name for group in GROUPS for name in getattr(clusterlens, group).__all__}
    assert named == {*GROUPS, *clusterlens.__all__} - grouped


def test_what_the_stub_says_of_the_user_interface_is_so():
    declared = {
        node.name: node for node in STUB.body if isinstance(node, ast.FunctionDef)
    }
    for name, node in declared.items():
        own = inspect.signature(getattr(clusterlens, name)).parameters
        arguments = [*node.args.args, *node.args.kwonlyargs]
        assert [argument.arg for argument in arguments] == list(own)
