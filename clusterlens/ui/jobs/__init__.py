"""Jobs: work in three lanes, results derived from the state, and caches of results."""
