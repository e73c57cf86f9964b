"""Status bar of a page: messages, interrupted work, and the work in progress."""

from __future__ import annotations

from typing import Any

from clusterlens.compute.formatting import whole
from clusterlens.ui.components.interrupted import interrupted
from clusterlens.ui.session import Session
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.style import HIDDEN_WITHOUT_CONNECTION
from clusterlens.ui.widgets.toolkit import link, pn, progress_bar, quoting, safe
from clusterlens.ui.widgets.words import ALL_AT_WORK

# Place below the cards. Notices and work that appear here move no picture, and one line
# covers nothing; more lines grow upwards over the cards.
STATUS_BAR_HEIGHT = "calc(var(--cl-scale, 1) * 34px)"
STATUS_BAR_CSS = """
:host { position: absolute !important; inset: auto 8px 2px; width: auto !important;
  z-index: 30; display: flex; flex-wrap: wrap; align-items: center;
  justify-content: center; gap: 2px 8px; pointer-events: none; }
"""
STATUS_ENTRY_CSS = """
:host { width: auto !important; flex: %s; max-height: 40vh; overflow-y: auto;
  pointer-events: auto; }
"""
JOB = """
:host { padding: 1px 12px; box-sizing: border-box; border-radius: 6px;
  background: var(--panel-surface-color); color: var(--panel-on-surface-color); }
.cl-bar { flex: 1 1 90px; }
"""
JOB_TEXT = """
:host { flex: 0 1 auto; min-width: 0; width: auto !important; white-space: nowrap;
  overflow: hidden; }
"""
CANCEL = """
:host { flex: none; width: max-content !important; }
button.pill { margin: 0;
  color: color-mix(in srgb, #c62828 var(--cl-mixed, 80%), currentColor);
  border-color: color-mix(in srgb, #c62828 50%, transparent); padding: 3px 12px; }
button.pill:hover { border-color: #c62828; }
"""


def status_bar(session: Session) -> pn.Row:
    """Return the place below the cards, where changes move no card."""
    return pn.Row(
        pn.Column(
            interrupted(session),
            notices(session),
            stylesheets=[STATUS_ENTRY_CSS % "0 1 auto"],
            margin=0,
        ),
        job_bar(session),
        stylesheets=[STATUS_BAR_CSS],
        margin=0,
    )


def job_bar(session: Session) -> pn.Row:
    """Return the bar that shows the work in progress, with Cancel."""
    jobs, warming = session.jobs, session.server.warming
    text = Text(align="center", sizing_mode=None, stylesheets=[JOB_TEXT])
    bar = Text(css_classes=["cl-bar"], margin=(0, 16, 5, 16), align="center")
    cancel = Text(
        link("Cancel", "cancel", kind="pill", css="cl-cancel"),
        does=lambda what: jobs.cancel(),
        align="center",
        sizing_mode=None,
        stylesheets=[CANCEL],
    )
    row = pn.Row(
        text,
        bar,
        cancel,
        visible=False,
        css_classes=["cl-job"],
        styles=HIDDEN_WITHOUT_CONNECTION,
        margin=0,
        stylesheets=[JOB, STATUS_ENTRY_CSS % "1 1 330px; max-width: 900px"],
    )

    def show(*events: Any) -> None:
        shown = jobs.shown
        if shown is not None:
            bar.body = progress_bar(shown.title, shown.done, shown.total)
            steps = (
                f" · {whole(shown.done)} of {whole(shown.total)}" if shown.total else ""
            )
            steps += f" {shown.unit}" if steps and shown.unit else ""
            steps += f" · {shown.pace}" if shown.pace else ""
            waiting = f" · {shown.waiting} waiting" if shown.waiting else ""
            waiting += f" · {ALL_AT_WORK}" if shown.waits_its_turn else ""
            compiling = f" · {warming.message}" if warming.message else ""
            text.body = (
                f"<p class='cut'><b>{safe(shown.title)}</b>{steps} · "
                f"{shown.seconds:.0f} s{waiting}{compiling}</p>"
            )
        row.visible = shown is not None

    jobs.param.watch(show, ["shown"])
    return row


def notices(session: Session) -> Text:
    """Return the place of the messages.

    Each stays until closed, or until the next action.
    """
    jobs = session.jobs

    def close(what: str) -> None:
        for notice in jobs.notices:
            if str(hash(notice)) == what:
                jobs.dismiss(notice)

    place = Text(
        does=close,
        css_classes=["cl-notices"],
    )

    def show(*events: Any) -> None:
        place.body = "".join(
            f'<div class="notice {notice.severity} cl-notice-{notice.severity}" '
            f'role="alert"><span>{quoting(notice.text)}</span>'
            f"{link('Close', str(hash(notice)))}</div>"
            for notice in jobs.notices
        )

    jobs.param.watch(show, ["notices"])
    show()  # messages from before the page was made
    return place
