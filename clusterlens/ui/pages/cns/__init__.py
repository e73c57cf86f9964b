"""The page CNS."""
