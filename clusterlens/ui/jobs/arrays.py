"""Arrays as bytes: an uncompressed NumPy archive with a text of plain values.

Reading treats the bytes as untrusted. Members cannot claim more bytes than the archive
holds, which bounds the memory, and arrays of Python objects are refused.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from clusterlens.compute._plain import read_plain

_ABOUT = "about.json"


def arrays_to_bytes(
    arrays: Mapping[str, npt.NDArray[Any]], about: Mapping[str, Any]
) -> bytes:
    """Write arrays by name, together with plain values; equal content, equal bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        without_time = zipfile.ZipInfo(_ABOUT)
        archive.writestr(without_time, json.dumps(about))
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)
    return out.getvalue()


def arrays_from_bytes(
    data: bytes,
) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
    """Read the output of `arrays_to_bytes`; raise ValueError for any other content."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
            if any(i.compress_type != zipfile.ZIP_STORED for i in infos):
                raise ValueError("a member is compressed")
            if sum(i.file_size for i in infos) > len(data):
                raise ValueError("members claim more bytes than there are")
            about = read_plain(archive.read(_ABOUT), len(data), len(data))
            arrays = {
                i.filename.removesuffix(".npy"): _array(archive.read(i))
                for i in infos
                if i.filename != _ABOUT
            }
    except (zipfile.BadZipFile, KeyError, EOFError, ValueError) as error:
        raise ValueError(f"the stored arrays cannot be read: {error}") from error
    return arrays, about


def _array(data: bytes) -> npt.NDArray[Any]:
    """Read one array after checking the size in its header."""
    file = io.BytesIO(data)
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("an array has another version of the format")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype.hasobject:
        raise ValueError("an array holds Python objects")
    count = int(np.prod([int(side) for side in shape], dtype=object))
    if count * dtype.itemsize != len(data) - file.tell():
        raise ValueError(f"an array claims the shape {shape} for {len(data)} bytes")
    flat = np.frombuffer(data, dtype, count, offset=file.tell())
    return flat.reshape(shape, order="F" if fortran else "C")
