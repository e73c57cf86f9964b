"""The manual: it builds without a warning, asks no other host, and its code runs."""

import doctest
import html.parser
import re
import subprocess
import sys
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from clusterlens.ui import shell
from clusterlens.ui.composition import new_session
from clusterlens.ui.server import manual
from clusterlens.ui.server.server import Server
from clusterlens.ui.state.pages import PAGES as PAGES_OF_THE_APP
from clusterlens.ui.widgets.toolkit import safe
from docs.mathml import to_mathml
from tests.folders import ROOT

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
BLOCK = re.compile(r"^```(python|pycon)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The manual, built as the README says; a warning is an error."""
    folder = tmp_path_factory.mktemp("manual")
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-j", "1"]
    command += ["-d", folder / "doctrees", DOCS, folder / "html"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "html"


class Resources(html.parser.HTMLParser):
    """Addresses that a browser fetches by itself, or goes to on a click; and places."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.linked: list[str] = []
        self.places = {""}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.places.add(given.get("id"))
        (self.linked if tag == "a" else self.fetched).extend(
            given[name] for name in ("src", "href", "data", "srcset") if given.get(name)
        )


def test_no_page_of_the_manual_asks_another_host(built):
    pages = sorted(built.rglob("*.html"))
    assert len(pages) > 25
    for page in pages:
        for address in Resources(page.read_text(encoding="utf-8")).fetched:
            assert not urlsplit(address).netloc, f"{page.name} fetches {address}"
    for style in built.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        assert not re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", text), style.name


def test_every_link_within_the_manual_leads_somewhere(built):
    pages = {
        path.resolve(): Resources(path.read_text(encoding="utf-8"))
        for path in built.rglob("*.html")
    }
    for page, found in pages.items():
        for address in found.linked:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / parts.path).resolve() if parts.path else page
            assert target.exists(), f"{page.name} links to {address}"
            if target in pages:
                place = unquote(parts.fragment)
                assert place in pages[target].places, f"{page.name}: {address}"


@pytest.mark.parametrize("key", [key for key, *_ in PAGES_OF_THE_APP])
def test_every_page_of_the_app_has_one_in_the_manual(key):
    index = (DOCS / "pages" / "index.md").read_text(encoding="utf-8")
    assert (DOCS / "pages" / f"{key}.md").is_file()
    assert f"\n{key}\n" in index


def test_the_login_asks_no_other_host():
    text = (ROOT / "clusterlens" / "ui" / "login.html").read_text(encoding="utf-8")
    assert not any(urlsplit(a).netloc for a in Resources(text).fetched)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_code_of_the_page_runs(path, tmp_path, monkeypatch):
    """Blocks of a page run one after the other, in a folder with a table."""
    blocks = BLOCK.findall(path.read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(60, 3)) + np.repeat([[0], [6]], 30, 0)
    pd.DataFrame(X, columns=["length", "width", "mass"]).to_csv("measurements.csv")
    names = {"__name__": "manual", "X": X}
    for kind, code in blocks:
        if "scheduler:8786" in code:  # needs a cluster
            continue
        if kind == "python":
            exec(compile(code, path.name, "exec"), names)
        else:
            example = doctest.DocTestParser().get_doctest(
                code, names, path.name, str(path), 0
            )
            runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
            assert not runner.run(example, clear_globs=False).failed
            names = example.globs


def test_the_app_names_the_manual_only_where_it_is_built(tmp_path, monkeypatch):
    monkeypatch.setattr(manual, "FOLDER", tmp_path)
    assert manual.served_folders() == {}
    monkeypatch.setattr("sys.argv", ["panel", "serve", "manual=clusterlens/manual"])
    assert not Server().has_manual
    (tmp_path / "index.html").write_text("<h1>Manual</h1>")
    assert manual.served_folders() == {"manual": str(tmp_path)}
    assert Server().has_manual
    monkeypatch.setattr("sys.argv", ["clusterlens"])
    assert not Server().has_manual
    for has_manual in (True, False):
        session = new_session(Server())
        session.server.has_manual = has_manual
        assert ("href='manual/index.html'" in shell._help(session).body) is has_manual
        assert (safe(manual.MISSING) in shell._help(session).body) is not has_manual
    assert manual.manual_address("glossary#noise") == "manual/glossary.html#noise"


@pytest.mark.parametrize(
    ("tex", "parts"),
    [
        (r"\frac12", ["1", "2"]),
        (r"\tfrac 1 2", ["1", "2"]),
        (r"\frac{12}{34}", ["12", "34"]),
        (r"x^23", ["2", "3"]),
        (r"x^{23}", ["23"]),
        (r"3.14_10", ["3.14", "1", "0"]),
    ],
)
def test_a_digit_without_braces_is_one_argument_as_in_tex(tex, parts):
    found = ElementTree.fromstring(to_mathml(tex))
    assert [
        number.text for number in found.iter() if number.tag.endswith("mn")
    ] == parts


def test_every_fraction_of_the_manual_has_two_parts(built):
    pages = [page.read_text("utf-8") for page in built.rglob("*.html")]
    markup = re.findall(r"<math.*?</math>", "\n".join(pages), re.DOTALL)
    # The only name of a character in them that XML does not know; it is invisible.
    plain = [one.replace("&ApplyFunction;", "") for one in markup]
    formulas = [ElementTree.fromstring(one) for one in plain]
    assert len(formulas) > 60
    for found in formulas:
        for part in found.iter():
            if part.tag.endswith(("mfrac", "msup", "msub")):
                assert len(part) == 2, ElementTree.tostring(found)
