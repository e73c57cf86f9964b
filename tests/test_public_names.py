"""The public names are there, documented, and come without a user interface."""

import subprocess
import sys

import pytest

import clusterlens


@pytest.mark.parametrize("name", clusterlens.__all__)
def test_public_name_exists_and_is_documented(name):
    assert getattr(clusterlens, name).__doc__


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
