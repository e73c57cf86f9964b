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
_served = False


def served_folders() -> dict[str, str]:
    """Return what a server of the page has to serve beside it, and note that it does.

    Returns
    -------
    folders : dict
        Name in addresses -> folder; empty where the manual has not been built.
    """
    global _served
    _served = (FOLDER / "index.html").is_file()
    return {SLUG: str(FOLDER)} if _served else {}


def manual_address(page: str = "index") -> str | None:
    """Return the address of a page of the manual, relative to that of the app.

    Parameters
    ----------
    page : str, default "index"
        Path in `docs` without its ending, and a heading after #: "pages/consensus",
        "glossary#partition".

    Returns
    -------
    address : str or None
        None where the manual has not been built or this server does not serve it:
        `panel serve` does with `--static-dirs manual=clusterlens/manual`.
    """
    by_panel = any(word.startswith(f"{SLUG}=") for word in sys.argv)
    if not _served and not (by_panel and (FOLDER / "index.html").is_file()):
        return None
    name, _, place = page.partition("#")
    return f"{SLUG}/{name}.html" + (f"#{place}" if place else "")
