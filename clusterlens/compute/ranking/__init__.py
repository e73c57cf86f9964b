"""Which partition is closest to the consensus, and how sure that is."""
