"""The page Fuzzy."""
