"""The page Verdict: what of a result can be defended, and what cannot."""
