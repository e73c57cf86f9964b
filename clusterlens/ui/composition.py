"""Composition root: view parameters and results of all pages, and sessions of them."""

from __future__ import annotations

from clusterlens.ui.jobs.nodes import collect_nodes
from clusterlens.ui.pages import page_files
from clusterlens.ui.results import (
    agreement,
    answers,
    cluster_stability,
    evaluated_labels,
    export_evidence,
    inspector,
    leading,
    links,
    more_models,
    nulls,
    pictures,
    result,
    runs,
)
from clusterlens.ui.server.server import Server
from clusterlens.ui.session import Session
from clusterlens.ui.state.analysis import Analysis
from clusterlens.ui.state.view_state import ViewState

_OF_PAGES = [file.ViewState for file in page_files(".view_state")]


class AppViewState(ViewState, *_OF_PAGES):  # type: ignore[misc]  # one base per page
    """The view of the analyst: shared parameters, and those of each page."""


_SHARED = (
    *(agreement, answers, cluster_stability, inspector, evaluated_labels, leading),
    *(links, more_models, nulls, pictures, result, runs, export_evidence),
)
# All results by name: those that several pages show, and those of each page.
NODES = collect_nodes(
    (*_SHARED, *page_files("nodes")),
    (*dir(Analysis()), *(f"view.{name}" for name in AppViewState.param)),
)


def new_session(server: Server, *, in_lesson: bool = False) -> Session:
    """Return a session with the results and the view state of all pages."""
    return Session(server, NODES, AppViewState(), in_lesson=in_lesson)
