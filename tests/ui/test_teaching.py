"""Teaching the ranking in a real browser: clicks, keys, suggestions, reopening."""

import re

from playwright.sync_api import Page, expect

from tests.ui.test_main_job import FIGURE, LONG, load, picture, run_pool, write_blobs

# Screen positions of a sample near the left and one near the right of the map.
SAMPLES = f"""css => {{
  const figure = ({FIGURE})(css);
  const views = Object.values(Bokeh.index).flatMap(function walk(v) {{
    return [v, ...(v.child_views || []).flatMap(walk)];
  }});
  const view = views.find((v) => v.model === figure);
  const data = figure.renderers.find(
    (r) => r.glyph && r.glyph.type === 'ImageRGBA').data_source.data;
  const [image] = data.image, [x] = data.x, [y] = data.y;
  const [dw] = data.dw, [dh] = data.dh;
  const [height, width] = image.shape;
  const filled = [];
  for (let i = 0; i < width * height; i++)
    if (image[i] >>> 24) filled.push([i % width, Math.floor(i / width)]);
  filled.sort((a, b) => a[0] - b[0]);
  const box = view.canvas_view.el.getBoundingClientRect();
  const frame = view.frame;
  return [filled[0], filled[filled.length - 1]].map(([i, j]) => [
    box.x + frame.x_scale.compute(x + (i + 0.5) * dw / width),
    box.y + frame.y_scale.compute(y + (j + 0.5) * dh / height)]);
}}"""


def links(app: Page):
    return app.locator(".cl-links tr")


def test_two_clicks_a_suggestion_undo_and_a_new_tab(app, server, tmp_path):
    load(app, write_blobs(tmp_path))
    run_pool(app)
    picture(app, ".cl-map")
    app.keyboard.press("l")
    for x, y in app.evaluate(SAMPLES, ".cl-map"):
        app.mouse.click(x, y)
    expect(app.locator(".cl-pair")).to_contain_text("Together in", timeout=LONG)
    app.keyboard.press("c")
    expect(links(app)).to_have_count(1, timeout=LONG)
    expect(app.locator(".cl-links")).to_contain_text("cannot-link")
    suggested = app.locator(".cl-suggestions button").first
    expect(suggested).to_be_visible(timeout=LONG)
    suggested.click()
    expect(app.locator(".cl-pair")).to_contain_text("Together in", timeout=LONG)
    app.keyboard.press("m")
    expect(links(app)).to_have_count(2, timeout=LONG)
    app.keyboard.press("Control+z")
    expect(links(app)).to_have_count(1, timeout=LONG)
    app.keyboard.press("Control+Shift+z")
    expect(links(app)).to_have_count(2, timeout=LONG)
    expect(app.locator(".cl-saved")).to_contain_text("saved", timeout=LONG)
    assert re.search(r"[?&]analysis=[0-9a-f]{16}", app.url)
    app.goto(app.url, timeout=2 * LONG)
    expect(app.locator(".cl-headline")).to_contain_text(
        "Closest to what this pool agrees on", timeout=2 * LONG
    )
    expect(links(app)).to_have_count(2, timeout=LONG)
    app.goto(f"{server.address}/app", timeout=2 * LONG)
    recent = app.locator(".cl-recent")
    expect(recent).to_contain_text("blobs", timeout=2 * LONG)
    recent.locator(".cl-delete").first.click()
    expect(recent).to_contain_text("deleted", timeout=LONG)
    recent.get_by_role("button", name="Undo").click()
    expect(recent.locator(".cl-open")).to_have_count(1, timeout=LONG)
