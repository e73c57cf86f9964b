"""load_segmentation: a segmentation from a file written by `Segmentation.save`."""

from __future__ import annotations

import os
from pathlib import Path

from clusterlens.compute._validation import DataError
from clusterlens.compute.assigning._restored import MAX_BYTES, read_kept
from clusterlens.compute.assigning.segmentation import Segmentation
from clusterlens.compute.formatting import whole


def load_segmentation(path: str | os.PathLike[str]) -> Segmentation:
    """Read a segmentation that `Segmentation.save` has written.

    Parameters
    ----------
    path : path
        The file, of any origin.

    Returns
    -------
    segmentation : Segmentation
        It assigns like the saved one.

    Raises
    ------
    DataError
        If the file cannot be read, is not a segmentation, or has a later version.

    Examples
    --------
    >>> import tempfile
    >>> from clusterlens.compute.table.dataset import prepare
    >>> dataset = prepare({"size": [1.0, 1.2, 1.1, 7.0, 7.1, 7.3]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Segmentation(dataset, [0, 0, 0, 1, 1, 1]).save(f"{folder}/sizes.lens")
    ...     load_segmentation(f"{folder}/sizes.lens")
    Segmentation('table', 2 clusters of 6 rows, 6 prototypes, 100% right held out)
    """
    if not isinstance(path, str | os.PathLike):
        raise DataError(f"path is {path!r:.60}; give the path of a file.")
    shown = repr(os.fspath(path))
    try:
        size = Path(path).stat().st_size
        if size > MAX_BYTES:
            raise DataError(f"{shown} has {whole(size)} bytes, as no segmentation has.")
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"path {shown} cannot be read ({getattr(error, 'strerror', error)}); give "
            "a file that Segmentation.save has written."
        ) from None
    try:
        return Segmentation.of_kept(read_kept(data))
    except DataError as error:
        raise DataError(
            f"path {shown} is no segmentation that can be opened: {error}. Give a file "
            "that Segmentation.save has written."
        ) from None
