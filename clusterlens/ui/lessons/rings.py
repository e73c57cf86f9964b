"""Lesson: most typical is not true; one model of 42 finds the rings, at rank 41."""

from clusterlens.ui.lessons.lesson import (
    Check,
    Lesson,
    Task,
    act,
    select,
    selects,
    set_view,
    view_is,
)

POOL = (
    {"clusterer": "k-means", "n_clusters": [2, 3, 4, 5, 6, 7, 8], "copies": 3},
    {
        "clusterer": "agglomerative",
        "linkage": ["single", "complete", "average", "ward"],
        "n_clusters": [2, 3, 4, 5],
    },
    {"clusterer": "Gaussian mixture", "n_components": [2, 3, 4, 5, 6]},
)
OTHER_VOTERS = (
    {"clusterer": "agglomerative", "linkage": "single", "n_clusters": [2, 3, 4]},
    {"clusterer": "HDBSCAN", "min_cluster_size": [5, 10, 20]},
    {"clusterer": "k-means", "n_clusters": [2, 3, 4]},
)
LEADER, RINGS = "Gaussian mixture (full) k=3", "single linkage k=3"

LESSON = Lesson(
    title="Most typical is not true",
    teaser="Only one of 42 models finds the rings. Where does it rank?",
    minutes=4,
    example="rings",
    pool=POOL,
    page="consensus",
    steps=(
        Task(
            title="See the rings",
            text="900 points lie on three nested rings; a label column says which. A "
            "pool of 42 models was run without it. The map shows the clusters of the "
            "model that ranks first.",
            task="Set <b>Colour</b> of the map to <b>given labels</b>.",
            target="cl-colour-by",
            done=view_is(colour_by="labels"),
            way=(set_view(colour_by="labels"),),
            after="Three rings, as anybody would draw them. The models did not use "
            "these labels.",
        ),
        Task(
            title="Meet the leader",
            text="The ranking orders the models by their distance to what all 42 agree "
            "on. A Gaussian mixture with three clusters comes first.",
            task="Set <b>Colour</b> back to <b>clusters</b>.",
            target="cl-colour-by",
            done=view_is(colour_by="model"),
            way=(set_view(colour_by="model"),),
            after="It cuts the rings like a cake: its agreement with them (adjusted "
            "Rand index) is <b>0.00</b>. So do most models of this pool, and that is "
            "what they agree on.",
        ),
        Task(
            title="Find the rings",
            text="One model follows the rings. Single linkage joins each point with "
            "its nearest neighbour, so it follows a ring. Look for it at the end of "
            "the ranking.",
            task="Select <b>single linkage</b> with k = <b>3</b> in the ranking.",
            target="cl-ranking-table",
            done=selects(RINGS),
            way=(select(RINGS),),
            after="Every ring has one colour: adjusted Rand index <b>1.00</b>. Its "
            "rank is <b>41 of 42</b>. The score counts votes; it cannot know that a "
            "lonely model is right.",
        ),
        Task(
            title="Ask the majority",
            text="Perhaps votes should be counted in another way: two points belong "
            "together only if more than half of the models say so.",
            task="Press <b>Majority</b> under “Agreement needed”.",
            target="cl-threshold",
            done=Check(("threshold?",), lambda threshold: threshold == 22),
            way=(act("set threshold", threshold=22),),
            after="The mixture falls from rank 1 to <b>26</b>; single linkage stands "
            "at rank <b>34</b>. Another rule gives another order, and the rings are "
            "still far from its top.",
        ),
        Task(
            title="Change the voters",
            text="A consensus is the opinion of its pool. Let three single-linkage "
            "and three HDBSCAN models, which grow clusters from neighbour to "
            "neighbour, vote with three k-means models.",
            task="Run these nine models instead.",
            button="Run the nine models",
            done=Check(
                ("ranking", "ensemble"),
                lambda ranking, ensemble: (
                    ensemble.n_partitions == 9
                    and ranking.ranks[ensemble.names.index(RINGS)] == 1
                ),
            ),
            way=(act("run pool", pool=list(OTHER_VOTERS)),),
            after="The rings lead: single linkage and three HDBSCAN found the same "
            "partition and share rank <b>1</b>. No point has moved; only the voters "
            "have changed.",
        ),
        Task(
            title="What to remember",
            text="Rank 1 means “most typical of this pool”, never “true”. Read the "
            "make-up of a pool before you believe its leader; look at the end of the "
            "ranking, too; and ask what a method can see at all.",
        ),
    ),
)
