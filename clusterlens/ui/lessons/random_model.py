"""Lesson: which random model? One pair of soft partitions has -0.12 to 0.52."""

from clusterlens.ui.lessons.lesson import Lesson, Task, set_view, view_is

POOL = (
    {"clusterer": "fuzzy c-means", "n_clusters": 3},
    {"clusterer": "Gaussian mixture", "n_components": 3},
    {"clusterer": "k-means", "n_clusters": 3},
)

LESSON = Lesson(
    title="Which random model?",
    teaser="One pair of soft partitions, adjusted values from −0.12 to 0.52.",
    minutes=6,
    example="stretched",
    pool=POOL,
    page="fuzzy",
    steps=(
        Task(
            title="Choose before you look",
            text="Fuzzy c-means and a Gaussian mixture say how far each of 750 points "
            "belongs to each of three groups. Their concordance (NDC) is <b>0.743</b>, "
            "but how much of that is chance? It depends on what chance means, and you "
            "should decide that before you see the values.",
            task="Tick <b>hide values while choosing</b>.",
            target="cl-fuzzy-guide",
            begin=(set_view(fuzzy_cards=("guide",)),),
            done=view_is(fuzzy_hidden=True),
            way=(set_view(fuzzy_hidden=True),),
            after="The values are blank until both questions are answered.",
        ),
        Task(
            title="Is one side given?",
            text="Neither side is a reference: both were estimated from the same "
            "points, and could have come out otherwise.",
            task="Answer question 1: <b>No, both could have come out otherwise</b>.",
            target="cl-fuzzy-guide",
            done=view_is(fuzzy_side="both"),
            way=(set_view(fuzzy_side="both"),),
            after="Nothing is shown yet: the second question is open.",
        ),
        Task(
            title="What stays the same",
            text="Suppose that another outcome would have the same memberships, but "
            "assigned to other points.",
            task="Answer question 2 with <b>Permutation</b>.",
            target="cl-fuzzy-guide",
            done=view_is(fuzzy_model="permutation"),
            way=(set_view(fuzzy_model="permutation"),),
            after="<b>0.45</b>: about half of the way from chance to identity.",
        ),
        Task(
            title="Another kind of chance",
            text="Suppose instead that nothing stays the same: any memberships are as "
            "likely as any others.",
            task="Answer question 2 with <b>Flat</b>.",
            target="cl-fuzzy-guide",
            done=view_is(fuzzy_model="flat"),
            way=(set_view(fuzzy_model="flat"),),
            after="<b>−0.12</b>, below chance! Memberships drawn from the flat model "
            "are all fuzzy, and two fuzzy partitions agree by being vague. The "
            "mixture here is nearly hard, so it agrees less than vague partitions "
            "would.",
        ),
        Task(
            title="Hold one side",
            text="Now let the mixture be a fixed reference, and draw only the other "
            "side at random.",
            task="Answer question 1: <b>V is a reference</b>.",
            target="cl-fuzzy-guide",
            done=view_is(fuzzy_model="flat", fuzzy_side="v"),
            way=(set_view(fuzzy_model="flat", fuzzy_side="v"),),
            after="<b>0.52</b>. The two partitions and the 0.743 are the same; only "
            "the meaning of “by chance” changed.",
        ),
        Task(
            title="What to remember",
            begin=(set_view(fuzzy_cards=()),),
            text="An adjusted value without its random model says nothing. Choose the "
            "model by how the partitions could have come out, before you see the "
            "values; report it with the number; and never compare numbers from "
            "different random models.",
        ),
    ),
)
