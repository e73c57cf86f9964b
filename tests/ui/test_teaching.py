"""Tests of teaching the ranking in a browser, with a server that is killed."""

import re

import pytest
from playwright.sync_api import expect

from tests.support.pages import (
    PATIENCE,
    TAKE_LASSO,
    Served,
    begin_linking,
    places_at_rest,
    wait_for_pictures,
)
from tests.support.stored_page import begin, held, is_sound, open_page, settled
from tests.ui.test_main_job import LONG
from tests.ui.test_workbench import until


@pytest.fixture
def served(tmp_path):
    """A server of its own, with a store that has an analysis with a run."""
    one = Served(tmp_path)
    begin(one.home)
    one.start("--warm")
    yield one
    one.kill()


def ask_about(page, *ends):
    """Click two samples at ends of the map, as quickly as a browser can."""
    places = places_at_rest(page)
    for end in ends:
        page.mouse.click(*end(places))
    asked = page.locator(".cl-pair").filter(has_text="Together in")
    expect(asked).to_be_visible()


def leftmost(places):
    return places[0]


def rightmost(places):
    return places[-1]


def topmost(places):
    return min(places, key=lambda place: place[1])


def expect_links(page, number):
    """Wait until so many links are listed, and the headline is complete."""
    expect(page.locator(".cl-links tr")).to_have_count(number)
    complete = re.compile(rf"a majority must agree.*of {number} link", re.DOTALL)
    expect(page.locator(".cl-headline").first).to_contain_text(complete)


def answer_a_suggestion(page):
    """Take the first suggestion, answer, and wait until the ranking shows it."""

    def ranked():
        return page.locator(".cl-ranking-table .ranked").all_inner_texts()

    before = ranked()
    suggested = page.locator(".cl-suggestions button").first
    ends = suggested.inner_text().split(" – ")
    suggested.click(timeout=LONG)
    asked = page.locator(".cl-pair p").filter(has_text=re.compile(".*".join(ends)))
    expect(asked).to_be_visible()
    page.keyboard.press("m")
    until(page, lambda: ranked() != before)


def lasso(page, places):
    """Draw a lasso around the samples in the left third of the map."""
    page.evaluate(TAKE_LASSO)
    xs, ys = zip(*places, strict=True)
    left, right = xs[0] - 6, xs[len(xs) // 3]
    low, high = min(ys) - 4, max(ys) + 4
    page.mouse.move(left, (low + high) / 2)  # the highest sample may lie at the edge
    page.mouse.down()
    for corner in [(left, low), (right, low), (right, high), (left, high)]:
        page.mouse.move(*corner, steps=4)
    page.mouse.up()


def test_what_is_taught_by_clicks_keys_and_a_lasso_outlives_a_kill(page, served):
    errors = []
    page.on("pageerror", lambda error: errors.append(error.stack))
    assert open_page(page, served, held(served.home).id)
    wait_for_pictures(page, ".cl-map")
    begin_linking(page)
    headline = page.locator(".cl-headline").first
    expect(headline).to_contain_text("a majority must agree")
    place = page.locator(".cl-map").first.bounding_box()
    assert place["height"] > 240
    for number, end in enumerate([leftmost, rightmost], 1):
        ask_about(page, end, topmost)
        page.keyboard.press("m")
        expect_links(page, number)
        assert page.locator(".cl-map").first.bounding_box() == place
    ask_about(page, leftmost, rightmost)
    expect(page.locator(".cl-pair .cl-refused")).to_contain_text("cannot-link")
    page.keyboard.press("c")
    expect_links(page, 2)
    answer_a_suggestion(page)
    expect_links(page, 3)
    # No result of the page has moved the map under the pointer.
    assert page.locator(".cl-map").first.bounding_box() == place
    page.keyboard.press("Control+z")
    expect_links(page, 2)
    page.keyboard.press("Control+Shift+Z")
    expect_links(page, 3)

    known = settled(page, served.home)
    served.kill()
    assert is_sound(served.home)
    assert held(served.home) == known
    # A page that has lost its server reloads itself as soon as there is one.
    page.goto("about:blank")
    served.start()
    page.goto(f"{served.address}/app", timeout=PATIENCE)
    page.locator(".cl-recent .cl-open").first.click(timeout=PATIENCE)
    expect_links(page, 3)
    wait_for_pictures(page, ".cl-map")
    lasso(page, places_at_rest(page))
    join = page.locator(".cl-join button")
    expect(join).to_be_enabled()
    join.click()
    page.locator(".cl-inspector .cl-tab-links").click()
    expect(page.locator(".cl-links tr").nth(3)).to_be_visible()
    page.keyboard.press("Control+z")
    expect_links(page, 3)
    assert not errors
