"""Place of the manual: built into the package, served beside the page.

`sphinx-build -d build/doctrees docs clusterlens/manual` builds it, with the extra
`docs`; a wheel made afterwards contains it, so it can be read offline.
"""

from __future__ import annotations

import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "manual"
SLUG = "manual"
# Shown instead of the link.
MISSING = (
    "The manual is not part of this installation. In the folder of the project, "
    'pip install -e ".[docs]" and '
    "sphinx-build -d build/doctrees docs clusterlens/manual make it."
)


def served_folders() -> dict[str, str]:
    """Return the folders that a server of the page must serve, too.

    Returns
    -------
    folders : dict
        Name in addresses -> folder; empty if the manual has not been built.
    """
    return {SLUG: str(FOLDER)} if (FOLDER / "index.html").is_file() else {}


def is_served_by_panel() -> bool:
    """Return whether this is `panel serve --static-dirs manual=clusterlens/manual`."""
    named = any(word.startswith(f"{SLUG}=") for word in sys.argv)
    return named and bool(served_folders())


def manual_address(page: str = "index") -> str:
    """Return the address of a page of the manual, relative to the app's address.

    Parameters
    ----------
    page : str, default "index"
        Path in `docs` without its ending, and a heading after #: "pages/consensus",
        "glossary#partition".

    Returns
    -------
    address : str
        Address, valid if the server has a manual (`Server.has_manual`).
    """
    name, _, place = page.partition("#")
    return f"{SLUG}/{name}.html" + (f"#{place}" if place else "")
