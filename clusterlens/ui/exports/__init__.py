"""Exports: what leaves the app, as the content of files; no session, no widgets.

`rows` are tables, `pictures` are for print, `document` is the report, `script` gives
the same labels and scores without the app.
"""
