"""From an ensemble to one partition, an ordering and pictures."""
