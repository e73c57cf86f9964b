"""Tests of accessibility: axe-core on every page in both themes, and the Tab order."""

import io

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import Page, expect

from clusterlens.ui.state.pages import PAGES
from tests.support.pages import IDLE
from tests.ui.conftest import opened, own_page
from tests.ui.test_main_job import COUNT_CLICKS, LONG, picture

GRAVE = ("serious", "critical")
ASKED = {"resultTypes": ["violations"], "preload": False, "iframes": False}
LOOKS = 6
COLOURS = {"runOnly": ["color-contrast"]}
# More than the number of focusable places on any page.
STEPS = 400
# Side of a block in pixels, and least channel value of white.
BLOCK, WHITE = 24, 225
# The focused element: its name, its box, its card, and whether it has a ring. If
# another card had the focus before, also the present box of that card.
FOCUSED = """() => {
  let part = document.activeElement;
  while (part?.shadowRoot?.activeElement) part = part.shadowRoot.activeElement;
  if (!part || part === document.body || part.closest("header")) return null;
  const box = (one) => one.getBoundingClientRect().toJSON();
  const ringed = (one) => one && getComputedStyle(one).outlineStyle !== "none";
  let above = part, card = null;
  for (; above && !card; above = above.parentNode ?? above.host)
    if (above.classList?.contains("cl-card")) card = above;
  const other = card && window.cardBefore !== card ? window.cardBefore : null;
  window.cardBefore = card ?? window.cardBefore;
  const named = part.getAttribute("aria-labelledby") ?? "";
  const labels = named.split(" ").map((id) => part.getRootNode().getElementById(id));
  const words = [part.ariaLabel, part.title, part.placeholder, part.textContent,
    part.getAttribute("tabulator-field"),  // a cell whose field is about to open
    ...[...(part.labels ?? []), ...labels].map((label) => label?.textContent)];
  return {
    name: words.find((word) => word?.trim()) ?? "",
    at: box(part), card: card && box(card), css: card?.className,
    before: other?.isConnected && { at: box(other), css: other.className },
    ring: ringed(part) || ringed(part.closest(".Mui-focusVisible"))
      || ringed(part.closest(".MuiOutlinedInput-root")),
    markup: part.outerHTML.slice(0, 150),
  };
}"""


def grave_findings(
    app: Page, where: str, options: dict[str, list[str]], also: tuple[str, ...] = ()
) -> list[str]:
    """Return serious and critical findings of axe-core, a line for each element.

    Findings of the rules in `also` are returned too, whatever their impact.
    Colours fade into another theme, so findings are checked again.
    """
    for _ in range(LOOKS):
        violations = Axe().run(app, options={**ASKED, **options}).response["violations"]
        found = [
            f"{where}: {rule['id']}: {node['html'][:200]}"
            for rule in violations
            if rule["impact"] in GRAVE or rule["id"] in also
            for node in rule["nodes"]
        ]
        if not found:
            break
    return found


def white_blocks(app: Page, where: str) -> list[str]:
    """Return the places of nearly white blocks on a dark page."""
    picture = np.asarray(Image.open(io.BytesIO(app.screenshot())).convert("RGB"))
    height, width = (side // BLOCK * BLOCK for side in picture.shape[:2])
    darkest = picture[:height, :width].min(axis=2)
    blocks = darkest.reshape(height // BLOCK, BLOCK, width // BLOCK, BLOCK)
    found = np.argwhere(blocks.min(axis=(1, 3)) >= WHITE)
    return [f"{where}: white at {BLOCK * x}, {BLOCK * y}" for y, x in found]


def open_iris(app: Page) -> None:
    """Open the iris with a run, in two clicks."""
    app.evaluate(COUNT_CLICKS)
    app.locator(".cl-gallery .card", has_text="Iris").locator(".cl-open-run").click()
    # The first pool of a server waits until all kernels are compiled.
    app.locator(".cl-ranking-table .ranked").first.wait_for(timeout=4 * LONG)
    picture(app, ".cl-consensus-matrix")
    assert app.evaluate("clicks") <= 2
    expect(app.locator(".cl-job")).to_be_hidden()


def turn_to(app: Page, key: str) -> None:
    """Show a page, and wait until no work on it is running."""
    app.locator(f".cl-nav-{key} button").click()
    page = app.locator(f".cl-page-{key}").first
    expect(page).to_be_visible()
    expect(page.locator(".skeleton")).to_have_count(0)
    app.wait_for_function(IDLE, timeout=LONG)


def after(one: dict[str, float], other: dict[str, float]) -> bool:
    """Return whether a card is read after another one: below it, or right of it."""
    return one["top"] >= other["bottom"] - 1 or one["left"] >= other["right"] - 1


def wrong_places(app: Page, where: str) -> list[str]:
    """Walk from the navigation through a page with Tab; return errors of the order."""
    wrong = []
    app.evaluate("window.cardBefore = null")
    app.locator(".cl-nav-lessons button").focus()
    size = app.viewport_size
    for _ in range(STEPS):
        app.keyboard.press("Tab")
        part = app.evaluate(FOCUSED)
        if part is None:
            break
        at, card, before = part["at"], part["card"], part["before"]
        seen = at["width"] and at["height"] and 0 <= at["x"] <= size["width"]
        seen = seen and 0 <= at["y"] <= size["height"]
        facts = {"no name": part["name"], "unseen": seen, "no ring": part["ring"]}
        wrong += [
            f"{where}: {fact}: {part['markup']}" for fact in facts if not facts[fact]
        ]
        if before and not after(card, before["at"]):
            wrong.append(f"{where}: {part['css']} comes after {before['css']}")
    else:
        wrong.append(f"{where}: Tab does not leave the page, last: {part['markup']}")
    return wrong


@pytest.fixture(scope="module")
def walk(context, server):
    """One walk through all pages: errors of Tab order, dark theme, and axe-core."""
    wrong, found, white = [], [], []
    with own_page(context) as page:
        page.set_default_timeout(LONG)
        with opened(page, server) as app:
            wrong += wrong_places(app, "start")
            for theme, options in (("first", COLOURS), ("other", {})):
                found += grave_findings(app, f"start, {theme} theme", options)
                app.get_by_role("button", name="Toggle theme").click()
            open_iris(app)
            for theme, options in (("first", {}), ("other", COLOURS)):
                for key, *_ in PAGES:
                    turn_to(app, key)
                    found += grave_findings(app, f"{key}, {theme} theme", options)
                    if theme == "first":
                        wrong += wrong_places(app, key)
                    elif key != "report":  # the report is a page of white paper
                        white += white_blocks(app, key)
                app.get_by_role("button", name="Toggle theme").click()
    return wrong, found, white


def test_tab_leads_through_every_page_in_the_order_of_reading(walk):
    wrong, _, _ = walk
    assert not wrong, "\n".join(wrong)


def test_no_page_has_a_serious_finding_in_either_theme(walk):
    _, found, _ = walk
    assert not found, "\n".join(found)


def test_no_page_in_dark_has_a_white_block(walk):
    _, _, white = walk
    assert not white, "\n".join(white)
