"""Work: jobs, results derived from the state, and caches of results."""
