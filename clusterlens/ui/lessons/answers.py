"""Lesson: answers can mislead, by a narrow view and by a repeated mistake."""

from collections.abc import Sequence

from clusterlens.compute.pool.presets import QUICK
from clusterlens.ui.lessons.lesson import Check, Lesson, Task, Way, act
from clusterlens.ui.session import Session

Answers = tuple[tuple[str, int, int], ...]
POOL = tuple(QUICK)


def answers_about(
    must: Sequence[tuple[int, int]], cannot: Sequence[tuple[int, int]]
) -> Answers:
    """Return answers about pairs of rows, must-links first."""
    pairs = (("must", must), ("cannot", cannot))
    return tuple((kind, a, b) for kind, some in pairs for a, b in some)


# Ann judges by the first column alone, in thirds; Bo by the second, in halves.
ANN = answers_about(
    [(5, 10), (145, 110)],
    [
        *((136, 78), (90, 0), (125, 23), (88, 40), (35, 144)),
        *((2, 146), (120, 81), (65, 99), (84, 103), (108, 70)),
    ],
)
BO = answers_about(
    [(5, 10), (125, 23), (35, 144), (84, 103)],
    [
        *((136, 78), (90, 0), (88, 40), (2, 146)),
        *((120, 81), (65, 99), (108, 70), (145, 110)),
    ],
)
CY = answers_about(
    [(127, 145)],
    [
        *((33, 109), (123, 4), (65, 146), (111, 60), (58, 37), (36, 119)),
        *((115, 12), (79, 141), (124, 80), (19, 97), (92, 42)),
    ],
)
MISTAKE = answers_about([], [(105, 143)])
ECHOES = answers_about([], [(135, 120), (122, 140), (107, 144), (130, 139)])


def answer(answers: Answers) -> tuple[Way, ...]:
    """Return actions that give answers one by one."""
    return tuple(act("add link", kind=kind, a=a, b=b) for kind, a, b in answers)


def forget(answers: Answers) -> tuple[Way, ...]:
    """Return actions that remove answers one by one."""
    return tuple(act("remove link", a=a, b=b) for _, a, b in answers)


async def see(session: Session) -> None:
    """Open the tab of links."""
    session.view_state.param.update(tab="links", drawer=True)


def holds(answers: Answers) -> Check:
    """Check that exactly these answers exist and that they rank the models."""
    wanted = {(kind, frozenset((a, b))) for kind, a, b in answers}
    return Check(
        ("links", "ranking"),
        lambda links, ranking: (
            {(one.kind, frozenset((one.a, one.b))) for one in links} == wanted
        ),
    )


LESSON = Lesson(
    title="Answers can mislead",
    teaser="Sure, consistent, and wrong.",
    minutes=5,
    example="iris",
    pool=POOL,
    page="consensus",
    steps=(
        Task(
            title="Ann sees one column",
            text="150 flowers of three species; HDBSCAN leads, and its adjusted Rand "
            "index with the species is 0.56. Ann knows only the first column, the "
            "length of a sepal. Of twelve pairs she said <i>together</i> if both are "
            "short, both middling or both long, and otherwise <i>apart</i>.",
            task="Take Ann's twelve answers.",
            button="Take Ann's answers",
            begin=(see,),
            done=holds(ANN),
            way=answer(ANN),
            after="<b>k-means k=4</b> leads with a probability of <b>82%</b>: it "
            "keeps all twelve answers, and the page estimates that only <b>11%</b> of "
            "such answers are mistakes. Yet it agrees less with the species than the "
            "leader without her, <b>0.44</b>. A low rate says that Ann and a model "
            "see the same, not that both are right.",
        ),
        Task(
            title="Bo sees another",
            text="Ann's answers have been removed for you. Bo knows only the second "
            "column, the width of a sepal: <i>together</i> if both are wide or both "
            "narrow.",
            task="Take Bo's twelve answers.",
            button="Take Bo's answers",
            begin=forget(ANN),
            done=holds(BO),
            way=answer(BO),
            after="Now the tab warns that no model fits: the best of them breaks <b>4 "
            "of 12</b>, and coin tosses explain the answers <b>6</b> times better "
            "than this pool. A model of this pool has borders like Ann's, but none "
            "has borders like Bo's. So the page notices one narrow view and misses "
            "the other.",
        ),
        Task(
            title="Cy sees the flowers",
            text="Bo's answers have been removed. Cy knows the species, and was asked "
            "about twelve pairs from all over the table.",
            task="Take Cy's twelve answers.",
            button="Take Cy's answers",
            begin=forget(BO),
            done=holds(CY),
            way=answer(CY),
            after="<b>Gaussian mixture k=4</b> leads, adjusted Rand index "
            "<b>0.79</b>, with a probability of only <b>52%</b>: twelve right answers "
            "leave much open.",
        ),
        Task(
            title="One mistake, five times",
            text="Now Cy says that flowers 105 and 143 are apart, although they are "
            "of one species. Then Cy gives the same answer about four pairs of "
            "flowers that are nearly copies of these two.",
            task="Take these five answers.",
            button="Take the five answers",
            done=holds(CY + MISTAKE + ECHOES),
            way=answer(MISTAKE + ECHOES),
            after="The mistake alone leaves Gaussian mixture k=4 in the lead, at "
            "<b>39%</b>. Asked five times it counts as five answers: <b>Gaussian "
            "mixture k=8</b> has <b>98%</b>, adjusted Rand index <b>0.48</b>, and the "
            "rate of errors is <b>12%</b>, as if all were well.",
        ),
        Task(
            title="Count it once",
            text="The page assumes that each answer can be wrong independently of the "
            "others. Answers that repeat each other are not independent.",
            task="Remove the last four links: press <b>✕</b> in the list.",
            target="cl-links",
            done=holds(CY + MISTAKE),
            way=forget(ECHOES),
            after="<b>Gaussian mixture k=4</b> leads again: one wrong answer among "
            "thirteen does not decide.",
        ),
        Task(
            title="What to remember",
            text="The probabilities hold only if answers are independent and see what "
            "matters. Answer pairs from all over the map, as the suggestions do; "
            "press <b>Unsure</b> if you cannot tell; let somebody else answer some "
            "pairs, and note in the file who said what. A leader that keeps every "
            "answer is not proven right.",
        ),
    ),
)
