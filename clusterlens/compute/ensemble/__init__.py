"""Partitions, what they agree on, and links between samples."""
