"""Lesson: uniform noise has a leader, too; only structureless copies reveal it."""

from clusterlens.compute.pool.presets import QUICK
from clusterlens.ui.lessons.lesson import (
    Check,
    Lesson,
    Task,
    act,
    ask,
    select,
    set_view,
    view_is,
)

LEADER, OTHER = "Gaussian mixture (full) k=4", "k-means k=3"
POOL = tuple(QUICK)

LESSON = Lesson(
    title="Uniform noise has a leader, too",
    teaser="There is nothing to find, and a ranking comes out all the same.",
    minutes=3,
    example="uniform",
    pool=POOL,
    page="consensus",
    robust=True,
    steps=(
        Task(
            title="A leader of nothing",
            text="These 800 points were drawn uniformly from a square: no groups, no "
            "gaps. Fourteen models were run on them, and a ranking has no way to say "
            "“none”. The map shows one of them, k-means with three clusters.",
            task="Select the <b>first row</b> of the ranking.",
            target="cl-ranking-table",
            # Without a choice the first row is marked already.
            begin=(select(OTHER),),
            done=Check(
                ("view.model", "ranking"),
                lambda model, ranking: ranking.ranks[model] == 1,
            ),
            way=(select(LEADER),),
            after="A Gaussian mixture with four clusters cuts the square into four "
            "pieces. It keeps rank <b>1</b> whichever family of models is left out: "
            "here the check that usually warns is silent.",
        ),
        Task(
            title="Where they disagree",
            text="If the pieces were groups, the models would disagree only about a "
            "few points between them.",
            task="Set <b>Colour</b> of the map to <b>disagreement</b>.",
            target="cl-colour-by",
            done=view_is(colour_by="disagreement"),
            way=(set_view(colour_by="disagreement"),),
            after="They disagree everywhere: the disagreement about <b>every</b> "
            "point is above 0.3. With five real groups and the same models that holds "
            "for <b>13%</b> of the points, those between two groups.",
        ),
        Task(
            title="Ask copies without groups",
            text="The honest question is not who leads, but whether the pool agrees "
            "more than it would on data without groups: the same columns shuffled, "
            "and a Gaussian of the same shape.",
            task="Press <b>Any groups at all?</b> in the headline and wait.",
            target="cl-null-check",
            done=Check(("null_check",), lambda found: True),
            way=(ask("null_check"),),
            after="p = <b>0.6</b>: this pool agrees no more on these points than on "
            "copies without groups. Its agreement is no evidence of groups.",
        ),
        Task(
            title="Ask the majority",
            text="Another check costs nothing: require that more than half of the "
            "models agree before a pair counts as together.",
            task="Press <b>Majority</b> under “Agreement needed”.",
            target="cl-threshold",
            done=Check(("threshold?",), lambda threshold: threshold == 8),
            way=(act("set threshold", threshold=8),),
            after="The leader falls to rank <b>3</b>. A ranking that depends on the "
            "counting rule is weak evidence.",
        ),
        Task(
            title="What to remember",
            text="Every ranking has a first place. Before you read it, check whether "
            "the pool agrees more than on copies without groups. If it does not, "
            "stop looking for groups with this pool: that is a result, too.",
        ),
    ),
)
