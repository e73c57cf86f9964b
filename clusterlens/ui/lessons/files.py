"""Lessons of one's own: TOML files in the folder that CLUSTERLENS_LESSONS names.

A file holds plain values. They are checked and texts are escaped; a step can change the
view or do one of a few actions, and nothing else.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from clusterlens.compute.pool.specs import plan_pool
from clusterlens.compute.table.examples import EXAMPLES
from clusterlens.ui.lessons.lesson import (
    Check,
    Lesson,
    LessonPage,
    Task,
    Way,
    act,
    select,
    selects,
    set_view,
    view_is,
)
from clusterlens.ui.state.address import present_names
from clusterlens.ui.state.shapes import (
    POOL,
    SCORE,
    choice,
    integer,
    plain,
    record,
    sequence,
    text,
)
from clusterlens.ui.state.view_state import ViewState
from clusterlens.ui.widgets.toolkit import safe

FOLDER = "CLUSTERLENS_LESSONS"
MOST_FILES, MOST_BYTES, MOST_STEPS, MOST_MODELS = 50, 100_000, 12, 200
# View parameters that the lesson or the page sets itself.
_NOT_SET_BY_STEPS = (
    "page",
    "lesson",
    "lesson_step",
    "lessons_finished",
    "class_word",
)
_SHORT, _LONG = text(80), text(2_000)
_DOES = ("look", "model", "threshold", "score")
_STEP = record(
    {"title": _SHORT, "text": _LONG},
    {
        "task": _LONG,
        "after": _LONG,
        "target": text(60),
        "look": record(others=plain),
        "model": text(200),
        "threshold": integer(0),
        "score": SCORE,
    },
)
_LESSON = record(
    {
        "title": _SHORT,
        "teaser": text(200),
        "minutes": integer(1, 90),
        "example": choice(*EXAMPLES),
        "page": choice(*get_args(LessonPage)),
        "pool": POOL,
        "steps": sequence(_STEP),
    }
)


def read_own_lessons(view_state: ViewState) -> tuple[dict[str, Lesson], list[str]]:
    """Read the lessons of the folder in the environment, in order of file names.

    Returns
    -------
    lessons : dict of str to Lesson
        By key, "own/" and the name of the file without its ending.
    problems : list of str
        One sentence for each file that is no lesson.
    """
    name = os.environ.get(FOLDER)
    if not name:
        return {}, []
    folder = Path(name)
    if not folder.is_dir():
        return {}, [f"{FOLDER} is {name!r}, which is no folder; name one that exists."]
    paths, lessons, problems = sorted(folder.glob("*.toml")), {}, []
    if len(paths) > MOST_FILES:
        problems.append(
            f"{FOLDER} has {len(paths)} files; the first {MOST_FILES} are read."
        )
    for path in paths[:MOST_FILES]:
        try:
            lessons[f"own/{path.stem}"] = read_lesson(path, view_state)
        except (OSError, ValueError) as error:
            problems.append(f"{path.name} is no lesson: {error}")
    return lessons, problems


def read_lesson(path: Path, view_state: ViewState) -> Lesson:
    """Read a lesson from a TOML file.

    Raises
    ------
    ValueError
        If it is no lesson; the message names the place and the remedy.
    """
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"it is larger than {MOST_BYTES} bytes; shorten it.")
    try:
        plan = tomllib.loads(content.decode())
    except RecursionError:
        raise ValueError("it is nested too deeply.") from None
    _LESSON(plan)
    steps, example = plan["steps"], EXAMPLES[plan["example"]]
    if not 1 <= len(steps) <= MOST_STEPS:
        raise ValueError(f"it has {len(steps)} steps; give 1 to {MOST_STEPS}.")
    models = plan_pool(plan["pool"], (example.n, example.d), 0).models
    if not 2 <= len(models) <= MOST_MODELS:
        raise ValueError(
            f"its pool has {len(models)} models; give 2 to {MOST_MODELS} of them."
        )
    names = [model.name for model in models]
    return Lesson(
        title=plan["title"],
        teaser=plan["teaser"],
        minutes=plan["minutes"],
        example=plan["example"],
        pool=tuple(plan["pool"]),
        page=plan["page"],
        robust=True,
        steps=tuple(
            _task(at, step, names, view_state) for at, step in enumerate(steps, 1)
        ),
    )


def _task(
    at: int, step: Mapping[str, Any], names: list[str], view_state: ViewState
) -> Task:
    """Make step number `at`, counted from 1, of a pool with these model names."""
    wanted = [name for name in _DOES if name in step]
    if len(wanted) > 1 or bool(wanted) != ("task" in step):
        raise ValueError(
            f"step {at} has a task and one of {', '.join(_DOES)}, or none of them; "
            f"it has {', '.join(('task', *wanted) if 'task' in step else wanted)}."
        )
    try:
        goals = [_goal(name, step[name], names, view_state) for name in wanted]
    except ValueError as error:
        raise ValueError(f"step {at}: {error}") from None
    target = step.get("target", "")
    if target and not re.fullmatch("cl-[a-z-]+", target):
        raise ValueError(
            f"step {at}: target is {target!r}; give a class such as 'cl-colour-by'."
        )
    return Task(
        title=step["title"],
        text=_markup(step["text"]),
        task=_markup(step.get("task", "")),
        target=target,
        done=goals[0][0] if goals else None,
        way=goals[0][1] if goals else (),
        after=_markup(step.get("after", "Done.")) if wanted else "",
    )


def _goal(
    kind: str, wanted: Any, names: list[str], view_state: ViewState
) -> tuple[Check, tuple[Way, ...]]:
    """Return how to tell that a step is done, and a way to do it."""
    if kind == "look":
        seen = {
            name: _view_value(name, value, view_state)
            for name, value in present_names(wanted).items()
        }
        return view_is(**seen), (set_view(**seen),)
    if kind == "model":
        if wanted not in names:
            known = ", ".join(map(repr, names[:6]))
            raise ValueError(f"the pool has no model {wanted!r}; it has {known} …")
        return selects(wanted), (select(wanted),)
    if kind == "threshold":
        if wanted > len(names) + 1:
            raise ValueError(
                f"threshold is {wanted}; give 0 to {len(names) + 1}, as the pool has "
                f"{len(names)} models."
            )
        done = Check(("threshold?",), lambda threshold: threshold == wanted)
        return done, (act("set threshold", threshold=wanted),)
    done = Check(("score",), lambda score: score == wanted)
    return done, (act("set score", score=wanted),)


def _view_value(name: str, value: Any, view_state: ViewState) -> Any:
    """Return a value of a parameter of `ViewState`; lists of an address are tuples."""
    known = [one for one in view_state.linked() if one not in _NOT_SET_BY_STEPS]
    if name not in known:
        raise ValueError(f"look has no {name!r}; give one of {', '.join(known)}.")
    value = tuple(value) if isinstance(value, list) else value
    try:
        type(view_state)(**{name: value})
    except (ValueError, TypeError):
        raise ValueError(f"look.{name} cannot be {value!r}.") from None
    return value


def _markup(words: str) -> str:
    """Escape a text and turn **bold** into markup."""
    return re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", safe(words))
