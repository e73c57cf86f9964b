"""Plots: one function per picture, a result in, a HoloViews element out.

They know no session: the page shows the elements live (`figures.live`), a notebook gets
them from `cl.plot_*`, and files are saved from them.
"""
