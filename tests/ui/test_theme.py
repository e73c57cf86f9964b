"""Dark or light: as the system wishes, or as it was chosen."""

from playwright.sync_api import Page

from tests.ui.conftest import IDLE
from tests.ui.test_main_job import LONG

DARKNESS = """dark => {
  const [, r, g, b] = getComputedStyle(document.body).backgroundColor
    .match(/(\\d+), (\\d+), (\\d+)/).map(Number);
  return dark === (r + g + b < 380);
}"""


def wait_until(app: Page, *, dark: bool) -> None:
    app.wait_for_function(DARKNESS, arg=dark, timeout=LONG)


def reload(app: Page) -> None:
    app.reload()
    app.wait_for_function(f"window.Bokeh && {IDLE}", timeout=LONG)


def test_the_page_follows_the_system_until_something_is_chosen(app):
    wait_until(app, dark=False)
    app.emulate_media(color_scheme="dark")
    wait_until(app, dark=True)
    reload(app)
    wait_until(app, dark=True)
    app.get_by_role("button", name="Toggle theme").click()
    wait_until(app, dark=False)
    reload(app)
    wait_until(app, dark=False)
    assert app.evaluate("localStorage.getItem('cl-theme')") == "light"


def test_what_is_laid_over_the_page_is_dark_with_it(app):
    app.emulate_media(color_scheme="dark")
    wait_until(app, dark=True)
    app.keyboard.press("?")
    keys = app.locator(".cl-keys .keys")
    keys.wait_for(timeout=LONG)
    colour = keys.evaluate("part => getComputedStyle(part).backgroundColor")
    assert max(int(part) for part in colour.strip("rgba()").split(",")[:3]) < 100
