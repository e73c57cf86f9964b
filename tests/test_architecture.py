"""The two halves, their packages, and the order of imports between packages."""

import ast
import re
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "clusterlens"
UI_LIBRARIES = {
    "panel",
    "panel_material_ui",
    "holoviews",
    "bokeh",
    "datashader",
    "param",
}
# In order: a package imports only from itself and from packages before it.
PACKAGES = [
    "formatting",
    "notes",
    "_drafts",
    "_validation",
    "_plain",
    "_run",
    "table",
    "ensemble",
    "ranking",
    "consensus",
    "indices",
    "fuzzy",
    "estimators",
    "pool",
    "assigning",
    "scale",
    "warm",
]


def module_name(path: Path) -> str:
    relative = path.relative_to(PACKAGE.parent).with_suffix("")
    return ".".join(relative.parts).removesuffix(".__init__")


@cache
def imported_modules(path: Path) -> set[str]:
    """Modules that a file imports anywhere; `from a import b` gives a and a.b."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path.name}: relative import"
            found |= {node.module}
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def compute_parts(module: str) -> list[str]:
    """Room and file of a compute module, empty for others."""
    parts = module.split(".")
    return parts[2:] if parts[:2] == ["clusterlens", "compute"] else []


COMPUTE_FILES = sorted((PACKAGE / "compute").rglob("*.py"))
COMPUTE_MODULES = {module_name(path) for path in COMPUTE_FILES}


def test_compute_file_names_no_ui_library():
    for path in COMPUTE_FILES:
        roots = {name.split(".")[0] for name in imported_modules(path)}
        assert not roots & UI_LIBRARIES, path
        assert not any(
            n.startswith("clusterlens.ui") for n in imported_modules(path)
        ), path


def test_compute_file_imports_only_packages_before_its_own():
    for path in COMPUTE_FILES:
        own = compute_parts(module_name(path))
        for name in imported_modules(path) & COMPUTE_MODULES:
            other = compute_parts(name)
            if own and other:
                assert PACKAGES.index(other[0]) <= PACKAGES.index(own[0]), (path, name)


def test_compute_file_uses_private_files_of_its_own_package_only():
    for path in COMPUTE_FILES:
        own = compute_parts(module_name(path))
        for name in imported_modules(path) & COMPUTE_MODULES:
            other = compute_parts(name)
            if own and any(part.startswith("_") for part in other[1:]):
                assert other[0] == own[0], (path, name)


def test_kernels_are_made_in_one_place():
    for path in COMPUTE_FILES:
        from_numba = {
            name for name in imported_modules(path) if name.startswith("numba")
        }
        own = ("kernels.py", "registers.py")
        assert not from_numba or path.name in own, (
            f"{path}: use `kernel` of `_run.kernels`"
        )


def test_no_test_imports_a_benchmark():
    for path in Path(__file__).parent.rglob("*.py"):
        roots = {name.split(".")[0] for name in imported_modules(path)}
        assert "benchmarks" not in roots, path


def test_imports_between_compute_files_have_no_circle():
    graph = {
        module_name(path): (imported_modules(path) & COMPUTE_MODULES)
        - {module_name(path)}
        for path in COMPUTE_FILES
        if path.name != "__init__.py"
    }
    TopologicalSorter(graph).prepare()


def test_fresh_interpreter_imports_compute_without_ui():
    code = (
        "import importlib, sys\n"
        f"for name in {['clusterlens', *sorted(COMPUTE_MODULES)]!r}: "
        "importlib.import_module(name)\n"
        f"print(sorted({UI_LIBRARIES!r} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


# The packages of the app, in order; a file imports only from packages before its own,
# from its own package (pages: see below) and from compute.
UI_PACKAGES = [
    "widgets",
    "state",
    "plots",
    "jobs",
    "actions",
    "server",
    "figures",
    "results",
    "exports",
    "session",
    "components",
    "lessons",
    "pages",
    "top",
]
TOP = {
    "composition",
    "explore",
    "leaving",
    "opening",
    "patches",
    "shell",
    "serving",
    "cli",
}
UI_FILES = sorted((PACKAGE / "ui").rglob("*.py"))
UI_MODULES = {module_name(path) for path in UI_FILES}
PAGE_FILES = [path for path in UI_FILES if path.parts[-3:-1][0] == "pages"]
# Cards that others are made of, and the page on which others are shown.
COMPOSED = {"inspector", "links_tab", "page"}
GUESTS = {"lessons"}
CARD = {f"clusterlens.ui.components.{name}" for name in ("card", "tab")}


def ui_parts(module: str) -> list[str]:
    parts = module.split(".")
    return parts[2:] if parts[:2] == ["clusterlens", "ui"] else []


def ui_package(module: str) -> str | None:
    """Return the package of a module of the app, None for other modules."""
    parts = ui_parts(module)
    if not parts:
        return None
    return "top" if parts[0] in TOP else parts[0]


def test_ui_file_imports_only_packages_before_its_own():
    for path in UI_FILES:
        own = ui_package(module_name(path))
        for name in imported_modules(path) & UI_MODULES:
            other = ui_package(name)
            if own and other:
                assert UI_PACKAGES.index(other) <= UI_PACKAGES.index(own), (path, name)


def test_a_page_imports_of_other_pages_only_what_they_derive():
    for path in PAGE_FILES:
        own = ui_parts(module_name(path))
        for name in imported_modules(path) & UI_MODULES:
            other = ui_parts(name)
            if other[:1] == ["pages"] and len(other) > 2 and own[1] not in GUESTS:
                assert other[1] == own[1] or other[2].endswith("nodes"), (path, name)


def test_cards_do_not_import_each_other():
    for path in PAGE_FILES:
        if path.stem in COMPOSED:
            continue
        for name in imported_modules(path) & UI_MODULES:
            other = ui_parts(name)
            if other[:1] == ["pages"] and len(other) > 2:
                file = PACKAGE.joinpath("ui", *other).with_suffix(".py")
                assert not imported_modules(file) & CARD, (path, name)


def test_the_widget_set_is_imported_in_one_place():
    for path in UI_FILES:
        roots = {name.split(".")[0] for name in imported_modules(path)}
        assert "panel_material_ui" not in roots or path.name == "toolkit.py", path


# The server owns shared objects. Modules may own: tasks, which a loop holds weakly;
# facts about the classes of Bokeh; rules declared on import; the lock of Matplotlib's
# settings, which belong to the process.
OF_MODULES = {"_UNDER_WAY", "_MADE", "_RULES", "_DRAWING"}
EMPTY = {"{}", "[]", "set()", "dict()", "list()"}
SHARED = re.compile(r"(Executor|Lock|Workers|Results|Store|Server|Weak\w+|Counter)$")


def changing_names(path: Path) -> set[str]:
    """Names of a module that begin empty, hold shared objects, or are reassigned."""
    tree, found = ast.parse(path.read_text(encoding="utf-8")), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            found |= set(node.names)
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        made, names = node.value, getattr(node, "targets", None) or [node.target]
        called = ast.unparse(made.func) if isinstance(made, ast.Call) else ""
        if SHARED.search(called) or ast.unparse(made) in EMPTY:
            found |= {ast.unparse(name) for name in names}
    return found


def test_what_sessions_share_is_of_the_server_and_of_no_module():
    for path in UI_FILES:
        assert changing_names(path) <= OF_MODULES, path
