"""The line of the threshold, by a real mouse and by keys."""

import io

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.support.pages import FIND
from tests.ui.test_main_job import IDLE, LONG

# The frame of the figure on screen, and the numbers at its left and right end.
FRAME = f"""() => {{ {FIND}
  const view = figureView('.cl-threshold');
  if (!view || !view.frame || !view.frame.bbox.width) return null;
  const at = view.el.getBoundingClientRect(), {{left, top, width, height}} =
    view.frame.bbox, {{start, end}} = view.model.x_range;
  return end > 1 && {{x: at.x + left, y: at.y + top, width, height, start, end}};
}}"""
ACCENT = (11, 138, 138)


def frame_of(app: Page) -> dict[str, float]:
    """Return the frame of the figure, once it is drawn."""
    return app.wait_for_function(FRAME, timeout=LONG).json_value()


def place(frame: dict[str, float], number: float) -> float:
    share = (number - frame["start"]) / (frame["end"] - frame["start"])
    return frame["x"] + share * frame["width"]


def expect_needed(app: Page, number: int) -> None:
    needed = app.locator(".cl-threshold .needed b")
    expect(needed).to_have_text(str(number), timeout=LONG)
    app.wait_for_function(IDLE, timeout=LONG)


def lines_drawn(app: Page, frame: dict[str, float]) -> int:
    """Return how many lines of the accent's colour cross the figure."""
    clip = {key: frame[key] for key in ("x", "y", "width", "height")}
    clip["x"], clip["width"] = clip["x"] - 4, clip["width"] + 8
    pixels = np.array(Image.open(io.BytesIO(app.screenshot(clip=clip))).convert("RGB"))
    accent = (np.abs(pixels.astype(int) - ACCENT) < 12).all(axis=2).mean(axis=0) > 0.5
    return int((np.diff(accent.astype(int), prepend=0) == 1).sum())


@pytest.mark.browser
def test_a_drag_from_anywhere_moves_the_threshold_and_leaves_no_trace(blobs):
    app, frame = blobs, frame_of(blobs)
    y = frame["y"] + frame["height"] / 2
    here, last = 2, int(frame["end"])
    app.mouse.click(place(frame, here), y)
    expect_needed(app, here)
    for turn, offset in enumerate((-40, -6, -2, 0, 1, 2, 6, 40)):
        wanted = last - 2 if turn % 2 == 0 else 2
        app.mouse.move(place(frame, here) + offset, y)
        app.mouse.down()
        app.mouse.move((place(frame, here) + place(frame, wanted)) / 2, y, steps=4)
        app.mouse.move(place(frame, wanted), y, steps=4)
        app.mouse.up()
        expect_needed(app, wanted)
        here = wanted
    app.mouse.move(frame["x"], frame["y"] - 60)
    assert lines_drawn(app, frame) == 1


@pytest.mark.browser
def test_clicks_and_drags_stay_on_the_axis_and_keys_move_by_one(blobs):
    app, frame = blobs, frame_of(blobs)
    y = frame["y"] + frame["height"] / 2
    app.mouse.click(place(frame, 3.3), y)
    expect_needed(app, 3)
    app.mouse.down()
    app.mouse.move(frame["x"] - 200, y, steps=5)
    app.mouse.up()
    expect_needed(app, 0)
    more = app.locator(".cl-threshold .needed").get_by_role("button", name="one more")
    more.focus()
    app.keyboard.press("Enter")
    expect_needed(app, 1)
    app.locator(".cl-undo button").click()
    expect_needed(app, 0)
