"""Figures: Bokeh figures that show results as pixels and marks.

Figures know no session. They are made once; only their data change.
"""
