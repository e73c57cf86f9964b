"""Names of other packages that are not public: which are used, and that they exist."""

import ast
import inspect
from importlib import import_module
from importlib.metadata import version
from operator import attrgetter

import numba
import pytest
from bokeh.models import Div
from packaging.requirements import Requirement

from tests.test_packaging import PACKAGE, PROJECT

# Where each name is found: an object, or a function whose code writes it.
NAMES = {
    "_Intrinsic": "numba.extending",
    "_WRITE_BLOCK": "panel.io.document",
    "_WRITE_MSGS": "panel.io.document",
    "_cache": numba.njit(lambda: 0),
    "_callbacks": Div(),
    "_defn": "numba.extending:_Intrinsic.__init__",
    "_dispatch_msgs": "panel.io.document",
    "_dispatch_write_task": "panel.io.document",
    "_event_callbacks": Div(),
    "_get_model": "panel.viewable:Viewable",
    "_property_values": Div(),
    "_rebuild": "numba.core.compiler:CompileResult",
    "_reduce": "numba.core.compiler:CompileResult",
    "_send_msg": "panel.custom:ReactComponent",
    "_tornado": "bokeh.server.server:BaseServer.__init__",
    "_unstable_default_values": Div(),
}
MODULES: dict[str, tuple[str, ...]] = {}
BOUNDED = ("bokeh", "panel", "numba", "llvmlite", "scikit-learn")


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def read_package() -> tuple[set[str], dict[str, set[str]]]:
    """Private names that no module of the package defines, and private modules."""
    defined, used, modules = set(), set(), {}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    defined.add(node.name)
                case ast.Name(ctx=ast.Store()):
                    defined.add(node.id)
                case ast.Attribute(value=ast.Name(id="self"), ctx=ast.Store()):
                    defined.add(node.attr)
                case ast.Attribute():
                    used.add(node.attr)
                case ast.ImportFrom() if not node.module.startswith("clusterlens"):
                    names = {alias.name for alias in node.names}
                    used |= names
                    if any(map(is_private, node.module.split("."))):
                        modules.setdefault(node.module, set()).update(names)
    return set(filter(is_private, used - defined)), modules


def test_every_private_name_of_another_package_is_listed():
    names, modules = read_package()
    assert names == set(NAMES)
    assert modules == {name: set(found) for name, found in MODULES.items()}


@pytest.mark.parametrize("name", NAMES)
def test_a_private_name_is_where_it_was(name):
    owner = NAMES[name]
    if isinstance(owner, str):
        module, _, path = owner.partition(":")
        owner = import_module(module)
        if path:
            owner = attrgetter(path)(owner)
    code = getattr(inspect.unwrap(owner), "__code__", None)
    assert hasattr(owner, name) or name in code.co_names


@pytest.mark.parametrize("module", MODULES)
def test_a_private_module_holds_what_it_held(module):
    assert set(MODULES[module]) <= set(dir(import_module(module)))


@pytest.mark.parametrize("package", BOUNDED)
def test_versions_whose_private_names_are_not_known_are_not_installed(package):
    (bounds,) = (
        needed.specifier
        for needed in map(Requirement, PROJECT["dependencies"])
        if needed.name == package
    )
    major, minor, *_ = version(package).split(".")
    assert version(package) in bounds
    assert f"{major}.{int(minor) + 1}.0" not in bounds
