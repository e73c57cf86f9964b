"""Where new rows belong: assigners, segmentations, rules and drift."""
