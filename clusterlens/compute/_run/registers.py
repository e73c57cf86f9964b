"""Registers: comparisons and sums by whole vector registers.

Contains the two inner loops behind every count of agreements, and the one behind every
neighbour search, as vector instructions. The compiler also vectorises plain loops, but
it must assume that any two arrays overlap, so it checks this before each loop and keeps
sums in memory: half the speed. Vectors have REGISTER_BYTES, or LANES numbers, on every
processor; narrower registers take several. These functions are parts of kernels and
cannot be called from Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

REGISTER_BYTES = 64
# Numbers of single precision that are compared at a time, with one bit for each.
LANES = 64


def register_zeros(shape: tuple[int, int], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return zeros at an aligned address, with rows padded to whole registers.

    Parameters
    ----------
    shape : tuple of int
        Rows, and columns before the padding.
    dtype : dtype
        Unsigned integers.

    Returns
    -------
    zeros : array, shape (rows, padded columns)
        Contiguous.
    """
    item = np.dtype(dtype).itemsize
    n_rows, lanes = shape[0], REGISTER_BYTES // item
    n_columns = -(-shape[1] // lanes) * lanes
    n_bytes = n_rows * n_columns * item
    raw = np.zeros(n_bytes + REGISTER_BYTES, np.uint8)
    start = -raw.ctypes.data % REGISTER_BYTES
    return raw[start : start + n_bytes].view(dtype).reshape(n_rows, n_columns)


@intrinsic
def sum_votes(typingctx, tile, codes, votes, i, count):  # type: ignore[no-untyped-def]
    """Set count to the votes of the models that join sample i and each column.

    tile (n_models, lanes) holds the codes of one register of columns, codes (n_samples,
    width) the codes of all samples, votes (n_models,), count (lanes,). The sums stay in
    one register until all models have voted.
    """
    signature = types.void(tile, codes, votes, i, count)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        vector = _register(context, tile.dtype)
        columns, samples, weights, out = _arrays(context, builder, signature, arguments)
        width = cgutils.unpack_tuple(builder, samples.shape)[1]
        row = builder.gep(samples.data, [builder.mul(arguments[3], width)])
        sums = cgutils.alloca_once_value(builder, ir.Constant(vector, None))
        n_models = cgutils.unpack_tuple(builder, columns.shape)[0]
        with cgutils.for_range(builder, n_models) as loop:
            own = _filled(builder, vector, builder.load(builder.gep(row, [loop.index])))
            vote = builder.load(builder.gep(weights.data, [loop.index]))
            at = builder.mul(loop.index, loop.index.type(vector.count))
            others = _load(builder, columns.data, at, vector)
            equal = builder.sext(builder.icmp_unsigned("==", own, others), vector)
            more = builder.and_(equal, _filled(builder, vector, vote))
            builder.store(builder.add(builder.load(sums), more), sums)
        _store(builder, builder.load(sums), out.data, n_models.type(0), vector)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def book_equal(  # type: ignore[no-untyped-def]
    typingctx, booked, count, codes, i, left, first, right
):
    """Add to booked[count[j - left]] if codes[i] equals codes[j], j in the range.

    booked (n_levels, width) are counters as wide as the codes (n_samples, width), which
    must not overflow. The codes of sample i stay in a register.
    """
    signature = types.void(booked, count, codes, i, left, first, right)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        vector = _register(context, codes.dtype)
        counters, levels, samples = _arrays(context, builder, signature, arguments)
        row, left, first, right = arguments[3:]
        width = cgutils.unpack_tuple(builder, samples.shape)[1]
        own_start = builder.mul(row, width)
        one = width.type(1)
        step = width.type(vector.count)
        with cgutils.for_range_slice(builder, width.type(0), width, step) as (part, _):
            own_at = builder.add(own_start, part)
            own = _load(builder, samples.data, own_at, vector)
            with cgutils.for_range_slice(builder, first, right, one) as (j, _):
                place = builder.gep(levels.data, [builder.sub(j, left)])
                level = builder.zext(builder.load(place), width.type)
                counter = builder.add(builder.mul(level, width), part)
                at = builder.add(builder.mul(j, width), part)
                other = _load(builder, samples.data, at, vector)
                equal = builder.sext(builder.icmp_unsigned("==", own, other), vector)
                sums = _load(builder, counters.data, counter, vector)
                sums = builder.sub(sums, equal)
                _store(builder, sums, counters.data, counter, vector)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def sum_seen_votes(  # type: ignore[no-untyped-def]
    typingctx, tile, codes, votes, i, joined, both
):
    """Add votes as `sum_votes` for codes with gaps, which are 0: two sums per column.

    joined (lanes,) are the votes of the models that join sample i and the column, both
    (lanes,) the votes of the models that saw the two.
    """
    signature = types.void(tile, codes, votes, i, joined, both)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        vector = _register(context, tile.dtype)
        columns, samples, weights, *out = _arrays(
            context, builder, signature, arguments
        )
        width = cgutils.unpack_tuple(builder, samples.shape)[1]
        row = builder.gep(samples.data, [builder.mul(arguments[3], width)])
        zeros = ir.Constant(vector, None)
        sums = [cgutils.alloca_once_value(builder, zeros) for _ in out]
        n_models = cgutils.unpack_tuple(builder, columns.shape)[0]
        with cgutils.for_range(builder, n_models) as loop:
            own = _filled(builder, vector, builder.load(builder.gep(row, [loop.index])))
            vote = builder.load(builder.gep(weights.data, [loop.index]))
            vote = _filled(builder, vector, vote)
            at = builder.mul(loop.index, loop.index.type(vector.count))
            others = _load(builder, columns.data, at, vector)
            for place, yes in zip(sums, _compared(builder, own, others), strict=True):
                more = builder.and_(builder.sext(yes, vector), vote)
                builder.store(builder.add(builder.load(place), more), place)
        for place, target in zip(sums, out, strict=True):
            start = n_models.type(0)
            _store(builder, builder.load(place), target.data, start, vector)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def book_seen(typingctx, counters, codes, pairs, first, last):  # type: ignore[no-untyped-def]
    """Set counters (2, width) to the pairs in the range that models join, and saw.

    pairs (2 or more, n_pairs) of int32 holds the two samples of each pair; codes
    (n_samples, width) are 0 in gaps. Counters are as wide as the codes and must not
    overflow; they stay in registers until all pairs are counted.
    """
    signature = types.void(counters, codes, pairs, first, last)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        vector = _register(context, codes.dtype)
        counts, samples, listed = _arrays(context, builder, signature, arguments)
        first, last = arguments[3:]
        width = cgutils.unpack_tuple(builder, samples.shape)[1]
        n_pairs = cgutils.unpack_tuple(builder, listed.shape)[1]
        zeros, one = ir.Constant(vector, None), width.type(1)
        step = width.type(vector.count)

        sums = [cgutils.alloca_once(builder, vector) for _ in range(2)]
        with cgutils.for_range_slice(builder, width.type(0), width, step) as (part, _):
            for place in sums:
                builder.store(zeros, place)
            with cgutils.for_range_slice(builder, first, last, one) as (p, _):
                own, other = (
                    _row_part(builder, samples, listed, at, width, part, vector)
                    for at in (p, builder.add(p, n_pairs))
                )
                for place, yes in zip(
                    sums, _compared(builder, own, other), strict=True
                ):
                    less = builder.sext(yes, vector)
                    builder.store(builder.sub(builder.load(place), less), place)
            for k, place in enumerate(sums):
                at = builder.add(builder.mul(width.type(k), width), part)
                _store(builder, builder.load(place), counts.data, at, vector)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def lanes_within(typingctx, values, bounds):  # type: ignore[no-untyped-def]
    """Bits of the lanes with a value up to the bound; 0 for NaN.

    values and bounds (LANES,) are float32.
    """
    signature = types.uint64(values, bounds)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        arrays = _arrays(context, builder, signature, arguments)
        start = ir.Constant(ir.IntType(64), 0)
        return _bits_within(
            builder, *(_load(builder, a.data, start, _SINGLES) for a in arrays)
        )

    return signature, generate


@intrinsic
def products_within(  # type: ignore[no-untyped-def]
    typingctx, chunks, offsets, chunk, factors, column, bound
):
    """Bits of the lanes of a chunk with a sum of products up to the bound.

    The sum of lane j is offsets[chunk, j] plus chunks[chunk, f, j] * factors[f, column]
    over f; it stays in registers. chunks (n_chunks, n_factors, LANES), offsets
    (n_chunks, LANES), factors (n_factors, LANES) and bound are float32. A sum that is
    NaN counts as within.
    """
    signature = types.uint64(chunks, offsets, chunk, factors, column, bound)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        terms, starts, given = _arrays(context, builder, signature, arguments)
        chunk, column, bound = arguments[2], arguments[4], arguments[5]
        n_factors = cgutils.unpack_tuple(builder, terms.shape)[1]
        lanes = n_factors.type(LANES)
        first = builder.mul(chunk, lanes)
        own = builder.mul(first, n_factors)
        offset = _load(builder, starts.data, first, _SINGLES)
        sums = cgutils.alloca_once_value(builder, offset)
        with cgutils.for_range(builder, n_factors) as loop:
            row = builder.mul(loop.index, lanes)
            term = _load(builder, terms.data, builder.add(own, row), _SINGLES)
            at = builder.gep(given.data, [builder.add(row, column)])
            factor = _filled(builder, _SINGLES, builder.load(at))
            more = builder.fmul(term, factor, flags=("contract",))
            total = builder.fadd(builder.load(sums), more, flags=("contract",))
            builder.store(total, sums)
        limit = _filled(builder, _SINGLES, bound)
        return _bits_within(builder, builder.load(sums), limit)

    return signature, generate


@intrinsic
def lowest_bit(typingctx, bits):  # type: ignore[no-untyped-def]
    """Position of the lowest bit that is set; there must be one."""
    signature = types.int64(types.uint64)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return signature, generate


_SINGLES = ir.VectorType(ir.FloatType(), LANES)


def _bits_within(builder: Any, values: Any, bounds: Any) -> Any:
    """Bits of the lanes that are not above their bound."""
    within = builder.fcmp_unordered("<=", values, bounds)
    return builder.bitcast(within, ir.IntType(LANES))


def _arrays(context: Any, builder: Any, signature: Any, arguments: Any) -> list[Any]:
    """Array arguments of an intrinsic, in their order."""
    return [
        context.make_array(kind)(context, builder, argument)
        for kind, argument in zip(signature.args, arguments, strict=True)
        if isinstance(kind, types.Array)
    ]


def _row_part(
    builder: Any, codes: Any, rows: Any, at: Any, width: Any, part: Any, vector: Any
) -> Any:
    """Register that starts at a part of a row of codes, with its number in rows."""
    row = builder.zext(builder.load(builder.gep(rows.data, [at])), width.type)
    start = builder.add(builder.mul(row, width), part)
    return _load(builder, codes.data, start, vector)


def _compared(builder: Any, own: Any, other: Any) -> tuple[Any, Any]:
    """Lanes of two registers of codes that are equal and known, and that are known."""
    gap = ir.Constant(own.type, None)
    seen = builder.and_(
        builder.icmp_unsigned("!=", own, gap), builder.icmp_unsigned("!=", other, gap)
    )
    return builder.and_(seen, builder.icmp_unsigned("==", own, other)), seen


def _register(context: Any, dtype: Any) -> Any:
    """Vector type of one register of codes."""
    return ir.VectorType(
        context.get_data_type(dtype), 8 * REGISTER_BYTES // dtype.bitwidth
    )


def _load(builder: Any, data: Any, position: Any, vector: Any) -> Any:
    """Load a register from a position of contiguous data, at any address."""
    return builder.load(_at(builder, data, position, vector), align=1)


def _store(builder: Any, value: Any, data: Any, position: Any, vector: Any) -> None:
    """Write a register at a position of contiguous data."""
    builder.store(value, _at(builder, data, position, vector), align=1)


def _at(builder: Any, data: Any, position: Any, vector: Any) -> Any:
    """Pointer to a register that starts at a position of contiguous data."""
    return builder.bitcast(builder.gep(data, [position]), vector.as_pointer())


def _filled(builder: Any, vector: Any, value: Any) -> Any:
    """Register with the value in every lane."""
    index = ir.IntType(32)
    unknown = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(unknown, value, index(0))
    everywhere = ir.Constant(ir.VectorType(index, vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, unknown, everywhere)
