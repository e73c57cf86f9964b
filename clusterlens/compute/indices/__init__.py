"""Internal and external indices, and whether class labels are clusters."""
