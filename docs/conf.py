"""Settings of the manual: `sphinx-build -d build/doctrees docs clusterlens/manual`."""

import sys
from pathlib import Path

from sphinx.application import Sphinx

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import clusterlens  # noqa: E402

project = "ClusterLens"
version = release = clusterlens.__version__
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "mathml",
    "reference",
    "tables",
]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["generated"]  # parts of other pages

autosummary_generate = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False
default_role = "literal"

html_theme = "pydata_sphinx_theme"
html_title = "ClusterLens manual"
html_copy_source = html_show_sourcelink = False
html_show_sphinx = False
html_static_path = ["static"]
html_css_files = ["manual.css"]
html_sidebars = {
    "**": ["sidebar-nav-bs"],
    **{name: [] for name in ("index", "start", "reading", "glossary", "search")},
}
html_theme_options = {
    "logo": {"text": "ClusterLens"},
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "footer_start": [],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "header_links_before_dropdown": 7,
    "show_nav_level": 2,
    "show_prev_next": True,
}


def setup(app: Sphinx) -> None:
    """Leave out the maps of the theme's sources, a third of all bytes."""
    app.connect("build-finished", _drop_maps)


def _drop_maps(app: Sphinx, error: Exception | None) -> None:
    for path in Path(app.outdir).glob("_static/**/*.map"):
        path.unlink()
