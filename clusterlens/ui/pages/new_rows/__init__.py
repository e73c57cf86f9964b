"""The page New rows."""
