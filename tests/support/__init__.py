"""Code that tests and benchmarks share."""
