"""Clustering methods that CNS is measured against, as scikit-learn estimators."""
