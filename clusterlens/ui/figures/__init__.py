"""Figures: from results to pixels, and the Bokeh figures that hold them.

Nothing here knows a session. Figures are made once; only their data change.
"""
