"""One page with a run that tests share instead of opening one each."""

import re
from pathlib import Path

from playwright.sync_api import BrowserContext, Page, expect

from tests.support.pages import FIND, PATIENCE, PAUSE, Served
from tests.ui.kept import keep, pool_run
from tests.ui.test_main_job import write_blobs

VIEWPORT = {"width": 1440, "height": 900}
ROWS = 200
FIGURES = (".cl-map", ".cl-consensus-matrix", ".cl-binarised-matrix")
STEP = "Run the pool"
# Whether figures show the whole, and pictures exactly that, and the units of both axes
# of the map are of one length; matrices have a strip beside them (below 0).
WHOLE = f"""(classes) => {{ {FIND}
  return classes.every((css) => {{
    const view = figureView(css);
    const isMap = css === '.cl-map';
    const data = imageOf(view, isMap ? 'ImageRGBA' : 'Image');
    if (!data) return false;
    const axes = [[view.model.x_range, data.x[0], data.dw[0]],
      [view.model.y_range, data.y[0], data.dh[0]]];
    const {{inner_width, inner_height}} = view.model;
    const [across, up] = [inner_width, inner_height].map((size, k) =>
      size / Math.abs(axes[k][0].end - axes[k][0].start));
    if (isMap && Math.abs(across / up - 1) > 0.01) return false;
    return axes.every(([axis, low, length]) => {{
      const ends = [axis.start, axis.end].sort((p, q) => p - q);
      const all = [axis.reset_start, axis.reset_end].sort((p, q) => p - q);
      const near = 1e-3 * (all[1] - all[0]);
      const filled = isMap ? ends : ends.map((end) => Math.max(end, 0));
      return [0, 1].every((k) => Math.abs(ends[k] - all[k]) < near
        && Math.abs(filled[k] - low - k * length) < near);
    }});
  }});
}}"""


class Runs:
    """Opener of a page with a run of blobs, which is restored for each test.

    Parameters
    ----------
    context : BrowserContext
        Browser context of the page.
    server : Served
        Server of the page.
    folder : Path
        Folder for the table.
    """

    def __init__(self, context: BrowserContext, server: Served, folder: Path) -> None:
        self._context, self._server = context, server
        self.path = write_blobs(folder, rows=ROWS)
        self._page: Page | None = None

    def take(self) -> Page:
        """Return the page in the initial state of the run.

        If restoring fails, the page is closed, so that the next test opens another one.
        """
        try:
            if self._page is None:
                self._page = self._open()
            else:
                back_to_run(self._page)
            self._page.wait_for_function(
                WHOLE, arg=list(FIGURES), timeout=PATIENCE, polling=PAUSE
            )
        except Exception:
            self.close()
            raise
        return self._page

    def _open(self) -> Page:
        """Open a page with a run; close it on failure."""
        page = self._context.new_page()
        try:
            steps = pool_run(rows=ROWS)
            query = keep(self._server.home, self.path, steps, page="consensus")
            page.goto(f"{self._server.address}/app?{query}", timeout=PATIENCE)
            expect(page.locator(".cl-headline")).to_contain_text(
                "if a majority must agree"
            )
        except Exception:
            page.close()
            raise
        return page

    def close(self) -> None:
        """Close the page; the next test opens another one."""
        if self._page is not None:
            self._page.close()
            self._page = None


def back_to_run(app: Page) -> None:
    """Undo everything down to the run, and the run; redo resets the view."""
    app.set_viewport_size(VIEWPORT)
    app.locator(".cl-nav-consensus button").click()
    undo, redo = (app.locator(f".cl-{name} button") for name in ("undo", "redo"))
    step = ""
    while step != STEP:
        step = undo.get_attribute("aria-label").removeprefix("Undo: ")
        place = undo.get_attribute("title").removeprefix("Undo")
        app.keyboard.press("Control+z")
        expect(redo).to_have_attribute("title", f"Redo{place}")
    expect(app.locator(".cl-ranking-table")).to_be_hidden()
    app.keyboard.press("Control+Shift+Z")
    expect(app.locator(".cl-headline")).to_contain_text("if a majority must agree")
    # The second click on a front tab closes the drawer of narrow pages.
    for tab in ("sample", "model", "model"):
        app.locator(f".cl-inspector .cl-tab-{tab}").click()
    expect(app.locator(".cl-inspector")).not_to_have_class(re.compile("drawer-open"))
