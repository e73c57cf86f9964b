"""Browser app of ClusterLens: one mutable Session per browser, and its views."""
