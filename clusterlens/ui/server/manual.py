"""Where the manual is: built into the package, served beside the page, read offline.

`sphinx-build -d build/doctrees docs clusterlens/manual` builds it, with what the extra
`docs` brings; a wheel made after that holds it.
"""

from __future__ import annotations

import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "manual"
SLUG = "manual"
# What stands where the link would be.
MISSING = (
    "The manual is not part of this installation. In the folder of the project, "
    'pip install -e ".[docs]" and '
    "sphinx-build -d build/doctrees docs clusterlens/manual make it."
)


def served_folders() -> dict[str, str]:
    """Return what a server of the page has to serve beside it.

    Returns
    -------
    folders : dict
        Name in addresses -> folder; empty where the manual has not been built.
    """
    return {SLUG: str(FOLDER)} if (FOLDER / "index.html").is_file() else {}


def is_served_by_panel() -> bool:
    """Whether this is `panel serve --static-dirs manual=clusterlens/manual`."""
    named = any(word.startswith(f"{SLUG}=") for word in sys.argv)
    return named and bool(served_folders())


def manual_address(page: str = "index") -> str:
    """Return the address of a page of the manual, relative to that of the app.

    Parameters
    ----------
    page : str, default "index"
        Path in `docs` without its ending, and a heading after #: "pages/consensus",
        "glossary#partition".

    Returns
    -------
    address : str
        Leads somewhere where the server has a manual (`Server.has_manual`).
    """
    name, _, place = page.partition("#")
    return f"{SLUG}/{name}.html" + (f"#{place}" if place else "")
