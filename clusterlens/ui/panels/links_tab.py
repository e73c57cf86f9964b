"""The links between samples: must-links and cannot-links by row id."""

from __future__ import annotations

from clusterlens.ui.kit import safe
from clusterlens.ui.panels.tab import Tab


class LinksTab(Tab):
    """The list of links."""

    needs = ("links",)
    css = "cl-links"

    def show(self, links: tuple) -> None:
        """List the links."""
        rows = "".join(
            f"<tr><td>{link.kind}</td><td>{safe(link.a)} – {safe(link.b)}</td></tr>"
            for link in links
        )
        self.text.body = f"<table>{rows}</table>"
