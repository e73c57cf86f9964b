"""Parts: cards and gestures that more than one page has."""
