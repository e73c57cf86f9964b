"""How long computations run: blocks on threads, worker processes, Dask workers."""
