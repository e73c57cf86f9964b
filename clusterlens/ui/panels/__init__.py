"""Panels: one card each, drawn from the results it watches."""
