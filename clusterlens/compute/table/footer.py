"""Sizes stated in the footer of a Parquet file, checked before anything is read.

pyarrow also provides them, but pyarrow 26 ends the whole process if the statistics of a
chunk contradict each other. So this module walks the footer, a Thrift structure in the
compact protocol, and keeps only its numbers.

References
----------
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_DEPTH = 16
_ENDS = b"PAR1"
_DAMAGED = "its footer is damaged"
# Fields of FileMetaData, RowGroup, ColumnChunk and ColumnMetaData.
_ROW_GROUPS, _CHUNKS, _META, _VALUES, _BYTES = 4, 1, 3, 5, 6
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT, _UUID = (
    *(1, 2, 3),
    *range(7, 14),
)
_INTEGERS = (4, 5, 6)


def claimed_sizes(data: bytes, n_columns: int) -> Iterator[tuple[int, int, int]]:
    """Walk the chunks of a Parquet file, given whole, with n_columns in its schema.

    Yields for each chunk of a row group its column, its stated number of values, and
    the number of unpacked bytes. Raises ValueError if the footer is damaged.
    """
    end = len(data) - 8
    start = end - int.from_bytes(data[end : end + 4], "little")
    if start < 0 or data[end + 4 :] != _ENDS:
        raise ValueError("its footer is missing")
    try:
        for group in _Walk(data[start:end]).struct(0)[_ROW_GROUPS]:
            for j, chunk in enumerate(group[_CHUNKS]):
                n_values, n_bytes = chunk[_META][_VALUES], chunk[_META][_BYTES]
                if min(n_values, n_bytes) < 0 or j >= n_columns:
                    raise ValueError(_DAMAGED)
                yield j, n_values, n_bytes
    except (IndexError, KeyError, TypeError) as error:
        raise ValueError(_DAMAGED) from error


class _Walk:
    """Reads values of the compact protocol one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def struct(self, depth: int) -> dict[int, Any]:
        """Read the fields of a structure by their number."""
        if depth > _DEPTH:
            raise ValueError(_DAMAGED)
        fields: dict[int, Any] = {}
        number = 0
        while kind := self._byte():
            step = kind >> 4
            number = number + step if step else self._signed()
            fields[number] = self._value(kind & 15, depth)
        return fields

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise ValueError(_DAMAGED)

    def _signed(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)

    def _skip(self, n_bytes: int) -> None:
        self._at += n_bytes
        if self._at > len(self._data):
            raise IndexError(self._at)

    def _value(self, kind: int, depth: int) -> Any:
        if kind in _INTEGERS:
            return self._signed()
        if kind == _BINARY:
            self._skip(self._unsigned())
        elif kind == _STRUCT:
            return self.struct(depth + 1)
        elif kind in (_LIST, _SET):
            return self._list(depth)
        elif kind == _MAP:
            self._map(depth)
        elif kind in (_BYTE, _DOUBLE, _UUID):
            self._skip({_BYTE: 1, _DOUBLE: 8, _UUID: 16}[kind])
        elif kind not in (_TRUE, _FALSE):
            raise ValueError(_DAMAGED)
        return None

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        size = head >> 4 if head >> 4 < 15 else self._unsigned()
        return [self._entry(head & 15, depth) for _ in range(size)]

    def _map(self, depth: int) -> None:
        size = self._unsigned()
        kinds = self._byte() if size else 0
        for _ in range(size):
            self._entry(kinds >> 4, depth)
            self._entry(kinds & 15, depth)

    def _entry(self, kind: int, depth: int) -> Any:
        """Read an element of a list; a Boolean element takes one byte."""
        return self._skip(1) if kind in (_TRUE, _FALSE) else self._value(kind, depth)
