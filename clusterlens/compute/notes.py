"""Facts that a step found, and the one place where they become words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterlens.compute.formatting import whole

_BEYOND = (
    ": presets run it up to {limit} samples, these data have {samples}; list its specs "
    "to run it all the same."
)
WORDS: Mapping[str, str] = {
    "said": "{subject}",  # a sentence as it came
    "rows numbered": "The index of the table has no unique ids; rows are numbered.",
    "text read": "Read as delimited text: {subject}.",
    "failed": "{subject}: {why}",
    "dropped": "{subject}: {why}",
    "warned": "{subject}: warned, {why}",
    "left out": "{subject} left out" + _BEYOND,
    "replaced": "{subject} replaced by {other}" + _BEYOND,
    "sampled": (
        "Quantiles of {subject} are those of a random sample of {rows} of the "
        "{samples} samples."
    ),
    "sketched": (
        "Column {subject}: quantiles were found in one pass; each has a rank that is "
        "off by at most {ranks} of {rows} rows."
    ),
    "file skipped": "File {subject} left out: {why}",
    "run left out": "Folder {subject} left out: it is that of a run.",
    "files left out": "{files} other files left out, the first {subject}.",
    "types widened": "Column {subject} has several types; it is read as {type}.",
    "files without column": (
        "Column {subject} is not in {files} of the files; its cells are missing there."
    ),
    "landmarks": (
        "Models were fitted to {landmarks} of {rows} rows; the others are assigned."
    ),
    "landmarks drawn": (
        "{landmarks} landmarks stand for {rows} rows, drawn at random."
    ),
    "words not among landmarks": (
        "Column {subject}: {cells} cells hold values that no landmark has, the first "
        "{first}; they are taken as missing."
    ),
    "weights not obeyed": (
        "Landmarks that favour rare rows count as much as others in every model: no "
        "method of the pool obeys their weights."
    ),
    "noise is a cluster on all rows": (
        "Scores and distances of models on all rows count noise as one cluster, though "
        "it says nothing in the run."
    ),
    "few held-back rows": (
        "{rows} rows are left beside the landmarks; {needed} are needed to measure "
        "their error."
    ),
    "no error": (
        "{subject}: no error of the landmarks; in {samples} of the {of} samples of "
        "further rows it failed or did not find two clusters."
    ),
    "stopped": "Stopped after {ended} of {models} models; not fitted: {subject}.",
    "untimed": "The time of {fits} fits is unknown and not counted.",
}


class Note(str):
    """Finding of a step: its kind, a key of WORDS, a subject and further values.

    >>> note = Note("stopped", "k-means k=3", ended=2, models=3)
    >>> note.kind, note
    ('stopped', 'Stopped after 2 of 3 models; not fitted: k-means k=3.')
    """

    kind: str
    subject: str
    numbers: dict[str, Any]

    def __new__(cls, kind: str, subject: str = "", **numbers: Any) -> Note:
        """Make the sentence and attach its fact."""
        texts = {k: v if isinstance(v, str) else whole(v) for k, v in numbers.items()}
        note = super().__new__(cls, WORDS[kind].format(subject=subject, **texts))
        note.kind, note.subject, note.numbers = kind, subject, numbers
        return note

    def __getnewargs_ex__(self) -> tuple[tuple[str, str], dict[str, Any]]:
        """Copy and pickle by the fact."""
        return (self.kind, self.subject), self.numbers


def as_note(text: str) -> Note:
    """Return a note as it is, and a sentence as a note."""
    return text if isinstance(text, Note) else Note("said", str(text))
