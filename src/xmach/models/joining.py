"""Joins the weights of all buckets to lists by feature: quantised, with the smaller type of gap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xmach._kernels.train.bucket_weights import count_entries, fill_entries, quantise
from xmach.errors import InputError
from xmach.models.bucket_weights import BucketWeights
from xmach.types import AnyArray, FloatArray

GAP_TYPES: tuple[type[Any], ...] = (np.uint8, np.uint16)
START_TYPES: tuple[type[Any], ...] = (np.uint32, np.int64)
CODE_TYPES: dict[int, type[Any]] = {8: np.int8, 32: np.float32}  # by bits


def joined_arrays(
    parts: Sequence[BucketWeights], n_features: int, n_buckets: int, bits: int, gap_type: type[Any] | None = None
) -> dict[str, AnyArray]:
    """Return starts, gaps, codes, scales and biases of parts that cover all buckets, in any order.

    `gap_type` is whichever makes the smaller model, unless it is given.
    """
    if bits not in CODE_TYPES:
        raise InputError(f"bits must be 8 or 32, got {bits!r}")
    parts = parts_in_order(parts, n_features, n_buckets)
    coded = [quantised(part, bits) for part in parts]
    codes, scales = [codes for codes, _ in coded], np.concatenate([scales for _, scales in coded])
    counts = _counted(parts, codes, n_features)  # (2, d), one row a type of gap
    if gap_type is None:
        sizes = [_model_bytes(row.sum(), gap, CODE_TYPES[bits]) for row, gap in zip(counts, GAP_TYPES, strict=True)]
        gap_type = GAP_TYPES[int(np.argmin(sizes))]
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
    parts: Sequence[BucketWeights], n_features: int, n_buckets: int, noun: str = "bucket"
) -> list[BucketWeights]:
    """Return the parts by bucket, or whatever `noun` says; raise InputError unless they cover each exactly once."""
    ordered, covered = sorted((part for part in parts if len(part.biases)), key=lambda part: part.first), 0
    for part in ordered:
        if part.first != covered:
            problem = "is in no part" if part.first > covered else "is in two parts"
            raise InputError(f"{noun} {min(part.first, covered):,} {problem}; join needs every {noun} exactly once")
        part.check(n_features)
        covered = part.stop
    if covered != n_buckets:
        raise InputError(f"the parts have {covered:,} {noun}s, the model has {n_buckets:,}")
    return ordered


def quantised(part: BucketWeights, bits: int) -> tuple[AnyArray, FloatArray]:
    """The codes (m,) and scales (b,) of a part."""
    if bits == 32:
        return part.values.astype(np.float32, copy=False), np.ones(len(part.biases), np.float32)
    codes, scales = np.empty(len(part.values), np.int8), np.empty(len(part.biases), np.float32)
    quantise(part.starts, part.values, scales, codes)
    return codes, scales


def _counted(parts: Sequence[BucketWeights], codes: Sequence[AnyArray], n_features: int) -> AnyArray:
    """How many entries each feature has, fillers included, with each type of gap: (2, d)."""
    largest_gaps = np.array([np.iinfo(gap).max for gap in GAP_TYPES], np.int64)
    last, counts = np.full(n_features, -1, np.int64), np.zeros((len(GAP_TYPES), n_features), np.int64)
    for part, part_codes in zip(parts, codes, strict=True):
        if not count_entries(part.first, part.starts, part.features, part_codes, largest_gaps, last, counts):
            raise InputError(f"{part} has a feature twice in one bucket")
    return counts


def _model_bytes(n_entries: int, gap_type: type[Any], code_type: type[Any]) -> int:
    """The bytes of a model's entries."""
    return int(n_entries) * (np.dtype(gap_type).itemsize + np.dtype(code_type).itemsize)


def start_type(n_entries: int) -> type[Any]:
    """The smallest type of starts that can count the entries."""
    return START_TYPES[0] if n_entries < 2**32 else START_TYPES[1]
