"""Joins the weights of all buckets to lists by feature: quantised, with the smaller type of gap."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np

from xmach._kernels.train.bucket_weights import count_entries, fill_entries, keep_largest, quantise
from xmach.errors import InputError
from xmach.models.bucket_weights import BucketWeights
from xmach.types import AnyArray, FloatArray

GAP_TYPES: tuple[type[Any], ...] = (np.uint8, np.uint16)
START_TYPES: tuple[type[Any], ...] = (np.uint32, np.int64)
LEVELS = 256  # shares of a bucket's squared length that a limit of bytes tries
CODE_TYPES: dict[int, type[Any]] = {8: np.int8, 32: np.float32}  # by bits


def joined_arrays(
    parts: Sequence[BucketWeights],
    n_features: int,
    n_buckets: int,
    bits: int,
    gap_type: type[Any] | None = None,
    *,
    most_bytes: int | None = None,
    unit: str = "bucket",
) -> dict[str, AnyArray]:
    """Return starts, gaps, codes, scales and biases of parts that cover all buckets, in any order.

    `gap_type` is whichever makes the smaller model, unless it is given. With `most_bytes`, which needs 8 bits, every
    bucket keeps its largest weights up to one share of its squared length, so that gaps and codes take at most that
    many bytes. Errors call a bucket a `unit`.
    """
    if bits not in CODE_TYPES:
        raise InputError(f"bits must be 8 or 32, got {bits!r}")
    parts = parts_in_order(parts, n_features, n_buckets, unit)
    coded = [quantised(part, bits) for part in parts]
    codes, scales = [codes for codes, _ in coded], np.concatenate([scales for _, scales in coded])
    if most_bytes is not None:
        codes = _within(parts, codes, n_features, most_bytes, unit)
    counts = _counted(parts, codes, n_features, unit)  # (2, d), one row a type of gap
    if gap_type is None:
        gap_type = GAP_TYPES[int(np.argmin(_sizes(counts, bits)))]
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts[GAP_TYPES.index(gap_type)])])
    del counts
    gaps, entries = np.empty(starts[-1], gap_type), np.empty(starts[-1], CODE_TYPES[bits])
    places, last = starts[:-1].copy(), np.full(n_features, -1, np.int64)
    for part, part_codes in zip(parts, codes, strict=True):
        lists = (part.first, part.starts, part.features, part_codes)
        fill_entries(*lists, int(np.iinfo(gap_type).max), last, places, gaps, entries)
    biases = np.concatenate([part.biases for part in parts]).astype(np.float32, copy=False)
    starts = starts.astype(start_type(len(gaps)), copy=False)
    return {"starts": starts, "gaps": gaps, "codes": entries, "scales": scales, "biases": biases}


def parts_in_order(
    parts: Sequence[BucketWeights], n_features: int, n_buckets: int, unit: str = "bucket"
) -> list[BucketWeights]:
    """Return the parts by bucket, or whatever `unit` says; raise InputError unless they cover each exactly once."""
    ordered, covered = sorted((part for part in parts if len(part.biases)), key=lambda part: part.first), 0
    for part in ordered:
        if part.first != covered:
            problem = "is in no part" if part.first > covered else "is in two parts"
            raise InputError(f"{unit} {min(part.first, covered):,} {problem}; join needs every {unit} exactly once")
        part.check(n_features)
        covered = part.stop
    if covered != n_buckets:
        raise InputError(f"the parts have {covered:,} {unit}s, the model has {n_buckets:,}")
    return ordered


def quantised(part: BucketWeights, bits: int) -> tuple[AnyArray, FloatArray]:
    """The codes (m,) and scales (b,) of a part."""
    if bits == 32:
        return part.values.astype(np.float32, copy=False), np.ones(len(part.biases), np.float32)
    codes, scales = np.empty(len(part.values), np.int8), np.empty(len(part.biases), np.float32)
    quantise(part.starts, part.values, scales, codes)
    return codes, scales


def _within(
    parts: Sequence[BucketWeights], codes: list[AnyArray], n_features: int, most_bytes: int, unit: str
) -> list[AnyArray]:
    """Return the codes after dropping the small ones of every bucket, no more of them than it takes to fit."""

    def limited(level: int) -> list[AnyArray]:
        kept = [np.empty_like(some) for some in codes]
        for part, some, out in zip(parts, codes, kept, strict=True):
            keep_largest(part.starts, some, level / LEVELS, out)
        return kept

    def size(level: int) -> int:
        return min(_sizes(_counted(parts, limited(level), n_features, unit), 8))

    level = bisect_right(range(LEVELS + 1), most_bytes, key=size) - 1
    if level < 0:
        raise InputError(
            f"the largest weights of every {unit} take {size(0):,} bytes, but there is room for {most_bytes:,}"
        )
    return limited(level)


def _counted(parts: Sequence[BucketWeights], codes: Sequence[AnyArray], n_features: int, unit: str) -> AnyArray:
    """How many entries each feature has, fillers included, with each type of gap: (2, d)."""
    largest_gaps = np.array([np.iinfo(gap).max for gap in GAP_TYPES], np.int64)
    last, counts = np.full(n_features, -1, np.int64), np.zeros((len(GAP_TYPES), n_features), np.int64)
    for part, part_codes in zip(parts, codes, strict=True):
        if not count_entries(part.first, part.starts, part.features, part_codes, largest_gaps, last, counts):
            raise InputError(f"{part} has a feature twice in one {unit}")
    return counts


def _sizes(counts: AnyArray, bits: int) -> list[int]:
    """The bytes of all entries with each type of gap."""
    code_bytes = np.dtype(CODE_TYPES[bits]).itemsize
    return [int(row.sum()) * (np.dtype(gap).itemsize + code_bytes) for row, gap in zip(counts, GAP_TYPES, strict=True)]


def start_type(n_entries: int) -> type[Any]:
    """The smallest type of starts that can count the entries."""
    return START_TYPES[0] if n_entries < 2**32 else START_TYPES[1]
