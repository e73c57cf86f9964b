"""Nodes: what follows from the analysis and the look for more than one page."""
