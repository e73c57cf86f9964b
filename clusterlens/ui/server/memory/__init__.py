"""Memory: decisions and results, stored on disk.

`contents` stores bytes under their hash, `store` the log in SQLite, `records` convert
an analysis to plain values and typed bytes and back, `memory` stores one session,
`archive` writes one analysis as one file.
"""
