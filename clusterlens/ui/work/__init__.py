"""Work: jobs, what is derived from the state, and results that are kept."""
