"""The coach: one paragraph and one task, beside the working page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from clusterlens.compute.formatting import whole
from clusterlens.ui.components.card import Card
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.lessons.classroom import Classroom
from clusterlens.ui.lessons.lesson import Lesson, Task
from clusterlens.ui.pages.lessons.leader_comparison import (
    BESIDE_CSS,
    RESULTS,
    compare_with_leader,
)
from clusterlens.ui.session import Session
from clusterlens.ui.widgets.scripted import Pointer, Text
from clusterlens.ui.widgets.style import COLUMN, SCROLL, TEXT_CSS
from clusterlens.ui.widgets.toolkit import box, link, pn, safe

CSS = """
.bars { display: flex; gap: 4px; margin: 6px 0 12px; align-items: center; }
.bars i { flex: 1; height: 5px; border-radius: 3px;
  background: color-mix(in srgb, currentColor 14%, transparent); }
.bars i.done { background: #0b8a8a; }
.bars span { font-size: 12px; margin-left: 4px; white-space: nowrap; }
h2 { font-size: 16px; margin: 0 0 6px; white-space: normal; }
p { line-height: 1.45; margin: 6px 0; }
.task { display: flex; gap: 10px; align-items: center; padding: 9px 11px;
  margin: 10px 0; border-radius: 6px;
  background: color-mix(in srgb, #0b8a8a 12%, transparent); }
.task > span { flex: none; width: 22px; height: 22px; line-height: 22px;
  border-radius: 50%; text-align: center; background: #e07b00; color: #14181d;
  font-weight: 700; }
.task > span.done { background: #0b6e6e; color: #fff; }
ol { list-style: none; margin: 14px 0 0; padding: 8px 0 0; border-top: 1px solid
  color-mix(in srgb, currentColor 16%, transparent); font-size: 12px; }
ol li { padding: 2px 0; } ol li.now { font-weight: 700; }
ol li::before { content: attr(data-mark); display: inline-block; width: 20px; }
.foot { display: flex; flex-wrap: wrap; gap: 5px; align-items: center;
  padding-top: 8px; }
.foot button { white-space: nowrap; }
.foot :is(.main, .plain) { padding: 6px 7px; }
.top { display: flex; justify-content: space-between; margin: 0; gap: 8px; }
.foot .right { margin-left: auto; float: none; }
button.main, button.plain { all: unset; cursor: pointer; padding: 6px 12px;
  border-radius: 6px; font-weight: 700; border: 1px solid #0b6e6e; }
button.main { background: #0b6e6e; color: #fff; }
button[aria-disabled] { opacity: .4; cursor: default; }
button.main:focus-visible, button.plain:focus-visible { outline-offset: 2px; }
@media (max-width: 1150px) { ol { display: none; }
  .two { columns: 2; column-gap: 24px; } .two > * { break-inside: avoid; }
  .bars { margin: 3px 0 4px; } h2 { font-size: 16px; margin-bottom: 4px; }
  .task { padding: 4px 11px; margin: 0 0 4px; }
  p { line-height: 1.36; margin: 3px 0; } }
"""


_ASK = (
    "<div class='foot' role='alertdialog' aria-label='Begin again'>"
    "<span>Begin this lesson again?</span>"
    f"{link('Begin again', 'reset')}{link('Go on', 'stay', kind='main')}</div>"
)


_GONE = (
    "You did this, but the page has changed since. Do it once more to read the outcome."
)


class Coach(Card):
    """Card of the present step, with the controls of the lesson."""

    def __init__(
        self, session: Session, classroom: Classroom, on_leave: Callable[[str], Any]
    ) -> None:
        self.classroom, self._on_leave = classroom, on_leave
        super().__init__(session)

    def build(self) -> Any:
        self._text = Text(css_classes=["cl-coach-text"], does=self._do)
        self._busy = Text(css_classes=["cl-coach-busy"], styles={"flex": "none"})
        self._buttons = Text(
            does=self._do, css_classes=["cl-coach-foot"], styles={"flex": "none"}
        )
        for text in (self._text, self._buttons):
            text.stylesheets = [TEXT_CSS, CSS, BESIDE_CSS]
        self._pointer = Pointer()
        classroom = self.classroom
        classroom.param.watch(
            lambda *events: self.show(),
            ["key", "step", "reached", "holds", "mistaken", "opening"],
        )
        classroom.session.jobs.param.watch(self._tell, ["shown"])
        place = pn.Column(
            self._text,
            sizing_mode="stretch_both",
            margin=0,
            styles={**COLUMN, **SCROLL},
        )
        return box(
            place,
            self._busy,
            self._buttons,
            self._pointer,
            css="cl-coach",
            stylesheets=[":host { border-color: var(--panel-primary-color); }"],
        )

    def focus(self) -> None:
        """Move the focus to the text of the step."""
        self._text.focus()

    def set_visible(self, visible: bool) -> None:
        """Point at nothing while hidden."""
        super().set_visible(visible)
        self._is_visible = visible
        self.show()

    def show(self) -> None:
        """Write the step."""
        classroom, task = self.classroom, self.classroom.task
        selects = task is not None and task.done and "selected" in task.done.needs
        self._compare(bool(self._is_visible and classroom.holds and selects))
        self._write()

    def _compare(self, wanted: bool) -> None:
        """Show the leader beside the selected model, if the task is to select it."""
        if wanted == (self._stop_comparing is not None):
            return
        if self._stop_comparing is not None:
            self._stop_comparing()
            self._beside, self._stop_comparing = "", None
        else:
            derived = self.classroom.session.derived
            self._stop_comparing = derived.watch(RESULTS, self._put_beside)

    def _put_beside(self, found: Mapping[str, Result]) -> None:
        self._beside = compare_with_leader(found)
        self._write()

    def _write(self) -> None:
        classroom = self.classroom
        lesson, task = classroom.lesson, classroom.task
        if lesson is None or task is None:
            self._pointer.target = ""
            return
        at = list(classroom.lessons).index(classroom.key) + 1
        self._text.body = (
            _head(lesson, at, classroom.step)
            + "<div class='two'>"
            + _body(task, classroom, self._beside)
            + "</div>"
            + _steps(lesson, classroom.step)
        )
        self._buttons.body = _ASK if self._asks else _buttons(lesson, task, classroom)
        points = self._is_visible and not (classroom.holds or classroom.opening)
        self._pointer.target = task.target if points else ""

    _is_visible = _asks = False
    _beside = ""
    _stop_comparing: Callable[[], None] | None = None

    def _tell(self, event: Any) -> None:
        """Show the progress of work in the lesson."""
        shown = event.new
        if shown is None or (shown.in_background and not self.classroom.opening):
            self._busy.body = ""
            return
        part = f" {whole(shown.done)} of {whole(shown.total)}" if shown.total else " …"
        self._busy.body = (
            f"<p class='muted' role='status'>{safe(shown.title)}{part}</p>"
        )

    async def _do(self, what: str) -> None:
        classroom, key = self.classroom, self.classroom.key
        if what in ("next", "show"):
            await (classroom.next() if what == "next" else classroom.show())
        elif what in ("back", "reset", "close"):
            getattr(classroom, what)()
        self._asks = what == "ask"
        self._write()
        if classroom.lesson is None:
            self._on_leave(key)


def _head(lesson: Lesson, at: int, step: int) -> str:
    bars = "".join(
        f"<i class='{'done' if k <= step else ''}'></i>"
        for k in range(len(lesson.steps))
    )
    close = link("<span aria-label='Leave the lesson'>✕</span>", "close")
    return (
        f"<p class='top'><b class='muted'>Lesson {at} · {safe(lesson.title)}</b>"
        f"{close}</p><div class='bars'>{bars}"
        f"<span class='muted'>step {step + 1} of {len(lesson.steps)}</span></div>"
    )


def _body(task: Task, classroom: Classroom, beside: str) -> str:
    text = f"<h2>{safe(task.title)}</h2><p>{task.text}</p>"
    if task.task:
        mark, kind = ("✓", "done") if classroom.reached else (classroom.step + 1, "")
        press = ""
        if task.button and not (classroom.holds or classroom.opening):
            press = f"<p>{link(safe(task.button), 'show', kind='main')}</p>"
        text += (
            f"<div class='task'><span class='{kind}'>{mark}</span>"
            f"<div>{task.task}{press}</div></div>"
        )
    outcome = ""
    if classroom.holds:
        outcome = f"<p>{task.after}</p>"
    elif classroom.mistaken:
        outcome = f"<p class='warn'>{task.hint}</p>"
    elif classroom.reached:
        outcome = f"<p class='muted'>{_GONE}</p>"
    return f"{text}{beside}<div role='status' class='cl-coach-after'>{outcome}</div>"


def _steps(lesson: Lesson, step: int) -> str:
    def row(k: int, task: Task) -> str:
        mark = "✓" if k < step else str(k + 1)
        now = "class='now' aria-current='step'" if k == step else ""
        return f"<li {now} data-mark='{mark}'>{safe(task.title)}</li>"

    return f"<ol>{''.join(row(k, task) for k, task in enumerate(lesson.steps))}</ol>"


def _buttons(lesson: Lesson, task: Task, classroom: Classroom) -> str:
    last, opening = classroom.step + 1 == len(lesson.steps), classroom.opening
    back = _button("plain", "back", "Back", off=opening or not classroom.step)
    following = _button("main", "next", "Finish" if last else "Next", off=opening)
    show = ""
    if task.way and not (classroom.holds or task.button or opening):
        show = link("Show me", "show")
    return (
        f"<div class='foot'>{back}{following}{show}"
        f"<span class='right'>{link('Reset', 'ask')}</span></div>"
    )


def _button(kind: str, does: str, text: str, *, off: bool) -> str:
    """Return a button that keeps the focus while it is off."""
    state = "aria-disabled='true'" if off else ""
    return f"<button class='{kind}' data-do='{does}' {state}>{text}</button>"
