"""Lesson: the same customers a quarter later; one kind has moved, one is new."""

import numpy as np

from clusterlens.compute.table.examples import shoppers, spring_shoppers
from clusterlens.ui.lessons.lesson import (
    Check,
    Lesson,
    Pool,
    Task,
    Way,
    act,
    set_view,
    view_is,
)
from clusterlens.ui.session import Session

POOL: Pool = (
    *({"clusterer": "k-means", "n_clusters": k} for k in (3, 4, 6)),
    {"clusterer": "agglomerative", "linkage": "ward", "n_clusters": 4},
    {"clusterer": "Gaussian mixture", "n_components": 4},
)
# Clusters of k-means with k = 4 by label, the largest first on screen.
NUMBERS = ((1, 0), (0, 1), (2, 2), (3, 3))
KINDS = ("regulars", "families", "students", "occasional")
FIRMS = 40


def make_later_table() -> bytes:
    """Return the later table: nine in ten customers return, and forty firms are new."""
    rng = np.random.default_rng(24)
    _, spring = spring_shoppers()
    back = np.flatnonzero(rng.random(600) < 0.9)
    kind = spring[back]
    grown = rng.choice(np.flatnonzero(kind == 2), 30, replace=False)
    kind[grown] = 3  # students who graduated seldom come
    ids = np.r_[back, 600 + np.arange(FIRMS)]
    kinds = np.r_[kind, np.full(FIRMS, 4)]
    order = rng.permutation(len(ids))
    table = shoppers(rng, ids[order], kinds[order], basket=125)
    return table.to_csv(index=False).encode()


async def load_later_table(session: Session) -> None:
    """Load the later table as if its file had been dropped."""
    key = session.keep_file(make_later_table())
    await session.act("take new table", name="summer.csv", sha256=key)


def _chosen() -> tuple[Way, ...]:
    partition = {"kind": "model", "model": 1}
    names = (
        act("name cluster", partition={"kind": "result"}, cluster=k, name=name)
        for k, name in enumerate(KINDS)
    )
    numbers = [list(pair) for pair in NUMBERS]
    choose = act("choose result", partition=partition, numbers=numbers, on="Clusters")
    return choose, *names


LESSON = Lesson(
    title="The same customers a quarter later",
    teaser="Keep clusters, find them in a new table, and see what they no longer fit.",
    minutes=5,
    example="shoppers",
    pool=POOL,
    page="new-rows",
    steps=(
        Task(
            title="Keep the result",
            text="600 customers of a shop in spring. Four k-means clusters were made "
            "the result and named for you: regulars, families, students, occasional. "
            "Once they are kept, the page can place the rows of any other table with "
            "these columns in these clusters.",
            task="Press <b>Keep the result</b>.",
            target="cl-keep-segmentation",
            begin=(*_chosen(), set_view(new_rows_cards=("kept",))),
            done=Check(("segmentations",), lambda kept: len(kept) == 1),
            way=(act("keep segmentation", name="spring"), set_view(segmentation=None)),
            after="The page keeps the names, the preparation of the columns and the "
            "rule that assigns rows. You can download this segmentation as a file.",
        ),
        Task(
            title="The summer",
            text="A quarter later there is another table with the same columns and "
            "customer ids. Outside this lesson you would drop its file on the page.",
            task="Load the table of the summer.",
            target="cl-assigned",
            button="Take the table of the summer",
            begin=(set_view(new_rows_cards=("table",)),),
            done=Check(("placed",), lambda placed: placed.n_rows > 0),
            way=(load_later_table,),
            after="<b>591</b> rows; <b>168</b> of them belong nowhere: they are "
            "farther from their cluster than 95% of rows like those of spring would "
            "be. By chance that would happen to about 5%.",
        ),
        Task(
            title="Who belongs nowhere",
            text="A row that belongs nowhere still has a nearest cluster. Its name "
            "and its distance show whether a cluster has moved or a group is new.",
            task="Set <b>First</b> above the placed rows to <b>belong nowhere</b>.",
            target="cl-new-rows-order",
            begin=(set_view(new_rows_cards=("map", "list")),),
            done=view_is(new_rows_first="nowhere"),
            way=(set_view(new_rows_first="nowhere"),),
            after="<b>151</b> of them are nearest to the families. Some lie just "
            "beyond them, crossed on the map; <b>40</b> are firms with ids that are "
            "new since spring, most of them too far out for the map.",
        ),
        Task(
            title="What moved",
            text="In the card <b>What moved</b>, columns are compared with spring. "
            "The basket is the only one that moved. Customers have an id, so the page "
            "can follow those who come back.",
            task="Click any customer in the list of rows, and read why this row is in "
            "its cluster.",
            target="cl-assigned-rows",
            begin=(set_view(new_rows_cards=("drift", "list", "row")),),
            done=Check(("view.new_row?",), lambda row: row is not None),
            way=(set_view(new_row=0),),
            after="<b>551</b> customers return, and <b>72%</b> of them to their "
            "cluster. <b>109</b> families belong nowhere: they buy more than families "
            "did. <b>29</b> students are occasional customers now: a change not of "
            "the columns but of people.",
        ),
        Task(
            title="What to remember",
            begin=(set_view(new_rows_cards=()),),
            text="The verdict is <b>refit</b>, and it has a reason: a column moved, "
            "and more rows than expected belong nowhere. The rows show why: one "
            "cluster moved, and one group is new. <b>Refit</b> clusters the summer "
            "table anew, and clusters that are still there keep their names.",
        ),
    ),
)
