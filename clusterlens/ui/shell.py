"""Shell: the frame around the pages (header, navigation, keys), and the pages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from clusterlens.compute.formatting import count as counted
from clusterlens.compute.formatting import whole
from clusterlens.ui.components.commands import (
    KEYBOARD_COMMANDS,
    press,
    toggle_help,
    toggle_large,
)
from clusterlens.ui.components.interrupted import how_far
from clusterlens.ui.components.result_chip import ResultChip
from clusterlens.ui.components.status_bar import STATUS_BAR_HEIGHT, status_bar
from clusterlens.ui.figures.keyboard_control import HOW
from clusterlens.ui.jobs.scheduler import is_serving
from clusterlens.ui.leaving import dispose_page, register_page
from clusterlens.ui.pages import page_class
from clusterlens.ui.server.manual import MISSING, manual_address
from clusterlens.ui.server.memory.memory import Memory
from clusterlens.ui.server.uploads import NEW_TABLE, TABLE, FileTaker
from clusterlens.ui.session import Session
from clusterlens.ui.state.address import restore_view_state, to_query
from clusterlens.ui.state.history import Step
from clusterlens.ui.state.pages import PAGES
from clusterlens.ui.widgets.explanations import GLOSSARY
from clusterlens.ui.widgets.scripted import (
    Connection,
    Keys,
    Query,
    Text,
    TextSize,
    Theme,
    go_on,
)
from clusterlens.ui.widgets.style import (
    ACCENT,
    COLUMN,
    HIDDEN_WITHOUT_CONNECTION,
    scaled,
)
from clusterlens.ui.widgets.style import THEME as THEME_CONFIG
from clusterlens.ui.widgets.toolkit import link, pmu, pn, safe

# Keys for the page as a whole, also during a lesson.
OF_SHELL = ("?", "a")
# An overlay, so that nothing moves when it appears or disappears.
OVERLAY = """
:host { position: absolute !important; left: 50%; transform: translateX(-50%);
  width: min(760px, 94%) !important; z-index: 30; top: 60px; }
@media (max-height: 800px) { :host { top: 8px; } }
"""
RAIL = scaled("""
:host { width: calc(78px * var(--cl-scale, 1)) !important; overflow: hidden auto;
  flex: 0 0 calc(78px * var(--cl-scale, 1)) !important; scrollbar-width: none; }
nav { padding-top: 6px; font-size: 12px; text-align: center; }
nav p { margin: 8px 0 2px;
  color: color-mix(in srgb, currentColor var(--cl-mixed, 68%), transparent); }
nav button { all: unset; box-sizing: border-box; width: 100%; min-height: 52px;
  padding: 6px 2px; line-height: 1.2; cursor: pointer; }
nav button:not(:has(span)) { min-height: 0; padding: 3px 2px 7px; font-size: .857em; }
nav button:hover { background: color-mix(in srgb, currentColor 7%, transparent); }
nav button:focus-visible { outline-offset: -2px; }
nav button.pale {
  color: color-mix(in srgb, currentColor var(--cl-mixed, 64%), transparent); }
nav button[aria-current] {
  color: color-mix(in srgb, #0b8a8a var(--cl-mixed, 78%), currentColor);
  background: color-mix(in srgb, #0b8a8a 10%, transparent); font-weight: 700; }
nav span { display: block; font: 20px/1.2 "Material Icons";
  font-feature-settings: "liga"; }
""")
TOOLS = """
:host { white-space: nowrap; width: max-content !important; }
button { all: unset; box-sizing: border-box; width: 34px; height: 34px; cursor: pointer;
  border-radius: 50%; text-align: center; font: 24px/34px "Material Icons";
  font-feature-settings: "liga"; }
button:hover { background: rgba(255, 255, 255, .12); }
button:disabled { color: #ffffff66; cursor: default; background: none; }
button:focus-visible { outline-color: #fff !important; outline-offset: -2px; }
"""
TITLE = "ClusterLens"
TEMPLATE = Path(__file__).with_name("page.html")
WARM_AFTER_SECONDS = 1
HEADER_HEIGHT = 48
HEADER_STYLE = {
    "& .MuiToolbar-root": {"minHeight": f"{HEADER_HEIGHT}px !important"},
    "& .MuiAppBar-root": {
        "backgroundColor": f"{ACCENT} !important",
        # The dark theme would lighten the header, and white text would be illegible.
        "backgroundImage": "none !important",
        "color": "#fff !important",
    },
    "& main": {"overflow": "hidden"},
    # Empty headings of the template, as high as a toolbar; screen readers pass them.
    "& .MuiToolbar-root > h5": {"visibility": "hidden"},
    # Activity bar of the template; the status bar shows running work instead.
    "& .MuiLinearProgress-root": {"display": "none"},
}


def empty_frame() -> Any:
    """Return the frame of a page in its theme, without content; it costs little."""
    view = pmu.Page(
        title=TITLE,
        theme_config=THEME_CONFIG,
        template=TEMPLATE,
        busy_indicator=None,
        header=[Theme()],
        sidebar=[],
        sx=HEADER_STYLE,
    )
    # The template would be notified of busy and idle at each event, which walks over
    # all its models: half of the event loop's time while a slider moves. Another
    # reference instead lets the page be freed after it is closed.
    with pn.util.edit_readonly(view):
        view.busy = pn.rx(False)
    return view


class Shell:
    """The whole page of a browser session.

    Parameters
    ----------
    session : Session
        Session of the page.
    view : Page, optional
        Frame that the caller fills by `fill`. Default: a new one, which is filled.
    """

    def __init__(self, session: Session, view: Any = None) -> None:
        self.session = session
        self.view = empty_frame() if view is None else view
        register_page(self)
        self.pages = {spec.key: page_class(spec.key)(session) for spec in PAGES}
        self.classroom = self.pages["lessons"].classroom
        self._rail = Text(
            does=self._go,
            sizing_mode="stretch_height",
            stylesheets=[RAIL],
            css_classes=["cl-rail"],
        )
        if view is None:
            for _ in self.fill():
                pass

    def fill(self) -> Iterator[None]:
        """Fill the frame in parts, which take up to 0.1 s each."""
        session = self.session
        self.view.header = [
            *self.view.header,
            self._state(),
            *self._results(),
            _saved(session),
            Keys(self._press, wanted=list(KEYBOARD_COMMANDS)),
            _taker(session),
            _query(session),
            _connection(session),
            self._tools(),
        ]
        yield
        body = pn.Column(
            styles={**COLUMN, "flex": "1 1 0"},
            sizing_mode="stretch_both",
            margin=0,
        )
        content = pn.Column(
            body,
            styles={
                **COLUMN,
                "flex": "1 1 0",
                "padding": f"8px 8px {STATUS_BAR_HEIGHT}",
                "position": "relative",
            },
            sizing_mode="stretch_both",
            margin=0,
            css_classes=["cl-content"],
        )
        self.view.main = [
            pn.Row(
                self._rail,
                content,
                margin=0,
                sizing_mode="stretch_both",
                styles={
                    "display": "flex",
                    "height": f"calc(100vh - {HEADER_HEIGHT}px)",
                    "overflow": "hidden",
                },
            ),
        ]
        yield
        content.extend([status_bar(session), _help(session)])
        yield
        body.extend([page.view for page in self.pages.values()])
        session.view_state.param.watch(self._show_page, ["page"])
        # The page's content is made after the browser has drawn its frame.
        self.pages[session.view_state.page].view.visible = True
        session.history.param.watch(self._mark, ["steps", "cursor"])
        self._mark()

    def _go(self, page: str) -> None:
        if page != self.session.view_state.page:
            self.session.jobs.dismiss(*self.session.jobs.notices)
        self.session.view_state.page = page

    @property
    def in_force(self) -> Session:
        """The session for undo, keys and the header; during a lesson, its session."""
        in_lesson = (
            self.session.view_state.page == "lessons"
            and self.classroom.lesson is not None
        )
        return self.classroom.session if in_lesson else self.session

    def begin(self) -> None:
        """Show the page in a connected browser, then begin to compile kernels."""
        self._show_page()
        loop, warming = asyncio.get_running_loop(), self.session.server.warming
        loop.call_later(WARM_AFTER_SECONDS, warming.start)

    def close(self) -> None:
        """Stop all work finally, and free the page after it has stopped."""
        self.session.close()
        self.pages["lessons"].close()
        if is_serving():
            go_on(self._leave())

    async def _leave(self) -> None:
        for session in (self.session, self.classroom.session):
            await session.ended()
        dispose_page(self)

    def _press(self, key: str) -> None:
        of_shell = key in OF_SHELL or (key == "escape" and self.session.view_state.help)
        press(self.session if of_shell else self.in_force, key)

    def _whenever(self, write: Callable[..., None]) -> None:
        """Call now, and whenever another state may be in force."""
        for session in (self.session, self.classroom.session):
            session.history.param.watch(write, ["steps", "cursor"])
        self.session.view_state.param.watch(write, ["page"])
        self.classroom.param.watch(write, ["key", "opening"])
        write()

    def _state(self) -> Text:
        """Return the line of the header with the loaded table and the selected run."""

        def start(what: str) -> None:
            self.session.view_state.param.update(page="data", starting=True)

        text = Text(
            does=start,
            css_classes=["cl-state"],
            styles={
                "color": "white",
                "align-self": "center",
                "flex": "1 1 auto",
                "position": "relative",
            },
            margin=(0, 10),
            sizing_mode="stretch_width",
            height=26,
        )

        def write(*events: Any) -> None:
            analysis, parts = self.in_force.analysis, []
            if self.in_force is not self.session:
                parts.append("lesson")
            if analysis.table is not None:
                rows, columns = analysis.table.table.shape
                size = f"{whole(rows)} × {whole(columns)}"
                if analysis.large is not None:
                    size = f"{whole(rows)} landmarks of {whole(analysis.large.n_rows)}"
                parts.append(_named(analysis.table.name, size))
            if analysis.run is not None:
                size = counted(analysis.run.ensemble.n_partitions, "model")
                parts.append(_named(analysis.run.name, size))
            if analysis.links:
                parts.append(counted(len(analysis.links), "link"))
            chips = [f'<span class="chip">{part}</span>' for part in parts]
            if self.in_force is self.session:
                words = "another table" if chips else "no table yet"
                chips.append(link(words, "start", kind="chip"))
            text.body = f"<div class='chips'>{' '.join(chips)}</div>"

        self._whenever(write)
        return text

    def _results(self) -> list[Text]:
        """Return the chips with the result of the session and of a lesson."""
        self._chips = [
            ResultChip(one) for one in (self.session, self.classroom.session)
        ]

        def write(*events: Any) -> None:
            for chip in self._chips:
                in_force = chip.session is self.in_force
                chip.set_visible(in_force)
                chip.view.visible = in_force

        self._whenever(write)
        return [chip.view for chip in self._chips]

    def _tools(self) -> pn.Row:
        """Return the buttons of the header: undo, redo, larger text, the keys."""
        session = self.session
        acts: dict[str, Callable[[], Any]] = {
            "undo": lambda: self.in_force.undo(),
            "redo": lambda: self.in_force.redo(),
            "large": lambda: toggle_large(session),
            "help": lambda: toggle_help(session),
        }
        buttons = Text(
            does=lambda what: acts[what](),
            stylesheets=[TOOLS],
            styles={"color": "white"},
            sizing_mode=None,
            align="center",
        )

        def write(*events: Any) -> None:
            history = self.in_force.history
            undo, redo, at = history.undo_step, history.redo_step, history.cursor
            last = len(history.steps) - 1
            back = f" · step {at} of {last}" if undo else None
            forth = f" · step {at + 1} of {last}" if redo else None
            buttons.body = "".join(
                (
                    _tool("undo", "undo", f"Undo{_of(undo)}", back),
                    _tool("redo", "redo", f"Redo{_of(redo)}", forth),
                    _tool("large", "text_increase", "Larger text (A)"),
                    _tool("help", "help_outline", "Keys and words (?)"),
                )
            )

        self._whenever(write)
        view_state = session.view_state
        size = TextSize(large=view_state.large)
        view_state.param.watch(
            lambda event: size.param.update(large=event.new), ["large"]
        )
        size.param.watch(
            lambda event: view_state.param.update(large=event.new), ["large"]
        )
        return pn.Row(buttons, size, margin=0)

    def _show_page(self, *events: Any) -> None:
        """Show the selected page, and mark it in the navigation."""
        shown = self.session.view_state.page
        for key, page in self.pages.items():
            if key != shown:
                page.set_visible(False)
        self.pages[shown].set_visible(True)
        self._mark()

    def _mark(self, *events: Any) -> None:
        """Mark the displayed page in the navigation, and pages that need a table."""
        session = self.session
        self._rail.body = _rail(
            session.view_state.page, session.analysis.table is not None
        )


def _named(name: str, size: str) -> str:
    """Return a name, which may be cut, and a size, as markup."""
    name = safe(name)
    return (
        f"<bdi class='cut' title='{name} · {size}'>{name}</bdi> "
        f"<span class='cut'>· {size}</span>"
    )


def _tool(what: str, icon: str, name: str, more: str | None = "") -> str:
    """Return a button of the header, with more in its tooltip; disabled for None."""
    name = safe(name)
    return (
        f'<span class="cl-{what}"><button data-do="{what}" title="{name}{more or ""}" '
        f'aria-label="{name}" {"disabled" if more is None else ""}>{icon}</button>'
        "</span>"
    )


def _of(step: Step | None) -> str:
    return f": {step.title}" if step else ""


def _rail(shown: str, loaded: bool) -> str:
    """Return the navigation: one button per page, the current one marked.

    Pages that need a table are pale before one is loaded; they explain their needs.
    """
    rows = []
    for key, title, icon, heading in PAGES:
        if heading:
            rows.append(f"<p>{heading}</p>")
        current = 'aria-current="page"' if key == shown else ""
        pale = "" if loaded or key in ("data", "lessons") else ' class="pale"'
        picture = f'<span aria-hidden="true">{icon}</span>' if icon else ""
        rows.append(
            f'<div class="cl-nav-{key}"><button data-do="{key}"{pale} {current}>'
            f"{picture}{title}</button></div>"
        )
    title = "<h1 class='said'>ClusterLens</h1>"
    return f'{title}<nav aria-label="Pages">{"".join(rows)}</nav>'


def _taker(session: Session) -> FileTaker:
    """Return the taker of files dropped anywhere; on New rows they are new tables."""
    taker = FileTaker(session.receive, everywhere=True, width=1, height=1)

    def tell(*events: Any) -> None:
        is_new = (
            session.view_state.page == "new-rows" and session.analysis.segmentations
        )
        taker.rows_of = NEW_TABLE if is_new else TABLE

    session.view_state.param.watch(tell, ["page"])
    session.history.param.watch(tell, ["steps", "cursor"])
    tell()
    return taker


def _saved(session: Session) -> Text:
    """Return the chip that tells whether all steps are saved."""
    memory = session.memory

    def retry(what: str) -> None:
        memory.retry()

    text = Text(
        does=retry,
        css_classes=["cl-saved"],
        styles={
            "color": "white",
            "align-self": "center",
            "flex": "none",
            **HIDDEN_WITHOUT_CONNECTION,
        },
        # The width follows the text, so that names beside it get the rest. A minimum
        # width keeps the layout the same before and after a step is saved.
        stylesheets=[
            ":host { width: max-content !important; white-space: nowrap; } "
            ".chip { box-sizing: border-box; min-width: 6.2em; text-align: center; }"
        ],
        sizing_mode=None,
        height=26,
        margin=(0, 0, 0, 8),
    )

    def write(*events: Any) -> None:
        again = link("cannot save: try again", "retry", kind="chip link warning")
        text.body = {
            "off": '<span class="chip" title="Nothing is kept on this disk; save the '
            'analysis as a file on the Report page.">not kept</span>',
            "empty": "",
            "saving": '<span class="chip">saving…</span>',
            "saved": '<span class="chip" title="Every step is on the disk.">saved'
            "</span>",
            "failed": f'<span title="{safe(memory.problem)}">{again}</span>',
        }[memory.state]
        if memory.state == "failed":
            session.jobs.notify("error", f"Cannot save. {memory.problem}")

    memory.param.watch(write, ["state", "problem"])
    write()
    return text


def _query(session: Session) -> Query:
    """Keep the address of the page equal to a link to its present view."""
    memory, view_state = session.memory, session.view_state
    query = Query(lambda page: restore_view_state(view_state, {"page": page}))

    def write(*events: Any) -> None:
        given = to_query(memory.analysis, view_state)
        if given:
            query.text = f"?{urlencode(given)}"

    memory.param.watch(write, ["analysis"])
    view_state.param.watch(write, view_state.linked())
    return query


def _connection(session: Session) -> Connection:
    """Provide the texts that the page shows when its connection is lost."""
    memory, connection = session.memory, Connection()

    def write(*events: Any) -> None:
        loaded = session.analysis.table is not None
        saved = {
            "off": "Nothing of this page is kept on a disk." if loaded else "",
            "empty": "",
            "saving": "What you did last may not be saved.",
            "saved": "All that was done until {time} is saved.",
            "failed": "All that was done until {time} is saved, what you did since is "
            "not.",
        }[memory.state]
        connection.param.update(
            saved=saved,
            saved_at=memory.saved_at,
            unsaved=_unsaved(memory),
            is_kept=session.is_kept,
        )

    memory.param.watch(write, ["state", "saved_at", "under_way"])
    session.history.param.watch(write, ["steps", "cursor"])
    write()
    return connection


def _unsaved(memory: Memory) -> str:
    """List the work that would be lost with the server."""
    if not memory.under_way:
        return ""
    what = ", ".join(f"{intent.title}{how_far(intent)}" for intent in memory.under_way)
    again = "is offered again" if memory.analysis else "has to be done again"
    return (
        f"Not saved: {what}. It goes on if the server is still there; otherwise it "
        f"{again} when the page is back."
    )


def _help(session: Session) -> Text:
    """Return the list of keys and words, with a link to the manual, on request."""
    rows = "".join(
        f"<tr><td><kbd>{safe(key.replace('arrow', ''))}</kbd></td>"
        f"<td>{safe(command.words)}</td></tr>"
        for key, command in KEYBOARD_COMMANDS.items()
    )
    words = "".join(
        f"<dt>{safe(word)}</dt><dd>{safe(meaning)}</dd>"
        for word, meaning in sorted(GLOSSARY.items(), key=lambda item: item[0].lower())
    )
    manual = (
        f"<a href='{safe(manual_address())}' target='_blank' rel='noopener'>"
        "Open the manual</a>"
        if session.server.has_manual
        else safe(MISSING)
    )
    place = Text(
        f"<div class='keys'><div><h2>Keys</h2><table>{rows}</table>"
        f"<p><kbd>{Keys.step}</kbd> leads to the next step, the filled button of a "
        f"page. Tab leads to maps, matrices and tables. {HOW} In a table, "
        f"arrow keys lead from button to button.</p><p>{manual}</p></div>"
        f"<div><h2>Words</h2><dl class='words' tabindex='0'>{words}</dl></div></div>",
        visible=False,
        css_classes=["cl-keys"],
        stylesheets=[OVERLAY],
    )
    session.view_state.param.watch(
        lambda event: setattr(place, "visible", event.new), ["help"]
    )
    return place
