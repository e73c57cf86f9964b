"""ClusterLens: what many clusterings of one table agree on.

The names below are the public compute interface; each lives in the module of
`clusterlens.compute` that its docstring names. The browser app is `clusterlens.ui` and
is never imported from here.
"""

from clusterlens.compute._validation import DataError
from clusterlens.compute.ensemble import Ensemble

__version__ = "0.1.0"

__all__ = ["DataError", "Ensemble"]
