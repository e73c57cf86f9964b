"""CNS: clustering by neighbour smoothing."""
