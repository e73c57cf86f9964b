"""Kit: widgets, style, colours and words that every page is made of."""
