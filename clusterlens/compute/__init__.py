"""Compute half of ClusterLens: plain functions on arrays, no user interface."""
