"""State: decisions, the view state, and the shapes of plain values."""
