"""Tables: reading files, roles of columns, and preparation of a matrix."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
