"""The page: header with the state of the analysis, navigation, notices, and VIEWS."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from clusterlens.ui import warm
from clusterlens.ui.actions import perform_in_background
from clusterlens.ui.jobs import Notice
from clusterlens.ui.kit import ACCENT, CARD_STYLE, THEME, markup, pmu, pn, safe
from clusterlens.ui.log import Action
from clusterlens.ui.session import Session
from clusterlens.ui.views.consensus import ConsensusPage
from clusterlens.ui.views.data import DataPage
from clusterlens.ui.views.pool import PoolPage

# Key, title, icon and class of each page, in reading order.
VIEWS = (
    ("data", "Data", "table_chart", DataPage),
    ("pool", "Pool", "tune", PoolPage),
    ("consensus", "Consensus", "grid_on", ConsensusPage),
)
TEMPLATE = Path(__file__).with_name("page.html")
RAIL_WIDTH = 84
HEADER_STYLE = {
    "& .MuiToolbar-root": {"minHeight": "50px !important"},
    "& .MuiAppBar-root": {
        "backgroundColor": f"{ACCENT} !important",
        "color": "#fff !important",
    },
}


def build_page(session: Session) -> pmu.Page:
    """Return the whole page of a browser session."""
    views = {key: view(session) for key, _, _, view in VIEWS}
    content = pmu.Column(
        _job_bar(session),
        _notices(session),
        _shown_view(session, views),
        margin=(6, 8),
        sizing_mode="stretch_width",
        css_classes=["cl-content"],
    )
    return pmu.Page(
        title="ClusterLens",
        theme_config=THEME,
        template=TEMPLATE,
        header=[_state(session)],
        main=[
            pmu.Row(_rail(session), content, margin=0, sizing_mode="stretch_width"),
        ],
        sidebar=[],
        sx=HEADER_STYLE,
    )


def _rail(session: Session) -> pmu.Column:
    """Return the navigation: one button per page, the current one marked."""
    buttons = {
        key: pmu.Button(
            label=title,
            icon=icon,
            variant="text",
            width=RAIL_WIDTH,
            height=58,
            margin=0,
            css_classes=[f"cl-nav-{key}"],
            sx={
                "flexDirection": "column",
                "textTransform": "none",
                "fontSize": "12px",
                "borderRadius": 0,
                "& .MuiButton-startIcon": {"margin": 0},
            },
            on_click=lambda event, key=key: setattr(session, "page", key),
        )
        for key, title, icon, _ in VIEWS
    }

    def mark(*events: Any) -> None:
        for key, button in buttons.items():
            button.color = "primary" if key == session.page else "default"

    session.param.watch(mark, ["page"])
    mark()
    return pmu.Column(
        *buttons.values(), width=RAIL_WIDTH, margin=(8, 0), css_classes=["cl-rail"]
    )


def _shown_view(session: Session, views: dict[str, Any]) -> pmu.Column:
    """Return a place that holds the current view.

    Views that are out of sight are taken off the page, as hidden figures and tables
    fail in the browser when they change.
    """
    drawn = {key: view.__panel__() for key, view in views.items()}
    place = pmu.Column(margin=0, sizing_mode="stretch_width")

    def show(*events: Any) -> None:
        place[:] = [drawn[session.page]]

    session.param.watch(show, ["page"])
    show()
    return place


def _state(session: Session) -> Any:
    """Return the line of the header that says what is loaded and shown."""
    text = markup(css_classes=["cl-state"], styles={"color": "white"}, margin=(0, 10))

    def write(*events: Any) -> None:
        parts = []
        if session.table is not None:
            rows, columns = session.table.table.shape
            parts.append(f"{safe(session.table.name)} · {rows:,} × {columns:,}")
        if session.run is not None:
            run = session.run
            parts.append(
                f"{safe(run.name)}: {run.ensemble.n_partitions} models on "
                f"{safe(run.dataset.name)}"
            )
        text.object = " ".join(f'<span class="chip">{part}</span>' for part in parts)

    session.param.watch(write, ["table", "run"])
    write()
    return text


def _job_bar(session: Session) -> pmu.Paper:
    """Return the bar that shows the work under way, with Cancel."""
    jobs = session.jobs
    text = markup(width=420, margin=(6, 0))
    bar = pmu.LinearProgress(
        value=0, sizing_mode="stretch_width", margin=(16, 16), css_classes=["cl-bar"]
    )
    cancel = pmu.Button(
        label="Cancel",
        size="small",
        variant="outlined",
        color="error",
        on_click=lambda event: jobs.cancel(),
        css_classes=["cl-cancel"],
    )
    paper = pmu.Paper(
        pmu.Row(text, bar, cancel, margin=0, sizing_mode="stretch_width"),
        visible=False,
        css_classes=["cl-job"],
        sx=CARD_STYLE,
        margin=4,
        sizing_mode="stretch_width",
    )

    def show(*events: Any) -> None:
        if jobs.total:
            bar.param.update(
                variant="determinate", value=round(100 * jobs.done / jobs.total)
            )
        else:
            bar.variant = "indeterminate"
        steps = f" · {jobs.done:,} of {jobs.total:,}" if jobs.total else ""
        text.object = f"<p><b>{safe(jobs.title)}</b>{steps} · {jobs.seconds:.0f} s</p>"
        paper.visible = jobs.busy

    jobs.param.watch(show, ["busy", "title", "done", "total", "seconds"])
    return paper


def _notices(session: Session) -> pmu.Column:
    """Return the place where messages appear until they are closed."""
    jobs = session.jobs
    place = pmu.Column(
        margin=0, sizing_mode="stretch_width", css_classes=["cl-notices"]
    )
    shown: dict[Notice, pmu.Alert] = {}

    def alert(notice: Notice) -> pmu.Alert:
        made = pmu.Alert(
            safe(notice.text),
            severity=notice.severity,
            closeable=True,
            margin=4,
            sizing_mode="stretch_width",
            css_classes=[f"cl-notice-{notice.severity}"],
        )
        made.param.watch(lambda event: jobs.dismiss(notice), "closed")
        return made

    def show(*events: Any) -> None:
        for notice in jobs.notices:
            if notice not in shown:
                shown[notice] = alert(notice)
        for notice in shown.keys() - set(jobs.notices):
            del shown[notice]
        place[:] = [shown[notice] for notice in jobs.notices]

    jobs.param.watch(show, ["notices"])
    return place


async def _load_file(session: Session, file: Path) -> None:
    """Load a table and prepare it by the default rules, as if it had been dropped."""
    key = session.keep_file(file.read_bytes())
    values = {"name": file.name, "sha256": key}
    if await perform_in_background(session, Action("load file", values)):
        await perform_in_background(session, Action("prepare", {"roles": {}}))


def serve_page(file: Path | None = None) -> None:
    """Make a session for the browser that has just connected, and show its page.

    Parameters
    ----------
    file : Path, optional
        Table that the page begins with.
    """
    pn.extension("tabulator", "filedropper")
    session = Session()
    pn.config.exception_handler = lambda error: session.jobs.fail("This step", error)
    build_page(session).servable()
    pn.state.on_session_destroyed(lambda context: session.jobs.close())
    pn.state.onload(warm.start)
    if file is not None:
        pn.state.onload(partial(_load_file, session, file))
