"""Lessons: one file of plain data and predicates each, in the order of the page."""

from clusterlens.ui.lessons import (
    answers,
    crowd,
    labels,
    later,
    matrix,
    noise,
    one_link,
    random_model,
    rings,
    smoothing,
)

LESSONS = {
    name: module.LESSON
    for name, module in (
        ("matrix", matrix),
        ("rings", rings),
        ("noise", noise),
        ("crowd", crowd),
        ("one link", one_link),
        ("answers", answers),
        ("labels", labels),
        ("random model", random_model),
        ("later", later),
        ("smoothing", smoothing),
    )
}
