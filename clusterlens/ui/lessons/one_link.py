"""Lesson: one link can outweigh everything; two rows decide against 150."""

from clusterlens.compute.pool.presets import QUICK
from clusterlens.ui.lessons.lesson import (
    Check,
    Lesson,
    Task,
    Way,
    act,
    set_view,
    view_is,
)

POOL = tuple(QUICK)
FIRST, SECOND = (60, 110), (50, 100)


def linked(pair: tuple[int, int]) -> Check:
    """Check that these two rows, and no others, have a cannot-link."""
    return Check(
        ("links", "ranking"),
        lambda links, ranking: (
            [(one.kind, {one.a, one.b}) for one in links] == [("cannot", set(pair))]
        ),
    )


def joined(pair: tuple[int, int]) -> Check:
    """Check that these two rows have a must-link."""
    return Check(
        ("links",),
        lambda links: any(
            one.kind == "must" and {one.a, one.b} == set(pair) for one in links
        ),
    )


def picked(pair: tuple[int, int]) -> tuple[Way, ...]:
    """Return actions that present a pair of rows to the analyst."""
    return (set_view(linking=True, tab="links", pair=pair, drawer=True),)


_MUST = (
    "That was a must-link, for rows of one species. Press <b>⇌</b> beside it in the "
    "list of links: it becomes a cannot-link."
)

LESSON = Lesson(
    title="One link can outweigh everything",
    teaser="Two rows decide what 150 could not.",
    minutes=4,
    example="iris",
    pool=POOL,
    page="consensus",
    steps=(
        Task(
            title="Two or three",
            text="150 flowers of three species. Of fourteen models, an HDBSCAN with "
            "two clusters is closest to what all agree on.",
            task="Set <b>Colour</b> of the map to <b>given labels</b>.",
            target="cl-colour-by",
            done=view_is(colour_by="labels"),
            way=(set_view(colour_by="labels"),),
            after="Two of the species lie side by side, and the leader puts them into "
            "one cluster: adjusted Rand index with the species <b>0.56</b>.",
        ),
        Task(
            title="Say what you know",
            text="Suppose you know that flowers 60 and 110 are of two species. The "
            "pair is picked; the card in the drawer shows what the models say about "
            "it, and which model would lead after each answer. In this lesson a model "
            "pays for the share of links that it breaks; breaking all costs 0.20.",
            task="Press <b>Cannot-link</b> in the card, or the key <b>C</b>.",
            target="cl-cannot",
            begin=(act("set link weight", weight=0.2), *picked(FIRST)),
            done=linked(FIRST),
            wrong=joined(FIRST),
            hint=_MUST,
            way=(act("add link", kind="cannot", a=60, b=110),),
            after="One pair of 11&#8239;175, and <b>k-means k=3</b> leads; HDBSCAN "
            "falls to rank <b>4</b>. But agreement with the species has "
            "<i>fallen</i>, to <b>0.43</b>: the new leader keeps the link and errs "
            "elsewhere.",
        ),
        Task(
            title="Let links alone decide",
            text="You choose how much a model pays for broken links. This lesson "
            "charges 0.20; the published method charges 1.",
            task="Press <b>use the paper's weight</b> below the list of links.",
            target="cl-paper-weight",
            done=Check(("link_weight",), lambda weight: weight == 1),
            way=(act("set link weight", weight=1.0),),
            after="Now every model that keeps the link ranks above every model that "
            "breaks it, whatever the other rows say. The headline warns: <i>The links "
            "alone decide the order</i>.",
        ),
        Task(
            title="Another pair",
            text="Flowers 50 and 100 are of the same two species. The first link has "
            "been removed and this pair picked for you.",
            task="Press <b>Cannot-link</b> again.",
            target="cl-cannot",
            begin=(act("remove link", a=60, b=110), *picked(SECOND)),
            done=linked(SECOND),
            wrong=joined(SECOND),
            hint=_MUST,
            way=(act("add link", kind="cannot", a=50, b=100),),
            after="The same knowledge from two other rows, and another leader: a "
            "<b>Gaussian mixture k=4</b>, adjusted Rand index <b>0.79</b>. At 0.20 "
            "this link would have changed nothing at the top.",
        ),
        Task(
            title="Take its weight",
            text="To see the ranking without your links, give them no weight; they "
            "stay in the list.",
            task="Set <b>Charge for breaking all links</b> to <b>0</b>.",
            target="cl-link-weight",
            done=Check(("link_weight",), lambda weight: weight == 0),
            way=(act("set link weight", weight=0.0),),
            after="HDBSCAN with two clusters leads again.",
        ),
        Task(
            title="What to remember",
            text="A link is strong evidence, but it can mislead. Give several, from "
            "all over the map; read in the headline whether links decide and which "
            "model led without them; and never choose links to make a certain model "
            "lead. Outside this lesson links count as evidence: the more there are, "
            "the more they decide.",
        ),
    ),
)
