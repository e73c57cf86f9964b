"""Lesson: a crowd of near-copies decides; a model run thirty times leads."""

from collections.abc import Mapping
from typing import Any

from clusterlens.compute.pool.presets import QUICK
from clusterlens.ui.lessons.lesson import (
    Check,
    Lesson,
    Task,
    act,
    leads,
    select,
    selects,
    undo,
)

POOL = tuple(QUICK)


def with_crowd(k: int) -> list[Mapping[str, Any]]:
    """Return the pool with thirty more runs of k-means."""
    return [*POOL, {"clusterer": "k-means", "n_clusters": k, "copies": 30}]


LESSON = Lesson(
    title="A crowd of near-copies decides",
    teaser="Add thirty runs of k-means and watch the order turn.",
    minutes=4,
    example="blobs",
    pool=POOL,
    page="consensus",
    robust=True,
    steps=(
        Task(
            title="Fourteen voters",
            text="Five groups were drawn. Of fourteen models, two that found three "
            "clusters share rank 1. HDBSCAN found all five.",
            task="Select <b>HDBSCAN size=9</b> in the ranking.",
            target="cl-ranking-table",
            done=selects("HDBSCAN size=9"),
            way=(select("HDBSCAN size=9"),),
            # The exact value depends on the arithmetic of the processor.
            after="Adjusted Rand index with the groups: above <b>0.95</b>, at rank "
            "<b>9</b>; the leaders with their three clusters reach <b>0.62</b>. "
            "Remember both models.",
        ),
        Task(
            title="Thirty more of the same",
            text="Add thirty runs of k-means with k = 2. They differ only in where "
            "they start, so together they know no more than one of them.",
            task="Run the larger pool.",
            button="Run with 30 × k-means k=2",
            done=leads("k-means k=2", 44),
            way=(act("run pool", pool=with_crowd(2)),),
            after="k-means with <b>two</b> clusters leads 44 models; the former "
            "leaders fell to rank <b>16</b>. The new leader keeps rank 1 whichever "
            "other family is left out, because its own crowd stays.",
        ),
        Task(
            title="Take them back",
            text="Nothing is lost: undo restores the earlier run.",
            task="Press <b>undo</b> in the header, or Ctrl+Z.",
            target="cl-undo",
            done=Check(
                ("ranking", "ensemble"),
                lambda ranking, ensemble: ensemble.n_partitions == 14,
            ),
            way=(undo(),),
            after="Three clusters lead again.",
        ),
        Task(
            title="Another crowd",
            text="Was two the better answer? Try the same with k = 4.",
            task="Run the pool with the other crowd.",
            button="Run with 30 × k-means k=4",
            done=leads("k-means k=4", 44),
            way=(act("run pool", pool=with_crowd(4)),),
            after="Now <b>four</b> clusters lead, and keep rank 1 even if a majority "
            "must agree: the crowd is the majority.",
        ),
        Task(
            title="Count copies once",
            text="Many of the thirty found the very same partition. A pool can be run "
            "so that identical partitions have one vote.",
            task="Run it with identical partitions counted once.",
            button="Count identical ones once",
            done=Check(
                ("ranking", "ensemble"),
                lambda ranking, ensemble: ensemble.n_partitions == 15,
            ),
            way=(act("run pool", pool=with_crowd(4), distinct_only=True),),
            after="<b>15</b> of 44 were distinct, and three clusters lead again. It "
            "does not always help: in the crowd with k = 2 so many partitions differ "
            "a little that 19 stay, and another model leads than before.",
        ),
        Task(
            title="What to remember",
            text="Every model has one vote, so the model that is run most often wins. "
            "Read the make-up of the pool above the ranking, keep families about "
            "equally large, and count identical partitions once.",
        ),
    ),
)
