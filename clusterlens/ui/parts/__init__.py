"""Parts: cards and gestures that several pages share."""
