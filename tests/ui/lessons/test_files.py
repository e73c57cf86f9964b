"""Lessons of one's own: files are checked, escaped, listed and walked."""

import asyncio
import re
from pathlib import Path

import pytest

from clusterlens.ui.composition import AppViewState, new_session
from clusterlens.ui.lessons import LESSONS
from clusterlens.ui.lessons.classroom import Classroom
from clusterlens.ui.lessons.files import FOLDER, MOST_BYTES, MOST_FILES, read_lesson
from clusterlens.ui.pages.lessons.lesson_list import LessonList
from clusterlens.ui.server.server import Server
from tests.ui.loop import run

MANUAL = Path(__file__).parents[3] / "docs" / "pages" / "lessons.md"
(MOONS,) = re.findall("```toml\n(.*?)```", MANUAL.read_text(), re.DOTALL)
HEAD, *STEPS = MOONS.split("[[steps]]")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER, str(tmp_path))
    return tmp_path


def walk(key):
    """Walk a lesson by Next; return the titles of its steps."""

    async def main():
        classroom, titles = Classroom(new_session(Server())), []
        await classroom.open(key)
        while classroom.lesson is not None:
            titles.append(classroom.task.title)
            here = classroom.step
            for _ in range(2):
                if (classroom.key, classroom.step) == (key, here):
                    await classroom.next()
                while not classroom.session.jobs.at_rest:
                    await asyncio.sleep(0.01)
                if classroom.key and classroom.step == here:
                    assert classroom.reached
            assert not classroom.session.jobs.notices
        assert key in classroom.finished
        classroom.session.close()
        return titles

    return run(main(), 300)


def test_the_lesson_of_the_manual_is_listed_behind_the_others_and_walked(folder):
    (folder / "moons.toml").write_text(MOONS)
    classroom = Classroom(new_session(Server()))
    assert list(classroom.lessons) == [*LESSONS, "own/moons"]
    assert not classroom.problems
    classroom.session.close()
    assert walk("own/moons") == [
        "See the moons",
        "Ward linkage",
        "Ask the majority",
        "What to remember",
    ]


def test_steps_in_another_order_are_walked_in_that_order(folder):
    (folder / "back.toml").write_text("[[steps]]".join([HEAD, *reversed(STEPS)]))
    titles = walk("own/back")
    assert titles[0] == "What to remember"
    assert titles[-1] == "See the moons"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "a mapping with 'title'"),
        ("title = ", "Invalid value"),
        (b"title = '\xff'", "utf-8"),
        ("[" * 5000, "nested|line"),
        ("#" * (MOST_BYTES + 1), "larger than 100000 bytes"),
        (HEAD, "a mapping with 'steps'"),
        (MOONS.replace('"moons"', '"sun"'), "example is 'sun', where one of 'blobs'"),
        (MOONS.replace('"consensus"', '"report"'), "page is 'report', where one of"),
        (MOONS.replace("minutes = 3", "minutes = 0"), "minutes is 0, where a whole"),
        (MOONS.replace('"k-means"', '"k-mean"'), "k-mean"),
        (MOONS.replace("[2, 3, 4]", str([*range(2, 302)])), "pool has 302 models"),
        (MOONS.replace("colour_by", "colour"), "step 1: look has no 'colour'"),
        (MOONS.replace("colour_by", "page"), "step 1: look has no 'page'"),
        (MOONS.replace('"labels"', '"rings"'), "step 1: look.colour_by cannot be"),
        (MOONS.replace('model = "ward', 'model = "word'), "step 2: the pool has no"),
        (MOONS.replace("threshold = 3", "threshold = 9"), "step 3: threshold is 9"),
        (MOONS.replace("threshold = 3", ""), "step 3 has a task and one of look"),
        (
            MOONS.replace("threshold =", "model = 'a'\nthreshold ="),
            "it has task, model, t",
        ),
        (MOONS.replace('"cl-colour-by"', '"a b"'), "step 1: target is 'a b'"),
        (MOONS.replace("after =", "afterwards ="), "steps.0..*afterwards"),
        (MOONS + "".join(f"[[steps]]{STEPS[3]}" for _ in range(9)), "it has 13 steps"),
    ],
)
def test_a_file_that_is_no_lesson_says_why(folder, content, message):
    path = folder / "bad.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=message):
        read_lesson(path, AppViewState())
    (folder / "moons.toml").write_text(MOONS)
    classroom = Classroom(new_session(Server()))
    assert list(classroom.lessons)[len(LESSONS) :] == ["own/moons"]
    (problem,) = classroom.problems
    assert problem.startswith("bad.toml is no lesson: ")
    classroom.session.close()


def test_a_folder_that_is_none_and_too_many_files_are_told(folder, monkeypatch):
    for k in range(MOST_FILES + 1):
        (folder / f"{k:03}.toml").write_text(MOONS)
    classroom = Classroom(new_session(Server()))
    assert len(classroom.lessons) == len(LESSONS) + MOST_FILES
    assert classroom.problems == [f"{FOLDER} has 51 files; the first 50 are read."]
    classroom.session.close()
    monkeypatch.setenv(FOLDER, str(folder / "none"))
    classroom = Classroom(new_session(Server()))
    assert list(classroom.lessons) == list(LESSONS)
    assert "is no folder" in classroom.problems[0]
    classroom.session.close()


def test_markup_in_a_file_is_text(folder):
    evil = "<img src=x onerror=alert(1)>"
    for name in ("good.toml", f"{evil.replace('/', '')}.toml"):
        (folder / name).write_text(
            MOONS.replace("Half-moons", evil)
            .replace("See the moons", evil)
            .replace("600 points", f"{evil} **600** points")
            .replace("Set **Colour**", f"{evil} **Colour**")
            .replace("Two bent groups", f"{evil} **bold")
        )
    (folder / f"{evil} bad.toml").write_text("")
    session = new_session(Server())
    classroom = Classroom(session)
    panel = LessonList(session, classroom, on_open=lambda: None)
    panel.show()
    assert "<img src=x" not in panel._text.body
    assert panel._text.body.count("&lt;img src=x") >= 4
    step = classroom.lessons["own/good"].steps[0]
    for words in (step.text, step.task, step.after):
        assert words.startswith("&lt;img src=x onerror=alert(1)&gt; ")
    assert "<b>600</b> points" in step.text
    assert "<b>Colour</b>" in step.task
    assert "**bold" in step.after
    classroom.session.close()
    session.close()
