"""Tests of addresses: read with limits; unsuitable values are left out."""

import json

import pytest

from clusterlens.compute._plain import MOST_NESTED, read_plain
from clusterlens.ui.composition import AppViewState
from clusterlens.ui.state.address import (
    from_query,
    plain_view_state,
    restore_view_state,
    to_query,
)
from clusterlens.ui.state.pages import PAGES


def test_a_link_says_again_what_was_looked_at():
    view_state, again = (
        AppViewState(page="cns", model=3, report_without=("map",)),
        AppViewState(),
    )
    analysis, values = from_query(to_query("a1", view_state))
    restore_view_state(again, values)
    assert analysis == "a1"
    assert plain_view_state(again) == plain_view_state(view_state) != {}


@pytest.mark.parametrize(
    "plain",
    [
        "[" * 5000,
        "[" * 5000 + "]" * 5000,
        '{"page":' * 1000 + "1" + "}" * 1000,
        "[" * 900 + "]" * 900,
        json.dumps({"page": "x" * 20_000}),
        *("", "{", "[]", "3", '"data"', "null", "1" * 5000),
    ],
)
def test_what_is_no_look_is_refused_with_what_to_do(plain):
    with pytest.raises(ValueError, match="copy the link again"):
        from_query({"analysis": "a1", "look": plain})


def test_the_name_of_an_analysis_is_of_bounded_length():
    with pytest.raises(ValueError, match="too long"):
        from_query({"analysis": "x" * 10_000})


@pytest.mark.parametrize(("open_", "close"), [("[", "]"), ('{"a":', "}")])
def test_values_are_nested_up_to_a_bound(open_, close):
    def nested(depth):
        return open_ * depth + "1" + close * depth

    assert read_plain(nested(MOST_NESTED - 1), 10_000)
    with pytest.raises(ValueError, match="nested"):
        read_plain(nested(MOST_NESTED + 1), 10_000)


@pytest.mark.parametrize(
    "values",
    [
        *({"page": "nosuch"}, {"page": ""}, {"page": []}, {"page": {}}),
        *({"model": -1}, {"model": 7}, {"model": True}, {"model": 10**40}),
        *({"inspected": 0.5}, {"cns_sample": "1"}, {"tab": None}),
        *({"map_view": [0, 10**400, 0, 1]}, {"map_view": [float("nan"), 1, 0, 1]}),
        *({"map_view": [1e308, -1e308, 0, 1]}, {"matrix_view": [[0], 1, 0, 1]}),
        *({"label_source": "column:\ud800"}, {"report_without": ["\ud800"]}),
        *({"obey_links": 1}, {"nosuch": 1}, {"help": True}),
    ],
)
def test_a_value_that_does_not_fit_is_left_out(values):
    view_state = AppViewState()
    before = view_state.param.values()
    restore_view_state(view_state, values, {"model": 7})
    assert view_state.param.values() == before


def test_every_page_can_be_named_and_no_other():
    assert AppViewState.param.page.objects == [key for key, *_ in PAGES]


def test_a_link_of_before_restores_a_parameter_under_its_new_name():
    view_state = AppViewState()
    restore_view_state(view_state, {"judged": "model:2"})
    assert view_state.label_source == "model:2"
    restore_view_state(view_state, {"judged": "column:\ud800"})
    assert view_state.label_source == "model:2"
