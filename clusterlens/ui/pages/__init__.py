"""Pages: which panels, and where."""
