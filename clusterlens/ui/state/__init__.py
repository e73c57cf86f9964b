"""State: what was decided, what is looked at, and their shapes."""
