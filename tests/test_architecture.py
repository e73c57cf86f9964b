"""The two halves, their rooms, and the direction in which rooms import each other."""

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "clusterlens"
UI_LIBRARIES = {
    "panel",
    "panel_material_ui",
    "holoviews",
    "bokeh",
    "datashader",
    "param",
}
# From the ground up: a room imports only from itself and from rooms before it.
ROOMS = [
    "_numbers",
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
    "warm",
]


def module_name(path: Path) -> str:
    relative = path.relative_to(PACKAGE.parent).with_suffix("")
    return ".".join(relative.parts).removesuffix(".__init__")


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


@pytest.mark.parametrize("path", COMPUTE_FILES, ids=module_name)
def test_compute_file_names_no_ui_library(path):
    roots = {name.split(".")[0] for name in imported_modules(path)}
    assert not roots & UI_LIBRARIES
    assert not any(n.startswith("clusterlens.ui") for n in imported_modules(path))


@pytest.mark.parametrize("path", COMPUTE_FILES, ids=module_name)
def test_compute_file_imports_only_rooms_before_its_own(path):
    own = compute_parts(module_name(path))
    for name in imported_modules(path) & COMPUTE_MODULES:
        other = compute_parts(name)
        if own and other:
            assert ROOMS.index(other[0]) <= ROOMS.index(own[0]), name


@pytest.mark.parametrize("path", COMPUTE_FILES, ids=module_name)
def test_compute_file_uses_private_files_of_its_own_room_only(path):
    own = compute_parts(module_name(path))
    for name in imported_modules(path) & COMPUTE_MODULES:
        other = compute_parts(name)
        if own and any(part.startswith("_") for part in other[1:]):
            assert other[0] == own[0], name


@pytest.mark.parametrize("path", COMPUTE_FILES, ids=module_name)
def test_kernels_are_made_in_one_place(path):
    from_numba = {name for name in imported_modules(path) if name.startswith("numba")}
    own = ("kernels.py", "registers.py")
    assert not from_numba or path.name in own, "use `kernel` of `_run.kernels`"


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


# The roads of the app, from the ground up; a file imports only from places before its
# own, from its own place (panels: see below) and from compute.
PLACES = [
    "manual",
    "hosts",
    "plain",
    "sending",
    "collector",
    "turns",
    "palette",
    "words",
    "shapes",
    "thumbnails",
    "explanations",
    "style",
    "components",
    "kit",
    "drafts",
    "settings",
    "form",
    "literals",
    "look",
    "address",
    "analysis",
    "forming",
    "links",
    "history",
    "figures",
    "plots",
    "jobs",
    "uploads",
    "arrays",
    "results",
    "warm",
    "partitions",
    "verdict",
    "partition_verdict",
    "actions",
    "memory",
    "kept",
    "derived",
    "nodes",
    "exports",
    "session",
    "findings",
    "moves",
    "copies",
    "lessons",
    "classroom",
    "panels",
    "pages",
    "explore",
    "leaving",
    "shell",
    "cli",
]
UI_FILES = sorted((PACKAGE / "ui").rglob("*.py"))
UI_MODULES = {module_name(path) for path in UI_FILES}
# Panels that others are made of.
SHARED_PANELS = {"live", "panel", "saving", "tab"}
COMPOSED = {"inspector", "links_tab"}


def ui_parts(module: str) -> list[str]:
    parts = module.split(".")
    return parts[2:] if parts[:2] == ["clusterlens", "ui"] else []


@pytest.mark.parametrize("path", UI_FILES, ids=module_name)
def test_ui_file_imports_only_places_before_its_own(path):
    own = ui_parts(module_name(path))
    for name in imported_modules(path) & UI_MODULES:
        other = ui_parts(name)
        if own and other:
            assert PLACES.index(other[0]) <= PLACES.index(own[0]), name


@pytest.mark.parametrize(
    "path", sorted((PACKAGE / "ui" / "panels").glob("*.py")), ids=module_name
)
def test_panels_do_not_import_each_other(path):
    if path.stem in COMPOSED:
        return
    for name in imported_modules(path) & UI_MODULES:
        parts = ui_parts(name)
        if parts[:1] == ["panels"] and len(parts) > 1:
            assert parts[1] in SHARED_PANELS, name


@pytest.mark.parametrize("path", UI_FILES, ids=module_name)
def test_the_widget_set_is_imported_in_one_place(path):
    roots = {name.split(".")[0] for name in imported_modules(path)}
    assert "panel_material_ui" not in roots or path.name == "kit.py"
