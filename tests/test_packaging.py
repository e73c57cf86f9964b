"""Installation: a wheel with all files, and all packages that it imports."""

import ast
import json
import re
import subprocess
import sys
import tomllib
import zipfile
from datetime import date
from importlib.metadata import packages_distributions, version
from pathlib import Path

import pytest

from tests.folders import ROOT

PACKAGE = ROOT / "clusterlens"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
    "project"
]
IMPORT_ALL = """
import importlib, sys
sys.path.insert(0, sys.argv[1])
for name in sys.argv[2:]:
    assert importlib.import_module(name).__file__.startswith(sys.argv[1]), name
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built from the sources without a network, and unpacked."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder / "unpacked")
    return folder / "unpacked"


def files_below(folder: Path, root: Path) -> set[str]:
    return {
        path.relative_to(root).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_holds_every_file_of_the_package_and_no_other(wheel):
    assert files_below(wheel / "clusterlens", wheel) == files_below(PACKAGE, ROOT)
    assert not list(wheel.rglob("__pycache__"))
    assert (wheel / "clusterlens" / "py.typed").is_file()
    (details,) = [path for path in wheel.iterdir() if path.name != "clusterlens"]
    assert (details / "licenses" / "LICENSE").is_file()
    assert "clusterlens = clusterlens.ui.cli:main" in (
        details / "entry_points.txt"
    ).read_text(encoding="utf-8")


def test_every_module_of_the_wheel_imports_from_it_alone(wheel, tmp_path):
    names = [
        name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for name in sorted(files_below(wheel / "clusterlens", wheel))
        if name.endswith(".py")
    ]
    # Isolated: neither the folder of the test nor an installed package comes first.
    command = [sys.executable, "-I", "-c", IMPORT_ALL, str(wheel), *names]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(*extras: str) -> set[str]:
    """Names of the distributions that the project asks for."""
    lists = [PROJECT["dependencies"]]
    lists += [PROJECT["optional-dependencies"][extra] for extra in extras]
    return {normal(re.match(r"[\w.-]+", line)[0]) for lines in lists for line in lines}


def imported() -> set[str]:
    """Distributions of the packages that some file of the package imports."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add(node.module.split(".")[0])
            elif isinstance(node, ast.Call):
                match ast.unparse(node.func), node.args:
                    case "lazy_loader.load", [ast.Constant(value=str(name))]:
                        found.add(name.split(".")[0])
    owners = packages_distributions()
    others = found - sys.stdlib_module_names - {"clusterlens"}
    return {normal(name) for root in others for name in owners.get(root, [root])}


# What Panel needs; a floor here keeps vulnerable versions out.
INDIRECT = {"markdown"}


def test_imported_packages_and_declared_ones_are_the_same():
    assert (
        declared() - INDIRECT
        <= imported()
        <= declared("dask", "large", "metis", "excel")
    )


def audit(*arguments):
    command = [sys.executable, ROOT / ".ci" / "audit", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_no_installed_or_allowed_version_has_a_known_vulnerability():
    done = audit()
    assert done.returncode == 0, done.stdout
    known = json.loads((ROOT / ".ci" / "advisories.json").read_text(encoding="utf-8"))
    assert date.fromisoformat(known["date"])
    assert done.stdout.endswith(f"advisories of {known['date']} compared.\n")


def test_a_vulnerable_version_is_named(tmp_path):
    have, floor = version("tornado"), "6.6"
    known = {"tornado": {"A-1": have, "A-2": f"{have}.1", "A-3": floor}, "no-such": {}}
    file = tmp_path / "advisories.json"
    file.write_text(json.dumps({"date": "2026-01-01", "fixed": known}))
    done = audit(file)
    assert done.returncode == 1
    assert f"tornado {have} is installed; A-2 is fixed in {have}.1." in done.stdout
    assert "tornado 6.6 is allowed by pyproject.toml; A-2" in done.stdout
    assert "A-3" not in done.stdout
    assert "installed; A-1" not in done.stdout
