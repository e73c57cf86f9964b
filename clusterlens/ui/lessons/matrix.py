"""A consensus matrix is the mean of the connectivity matrices of all models."""

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

POOL = ({"clusterer": "k-means", "n_clusters": [2, 3, 4, 5, 6]},)
COARSE = "k-means k=2"

LESSON = Lesson(
    title="What is a consensus matrix?",
    teaser="Five clusterings of the same points, and one picture of what they share.",
    minutes=4,
    example="blobs",
    pool=POOL,
    page="consensus",
    steps=(
        Task(
            title="One model",
            text="Five models clustered these 900 points: k-means with two to six "
            "clusters. A model says of each pair of points <b>together</b> (1) or "
            "<b>apart</b> (0). Its answers for all pairs are its connectivity matrix.",
            task="Select <b>k-means</b> with k = <b>2</b> in the ranking.",
            target="cl-ranking-table",
            done=selects(COARSE),
            way=(select(COARSE),),
            after="The map shows its two clusters. It puts <b>50%</b> of the "
            "404&#8239;550 pairs together; k-means with six clusters only <b>19%</b>.",
        ),
        Task(
            title="The mean of five",
            text="The consensus matrix is the mean of the five matrices: a cell says "
            "which share of the models put its two points together. Another name for "
            "it is co-association matrix.",
            task="Click a cell of the <b>Consensus matrix</b>.",
            target="cl-consensus-matrix",
            done=Check(("view.inspected",), lambda row: row is not None),
            way=(set_view(inspected=0, tab="sample", drawer=True),),
            after="The card <b>Sample</b> reads the row of this point: the points that "
            "most models put with it. Over all pairs, <b>18%</b> are together in all "
            "five models and <b>49%</b> in none.",
        ),
        Task(
            title="Another order",
            text="The rows are sorted by cluster, so points that belong together lie "
            "side by side and form a block.",
            task="Set <b>Order</b> of the matrices to <b>file</b>.",
            target="cl-order-by",
            begin=(set_view(drawer=False),),
            done=view_is(order_by="file"),
            way=(set_view(order_by="file"),),
            after="The blocks are gone, and every number is still there. A block needs "
            "two things: models that agree, and an order that shows it.",
        ),
        Task(
            title="How many must agree",
            text="The order is by clusters again. The binarised matrix keeps the pairs "
            "that enough models put together. On average a pair is together in 30% of "
            "the five models, so two of them are enough at first: <b>37%</b> of the "
            "pairs.",
            task="Press <b>Majority</b> under “Agreement needed”.",
            target="cl-threshold",
            begin=(set_view(order_by="model"),),
            done=Check(("threshold?",), lambda threshold: threshold == 3),
            way=(act("set threshold", threshold=3),),
            after="Now three of five must agree, and <b>26%</b> of the pairs are "
            "left: smaller blocks that more models support.",
        ),
        Task(
            title="Where they disagree",
            text="Cells between 0 and 1 are pairs about which the models disagree. The "
            "map can show which points they belong to.",
            task="Set <b>Colour</b> of the map to <b>disagreement</b>.",
            target="cl-colour-by",
            done=view_is(colour_by="disagreement"),
            way=(set_view(colour_by="disagreement"),),
            after="<b>17%</b> of the points have a disagreement above 0.3. The models "
            "split and join these groups differently, because their numbers of "
            "clusters differ.",
        ),
        Task(
            title="What to remember",
            text="A consensus matrix says how often models put two points together. "
            "It says nothing about who is right, and another pool has another matrix. "
            "Solid blocks are what the models share; pale cells are where they differ.",
        ),
    ),
)
