"""Where the project, its published values and, where present, the data sets lie."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "tests" / "reference"
# Research data sets beside the project; tests that use them say so where they are not.
DATA = ROOT.parent / "shared" / "data"
