"""The page Consensus."""
