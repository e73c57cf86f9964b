"""Clusterers as scikit-learn estimators."""
