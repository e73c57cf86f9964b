"""Test of the main task in a browser: from a file to a ranking to labelled rows."""

import csv
import io
import re
from base64 import b64decode, b64encode
from pathlib import Path

import numpy as np
import pandas as pd
from playwright.sync_api import Locator, Page, expect
from sklearn.datasets import make_blobs

from tests.support.pages import FIND, PAUSE, sample_places
from tests.ui.kept import pool_run

HOSTILE = "<img src=x onerror=window.hacked=1>"
LONG = 120_000
COUNT_CLICKS = """() => {
  window.clicks = 0;
  window.addEventListener('pointerdown', () => { window.clicks += 1; }, true);
}"""


def write_blobs(folder: Path, *, rows: int = 240, name: str = "blobs.csv") -> Path:
    X, y = make_blobs(rows, 3, centers=4, random_state=0, cluster_std=0.7)
    frame = pd.DataFrame(X, columns=["length", "width", "height"]).round(4)
    frame["kind"] = np.array(["a", "b", "c", "d"])[y]
    path = folder / name
    frame.to_csv(path, index=False)
    return path


def choose(app: Page, css: str, text: str) -> None:
    app.locator(css).get_by_role("combobox").click()
    app.locator(".MuiMenuItem-root").get_by_text(text, exact=True).click()


def drop_file(app: Page, path: Path) -> None:
    app.locator(".cl-file input[type=file]").set_input_files(path)


def load(app: Page, path: Path) -> None:
    drop_file(app, path)
    expect(app.locator(".cl-prepared")).to_contain_text("go into the pool")


def run_pool(app: Page, preset: str = "quick") -> None:
    app.locator(".cl-next button").click()
    expect(app.locator(".cl-estimate")).to_contain_text("models")
    choose(app, ".cl-preset", preset)
    app.locator(".cl-run-pool button").click(timeout=LONG)
    headline = app.locator(".cl-headline")
    for words in ("Closest to what this pool agrees on", "if a majority must agree"):
        expect(headline).to_contain_text(words)


# The figure inside the first element with a class, null before there is one.
FIGURE = f"""css => {{ {FIND}
  const view = figureView(css);
  return view ? view.model : null;
}}"""
# The numbers of an array as text, because a long list takes seconds to send.
PACK = """
const packed = (numbers) => {
  const bytes = new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
  let text = '';
  for (let k = 0; k < bytes.length; k += 4096)
    text += String.fromCharCode(...bytes.subarray(k, k + 4096));
  return [numbers.dtype, btoa(text)];
};
"""
PICTURE = f"""([css, kind]) => {{ {PACK}
  const figure = ({FIGURE})(css);
  const glyph = figure && figure.renderers.find(r => r.glyph && r.glyph.type === kind);
  const image = glyph && glyph.data_source.data.image;
  return image && image.length ? packed(image[0]) : false;
}}"""


def unpacked(dtype: str, text: str) -> np.ndarray:
    """Return the numbers of an array that was sent as text."""
    return np.frombuffer(b64decode(text), dtype)


def name_of(row: Locator) -> str:
    """Return the full name of the model in a row of the ranking."""
    return row.locator(".model").get_attribute("title").partition(" · ")[0]


def picture(app: Page, css: str, kind: str = "ImageRGBA") -> np.ndarray:
    """Return the colours of a figure, or the values of an "Image", once drawn."""
    given = {"arg": [css, kind], "timeout": LONG, "polling": PAUSE}
    shown = app.wait_for_function(PICTURE, **given)
    return unpacked(*shown.json_value())


# Whether a picture has only the values 0 and 1, at its final size.
BINARY = f"""css => {{ {FIND}
  const data = imageOf(figureView(css), 'Image'), values = new Set(data?.image[0]);
  return values.size === 2 && values.has(0) && values.has(1);
}}"""


def test_file_to_ranking_to_download(app, tmp_path):
    path = write_blobs(tmp_path)
    app.evaluate(COUNT_CLICKS)
    load(app, path)
    expect(app.locator(".cl-roles")).to_contain_text("kind")
    run_pool(app)
    # Two of them choose another pool than the default; dropping a file is no click.
    assert app.evaluate("clicks") <= 4
    shares = picture(app, ".cl-consensus-matrix", "Image")
    assert shares.min() >= 0
    assert shares.max() == 1
    app.wait_for_function(
        BINARY, arg=".cl-binarised-matrix", timeout=LONG, polling=PAUSE
    )
    with app.expect_download() as waiting:
        app.get_by_role("button", name="Rows with labels").click()
    content = Path(waiting.value.path()).read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(content)))
    original = pd.read_csv(path)
    assert [float(row["length"]) for row in rows] == original["length"].tolist()
    assert [row["row id"] for row in rows] == [str(k) for k in range(len(original))]
    added = [key for key in rows[0] if key not in {*original.columns, "row id"}]
    assert added == ["cluster", "cluster name"]
    assert len({row["cluster"] for row in rows}) >= 2


def test_selecting_a_model_recolours_the_map_and_reorders_the_matrix(blobs):
    app = blobs
    before_map = picture(app, ".cl-map")
    before_matrix = picture(app, ".cl-consensus-matrix")
    last = app.locator(".cl-ranking-table .ranked").last
    last.click()
    expect(last).to_have_class(re.compile("front"))
    expect(app.locator(".cl-ranking-table .ranked.front")).to_have_count(1)
    expect(app.locator(".cl-model-name")).to_contain_text(name_of(last))
    app.wait_for_function("() => Bokeh.documents.every(d => d.is_idle)", timeout=LONG)
    assert_changes(app, ".cl-map", before_map)
    assert_changes(app, ".cl-consensus-matrix", before_matrix)


def assert_changes(app: Page, css: str, before: np.ndarray) -> None:
    """Wait until a figure shows another picture."""
    app.wait_for_function(
        f"""([css, before]) => {{
          const now = ({PICTURE})([css, 'ImageRGBA']);
          return now && now[1] !== before;
        }}""",
        arg=[css, b64encode(before).decode()],
        timeout=LONG,
        polling=PAUSE,
    )


def test_brushing_a_block_lists_its_samples_and_clear_forgets_them(blobs):
    app = blobs
    picture(app, ".cl-consensus-matrix")
    drag_over(app, ".cl-consensus-matrix .bk-CartesianFrame")
    expect(app.locator(".cl-brushed-note")).to_contain_text("selected")
    expect(app.locator("table.cl-brushed tr").nth(1)).to_be_visible()
    app.get_by_role("button", name="Clear").click()
    expect(app.locator(".cl-inspector")).to_contain_text("Drag a box")


def drag_over(app: Page, css: str) -> None:
    """Drag a box over the middle of a figure."""
    box = app.locator(css).bounding_box()
    app.mouse.move(box["x"] + box["width"] * 0.2, box["y"] + box["height"] * 0.2)
    app.mouse.down()
    app.mouse.move(
        box["x"] + box["width"] * 0.7, box["y"] + box["height"] * 0.7, steps=5
    )
    app.mouse.up()


def text_of(app: Page, css: str) -> str:
    return app.locator(css).evaluate("e => e.shadowRoot.textContent")


def test_another_threshold_and_a_click_on_a_sample(blobs):
    app = blobs
    before = picture(app, ".cl-binarised-matrix")
    app.get_by_role("button", name="Majority").click()
    text = app.locator(".cl-equal-votes").inner_text()
    votes = int(re.match(r"(\d+) of", text)[1])
    majority = votes // 2 + 1
    chosen = re.compile(rf"− {majority} \+ of {votes} models\s*chosen")
    expect(app.locator(".cl-threshold")).to_contain_text(chosen)
    expect(app.locator(".cl-binarised-matrix")).to_contain_text(
        f"at least {majority} of {votes} voting models"
    )
    assert_changes(app, ".cl-binarised-matrix", before)
    app.mouse.click(*sample_places(app)[0])
    inspected = app.locator(".cl-inspected")
    expect(inspected).to_contain_text("Row")
    expect(inspected).to_contain_text("Disagreement of the pool")


def test_another_role_prepares_the_table_again(kept, tmp_path):
    app = kept(write_blobs(tmp_path), page="data")
    expect(app.locator(".cl-prepared")).to_contain_text("240 samples × 3 features")
    app.locator(".cl-roles [tabulator-field=role].tabulator-cell").first.click()
    app.locator(".tabulator-edit-list-item").get_by_text("ignore").click()
    expect(app.locator(".cl-prepared")).to_contain_text("240 samples × 2 features")
    expect(app.locator(".cl-notes")).to_contain_text("length")


def test_cancel_stops_the_pool_and_changes_nothing(kept, tmp_path):
    app = kept(write_blobs(tmp_path, rows=6000), page="pool")
    expect(app.locator(".cl-estimate")).to_contain_text("models")
    app.get_by_role("button", name="Run the pool").click()
    app.get_by_role("button", name="Cancel", exact=True).click()
    expect(app.locator(".cl-notice-info")).to_contain_text(
        "Cancelled: Run the pool. Nothing was changed."
    )
    expect(app.get_by_role("button", name="Run the pool")).to_be_enabled()


def test_a_bad_file_gets_a_message_with_a_remedy(app, tmp_path):
    path = tmp_path / "broken.parquet"
    path.write_bytes(b"PAR1 this is not a table PAR1")
    drop_file(app, path)
    notice = app.locator(".cl-notice-error")
    expect(notice).to_contain_text("broken.parquet")
    assert "Traceback" not in notice.inner_text()
    load(app, write_blobs(tmp_path))


def test_hostile_names_are_shown_and_never_run(kept, tmp_path):
    frame = pd.read_csv(write_blobs(tmp_path))
    frame.insert(0, "key", [f"{HOSTILE}{i}" for i in range(len(frame))])
    frame = frame.rename(columns={"length": HOSTILE, "kind": f"kind {HOSTILE}"})
    path = tmp_path / "hostile & co.csv"
    frame.to_csv(path, index=False)
    app = kept(path, pool_run(rows=len(frame)), page="data")
    expect(app.locator(".cl-roles")).to_contain_text(HOSTILE)
    app.locator(".cl-nav-consensus button").click()
    expect(app.locator(".cl-model")).to_contain_text(HOSTILE)
    picture(app, ".cl-consensus-matrix")
    box = app.locator(".cl-consensus-matrix .bk-CartesianFrame").bounding_box()
    app.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + box["height"] * 0.5)
    expect(app.locator(".bk-tooltip-content").first).to_contain_text(HOSTILE)
    drag_over(app, ".cl-map .bk-CartesianFrame")
    expect(app.locator(".cl-brushed-note")).to_contain_text("selected")
    assert app.evaluate("window.hacked") is None


# Delays watchers of React components until `window.watchNow()`.
WATCH_LATE = """() => {
  const model = Bokeh.Models.get('panel.models.esm.ReactiveESM').prototype;
  const {watch} = model, held = [];
  model.watch = function (...given) {
    if (given[3]) held.push(() => watch.apply(this, given));
    else watch.apply(this, given);
  };
  window.watchNow = () => { model.watch = watch; for (const begin of held) begin(); };
}"""


def test_a_button_that_is_offered_before_it_watches_can_be_clicked(app, tmp_path):
    app.evaluate(WATCH_LATE)
    app.locator(".cl-nav-pool button").click()
    button = app.locator(".cl-run-pool button").first
    expect(button).to_be_disabled()
    app.locator(".cl-nav-data button").click()
    load(app, write_blobs(tmp_path))
    app.locator(".cl-nav-pool button").click()
    expect(app.locator(".cl-estimate")).to_contain_text("at the peak")
    app.evaluate("watchNow()")
    expect(button).to_be_enabled()
