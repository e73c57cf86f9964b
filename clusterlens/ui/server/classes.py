"""Classes: at which step of a lesson the open pages of a class are."""

from __future__ import annotations

from collections import Counter
from typing import Any
from weakref import WeakKeyDictionary


class Classes:
    """Lesson and step of each open page that has a class word.

    It is memory of the server alone and ends with the pages. Nothing but counts leaves
    it.
    """

    def __init__(self) -> None:
        self._places: WeakKeyDictionary[Any, tuple[str, str, int]] = WeakKeyDictionary()

    def put(self, page: Any, word: str, lesson: str, step: int) -> None:
        """Note where a page is; without a word or a lesson it is not counted."""
        if word and lesson:
            self._places[page] = (word, lesson, step)
        else:
            self._places.pop(page, None)

    def count(self, word: str) -> Counter[tuple[str, int]]:
        """Count the pages of a class by lesson and step."""
        return Counter(
            (lesson, step) for one, lesson, step in self._places.values() if one == word
        )
