"""Tests of view parameters: defaults, and the events that reset them."""

from clusterlens.ui.composition import AppViewState
from clusterlens.ui.state.view_parameters import Viewport

# Parameters that another run or another table leaves unchanged.
STAYS = (
    *("page", "tab", "large", "help", "drawer", "linking", "so_far"),
    *("colour_by", "order_by", "shading", "rows_as", "consensus_by", "obey_links"),
    *("profile_query", "profile_sort", "typical_first"),
    *("column", "column_query", "column_role", "pool_draft", "pool_as_text"),
    *("report_without", "report_with"),
    *(
        "map_of",
        "pool_alone",
        "by_distance",
        "short_ranking",
        "enlarged",
        "table_open",
        "table_columns",
        "table_sort",
    ),
    *("cns_metric", "cns_certain", "fuzzy_case", "fuzzy_model", "fuzzy_side"),
    *("fuzzy_hidden", "fuzzy_precision", "fuzzy_set_model", "fuzzy_set_fixed"),
    "fuzzy_cards",
    *(
        "all_rows_first",
        "new_rows_first",
        "new_rows_cards",
        "lesson",
        "lesson_step",
        "lessons_finished",
        "class_word",
    ),
)


def test_every_parameter_is_forgotten_with_something_or_stays_on_purpose():
    listed = [*AppViewState.reset_at("run", "table", "either"), *STAYS]
    assert len(listed) == len(set(listed))
    assert set(listed) == set(AppViewState().param) - {"name"}


def test_what_is_forgotten_is_as_it_was_first_but_for_the_size_of_views():
    view_state = AppViewState(model=3, pair=(1, 2), shading="eq_hist")
    view_state.map_view = Viewport((0.0, 1.0), (2.0, 3.0), 300, 200)
    view_state.forget(*AppViewState.reset_at("run"))
    assert (view_state.model, view_state.pair) == (None, ())
    assert view_state.map_view == Viewport(width=300, height=200)
    assert view_state.shading == "eq_hist"
