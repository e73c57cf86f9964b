"""Facts and the sentences made of them."""

import copy
import pickle

import pytest

from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.notes import Note


@pytest.mark.parametrize(
    "again", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))]
)
def test_copies_keep_the_facts_of_notes(again):
    note = Note("stopped", "{a} <b>", ended=2, models=3000)
    (found,) = again(Ensemble([[0, 1, 1]], notes=[note])).notes
    assert (found, found.kind, found.subject) == (note, "stopped", "{a} <b>")
    assert found.numbers == {"ended": 2, "models": 3000}


def test_sentences_are_notes_that_say_no_more():
    (note,) = Ensemble([[0, 1, 1]], notes=["a: {b}"]).notes
    assert (note, note.kind, note.numbers) == ("a: {b}", "said", {})
