"""Kit: widgets, style, colours and words shared by all pages."""
