"""Private names of other packages in use, and replaced attributes of them.

Both are found by reading the sources: private attributes that a file does not define
itself, private names in strings, private modules, assignments to imported objects, and
in scripts of the page assignments to prototypes of libraries.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version

import pytest
from packaging.requirements import Requirement

from tests.test_packaging import PACKAGE, PROJECT

# Private names of other packages, by file.
NAMES = {
    "compute/_run/kernels.py": {"_Intrinsic", "_cache", "_defn", "_rebuild", "_reduce"},
    "compute/_validation.py": {"_fields"},  # of a named tuple, and documented
    "ui/server/ending.py": {"_exit"},  # of os, and documented
    "ui/widgets/scripted.py": {"_send_msg"},
    "ui/leaving.py": {
        "_callbacks",
        "_event_callbacks",
        "_models",
        "_property_values",
        "_unstable_default_values",
    },
    "ui/page.html": {
        "_after_layout",
        "_inner_bbox",
        "_layout_computed",
        "_measure_layout",
        "_needs_paint",
        "_pull_doc_json",
        "_receiver",
        "_update",
        "_update_layout",
    },
    "ui/pages/cns/settings.py": {"_debounce"},
    "ui/components/deferred.py": {"_get_model", "_models"},
    "ui/patches.py": {
        "_WRITE_BLOCK",
        "_WRITE_EVENTS",
        "_WRITE_MSGS",
        "_dispatch_msgs",
        "_dispatch_write_task",
    },
    "ui/server/hardening.py": {"_tornado"},
    "ui/server/hosts.py": {"_tornado"},
    "ui/server/one_thread.py": {"_executor"},
    "ui/server/uploads.py": {"_send_msg"},
    "ui/state/drafts.py": {"_parameter_constraints"},
}
# Private names of the package that other files of it use.
WITHIN = {"_cost_blocks", "_distinct", "_is_spread", "_make_matrix"}
# Replaced attributes of other packages, by file; the last three are settings.
ASSIGNED = {
    "ui/leaving.py": {"Model.destroy"},
    "ui/patches.py": {"document._dispatch_msgs"},
    "compute/_run/process_settings.py": {"warnings.showwarning"},
    "ui/server/hosts.py": {"config.auth_template", "config.authorize_callback"},
}
# By file, how often a script writes to a prototype or a class of a library.
WRITTEN = {"ui/page.html": 17}
BOUNDED = ("numba", "llvmlite")

_ASKS = {"attrgetter", "delattr", "getattr", "hasattr", "setattr"}
_SELF = ("self", "cls")


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


@cache
def sources() -> dict[str, str]:
    return {
        path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(PACKAGE.rglob("*"))
        if path.suffix in (".py", ".html", ".js") and "manual" not in path.parts
    }


def defined(tree: ast.AST) -> set[str]:
    """Names that a module defines, attributes of `self` among them."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found.add(node.name)
            case ast.Name(ctx=ast.Store()):
                found.add(node.id)
            case ast.Attribute(value=ast.Name(id=owner), ctx=ast.Store()):
                found |= {node.attr} if owner in _SELF else set()
    return found


@cache
def defined_anywhere() -> set[str]:
    trees = (ast.parse(text) for name, text in sources().items() if name[-3:] == ".py")
    return set().union(*map(defined, trees))


def private_names(text: str) -> set[str]:
    """Private names of other packages in a module."""
    tree, used = ast.parse(text), set()
    own = defined(tree) | WITHIN
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner in _SELF:
                used |= {name} - own - defined_anywhere()
            case ast.Attribute(attr=name):
                used |= {name} - own
            case ast.Import():
                used |= {part for a in node.names for part in a.name.split(".")}
            case ast.ImportFrom(module=str(module)):
                if not module.startswith("clusterlens"):
                    used |= {a.name for a in node.names} | set(module.split("."))
            case ast.Call(func=called, args=args):
                if ast.unparse(called).rpartition(".")[2] in _ASKS:
                    used |= set(strings(args))
    return set(filter(is_private, used))


def strings(args: list[ast.expr]) -> Iterator[str]:
    for given in args:
        if isinstance(given, ast.Constant) and isinstance(given.value, str):
            yield from given.value.split(".")


def assigned(text: str) -> set[str]:
    """Attributes of imported modules, classes and functions that a module sets."""
    tree, imported, found = ast.parse(text), set(), set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            module = getattr(node, "module", None) or ""
            if not module.startswith("clusterlens"):
                names = (a.asname or a.name.split(".")[0] for a in node.names)
                imported |= set(names)
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(ctx=ast.Store() | ast.Del()):
                owner, name = node.value, ast.unparse(node)
            case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[owner, *_]):
                name = ast.unparse(node)
            case _:
                continue
        while isinstance(owner, (ast.Attribute, ast.Subscript)):
            owner = owner.value
        if isinstance(owner, ast.Name) and owner.id in imported:
            found.add(name)
    return found


def writes(script: str) -> list[str]:
    """Assignments of a script to prototypes and classes of libraries."""
    made = r"[^;\n]*(?:\.prototype|getPrototypeOf\([^;\n]*\)|Bokeh\.require\([^;\n]*);"
    held = re.findall(rf"(\w+) = {made}", script)
    names = "|".join(map(re.escape, held)) or "(?!)"
    places = rf"(?:\b(?:{names})|\.prototype|Bokeh\.require\([^)]*\)[.\w]*)"
    return re.findall(
        rf"{places}(?:\.\w+|\[\w+\])+ = |Object\.(?:defineProperty|assign)\(", script
    )


def test_every_private_name_of_another_package_is_listed():
    found = {
        name: private_names(text)
        if name.endswith(".py")
        else set(re.findall(r"""[.{,"]\s*(_\w+)""", text))
        for name, text in sources().items()
    }
    assert {name: used for name, used in found.items() if used} == NAMES


def test_every_attribute_of_a_library_that_is_assigned_is_listed():
    found = {k: assigned(text) for k, text in sources().items() if k.endswith(".py")}
    assert {name: places for name, places in found.items() if places} == ASSIGNED


def test_every_write_to_a_prototype_is_counted():
    found = {name: len(writes(text)) for name, text in sources().items()}
    assert {name: count for name, count in found.items() if count} == WRITTEN


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("from sklearn.utils._tags import get_tags", {"_tags"}),
        ("import numba.core._helper", {"_helper"}),
        ("getattr(model, '_callbacks')", {"_callbacks"}),
        ("operator.attrgetter('a._b')(x)", {"_b"}),
        ("class A:\n def f(self): self._one = other._two", {"_two"}),
        ("class A:\n def f(self): return self._surely_nowhere", {"_surely_nowhere"}),
    ],
)
def test_private_names_are_seen(text, names):
    assert private_names(text) == names


@pytest.mark.parametrize(
    "text",
    [
        "from bokeh.model import Model\nModel.destroy = None",
        "import bokeh.model\nbokeh.model.Model.destroy = None",
        "from panel.io import document\nsetattr(document, name, None)",
        "from numba import njit\ndel njit.x",
        "import a\ndef f():\n  a.b[0].c, d = 1, 2",
    ],
)
def test_patches_are_seen(text):
    assert len(assigned(text)) == 1


@pytest.mark.parametrize(
    "script",
    [
        "A.prototype.render = function () {};",
        'const view = Bokeh.Models.get("Plot").prototype.default_view.prototype;\n'
        "view.render = null;",
        'Bokeh.require("core/ui").UIGestures.press_threshold = 3;',
        "const part = Object.getPrototypeOf(figure);\npart[step] = null;",
        'Object.defineProperty(sheet, "css", {});',
    ],
)
def test_writes_to_prototypes_are_seen(script):
    assert len(writes(script)) == 1


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
