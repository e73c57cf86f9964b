"""Nodes: results derived from the analysis and the view state, for several pages."""
