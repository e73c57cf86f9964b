"""The page All rows: labels and results for all rows of a large table."""
