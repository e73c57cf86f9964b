"""The page Pool."""
