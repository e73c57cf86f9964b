"""The page Given labels."""
