"""Tests of number formats, for readers of any language."""

import ast
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import clusterlens
from clusterlens.compute.formatting import (
    all_of,
    count,
    decimals_below,
    grouped,
    percent,
    whole,
)
from clusterlens.ui.components.result_button import offer_result, result_button
from clusterlens.ui.pages.data.nodes import write_cell
from clusterlens.ui.widgets.palette import label_title
from clusterlens.ui.widgets.toolkit import breakable
from clusterlens.ui.widgets.words import fixed, number, typed, with_minus


@pytest.mark.parametrize(
    ("label", "title"),
    [(4, "label 4"), ("-1.5", "label -1.5"), ("setosa", "setosa"), ("4a", "4a")],
)
def test_a_bare_number_is_said_to_be_a_label(label, title):
    assert label_title(label) == title


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (whole(999), "999"),
        (whole(1_234_567), "1\u202f234\u202f567"),
        (count(10_000, "model"), "10\u202f000 models"),
        (all_of(2), "both"),
        (all_of(1000), "all 1\u202f000"),
        (number(12_345.6), "12\u202f346"),
        (number(0.5), "0.5"),
        (grouped(167_000.0), "167\u202f000"),
        (grouped(2001.5), "2001.5"),
        (grouped(-3.2e11), "-3.2e+11"),
        (with_minus("-1.3"), "−1.3"),
        (with_minus("2020-01-05"), "2020-01-05"),
        (with_minus("-5e-06"), "−5e−06"),
        (number(-1.7), "−1.7"),
        (number(-0.000_17), "−0.00017"),
        (fixed(-1.71, signed=True), "−1.71"),
        (write_cell(-1.5), "−1.5"),
        (write_cell(-3), "−3"),
        (write_cell("2020-01-05"), "2020-01-05"),
        (write_cell(pd.Timestamp("2020-01-05")), "2020-01-05"),
        (typed("−1,5"), "-1.5"),
        (percent(0), "0%"),
        (percent(0.0004), "<1%"),
        (percent(0.25), "25%"),
        (percent(-0.0), "0%"),
        (percent(-0.004), "0%"),
        (percent(1e-17), "0%"),
        (percent(-0.25), "−25%"),
        (percent(0.9967), ">99%"),
        (percent(1 - 1e-12), "100%"),
        (number(pd.Timestamp("2019-09-12")), "2019-09-12"),
        (number(pd.Timestamp("2019-09-12 06:30")), "2019-09-12 06:30:00"),
        (number(pd.NaT), "–"),
        (breakable("shell_weight <g>"), "shell_<wbr>weight &lt;g&gt;"),
    ],
)
def test_no_comma_stands_between_thousands_and_little_is_not_nothing(written, text):
    assert written == text


@pytest.mark.parametrize("text", ["12345.5", "12 345,5", "12\u202f345.5", "12345,5"])
def test_typed_numbers_may_have_a_comma_and_groups_of_digits(text):
    assert float(typed(text)) == 12_345.5


@pytest.mark.parametrize("text", ["", "1,2,3", "1.2,3", "three"])
def test_what_is_no_number_stays_none(text):
    with pytest.raises(ValueError, match="could not convert"):
        float(typed(text))


def texts_of(path):
    """Yield the texts of a module, without docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documents = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in documents:
            yield str(node.value)


def labelled_calls():
    """Yield constant labels of widgets with the constant parts of descriptions."""
    for path in Path(clusterlens.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            given = {one.arg: one.value for one in node.keywords}
            label, description = given.get("label"), given.get("description")
            if isinstance(label, ast.Constant) and isinstance(
                description, ast.Constant | ast.JoinedStr
            ):
                parts = ast.walk(description)
                texts = [str(a.value) for a in parts if isinstance(a, ast.Constant)]
                yield label.value, "".join(texts)


def test_the_accessible_name_of_a_button_contains_its_visible_words():
    found = dict(labelled_calls())
    assert "Refit" in found
    missing = {k: v for k, v in found.items() if k.lower() not in v.lower()}
    assert not missing


def test_the_name_of_the_button_of_the_result_contains_its_words_if_doubted_too():
    button = result_button(print)
    assert button.label in button.description
    rejected = SimpleNamespace(stable=np.array([False]), sizes=np.array([9]))
    offer_result(button, None, rejected)
    assert button.color == "warning"
    assert button.label in button.description


def test_no_space_stands_before_the_sign_of_percent():
    package = Path(clusterlens.__file__).parent
    texts = [(path, text) for path in package.rglob("*.py") for text in texts_of(path)]
    assert len(texts) > 10_000
    spaced = re.compile(r"(^|[\d}>])\s%(?![a-zA-Z(])")
    assert [one for one in texts if spaced.search(one[1])] == []
    manual = (package.parent / "docs").rglob("*.md")
    assert not any(re.search(r"\d %", path.read_text("utf-8")) for path in manual)


@pytest.mark.parametrize(
    ("value", "limit", "decimals"),
    [
        *((0.74, 0.75, 2), (0.7496, 0.75, 4), (0.75, 0.75, 2), (0.8, 0.75, 2)),
        *((0.999, 1, 3), (0.99999, 1, 5), (1 - 1e-9, 1, 6), (1, 1, 2), (-0.5, 1, 2)),
    ],
)
def test_a_value_below_its_limit_is_shown_below_it(value, limit, decimals):
    assert decimals_below(value, limit) == decimals
