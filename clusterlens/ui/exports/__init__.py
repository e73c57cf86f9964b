"""Exports: the content of files that users download, without session or widgets.

`rows` makes tables, `pictures` prints, `document` the report, and `script` Python code
that gives the same labels and scores without the app.
"""
