"""Lesson: labels that are no clusters, and clusters that a score cannot see."""

from clusterlens.ui.lessons.lesson import Check, Lesson, Task, act, set_view

POOL = (
    {"clusterer": "k-means", "n_clusters": 3},
    {"clusterer": "agglomerative", "linkage": "single", "n_clusters": 3},
    {"clusterer": "k-means", "n_clusters": 5},
)


def pair_of(a: int, b: int) -> Check:
    """Check that a pair of classes is displayed."""
    return Check(("view.label_pair",), lambda pair: set(pair) == {a, b})


LESSON = Lesson(
    title="Labels that are no clusters",
    teaser="When a score near 0 is right, and when it is blind.",
    minutes=5,
    example="rings",
    pool=POOL,
    page="labels",
    steps=(
        Task(
            title="A score near nothing",
            text="Every point knows its ring, so the labels are right. The score of "
            "round groups (CH_btwn) says for each pair of classes how far they lie "
            "apart, compared with random labels: 1 is far apart, 0 is no better than "
            "chance.",
            task="Click the pair of <b>0</b> and <b>2</b>, the inner and the outer "
            "ring, in the table of pairs.",
            target="cl-label-pairs",
            done=pair_of(0, 2),
            way=(set_view(label_pair=(0, 2)),),
            after="<b>−0.07</b>: no better than chance, though the rings are far "
            "apart. Both have the same centre, and the score looks for groups around "
            "different centres.",
        ),
        Task(
            title="Cake beats rings",
            text="k-means with three clusters cuts the rings like a cake. What does "
            "the score make of that?",
            task="Set <b>Judge</b> to <b>k-means k=3</b>.",
            target="cl-judged",
            done=Check(
                ("view.label_source", "label_evidence"),
                lambda source, evidence: source == "model:0",
            ),
            way=(set_view(label_source="model:0"),),
            after="<b>0.93</b> for a wrong answer. But look at the other scale: dense "
            "groups (DBCV), which follows density, gives the cake <b>−0.70</b>, and "
            "its labels shuffled −0.75.",
        ),
        Task(
            title="Ask density",
            text="DBCV runs from −1 to 1, but depends on the number of columns and on "
            "noise, so read how far it lies above the value of shuffled labels.",
            task="Set <b>Judge</b> to the <b>label column</b> again.",
            target="cl-judged",
            done=Check(
                ("view.label_source", "label_evidence"),
                lambda source, evidence: source == "labels",
            ),
            way=(set_view(label_source="labels"),),
            after="<b>0.39</b> for the rings, shuffled −0.72. Hence the verdict: "
            "clusters, <b>but not each around a centre</b>. One score alone would "
            "have misled you twice.",
        ),
        Task(
            title="Three species",
            text="Now 150 flowers of three species, which nobody disputes. But the "
            "names come from botany, and clusters come from these four columns.",
            task="Click the pair <b>versicolor</b> and <b>virginica</b>.",
            target="cl-label-pairs",
            begin=(
                act("load example", name="iris"),
                act("run pool", pool=list(POOL)),
            ),
            done=pair_of(1, 2),
            way=(set_view(label_pair=(1, 2)),),
            after="<b>0.79</b>, where the other pairs have 0.98 and 1.00, and the "
            "DBCV of this pair is <b>−0.58</b>: no gap between the two.",
        ),
        Task(
            title="Make them one",
            text="If two classes are one cluster, the score of all classes should "
            "rise when the two are merged.",
            task="Click the same pair in the table <b>If two of them were one</b>.",
            target="cl-label-merges",
            done=Check(("view.merged",), lambda merged: (1, 2) in merged),
            way=(set_view(merged=((1, 2),), label_pair=()),),
            after="From <b>0.92</b> to <b>0.96</b>. The species are real; in these "
            "columns two of them are one cluster, and a method that finds two is not "
            "wrong.",
        ),
        Task(
            title="What to remember",
            text="Clusterings need not match class labels. Check first whether the "
            "classes are clusters in these columns, by centres and by density, and "
            "compare each score with the one of shuffled labels. If the classes are "
            "no clusters, agreement with them says little.",
        ),
    ),
)
