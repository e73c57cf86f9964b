"""ClusterLens in the browser: `panel serve app.py`."""

from clusterlens.ui.page import serve_page

serve_page()
