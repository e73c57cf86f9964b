"""The compute half stands alone and its files import in one direction."""

import ast
import subprocess
import sys
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
# Each module may import only from modules above it.
ORDER = [
    "_progress",
    "_validation",
    "_columns",
    "_roles",
    "_encoding",
    "projection",
    "dataset",
    "export",
    "_delimited",
    "_formats",
    "reading",
    "examples",
    "contingency",
    "ensemble",
    "profiles",
    "constraints",
    "constraint_files",
    "pairs",
    "_workers",
    "distributed",
    "contributions",
    "agreement",
    "overlaps",
    "density",
    "one_hot",
    "spanning_tree",
    "co_association",
    "graph_partition",
    "evidence",
    "tile_source",
    "tiles",
    "scatter_indices",
    "distance_indices",
    "dbcv",
    "external_indices",
    "index_registry",
    "indices",
    "scores",
    "ranking",
    "progressive",
    "robustness",
    "hubs",
    "suggestions",
    "consensus_functions",
    "consensus_reading",
    "pair_distances",
    "fuzzy_partition",
    "fuzzy",
    "dirichlet",
    "expected_difference",
    "random_models",
    "adjusted_agreement",
    "adjusted_measures",
    "label_match",
    "neighbors",
    "cns_seeds",
    "cns_solvers",
    "cns_nodes",
    "cns",
    "cns_graph",
    "comparators",
    "clusterer",
    "clusterers",
    "_scale",
    "specs",
    "_fitting",
    "pool",
    "resampling",
    "nulls",
    "kernels",
]


def module_name(path: Path) -> str:
    relative = path.relative_to(PACKAGE.parent).with_suffix("")
    return ".".join(relative.parts).removesuffix(".__init__")


def imported_modules(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path.name}: relative import"
            found |= {node.module}
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def rank(module: str) -> int | None:
    parts = module.split(".")
    if parts[:2] != ["clusterlens", "compute"] or len(parts) < 3:
        return None
    return ORDER.index(parts[2])


COMPUTE_FILES = sorted((PACKAGE / "compute").rglob("*.py"))


@pytest.mark.parametrize("path", COMPUTE_FILES, ids=module_name)
def test_compute_file_names_no_ui_library(path):
    roots = {name.split(".")[0] for name in imported_modules(path)}
    assert not roots & UI_LIBRARIES
    assert not any(n.startswith("clusterlens.ui") for n in imported_modules(path))


@pytest.mark.parametrize("path", COMPUTE_FILES, ids=module_name)
def test_compute_file_imports_only_files_above_it(path):
    own = rank(module_name(path))
    if own is None:
        return
    for name in imported_modules(path):
        other = rank(name)
        assert other is None or other <= own, f"{path.name} imports {name}"
        if other == own:
            assert ORDER[own] == "comparators"


def test_fresh_interpreter_imports_compute_without_ui():
    modules = [module_name(path) for path in COMPUTE_FILES]
    code = (
        "import importlib, sys\n"
        f"for name in {['clusterlens', *modules]!r}: importlib.import_module(name)\n"
        f"print(sorted({UI_LIBRARIES!r} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
