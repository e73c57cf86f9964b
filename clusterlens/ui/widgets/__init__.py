"""Widgets, style, colours and words that all pages share."""
