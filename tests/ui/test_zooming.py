"""Tests of wheel, box, drag and reset in a browser: pictures match the view."""

import json
import re
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Page, expect

import clusterlens as cl
from clusterlens.compute.ranking.voting import CHOSEN_VOTES
from clusterlens.ui.composition import new_session
from clusterlens.ui.server.memory.store import Store
from clusterlens.ui.server.server import Server
from tests.support.pages import FIND, PAUSE, begin_linking, places_at_rest
from tests.ui.conftest import watched
from tests.ui.loop import run
from tests.ui.runs import ROWS
from tests.ui.test_main_job import (
    LONG,
    PACK,
    load,
    picture,
    run_pool,
    unpacked,
    write_blobs,
)

MATRICES = (".cl-consensus-matrix", ".cl-binarised-matrix")
# Largest number of comparisons of pictures that may still be loading.
LOOKS = 50
# The state of a figure: its ranges (low to high), the places of its images, and of its
# rings and names, if any.
STATE = f"""(css) => {{ {FIND}
  const {{model}} = figureView(css), axes = [model.x_range, model.y_range];
  const columns = (source) => Object.fromEntries(Object.entries(source.data)
    .map(([name, values]) => [name, Array.from(values)]));
  const sources = model.renderers.map((r) => [r.glyph, r.data_source]);
  const images = sources.filter(([g]) => g.type.startsWith('Image'))
    .map(([, s]) => {{
      const {{image, x, y, dw, dh}} = s.data;
      return Array.from(image, (pixels, k) => (
        {{shape: pixels.shape, span: [[x[k], x[k] + dw[k]], [y[k], y[k] + dh[k]]]}}));
    }});
  const rings = sources.filter(([g]) => g.type === 'Scatter')
    .map(([, s]) => columns(s));
  return {{view: axes.map((a) => [a.start, a.end].sort((p, q) => p - q)),
    size: [model.inner_width, model.inner_height], images, rings}};
}}"""
# The state of some matrices, with the values of the pictures and the row ids in view.
# It is returned once a movement has ended (even beyond the matrix), the cells are
# square again, and all pictures and strips match the view, of n cells.
FILLED = f"""([classes, n]) => {{ {FIND} {PACK}
  const namesOf = (view) => {{
    const hover = view.model.toolbar.tools.find((tool) => tool.type === 'HoverTool');
    return hover.formatters['$y'].args.names.data;
  }};
  const shown = classes.map((css) => ({STATE})(css));
  // The words of a matrix come before its picture, its values and its two strips.
  if (!shown.every(({{images}}) => images.flat().length === 4)) return false;
  const filled = shown.every(({{view, images: [[image], , [rows, columns]]}}) => {{
    const size = view[0][1] - view[0][0];
    const near = (one, other) => Math.abs(one - other) < 1e-6 * size;
    return near(view[1][1] - view[1][0], size)
      && near(rows.span[0][0], view[0][0]) && near(columns.span[1][0], view[1][0])
      && view.every(([low, high], k) => low >= -0.04 * n - 1e-6 && high <= n + 1e-6
        && image.span[k][0] === Math.max(Math.floor(low), 0)
          && image.span[k][1] === Math.min(Math.ceil(high), n));
  }});
  // While the page settles one may be drawn anew before the other.
  const [one, other] = shown.map(({{images: [[image]]}}) => image.shape.join());
  const named = shown.every(({{size: [width, height]}}, k) => {{
    const {{row, col, count_row, count_col}} = namesOf(figureView(classes[k]));
    return row[0].length === (count_row[0] <= 2 * height ? count_row[0] : 0)
      && col[0].length === (count_col[0] <= 2 * width ? count_col[0] : 0);
  }});
  return filled && one === other && named && shown.map((one, k) => {{
    const view = figureView(classes[k]), [pixels] = imageOf(view, 'Image').image;
    const {{row, col}} = namesOf(view);
    return {{...one, pixels: packed(pixels),
      rows: Array.from(row[0]), columns: Array.from(col[0])}};
  }});
}}"""
# Whether a map shows the whole, at its present size.
WHOLE = f"""(css) => {{ {FIND}
  const {{model}} = figureView(css);
  return [model.x_range, model.y_range].every((axis) =>
    [[axis.start, axis.reset_start], [axis.end, axis.reset_end]].every(([end, all]) =>
      Math.abs(end - all) < 1e-3 * Math.abs(axis.reset_end - axis.reset_start)));
}}"""
# Whether the picture of a map matches the view exactly.
MAPPED = f"""(css) => {{
  const {{view, images: [[image]]}} = ({STATE})(css);
  return image && view.flat().every((end, k) =>
    Math.abs(end - image.span.flat()[k]) < 1e-3 * (view[0][1] - view[0][0]));
}}"""
TOOL = f"""([css, type]) => {{ {FIND}
  const {{tools}} = figureView(css).model.toolbar;
  tools.find((tool) => tool.type === type).active = true;
}}"""
# Whether a canvas is empty at its upper and left edge, which Bokeh does not clear.
EMPTY_EDGES = f"""(css) => {{ {FIND}
  const {{canvas}} = figureView(css).canvas_view.primary;
  const read = (...place) => canvas.getContext('2d').getImageData(...place).data;
  return [read(0, 0, canvas.width, 1), read(0, 0, 1, canvas.height)].every(
    (pixels) => pixels.every((one) => one === 0));
}}"""
RESET = f"""(css) => {{ {FIND}; figureView(css).reset(); }}"""


def state(app: Page, css: str) -> dict:
    return app.evaluate(STATE, css)


def width(app: Page, css: str) -> float:
    low, high = state(app, css)["view"][0]
    return high - low


def turn_wheel(app: Page, css: str, notches: int, at: tuple[float, float] = (0.6, 0.3)):
    """Turn the wheel over a place of a figure: up to zoom in, down (negative) out."""
    box = app.locator(f"{css} .bk-CartesianFrame").first.bounding_box()
    app.mouse.move(box["x"] + at[0] * box["width"], box["y"] + at[1] * box["height"])
    for _ in range(abs(notches)):
        app.mouse.wheel(0, -150 if notches > 0 else 150)


def drag(app: Page, css: str, start: tuple[float, float], end: tuple[float, float]):
    box = app.locator(f"{css} .bk-CartesianFrame").first.bounding_box()
    places = [
        (box["x"] + x * box["width"], box["y"] + y * box["height"])
        for x, y in (start, end)
    ]
    app.mouse.move(*places[0])
    app.mouse.down()
    app.mouse.move(*places[1], steps=5)
    app.mouse.up()


def wait_until_narrower(app: Page, css: str, before: float) -> None:
    app.wait_for_function(
        f"""([css, before]) => {{
          const {{view}} = ({STATE})(css);
          return view[0][1] - view[0][0] < 0.999 * before;
        }}""",
        arg=[css, before],
        timeout=LONG,
    )


def wait_until_whole(app: Page, css: str, whole: list) -> None:
    app.wait_for_function(
        f"""([css, whole]) => {{
          const ends = ({STATE})(css).view.flat(), all = whole.flat();
          const near = 1e-3 * (all[1] - all[0]);
          return ends.every((end, k) => Math.abs(end - all[k]) < near);
        }}""",
        arg=[css, whole],
        timeout=LONG,
    )


def cells_in_view(app: Page, n: int = ROWS) -> list[dict]:
    """Return the state of both matrices once it matches the view; compare the two."""
    found = app.wait_for_function(
        FILLED, arg=[MATRICES, n], timeout=LONG, polling=PAUSE
    )
    one, other = shown = found.json_value()
    for matrix in shown:
        matrix["pixels"] = unpacked(*matrix["pixels"])
    for part in ("view", "images", "rings", "rows", "columns"):
        assert one[part] == other[part]
    (cells,), (values,), (rows, columns) = one["images"]
    assert values == cells
    assert [columns["span"][0], rows["span"][1]] == cells["span"]
    return shown


class Cells:
    """Expected contents of both matrices of a table of blobs, without the app."""

    def __init__(self, app: Page, ensemble: cl.Ensemble) -> None:
        self.app, self.ensemble = app, ensemble
        self.threshold = cl.count_agreements(ensemble).threshold
        self.whole = cells_in_view(app)[0]["view"]

    def order(self) -> np.ndarray:
        """Return the samples' positions from the matrix's first row to the last."""
        shown = cells_in_view(self.app)[0]
        assert shown["view"] == self.whole
        assert shown["rows"] == shown["columns"]
        assert sorted(map(int, shown["rows"])) == list(range(ROWS))
        return np.array(shown["rows"], int)

    def order_at_rest(self) -> np.ndarray:
        """Return the order once the pictures match it; words come first."""
        for _ in range(LOOKS):
            order = self.order()
            with suppress(AssertionError):
                self.assert_shown(order)
                break
        return order

    def assert_shown(self, order: np.ndarray) -> dict:
        """Compare both pictures and their names with the tiles in view."""
        matrices = cells_in_view(self.app)
        for shown, kind in zip(matrices, ("consensus", "binarised"), strict=True):
            columns, rows = ((int(a), int(b)) for a, b in shown["images"][0][0]["span"])
            assert [int(k) for k in shown["rows"]] == order[slice(*rows)].tolist()
            assert [int(k) for k in shown["columns"]] == order[slice(*columns)].tolist()
            tile = cl.consensus_tile(
                self.ensemble,
                rows=rows,
                cols=columns,
                shape=(rows[1] - rows[0], columns[1] - columns[0]),
                order=order,
                kind=kind,
                threshold=self.threshold if kind == "binarised" else None,
            )
            seen = np.reshape(shown["pixels"], tile.values.shape)
            np.testing.assert_allclose(seen, tile.values, atol=1e-6)
        return matrices[0]


def models_of(path: Path) -> cl.Ensemble:
    """Return the result of a run of the page on a table, with its votes."""
    found = cl.run_pool(cl.prepare(cl.load_table(path)), "quick")
    return found.with_weights(cl.vote_weights(found, CHOSEN_VOTES))


@pytest.fixture(scope="module")
def ensemble(runs):
    """The result of the run on the shared page, computed without the page."""
    return models_of(runs.path)


@pytest.fixture
def cells(blobs, ensemble):
    return Cells(blobs, ensemble)


def test_the_wheel_leads_to_single_cells_of_both_matrices_and_reset_back(blobs, cells):
    app = blobs
    order = cells.order()
    for css in MATRICES:
        widths = [width(app, css)]
        while widths[-1] > 4.01:  # one notch, then check
            turn_wheel(app, css, 1)
            wait_until_narrower(app, css, widths[-1])
            cells.assert_shown(order)
            widths.append(width(app, css))
        assert all(after < before for before, after in pairwise(widths))
        turn_wheel(app, css, 40)  # to the limit
        cells.assert_shown(order)
        assert width(app, css) == pytest.approx(4, rel=1e-3)
        app.evaluate(RESET, css)
        wait_until_whole(app, css, cells.whole)
        cells.assert_shown(order)
        assert app.evaluate(EMPTY_EDGES, css)


def test_matrices_of_more_rows_than_pixels_fill_their_frames_down_to_cells(
    app, tmp_path
):
    path = write_blobs(tmp_path, rows=600)
    load(app, path)
    run_pool(app)
    for css in MATRICES:
        picture(app, css)
    shown = cells_in_view(app, 600)
    whole = shown[0]["view"]
    (height, across), n = shown[0]["images"][0][0]["shape"], 600
    assert max(height, across) < n
    found = models_of(path)
    labels = np.repeat(found.labels, found.votes, axis=0)
    for css in MATRICES[:1]:
        wide = width(app, css)
        while wide > 9:
            turn_wheel(app, css, 6, at=(0.6, 0.6))
            wait_until_narrower(app, css, wide)
            shown = cells_in_view(app, n)
            wide = width(app, css)
        rows, columns = (np.array(shown[0][side], int) for side in ("rows", "columns"))
        together = (labels[:, rows, None] == labels[:, None, columns]).mean(axis=0)
        seen = np.reshape(shown[0]["pixels"], together.shape)
        np.testing.assert_allclose(seen, together, atol=1e-6)
        app.evaluate(RESET, css)
        wait_until_whole(app, css, whole)
        cells_in_view(app, n)


MANY = 100_000
# Row ids of the links of that table: both ends of the matrix, and neighbours.
LINKS = (("must", 77_003, 12_345), ("cannot", 50_000, 50_002))


@pytest.fixture
def many(server):
    """An analysis of 100,000 rows, six partitions of another tool and two links."""
    rng = np.random.default_rng(0)
    labels = np.array([rng.integers(0, k, MANY) for k in (2, 3, 2, 4, 2, 3)])
    table = pd.DataFrame(rng.normal(size=(MANY, 2)).round(3), columns=["x", "y"])
    names = [f"model {t}" for t in range(len(labels))]
    given = pd.DataFrame(labels.T, columns=names).rename_axis("id").reset_index()
    store = Store(server.home)
    session = new_session(Server(store))

    async def make():
        for kind, frame, more in (
            ("load file", table, {}),
            ("import partitions", given, {"mixed": False}),
        ):
            content = frame.to_csv(index=False).encode()
            key = session.keep_file(content)
            assert await session.act(kind, name=f"{kind}.csv", sha256=key, **more)
            if kind == "load file" and session.analysis.dataset is None:
                assert await session.act("prepare")
        for kind, a, b in LINKS:
            assert session.act_now("add link", kind=kind, a=a, b=b)
        await session.memory.settled()

    run(make())
    view_state = {"page": "consensus", "order_by": "file", "pool_alone": True}
    query = {"analysis": session.memory.analysis, "look": json.dumps(view_state)}
    yield labels, f"{server.address}/app?{urlencode(query)}"
    session.close()
    store.close()


def test_the_wheel_leads_to_the_cells_of_links_in_both_matrices_of_many_rows(
    many, page, server
):
    labels, address = many
    with watched(page, server):
        page.goto(address)
        threshold_text = (
            page.locator(".cl-binarised-matrix").get_by_text("of 6 models").first
        )
        needed = int(
            re.search(r"at least (\d) of", threshold_text.inner_text(timeout=LONG))[1]
        )
        whole = cells_in_view(page, MANY)[0]["view"]
        for css, (_, row, column) in zip(MATRICES, LINKS, strict=True):
            while (wide := width(page, css)) > 12:
                # A pixel is hundreds of rows at first, so the wheel is aimed again on
                # the way.
                (left, right), (low, high) = state(page, css)["view"]
                across = (column + 0.5 - left) / (right - left)
                turn_wheel(page, css, 4, at=(across, (row + 0.5 - low) / (high - low)))
                wait_until_narrower(page, css, wide)
            shown = cells_in_view(page, MANY)
            ends = {(a, b) for _, *pair in LINKS for a, b in (pair, pair[::-1])}
            rings = shown[0]["rings"][0]
            cells = zip(rings["y"], rings["x"], strict=True)
            assert {(int(y), int(x)) for y, x in cells} == ends
            rows, columns = (np.array(shown[0][s], int) for s in ("rows", "columns"))
            assert row in rows
            assert column in columns
            joined = (labels[:, rows, None] == labels[:, None, columns]).sum(axis=0)
            for matrix, values in zip(
                shown, (joined / 6, joined >= needed), strict=True
            ):
                seen = np.reshape(matrix["pixels"], joined.shape)
                np.testing.assert_allclose(seen, values, atol=1e-6)
            page.evaluate(RESET, css)
            wait_until_whole(page, css, whole)
            cells_in_view(page, MANY)


def test_quick_notches_in_and_out_at_a_corner_leave_nothing_empty(blobs, cells):
    app = blobs
    order = cells.order()
    css = MATRICES[1]
    before = width(app, css)
    turn_wheel(app, css, 8, at=(0.97, 0.97))
    wait_until_narrower(app, css, before / 2)
    cells.assert_shown(order)
    before = width(app, css)
    turn_wheel(app, css, -3, at=(0.1, 0.1))  # towards the area beyond the last cell
    app.wait_for_function(
        f"""([css, before]) => {{
          const {{view}} = ({STATE})(css);
          return view[0][1] - view[0][0] > 1.5 * before;
        }}""",
        arg=[css, before],
        timeout=LONG,
    )
    cells.assert_shown(order)
    turn_wheel(app, css, -30, at=(0.1, 0.1))
    wait_until_whole(app, css, cells.whole)
    cells.assert_shown(order)


def test_box_and_drag_move_both_matrices_and_hover_names_the_cell(blobs, cells):
    app = blobs
    order = cells.order()
    css = MATRICES[0]
    app.evaluate(TOOL, [css, "BoxZoomTool"])
    before = width(app, css)
    drag(app, css, (0.3, 0.4), (0.5, 0.55))
    wait_until_narrower(app, css, before)
    shown = cells.assert_shown(order)
    app.evaluate(TOOL, [css, "PanTool"])
    drag(app, css, (0.7, 0.7), (0.4, 0.5))
    app.wait_for_function(
        f"([css, left]) => ({STATE})(css).view[0][0] > left",
        arg=[css, shown["view"][0][0]],
        timeout=LONG,
    )
    cells.assert_shown(order)
    drag(app, css, (0.2, 0.2), (5, 5))  # far past the first cell
    app.wait_for_function(
        f"(css) => ({STATE})(css).view.flat()[0] < 0", arg=css, timeout=LONG
    )
    shown = cells.assert_shown(order)
    turn_wheel(app, css, 0, at=(0.53, 0.71))
    (left, right), (low, high) = shown["view"]
    column = order[int(left + 0.53 * (right - left))]
    row = order[int(low + 0.71 * (high - low))]
    tooltip = app.locator(".bk-Tooltip", has_text="together in").first
    codes = cells.ensemble.codes
    joined = cells.ensemble.votes @ (codes[:, row] == codes[:, column])
    joined_words = f"together in {joined} of {cells.ensemble.n_votes} voting models"
    words = re.compile(rf"row:\s*{row}\s*column:\s*{column}\W*{joined_words}")
    expect(tooltip).to_have_text(words)


# The lines that follow the pointer, for each matrix: whether visible, and where.
FOLLOWING = f"""(classes) => {{ {FIND}
  return classes.map((css) => figureView(css).model.toolbar.tools
    .find((tool) => tool.type === 'CrosshairTool').overlay
    .map(({{visible, location}}) => [visible, location]));
}}"""


def test_while_linking_lines_follow_the_pointer_over_both_matrices(blobs, cells):
    app = blobs
    begin_linking(app)
    turn_wheel(app, MATRICES[1], 0, at=(0.7, 0.4))
    app.wait_for_function(
        f"""(classes) => {{
          const [one, other] = ({FOLLOWING})(classes);
          return JSON.stringify(one) === JSON.stringify(other)
            && one.every(([visible, at]) => visible && Number.isFinite(at));
        }}""",
        arg=MATRICES,
        timeout=LONG,
    )
    across, along = (at for _, at in app.evaluate(FOLLOWING, MATRICES)[0])
    (left, right), (low, high) = cells.whole
    assert across == pytest.approx(low + 0.4 * (high - low), abs=2)
    assert along == pytest.approx(left + 0.7 * (right - left), abs=2)
    # The tooltip of the cell keeps no key from the page.
    expect(
        app.locator(".bk-Tooltip", has_text=re.compile("apart|together"))
    ).to_be_visible()
    app.keyboard.press("Escape")
    app.wait_for_function(
        f"(classes) => ({FOLLOWING})(classes).flat().every(([seen]) => !seen)",
        arg=MATRICES,
        timeout=LONG,
    )


def test_zoom_links_and_order_hold_together_and_outlive_a_reload(blobs, cells):
    app = blobs
    # High enough for a pixel a cell, below the note on answers, too.
    app.set_viewport_size({"width": 1440, "height": 1000})
    begin_linking(app)
    first, *_, last = places_at_rest(app)
    app.mouse.click(*first)
    expect(app.locator(".cl-linking")).to_contain_text("click sample B")
    app.mouse.click(*last)
    expect(app.locator(".cl-linking")).to_contain_text("must link")
    app.keyboard.press("m")
    app.wait_for_function(
        f"(css) => ({STATE})(css).rings[0].x.length === 2",
        arg=MATRICES[0],
        timeout=LONG,
    )
    app.keyboard.press("Escape")
    app.locator(".cl-pool-alone").get_by_text("pool alone").click()
    expect(app.locator(".cl-pool-alone")).to_contain_text("The pool alone")
    order = cells.order_at_rest()
    rings = cells.assert_shown(order)["rings"][0]
    link = {
        frozenset(order[[int(y), int(x)]].tolist())
        for x, y in zip(rings["x"], rings["y"], strict=True)
    }
    assert len(link) == 1
    before = width(app, MATRICES[0])
    turn_wheel(app, MATRICES[0], 5)
    wait_until_narrower(app, MATRICES[0], before / 2)
    zoomed = cells.assert_shown(order)["view"]
    app.locator(".cl-ranking-table .ranked").last.click()
    for css in MATRICES:
        app.wait_for_function(
            f"([css, rings]) => String(({STATE})(css).rings[0].x) !== rings",
            arg=[css, ",".join(map(str, rings["x"]))],
            timeout=LONG,
        )
    assert cells_in_view(app)[0]["view"] == zoomed
    expect(app).to_have_url(re.compile("matrix_view"))
    app.reload()
    for css in MATRICES:
        picture(app, css)
    app.wait_for_function(
        f"([css, left]) => Math.abs(({STATE})(css).view[0][0] - left) < 1e-6",
        arg=[MATRICES[0], zoomed[0][0]],
        timeout=LONG,
    )
    again = cells_in_view(app)[0]
    assert np.array(again["view"]) == pytest.approx(np.array(zoomed))
    app.evaluate(RESET, MATRICES[1])
    wait_until_whole(app, MATRICES[0], cells.whole)
    order = cells.order()
    rings = cells.assert_shown(order)["rings"][0]
    assert link == {
        frozenset(order[[int(y), int(x)]].tolist())
        for x, y in zip(rings["x"], rings["y"], strict=True)
    }


def assert_zooms(app: Page, css: str) -> None:
    """Turn the wheel, draw a box, reset; the picture always matches the view."""
    app.wait_for_function(MAPPED, arg=css, timeout=LONG)
    app.wait_for_function(WHOLE, arg=css, timeout=LONG)
    for _ in range(3):
        before = width(app, css)
        turn_wheel(app, css, 2)
        wait_until_narrower(app, css, before)
        app.wait_for_function(MAPPED, arg=css, timeout=LONG)
    app.evaluate(TOOL, [css, "BoxZoomTool"])
    before = width(app, css)
    drag(app, css, (0.3, 0.45), (0.6, 0.55))
    wait_until_narrower(app, css, before)
    app.wait_for_function(MAPPED, arg=css, timeout=LONG)
    shown = state(app, css)
    units = [
        np.ptp(ends) / n for ends, n in zip(shown["view"], shown["size"], strict=True)
    ]
    assert units[0] == pytest.approx(units[1], rel=1e-3)
    app.evaluate(RESET, css)
    app.wait_for_function(WHOLE, arg=css, timeout=LONG)
    app.wait_for_function(MAPPED, arg=css, timeout=LONG)
    assert app.evaluate(EMPTY_EDGES, css)


# Changes the ranges of a figure without notifying the server, as if both had set them
# at the same time.
ASTRAY = f"""(css) => {{ {FIND}
  const view = figureView(css), {{y_range}} = view.model;
  y_range.setv({{end: (y_range.end + y_range.start) / 2}}, {{sync: false}});
}}"""


def test_ranges_that_crossed_on_their_way_are_set_again(app, tmp_path):
    load(app, write_blobs(tmp_path, rows=ROWS))
    css = ".cl-preparation"
    picture(app, css)
    app.wait_for_function(MAPPED, arg=css, timeout=LONG)
    before = width(app, css)
    app.locator(f"{css} [role=application]").focus()
    app.keyboard.press("+")
    wait_until_narrower(app, css, before)
    app.wait_for_function(MAPPED, arg=css, timeout=LONG)
    app.evaluate(ASTRAY, css)
    assert not app.evaluate(MAPPED, css)
    app.keyboard.press("Shift+ArrowRight")
    app.wait_for_function(MAPPED, arg=css, timeout=LONG)
    shown = state(app, css)
    units = [
        np.ptp(ends) / n for ends, n in zip(shown["view"], shown["size"], strict=True)
    ]
    assert units[0] == pytest.approx(units[1], rel=1e-3)


def assert_stays(app: Page, css: str) -> None:
    """Turn the wheel over a figure that has no zoom, once it has its ranges."""
    ranged = f"(css) => ({STATE})(css).view.flat().some((end) => end % 1)"
    app.wait_for_function(ranged, arg=css, timeout=LONG)
    before = json.dumps(state(app, css)["view"])
    turn_wheel(app, css, 3)
    assert json.dumps(state(app, css)["view"]) == before


def test_every_map_zooms_under_the_wheel_and_what_has_no_zoom_stays(app, tmp_path):
    load(app, write_blobs(tmp_path, rows=ROWS))
    picture(app, ".cl-preparation")
    assert_zooms(app, ".cl-preparation")
    run_pool(app)
    picture(app, ".cl-map")
    assert_zooms(app, ".cl-map")
    assert_stays(app, ".cl-threshold")
    app.locator(".cl-nav-clusters button").click()
    picture(app, ".cl-compare")
    assert_zooms(app, ".cl-compare")
    app.locator(".cl-nav-labels button").click()
    picture(app, ".cl-class-pair")
    assert_zooms(app, ".cl-class-pair")
    app.locator(".cl-nav-cns button").click()
    picture(app, ".cl-membership-map")
    assert_zooms(app, ".cl-membership-map")
    assert_stays(app, ".cl-criterion")
    app.locator(".cl-nav-fuzzy button").click()
    picture(app, ".cl-fuzzy-maps")
    assert_zooms(app, ".cl-fuzzy-maps")


def test_another_pair_of_classes_is_seen_whole(app, tmp_path):
    load(app, write_blobs(tmp_path, rows=ROWS))
    app.locator(".cl-nav-labels button").click()
    picture(app, ".cl-class-pair")
    app.wait_for_function(MAPPED, arg=".cl-class-pair", timeout=LONG)
    before = state(app, ".cl-class-pair")["view"]
    turn_wheel(app, ".cl-class-pair", 6)
    wait_until_narrower(app, ".cl-class-pair", np.ptp(before[0]))
    app.wait_for_function(MAPPED, arg=".cl-class-pair", timeout=LONG)
    app.locator(".cl-label-pairs button").last.click()
    app.wait_for_function(
        f"(css) => {{ {FIND}; const {{x_range}} = figureView(css).model; "
        "return x_range.start === x_range.reset_start; }",
        arg=".cl-class-pair",
        timeout=LONG,
    )
    app.wait_for_function(MAPPED, arg=".cl-class-pair", timeout=LONG)
