"""The verdict on a partition: its questions, and the paragraph of their answers.

Page, report and *Make it the result* show the same `Verdict`. To add a question, add a
function to `verdict_answers` and an entry to `QUESTIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from clusterlens.compute.formatting import count
from clusterlens.ui.results import verdict_answers
from clusterlens.ui.results.evidence import Evidence, Row
from clusterlens.ui.results.label_verdict import Light
from clusterlens.ui.widgets.words import write_sentence


@dataclass(frozen=True)
class Question:
    """A question about a partition.

    Parameters
    ----------
    title : str
        The question in words.
    answer : callable
        Turns the evidence into a row; None if the question does not apply.
    role : {"decides", "weakens", "", "told"}
        Whether its answer decides the verdict, can only weaken it, counts for nothing,
        or is a part of the paragraph that is no claim.
    node : str
        Node with the work on it, whose result may be requested; empty for none.
    cost : str
        Node with the estimate of that work; empty if it is quick.
    impossible : str
        The reason if there is no estimate, because the work cannot be done.
    page : str
        Page with more on it; empty for none.
    of_several : bool
        Whether it applies to two clusters or more only.
    """

    title: str
    answer: Callable[[Evidence], Row | None]
    role: Literal["decides", "weakens", "", "told"] = ""
    node: str = ""
    cost: str = ""
    impossible: str = ""
    page: str = ""
    of_several: bool = False


QUESTIONS = {
    "copies": Question(
        "Are there groups at all?",
        verdict_answers.weigh_groups,
        "decides",
        node="null_check",
        cost="null_seconds",
        impossible="No pool was run here, so none can run on copies.",
        page="consensus",
    ),
    "numbers": Question(
        "How many?",
        verdict_answers.weigh_n_clusters,
        "weakens",
        node="k_selection",
        cost="k_seconds",
        impossible="Too few rows to compare numbers.",
        page="clusters",
    ),
    "again": Question(
        "Which can be found again?",
        verdict_answers.weigh_stability,
        "decides",
        node="export_stability",
        cost="export_stability_model",
        impossible="No model was fitted here that could cluster other samples.",
        page="clusters",
        of_several=True,
    ),
    "apart": Question(
        "Do they lie apart?",
        verdict_answers.weigh_separation,
        "weakens",
        node="export_separation",
        of_several=True,
    ),
    "labels": Question(
        "Do given labels match?",
        verdict_answers.weigh_labels,
        page="labels",
        of_several=True,
    ),
    "columns": Question(
        "What are they?",
        verdict_answers.weigh_columns,
        "told",
        node="export_columns",
        page="clusters",
        of_several=True,
    ),
    "answers": Question(
        "What did your answers change?",
        verdict_answers.weigh_answers,
        "told",
        page="consensus",
    ),
    "doubts": Question(
        "What speaks against it?",
        verdict_answers.weigh_doubts,
        "weakens",
        node="likeness_to_leader",
        page="consensus",
    ),
}
_SUMMARIES: dict[Light, str] = {
    "yes": "It can be defended.",
    "in part": "It can be defended in part.",
    "no": "It cannot be defended as groups.",
    "unknown": "Not decided yet.",
}


@dataclass(frozen=True)
class Verdict:
    """The answers to all questions about a partition.

    Parameters
    ----------
    subject : str
        The partition in words.
    rows : sequence of Row
        In the order of QUESTIONS.
    """

    subject: str
    rows: Sequence[Row]

    @property
    def light(self) -> Light:
        """The worst of the rows that decide, weakened by others."""
        lights = {row.key: row.light for row in self.rows}
        deciding = [row.light for row in self._in_role("decides")]
        # All clusters may hold where the agreement of the pool is no evidence.
        hold = lights.get("again") == lights.get("apart") == "yes"
        if "no" in deciding and not hold:
            return "no"
        if "unknown" in (*deciding, lights.get("doubts")):
            return "unknown"
        weak = any(
            row.light in ("no", "in part")
            for row in self._in_role("decides", "weakens")
        )
        return "in part" if weak else "yes"

    @property
    def summary(self) -> str:
        """The verdict in a few words, with the clusters that hold if it fails."""
        if self.light != "no" or not self.sure:
            return _SUMMARIES[self.light]
        sure = verdict_answers.list_names(self.sure)
        return f"It cannot be defended as a whole, but {sure} can."

    @property
    def sure(self) -> Sequence[str]:
        """Names of the clusters that are found again and lie apart."""
        passed = {row.key: row.clusters for row in self.rows}
        again, apart = passed.get("again", ()), passed.get("apart", ())
        return sorted(frozenset(again) & frozenset(apart))

    @property
    def objection(self) -> str:
        """What deciding checks say against it, in short; empty for nothing."""
        found = [
            row.short
            for row in self._in_role("decides")
            if row.light in ("no", "in part")
        ]
        return write_sentence("; ".join(found)) if found else ""

    @property
    def paragraph(self) -> str:
        """All claims that hold, all that fail, and all open questions."""
        parts = [f"{self.subject}. {self.summary}"]
        parts += [row.answer for row in self._in_role("told") if row.basis]
        for title, name in (
            ("Can be defended", "defended"),
            ("Cannot be defended", "doubted"),
            ("Speaks against it", "against"),
            ("Unfinished", "unfinished"),
            ("Not measured", "open"),
        ):
            claims = [one for row in self.rows for one in getattr(row, name)]
            if claims:
                parts.append(f"{title}: {'; '.join(claims)}.")
        return " ".join(parts)

    def _in_role(self, *roles: str) -> list[Row]:
        """Return the rows of the questions in these roles."""
        return [row for row in self.rows if QUESTIONS[row.key].role in roles]


def mark_unfinished(verdict: Verdict, stopped: Mapping[str, str]) -> Verdict:
    """Mark the questions of stopped checks, given the progress of each by node."""
    rows = []
    for row in verdict.rows:
        if (progress := stopped.get(QUESTIONS[row.key].node)) and row.open:
            answer = row.answer
            if answer == verdict_answers.NOT_MEASURED:
                answer = f"Unfinished: {progress}, without a value until it has ended."
            unfinished = [f"{what} ({progress})" for what in row.open]
            row = replace(row, answer=answer, unfinished=unfinished, open=())
        rows.append(row)
    return replace(verdict, rows=tuple(rows))


def weigh_result(evidence: Evidence) -> Verdict:
    """Make the verdict from the results of the checks; nothing is measured here."""
    sizes = evidence.sizes
    noise = int((evidence.clusters < 0).sum())
    subject = (
        f"“{evidence.title}” divides {count(len(evidence.clusters), 'row')} of "
        f"{evidence.table} into {count(len(sizes), 'cluster')}"
    )
    subject += f" and {count(noise, 'row')} of noise" if noise else ""
    asked = [one for one in QUESTIONS.values() if len(sizes) > 1 or not one.of_several]
    rows = (one.answer(evidence) for one in asked)
    return Verdict(subject, tuple(row for row in rows if row is not None))
