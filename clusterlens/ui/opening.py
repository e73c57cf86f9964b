"""Markup of a page without a session: the same for all pages except for a token.

The session, with everything that it shows, is made once the browser has drawn an empty
frame. So a request alone causes no lasting cost.
"""

from __future__ import annotations

from typing import Any

from bokeh.document import Document
from bokeh.embed.elements import html_page_for_render_items
from bokeh.embed.util import RenderItem
from panel.io.resources import LOCAL_DIST, Resources, bundle_resources
from panel.io.state import set_curdoc

from clusterlens.ui.shell import TEMPLATE, TITLE
from clusterlens.ui.widgets.toolkit import pmu, pn

EXTENSIONS = ("tabulator",)


def empty_page(resources: Any, token: str) -> str:
    """Return the markup of a page that connects and then shows its session.

    Parameters
    ----------
    resources : bokeh.resources.Resources
        Scripts and style sheets of the server.
    token : str
        Token of the session.
    """
    document = Document()
    with set_curdoc(document):
        pn.extension(*EXTENSIONS)
        pmu.Page(title=TITLE, template=TEMPLATE).server_doc(document, location=False)
        return html_page_for_render_items(
            bundle_resources([], Resources.from_bokeh(resources)),
            {},
            [RenderItem(token=token, elementid="page", use_for_title=False)],
            document.title,
            template=document.template,
            template_variables={
                **document.template_variables,
                "dist_url": LOCAL_DIST,
                "theme_name": pn.config.theme,
            },
        )
