"""Texts have three sizes, 12, 14 and 16 pixels, and two weights, on all pages."""

import re
from pathlib import Path

import clusterlens.ui

ROOT = Path(clusterlens.ui.__file__).parent
# Reports are documents of their own, with a title; so is the page before the login.
DOCUMENTS = ("exports", "login.html")
# Shares of the 14 pixels around them: 12, 14 and 16 pixels.
SHARES = {".857em", "1em", "1.143em"}
SIZES = {"12px", "14px", "16px"}
# Icons, the figures above the cost of a run, and what a dropped file is told.
LARGE = {"18px", "20px", "24px"}
# Numbers in the cells of a figure are as small as its cells.
FIGURES = {"figures/canvas.py", "pages/labels/pairs.py", "pages/pool/model_grid.py"}


def sources():
    for path in sorted(ROOT.rglob("*")):
        if path.suffix in (".py", ".html", ".js") and not {
            *path.relative_to(ROOT).parts
        } & {*DOCUMENTS}:
            yield path.relative_to(ROOT).as_posix(), path.read_text()


def test_texts_have_three_sizes():
    size = re.compile(
        r"(?:font-size|fontSize\"): ?\"?(?:calc\()?([.\d]+(?:px|em))|font: ([\d]+px)"
    )
    found = {
        (name, one)
        for name, text in sources()
        for one in (match[1] or match[2] for match in size.finditer(text))
    }
    assert len(found) > 20
    other = {one for one in found if one[1] not in SIZES | SHARES | LARGE}
    assert {name for name, _ in other} <= FIGURES, other


def test_texts_have_two_weights():
    weight = re.compile(r"(?:font-weight|fontWeight\"): ?\"?(\w+)")
    found = {one for _, text in sources() for one in weight.findall(text)}
    assert found == {"400", "700"}
