"""Plots: one function per picture, from a result to a HoloViews element.

They know no session: the page shows the elements live (`figures.live`), a notebook gets
them from `cl.plot_*`, and files are saved from them.
"""
