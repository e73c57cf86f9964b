"""Components: cards and gestures that several pages share."""
