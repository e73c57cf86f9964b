"""Schema: the valid records of an analysis, field by field.

Everything is checked here before other code sees it. Imported files and damaged stores
take the same path.
"""

from __future__ import annotations

from clusterlens.compute.indices.class_match import MEASURES
from clusterlens.compute.notes import WORDS
from clusterlens.compute.ranking.held_out import ANSWERS, HELD_OUT
from clusterlens.ui.actions import ACTIONS
from clusterlens.ui.actions.partitions import PARTITION
from clusterlens.ui.state.checks import (
    APART,
    COPIES,
    DENSITY,
    FOUND_AGAIN,
    KINDS,
    NUMBERS,
)
from clusterlens.ui.state.partitions import MOST_LABEL
from clusterlens.ui.state.shapes import (
    COUNT,
    LINK,
    LINK_WEIGHT,
    LONG_TEXT,
    NOISE_MEANS,
    POOL,
    ROW_ID,
    ROW_IDS,
    RULES,
    SCORE,
    SEED,
    TEXT,
    VOTES,
    Shape,
    any_of,
    anything,
    choice,
    flag,
    integer,
    key,
    moment,
    nothing,
    number,
    plain,
    record,
    row,
    sequence,
)

# A prepared table: its source, its rules, and a fingerprint.
_DATASET = record(
    {
        "table": key,
        "settings": RULES,
        "fingerprint": record(
            {
                "shape": row(COUNT, COUNT),
                "names": key,
                "sums": row(number(), number()),
            }
        ),
    }
)
# Two rows, with the respondent if a file names one.
_PAIRS = sequence(any_of(row(ROW_ID, ROW_ID), row(ROW_ID, ROW_ID, TEXT)))
_RUN = record(
    {
        "id": TEXT,
        "name": TEXT,
        "dataset": _DATASET,
        "pool": POOL,
        "random_state": SEED,
        "found": key,
    },
    {
        "kept": sequence(
            record(
                optional={"models": COUNT, "must_link": _PAIRS, "cannot_link": _PAIRS},
                others=plain,
            )
        ),
        "votes": VOTES,
        "stopped of": COUNT,
        "preset": any_of(nothing, row(TEXT, COUNT, COUNT)),
    },
)
_LINKS = sequence(any_of(row(LINK, ROW_ID, ROW_ID), row(LINK, ROW_ID, ROW_ID, TEXT)))
_RESULT = record(
    {
        "run": TEXT,
        "dataset": _DATASET,
        "made": PARTITION,
        "title": TEXT,
        "found": key,
        "numbers": sequence(row(integer(), integer(-1, MOST_LABEL))),
        "links": _LINKS,
        "chosen on": TEXT,
    }
)
_PART = any_of(row(), row(choice("sheet", "array", "separator"), LONG_TEXT))
_FOLLOWS = record(
    {
        **{"of": TEXT, "rows": choice("new", "both")},
        **dict.fromkeys(("stays", "gone", "new"), sequence(TEXT)),
    }
)
# The fields of an analysis, as `Records` writes them.
_FIELDS: dict[str, Shape] = {
    "table": any_of(nothing, key),
    "preparation": RULES,
    "dataset": any_of(nothing, _DATASET),
    "runs": sequence(_RUN),
    "runs_made": COUNT,
    "run_id": any_of(nothing, TEXT),
    "score": SCORE,
    "threshold": any_of(nothing, COUNT),
    "counted_fully": sequence(TEXT),
    "links": _LINKS,
    "unsure": _PAIRS,
    "link_weight": LINK_WEIGHT,
    "note": LONG_TEXT,
    "result": any_of(nothing, _RESULT),
    "segmentations": sequence(
        record(
            {
                "name": TEXT,
                "result": _RESULT,
                "names": sequence(row(integer(-1, MOST_LABEL), TEXT)),
            },
            {"follows": _FOLLOWS},
        )
    ),
    "new_table": any_of(nothing, key),
    "cluster_names": sequence(row(TEXT, ROW_IDS)),
    "memberships": sequence(record({"name": TEXT, "rows": key})),
    "fuzzy_pairs": sequence(row(TEXT, TEXT)),
    "cns": any_of(nothing, row(COUNT, number(0), COUNT)),
    "part": _PART,
    "parts": sequence(LONG_TEXT),
    "new_part": _PART,
    "new_parts": sequence(LONG_TEXT),
    "large": any_of(
        nothing,
        record({"name": TEXT, "n_rows": COUNT, "files": key, "skips": flag}),
    ),
    "labelled": any_of(row(), row(any_of(key, TEXT), LONG_TEXT)),
}
# One step, by its kind; the first of a history is the start.
_GIVEN = {"start": record(), **{kind: action.takes for kind, action in ACTIONS.items()}}
STEPS: dict[str, Shape] = {
    kind: record(
        {
            "kind": TEXT,
            "title": TEXT,
            "at": moment,
            "given": given,
            "changes": record(optional=_FIELDS),
        }
    )
    for kind, given in _GIVEN.items()
}
# A record of running work, by the kind of action; without a kind, of a requested node.
INTENTS: dict[str, Shape] = {
    kind: record(
        {
            **dict.fromkeys(("id", "kind", "title", "stage"), TEXT),
            "given": given,
            "view_state": record(others=plain),
            **dict.fromkeys(("done", "total"), COUNT),
        }
    )
    for kind, given in {
        **_GIVEN,
        "": record({"node": TEXT}, {"check": row(choice(*KINDS), key)}),
    }.items()
}
# Answers of a model made for answers to each held-out answer.
_HELD_OUT = record(dict.fromkeys(ANSWERS, sequence(row(COUNT, COUNT))))
_ASKED = {HELD_OUT: _HELD_OUT, "clusterer": TEXT}
# Plain values beside the arrays of an ensemble, and of uploaded memberships.
_NOTE = row(choice(*WORDS), LONG_TEXT, record(others=any_of(LONG_TEXT, COUNT)))
ENSEMBLE = record(
    {
        "names": sequence(LONG_TEXT),
        "families": sequence(LONG_TEXT),
        "noise": NOISE_MEANS,
        "specs": sequence(record(optional=_ASKED, others=plain)),
        "notes": sequence(any_of(LONG_TEXT, _NOTE)),
        "memberships": sequence(COUNT),
    }
)
SOFT = record({"ids": ROW_IDS})
# One check; the plain values beside the arrays of each kind.
CHECK = record(
    {
        "key": key,
        "record": record(
            {
                **{"kind": choice(*KINDS), "at": moment},
                **dict.fromkeys(("done", "total"), COUNT),
            }
        ),
        "content": any_of(key, choice("")),
    }
)
_NOTES = sequence(LONG_TEXT)
_SIZE = integer(1)
_VALUE = any_of(nothing, number())
CHECK_VALUES: dict[str, Shape] = {
    COPIES: record(
        {
            **{"score": choice("aari"), "best": number(-1), "n_compared": _SIZE},
            **{"notes": _NOTES, "random_state": SEED},
        }
    ),
    NUMBERS: record(
        {
            **{"k": any_of(nothing, integer(2)), "level": number(0), "clusterer": TEXT},
            **dict.fromkeys(("n_resamples", "n_samples", "n_compared"), _SIZE),
            **{"random_state": SEED, "notes": _NOTES},
            "references": row(choice("gaussian"), choice("uniform")),
        }
    ),
    FOUND_AGAIN: record(
        {
            **{"n_resamples": _SIZE, "n_copies": _SIZE},
            **{"random_state": SEED, "notes": _NOTES},
        }
    ),
    APART: record(
        {
            **dict.fromkeys(("n_neighbors", "n_copies", "n_compared"), _SIZE),
            "random_state": SEED,
        }
    ),
    DENSITY: record(
        {
            **{"measure": choice(*MEASURES), "convention": choice("paper", "package")},
            **{"notes": _NOTES, "pairs": _NOTES, "n_left_out": COUNT, "n_used": COUNT},
            **dict.fromkeys(("score", "error", "dbcv"), _VALUE),
            **{"reason": LONG_TEXT, "exact": flag},
        }
    ),
}
# Summary of an analysis for a list, and its last view.
ABOUT = record(
    optional={
        "title": TEXT,
        "table": LONG_TEXT,
        "rows": COUNT,
        "columns": COUNT,
        "runs": COUNT,
        "links": COUNT,
        "segmentations": sequence(TEXT),
        "imported": flag,
    }
)
_LOOK = record(others=plain)
# A file of an analysis; its steps are checked one by one, like a store's.
_STEP = dict.fromkeys(("kind", "title", "at", "given", "changes"), anything)
ARCHIVE = record(
    {
        "format": COUNT,
        "cursor": COUNT,
        "about": ABOUT,
        "look": _LOOK,
        "steps": sequence(record({**_STEP, "holds": sequence(key)})),
    },
    {"made by": TEXT, "checks": sequence(CHECK)},
)
