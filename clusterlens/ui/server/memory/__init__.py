"""Memory: what was decided and found, kept on disk.

`contents` keeps bytes under their hash, `store` the log in SQLite, `records` turn an
analysis into plain values and typed bytes and back, `memory` keeps one session,
`archive` puts one analysis into one file.
"""
