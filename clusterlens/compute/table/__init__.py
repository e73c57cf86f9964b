"""From a file to a table of numbers."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "dataset": ["Dataset", "make_dataset", "prepare", "take_rows"],
        "distributions": ["ColumnDistribution", "column_distributions"],
        "examples": ["EXAMPLES", "load_example"],
        "export": ["attach_labels", "to_csv_bytes"],
        "preparation": ["Preparation"],
        "preparing_again": ["prepare_again"],
        "profiles": ["ClusterProfiles", "cluster_profiles", "group_profile"],
        "projection": ["Projection", "project"],
        "reading": ["READERS", "TableParts", "load_table", "table_parts"],
        "summaries": ["ColumnSummary", "column_summaries", "table_hints"],
    },
)
