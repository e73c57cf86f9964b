"""ClusterLens in the browser: `panel serve app.py`."""

from clusterlens.ui.cli import open_page

open_page()
