"""Execution of long computations: threads, worker processes, Dask workers."""
