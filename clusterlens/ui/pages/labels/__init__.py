"""The page Class labels."""
