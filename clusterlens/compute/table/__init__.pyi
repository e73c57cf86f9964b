from .dataset import (
    Dataset as Dataset,
    make_dataset as make_dataset,
    prepare as prepare,
    take_rows as take_rows,
)
from .distributions import (
    ColumnDistribution as ColumnDistribution,
    column_distributions as column_distributions,
)
from .examples import (
    EXAMPLES as EXAMPLES,
    load_example as load_example,
)
from .export import (
    attach_labels as attach_labels,
    to_csv_bytes as to_csv_bytes,
)
from .preparation import Preparation as Preparation
from .preparing_again import prepare_again as prepare_again
from .profiles import (
    ClusterProfiles as ClusterProfiles,
    cluster_profiles as cluster_profiles,
    group_profile as group_profile,
)
from .projection import (
    Projection as Projection,
    project as project,
)
from .reading import (
    READERS as READERS,
    TableParts as TableParts,
    load_table as load_table,
    table_parts as table_parts,
)
from .summaries import (
    ColumnSummary as ColumnSummary,
    column_summaries as column_summaries,
    table_hints as table_hints,
)
