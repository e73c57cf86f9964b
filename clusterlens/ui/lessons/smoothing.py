"""CNS finds rings that k-means cuts, and loses them with too many neighbours."""

from collections.abc import Callable

from clusterlens.ui.lessons.lesson import Check, Lesson, Task, Way, act, set_view

POOL = ({"clusterer": "k-means", "n_clusters": [3, 4]},)
# Neighbours, alpha and K: the automatic choice has this alpha, 5 / sqrt(n).
AUTOMATIC, FEW, ENOUGH, MANY = (
    (7, 1 / 6, 48),
    (7, 1 / 6, 3),
    (14, 1 / 6, 3),
    (42, 1 / 6, 3),
)


def chosen(holds: Callable[[int, int], bool]) -> Check:
    """Check the neighbours and K of the chosen setting."""
    return Check(("cns",), lambda setting: holds(setting[0], setting[2]))


def choose(setting: tuple[int, float, int]) -> tuple[Way, ...]:
    """Choose a setting, with the solution itself on the map."""
    k, alpha, n_clusters = setting
    return (
        set_view(cns_step=None, cns_preview=None, cns_version=""),
        act("set CNS", n_neighbors=k, alpha=alpha, n_clusters=n_clusters),
    )


LESSON = Lesson(
    title="Smoothing over neighbours (CNS)",
    teaser="It finds rings that k-means cuts, with the right number of neighbours.",
    minutes=5,
    example="rings",
    pool=POOL,
    page="cns",
    steps=(
        Task(
            title="Seeds",
            text="CNS gives each of a few rows, the seeds, a cluster of its own. "
            "Every other row takes the mean of its neighbours, again and again. On "
            "these three rings the automatic choice is 48 seeds and 7 neighbours, "
            "which cuts the rings into many pieces.",
            task="Set <b>Clusters K</b> to <b>3</b>: type it in the field and press "
            "Enter, or move the slider.",
            target="cl-cns-settings",
            # Without a setting the page begins at a guess until it has compared all.
            begin=choose(AUTOMATIC),
            done=chosen(lambda k, n_clusters: n_clusters == 3),
            way=choose(FEW),
            after="Nearly the rings: agreement with them (adjusted Rand index) rises "
            "from <b>0.06</b> to <b>0.96</b>. But <b>34</b> rows are undecided: none "
            "of the seeds can be reached from them.",
        ),
        Task(
            title="Watch it spread",
            text="The small pictures below the map are states of the smoothing. At 0 "
            "only the seeds have a colour; at the end every row has what its "
            "neighbours gave it.",
            task="Press <b>▶ play</b>, or click the picture <b>0</b>.",
            target="cl-cns-smoothing",
            begin=choose(FEW),
            done=Check(("view.cns_step",), lambda step: step is not None),
            way=(set_view(cns_step=0),),
            # The smoothing ends with the solution itself.
            lasts=True,
            after="The colours spread along the rings. After 5 steps <b>16%</b> of "
            "the rows are settled, in the cluster that they keep; after 50 steps "
            "<b>66%</b>.",
        ),
        Task(
            title="Enough neighbours",
            text="Some rows reach no seed, because seven neighbours join only rows "
            "that are very near. More neighbours close such holes.",
            task="Set <b>Neighbours k</b> to <b>14</b>.",
            target="cl-cns-settings",
            begin=choose(FEW),
            done=chosen(lambda k, n_clusters: (k, n_clusters) == ENOUGH[::2]),
            way=choose(ENOUGH),
            after="The rings: agreement <b>1.00</b>, and no row is undecided. k-means "
            "with three clusters has <b>0.00</b>, because it looks for round groups.",
        ),
        Task(
            title="Too many",
            text="More neighbours helped. Do even more neighbours help even more?",
            task="Set <b>Neighbours k</b> to <b>42</b>, the end of the slider.",
            target="cl-cns-settings",
            begin=choose(ENOUGH),
            done=chosen(lambda k, n_clusters: (k, n_clusters) == MANY[::2]),
            way=choose(MANY),
            after="Agreement falls to <b>0.39</b>: 42 neighbours reach over the gap "
            "between two rings, and the smoothing mixes them. The criterion does not "
            "say so. It is <b>0.040</b> here, <b>0.029</b> for the rings and "
            "<b>0.231</b> for the 48 pieces.",
        ),
        Task(
            title="What to remember",
            text="CNS finds groups of any shape, which k-means cannot do, but only if "
            "neighbours belong together. Read K and k beside the map, watch the "
            "undecided rows, and do not take a high criterion as proof of clusters.",
        ),
    ),
)
