"""Concordance of soft partitions under explicit random models."""
