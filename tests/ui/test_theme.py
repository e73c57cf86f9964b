"""Dark or light in a real browser: as the system wishes, or as it was chosen."""

from playwright.sync_api import Page, expect

from tests.ui.conftest import IDLE
from tests.ui.test_main_job import LONG

DARKNESS = """dark => {
  const [, r, g, b] = getComputedStyle(document.body).backgroundColor
    .match(/(\\d+), (\\d+), (\\d+)/).map(Number);
  return dark === (r + g + b < 380);
}"""
# The markup of what is in sight, larger than a button, and lies light over the page.
LIGHT_BLOCKS = """() => {
  const walk = (root) => [...root.querySelectorAll('*')].flatMap((part) =>
    [part, ...(part.shadowRoot ? walk(part.shadowRoot) : [])]);
  const canvas = document.createElement('canvas').getContext('2d');
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data;
  };
  return walk(document.body).filter((part) => {
    const {width, height} = part.getBoundingClientRect();
    const [r, g, b, alpha] = rgba(getComputedStyle(part).backgroundColor);
    return part.checkVisibility({opacityProperty: true}) && width * height > 1500
      && alpha > 128 && r + g + b > 600;
  }).map((part) => part.outerHTML.slice(0, 120));
}"""
# The small texts and heads of tables in sight, and of how many colours these and what
# is around them are, but for how much shows through.
FADED = """() => {
  const walk = (root) => [...root.querySelectorAll('*')].flatMap((part) =>
    [part, ...(part.shadowRoot ? walk(part.shadowRoot) : [])]);
  const light = (part) => getComputedStyle(part).color.match(/[\\d.]+/g).slice(0, 3)
    .map(Number).reduce((a, b) => a + b) > 1;
  const faded = walk(document.body).filter((part) => part.checkVisibility()
    && part.matches('th, dt, .muted'));
  return faded.map((part) => [part.outerHTML.slice(0, 90), light(part),
    light(part.parentElement)]);
}"""


def wait_until(app: Page, *, dark: bool) -> None:
    app.wait_for_function(DARKNESS, arg=dark, timeout=LONG)


def reload(app: Page) -> None:
    app.reload()
    app.wait_for_function(f"window.Bokeh && {IDLE}", timeout=LONG)


def test_the_page_follows_the_system_until_something_is_chosen(app, tmp_path):
    app.set_default_timeout(LONG)
    wait_until(app, dark=False)
    app.emulate_media(color_scheme="dark")
    wait_until(app, dark=True)
    reload(app)
    wait_until(app, dark=True)
    empty = tmp_path / "empty.csv"
    empty.write_text("x\n")
    app.locator(".cl-file input[type=file]").set_input_files(empty)
    expect(app.locator(".notice")).to_be_visible()
    app.keyboard.press("?")
    expect(app.locator(".cl-keys")).to_be_visible()
    app.wait_for_function(f"() => ({LIGHT_BLOCKS})().length === 0", timeout=5_000)
    app.get_by_role("button", name="Toggle theme").click()
    wait_until(app, dark=False)
    reload(app)
    wait_until(app, dark=False)
    assert app.evaluate("localStorage.getItem('cl-theme')") == "light"


def test_heads_of_tables_and_small_texts_follow_another_theme(blobs):
    blobs.locator(".cl-nav-clusters").click()
    table = blobs.locator(".cl-page-clusters th").first
    table.wait_for(timeout=LONG)
    for _ in range(2):
        blobs.get_by_role("button", name="Toggle theme").click()
        blobs.wait_for_function(f"window.Bokeh && {IDLE}", timeout=LONG)
        told = blobs.evaluate(FADED)
        assert len(told) > 10
        assert not [text for text, own, around in told if own is not around]
    blobs.evaluate("localStorage.removeItem('cl-theme')")
