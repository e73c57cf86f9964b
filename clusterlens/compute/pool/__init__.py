"""Many clusterings of one table."""
