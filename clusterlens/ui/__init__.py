"""Browser app of ClusterLens: one mutable Session, views that read it."""
