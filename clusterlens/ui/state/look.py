"""Look: what is merely looked at; never logged, part of a shared link."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import param

from clusterlens.ui.state.drafts import PoolDraft


@dataclass(frozen=True)
class Viewport:
    """What a figure shows: half-open data ranges and its size in pixels.

    Ranges are None where the figure shall show everything.
    """

    x: tuple[float, float] | None = None
    y: tuple[float, float] | None = None
    width: int = 0
    height: int = 0

    @property
    def zoom(self) -> tuple[tuple[float, float], tuple[float, float]] | None:
        """The x and y range, None where the figure shall show everything."""
        return None if self.x is None or self.y is None else (self.x, self.y)

    def whole(self) -> Viewport:
        """Return the viewport of this size that shows everything."""
        return Viewport(width=self.width, height=self.height)


@dataclass(frozen=True, eq=False)
class Brush:
    """Samples that were brushed, and where.

    Parameters
    ----------
    positions : array of int, shape (n_brushed,)
        Positions of the samples, ascending.
    source : str
        Where they were brushed, e.g. "box on the map".
    """

    positions: np.ndarray = field(default_factory=lambda: np.empty(0, np.intp))
    source: str = ""

    def __len__(self) -> int:
        return len(self.positions)


# What is forgotten when another run is read, when another table is prepared, and when
# either is so; all else stays.
OF_RUN = (
    "model",
    "inspected",
    "pair",
    "queue",
    "brush",
    "threshold_preview",
    "partition",
    "partition_k",
    "group",
    "cluster",
    "compared",
    "beside_run",
    "map_view",
    "matrix_view",
    "compare_view",
)
OF_TABLE = (
    "starting",
    "since",
    "refused",
    "prepared_view",
    "cns_preview",
    "cns_step",
    "cns_version",
    "cns_sample",
    "cns_view",
    "segmentation",
    "new_row",
    "new_rows_view",
)
OF_EITHER = (
    "judged",
    "merged",
    "label_pair",
    "label_view",
    "fuzzy_u",
    "fuzzy_v",
    "fuzzy_sort",
    "fuzzy_sample",
    "fuzzy_view",
)


class Look(param.Parameterized):
    """What the analyst looks at."""

    page = param.Selector(
        default="data",
        objects=[
            *("data", "pool", "consensus", "clusters", "new-rows", "report"),
            *("fuzzy", "cns", "labels", "lessons"),
        ],
        doc="The page that is shown, a key of PAGES.",
    )
    starting = param.Boolean(
        False, doc="Whether the Data page offers another table in place of its own."
    )
    model = param.Integer(
        None,
        allow_None=True,
        bounds=(0, None),
        doc="Selected model; None for the leader.",
    )
    colour_by = param.Selector(
        default="model", objects=["model", "disagreement", "labels"]
    )
    order_by = param.Selector(default="model", objects=["model", "tree", "file"])
    shading = param.Selector(default="linear", objects=["linear", "eq_hist"])
    so_far = param.Boolean(
        False, doc="Whether a run is read while it forms, in place of a finished one."
    )
    tab = param.Selector(
        default="model", objects=["model", "sample", "selection", "links"]
    )
    large = param.Boolean(False, doc="Whether text is larger, for projectors.")
    help = param.Boolean(False, doc="Whether the keys are listed.")
    drawer = param.Boolean(False, doc="Whether the inspector is open on a small page.")
    inspected = param.Integer(
        None, allow_None=True, bounds=(0, None), doc="Position of a sample."
    )
    brush = param.ClassSelector(class_=Brush, default=Brush(), doc="Brushed samples.")
    linking = param.Boolean(False, doc="Whether clicks on the map pick a pair.")
    pair = param.ClassSelector(
        class_=tuple, default=(), doc="Positions of A and B, as far as they are picked."
    )
    queue = param.ClassSelector(
        class_=tuple, default=(), doc="Suggested pairs: the one asked about, the next."
    )
    refused = param.ClassSelector(
        class_=tuple, default=(), doc="Links of the contradiction refused last."
    )
    since = param.ClassSelector(
        class_=tuple, default=(), doc="Links that changes of rank are counted from."
    )
    map_of = param.Selector(
        default="samples", objects=["samples", "models"], doc="What the map shows."
    )
    map_view = param.ClassSelector(class_=Viewport, default=Viewport())
    matrix_view = param.ClassSelector(class_=Viewport, default=Viewport())
    partition = param.Selector(
        default="auto",
        objects=["auto", "result", "consensus", "model", "group", "labels"],
        doc="What the page Clusters is about; auto for the result, else the model.",
    )
    partition_k = param.Integer(
        None,
        allow_None=True,
        bounds=(0, None),
        doc="Clusters of the consensus partition; None for auto.",
    )
    consensus_by = param.String(
        "bisecting-kmeans", doc="Consensus function, a key of CONSENSUS_FUNCTIONS."
    )
    obey_links = param.Boolean(False, doc="Whether the consensus obeys the links.")
    group = param.ClassSelector(
        class_=Brush, default=Brush(), doc="Samples that are looked at as a cluster."
    )
    cluster = param.Integer(
        None,
        allow_None=True,
        bounds=(0, None),
        doc="Cluster that is read; None for the first.",
    )
    compared = param.String(
        "auto", doc='Partition beside it: "auto", "consensus", "labels", "model 3".'
    )
    beside_run = param.String("", doc="Id of the run beside it; empty for the newest.")
    compare_view = param.ClassSelector(class_=Viewport, default=Viewport())
    profile_query = param.String("", doc="Text that names of profiled columns hold.")
    profile_sort = param.Selector(
        default="all", objects=["all", "cluster", "name"], doc="Order of the columns."
    )
    typical_first = param.Boolean(False, doc="Whether typical rows come first.")
    column = param.String(
        None, allow_None=True, doc="Column that shades the map of the Data page."
    )
    column_query = param.String("", doc="Text that names of listed columns hold.")
    column_role = param.String("", doc="Role of listed columns; empty for all.")
    rows_as = param.Selector(default="read", objects=["read", "features"])
    prepared_view = param.ClassSelector(class_=Viewport, default=Viewport())
    cns_preview = param.ClassSelector(
        class_=tuple,
        default=None,
        allow_None=True,
        doc="Neighbours, alpha and K while a slider of CNS is held.",
    )
    cns_metric = param.Selector(default="euclidean", objects=["euclidean", "cosine"])
    cns_certain = param.Number(
        0.75, doc="Samples lie between clusters below this share of seed stops."
    )
    cns_step = param.Integer(
        None, allow_None=True, doc="State of the smoothing on the map; None for exact."
    )
    cns_version = param.String(
        "", doc='Published version on the map, as "v2 cosine"; empty for the setting.'
    )
    cns_sample = param.Integer(
        None,
        allow_None=True,
        bounds=(0, None),
        doc="Position of the sample read on the page CNS.",
    )
    cns_view = param.ClassSelector(class_=Viewport, default=Viewport())
    judged = param.String(
        "labels",
        doc="What is judged as classes: labels, group, column:<name>, "
        "model:<position> or consensus:<number of clusters>.",
    )
    merged = param.ClassSelector(
        class_=tuple, default=(), doc="Pairs of classes that are looked at as one."
    )
    label_pair = param.ClassSelector(
        class_=tuple, default=(), doc="Two classes looked at; empty for the most mixed."
    )
    label_view = param.ClassSelector(class_=Viewport, default=Viewport())
    fuzzy_case = param.Selector(default="table", objects=["table", "toy"])
    fuzzy_u = param.String("", doc="Key of the side U; empty for the first.")
    fuzzy_v = param.String("", doc="Key of the side V; empty for the next.")
    fuzzy_model = param.String("", doc="The random model to report; empty for none.")
    fuzzy_side = param.Selector(default="", objects=["", "both", "u", "v"])
    fuzzy_hidden = param.Boolean(False, doc="Hide values until a model is chosen.")
    fuzzy_precision = param.Number(5e-4, doc="Standard error to aim at.")
    fuzzy_set_model = param.String("permutation", doc="Model of all pairs.")
    fuzzy_sort = param.String("", doc="All pairs are sorted by likeness to this one.")
    fuzzy_sample = param.Integer(None, allow_None=True, doc="Sample that is read.")
    fuzzy_view = param.ClassSelector(class_=Viewport, default=Viewport())
    enlarged = param.Selector(
        default="",
        objects=["", "map", "matrices"],
        doc="What has all the room of the page Consensus; empty for none.",
    )
    segmentation = param.Integer(
        None,
        allow_None=True,
        bounds=(0, None),
        doc="Position of the segmentation that is read; None for the latest.",
    )
    new_rows_first = param.Selector(
        default="least sure", objects=["least sure", "most sure", "nowhere"]
    )
    new_row = param.Integer(
        None,
        allow_None=True,
        bounds=(0, None),
        doc="Position of the row of the new table that is read; None for the first.",
    )
    new_rows_view = param.ClassSelector(class_=Viewport, default=Viewport())
    table_open = param.Boolean(
        False, doc="Whether the ranking is a table over the whole page."
    )
    table_columns = param.ClassSelector(
        class_=tuple, default=(), doc="Its columns; empty for the usual ones."
    )
    table_sort = param.String("", doc='Column it is sorted by, "-" before it turns it.')
    pool_draft = param.ClassSelector(
        class_=PoolDraft, default=PoolDraft(), doc="What the next run shall be."
    )
    pool_as_text = param.Boolean(False, doc="Whether the pool is edited as text.")
    report_without = param.ClassSelector(
        class_=tuple, default=(), doc="Sections that the report leaves out."
    )
    report_with = param.ClassSelector(
        class_=tuple, default=(), doc="Sections of the lab that were asked for."
    )
    threshold_preview = param.Integer(
        None, allow_None=True, doc="Threshold while its line is dragged."
    )

    def judge(self, source: str) -> None:
        """Judge the classes of another source, none merged, all pairs in view."""
        self.open_pair(judged=source, merged=())

    def open_pair(self, *pair: int, **more: Any) -> None:
        """Look at all of two classes, of the most mixed ones if none are named."""
        view = self.label_view.whole()
        self.param.update(label_pair=pair, label_view=view, **more)

    def forget(self, *names: str) -> None:
        """Put parameters back to their defaults; of viewports the size stays."""
        values = {name: self.param[name].default for name in names}
        for name, value in values.items():
            if isinstance(value, Viewport):
                values[name] = getattr(self, name).whole()
        self.param.update(**values)
